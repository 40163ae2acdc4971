"""PQ-DPoL delegates that execute the protocol: real blocks, signatures and message bytes.

    one = pqchain.consensus.Scenario(algorithm="Falcon-512", costs=costs, nodes=8)
    pqchain.delegates.run(one, mode="loopback").latency_seconds

`frame` returns runs, modelled ones included, as one frame. Names are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain.installation import lazy_exports

if TYPE_CHECKING:
    from pqchain.delegates.modes import MODES, frame, run

__all__ = ["MODES", "frame", "run"]

__getattr__, __dir__ = lazy_exports(__name__, {"modes": "MODES frame run"})
