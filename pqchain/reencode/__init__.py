"""Re-encoding of erasure-coded blocks by the remaining nodes after a node failure.

    scenario = pqchain.reencode.preset("quick", block_bytes=640_000)
    pqchain.reencode.replay(scenario).frame

`sweep` replays a repair under many link conditions. Names are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain.installation import lazy_exports

if TYPE_CHECKING:
    from pqchain.reencode.replays import Replay, contrast, replay
    from pqchain.reencode.scenario import Scenario, preset
    from pqchain.reencode.sweeps import sweep

__all__ = ["Replay", "Scenario", "contrast", "preset", "replay", "sweep"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "replays": "Replay contrast replay",
        "scenario": "Scenario preset",
        "sweeps": "sweep",
    },
)
