"""Consensus engines and an EVM of other projects, run with post-quantum signatures.

Adapters in Go and Rust, built on demand from pinned sources in the user's cache, run the engines as
their projects release them. One frame has a row per block height, whichever the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain.installation import lazy_exports

if TYPE_CHECKING:
    from pqchain.engines import evm, prices
    from pqchain.engines.comparison import COMPARED, compare
    from pqchain.engines.frames import HEIGHTS, summarize
    from pqchain.engines.registry import build, engines
    from pqchain.engines.runner import run
    from pqchain.engines.setup import Setup

__all__ = [
    "COMPARED",
    "HEIGHTS",
    "Setup",
    "build",
    "compare",
    "engines",
    "evm",
    "prices",
    "run",
    "summarize",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        **dict.fromkeys(("evm", "prices"), ""),
        "comparison": "COMPARED compare",
        "frames": "HEIGHTS summarize",
        "registry": "build engines",
        "runner": "run",
        "setup": "Setup",
    },
)
