"""Re-encoding of erasure-coded blocks by the remaining nodes after a node failure.

    scenario = pqchain.reencode.preset("quick", block_bytes=640_000)
    pqchain.reencode.replay(scenario).frame

`sweep` replays a repair under many link conditions. Names are loaded at first use.
"""

from pqchain import installation

__getattr__, __dir__, __all__ = installation.lazy_exports(__name__, __file__)
