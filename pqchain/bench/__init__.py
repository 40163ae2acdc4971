"""Benchmarks on this machine: single cryptographic operations, and whole blocks.

frame = pqchain.measure("Falcon-512", preset="quick")
blocks = pqchain.measure_blocks(["Falcon-512"], transactions=1000)

The modules that measure are imported at first use, so that the presets alone load quickly.
"""

from pqchain import installation

__getattr__, __dir__, __all__ = installation.lazy_exports(__name__, __file__)
