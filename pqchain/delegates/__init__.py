"""PQ-DPoL delegates that execute the protocol: real blocks, signatures and message bytes.

    scenario = pqchain.consensus.Scenario(algorithm="Falcon-512", costs=costs, nodes=8)
    pqchain.delegates.run(scenario, mode="loopback").latency_seconds

`pqchain.consensus.frame` returns runs of any mode as one frame. Names are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain.installation import lazy_exports

if TYPE_CHECKING:
    from pqchain.delegates.modes import run

__all__ = ["run"]

__getattr__, __dir__ = lazy_exports(__name__, {"modes": "run"})
