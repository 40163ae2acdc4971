"""pqchain: post-quantum cryptography in blockchains, measured, modelled and compared.

Measure: `measure`, `measure_blocks`, `machine`, `bench`. Sign: `open_signer`, `open_kem`,
`crypto`, `falcon`, `chain`. Model: `study`, `whatif`, `consensus`, `delegates`, `reencode`.
Compare with works: `papers`, `works`, `reproduce`. Schemes: `algorithms`, `schemes`, `register`,
`costs`. Files, figures and tables: `results`, `plots`, `show`, `sentence`.

Importing this package is fast: every name of `__all__` is imported at first use.
"""

from pqchain import installation

__version__ = installation.VERSION

__getattr__, __dir__, __all__ = installation.lazy_exports(__name__, __file__)
__all__ += ["__version__"]
