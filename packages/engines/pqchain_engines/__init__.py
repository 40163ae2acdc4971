"""Consensus engines and an EVM of other projects, run with post-quantum signatures.

Adapters in Go and Rust, built on demand from pinned sources in the user's cache, run the engines as
their projects release them. One frame has a row per block height, whichever the engine.
"""

from pqchain import installation

__getattr__, __dir__, __all__ = installation.lazy_exports(__name__, __file__)
