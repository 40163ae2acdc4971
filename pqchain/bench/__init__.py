"""Benchmarks on this machine: single cryptographic operations, and whole blocks.

frame = pqchain.measure("Falcon-512", preset="quick")
blocks = pqchain.measure_blocks(["Falcon-512"], transactions=1000)

The modules that measure are imported at first use, so that the presets alone load quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain.bench.presets import PRESETS, Preset, preset
from pqchain.installation import lazy_exports

# For type checkers only; at run time `lazy_exports` imports each name at first use.
if TYPE_CHECKING:
    from pqchain.bench.blocks import measure_blocks
    from pqchain.bench.comparing import compare_runs
    from pqchain.bench.conditions import header
    from pqchain.bench.operations import measure
    from pqchain.bench.runs import concat_runs

__all__ = [
    "PRESETS", "Preset", "compare_runs", "concat_runs", "header", "measure", "measure_blocks",
    "preset",
]  # fmt: skip

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "blocks": "measure_blocks",
        "comparing": "compare_runs",
        "conditions": "header",
        "operations": "measure",
        "runs": "concat_runs",
    },
)
