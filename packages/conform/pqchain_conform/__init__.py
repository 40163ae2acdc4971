"""Conformance tests of signature verifiers and KEMs: boundary vectors, adapters, result tables.

import pqchain_conform

vectors = pqchain_conform.vectors(["ML-DSA-44"])    # probe every rule of verification
pqchain_conform.write(vectors, Path("vectors"))     # files in Wycheproof's and ACVP's formats
checks = pqchain_conform.checks(vectors[0])         # result of each rule for one vector

Each name is imported at first use, so that an adapter does not load pandas.
"""

from pqchain import installation

__getattr__, __dir__, __all__ = installation.lazy_exports(__name__, __file__)
