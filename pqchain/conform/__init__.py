"""Conformance tests of signature verifiers and KEMs: boundary vectors, adapters, result tables.

vectors = pqchain.conform.vectors(["ML-DSA-44"])    # probe every rule of verification
pqchain.conform.write(vectors, Path("vectors"))     # files in Wycheproof's and ACVP's formats
checks = pqchain.conform.checks(vectors[0])         # result of each rule for one vector

Each name is imported at first use, so that an adapter does not load pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pqchain.installation import lazy_exports

if TYPE_CHECKING:
    from pqchain.conform.oracles import checks
    from pqchain.conform.signers import ModelSigner
    from pqchain.conform.suite import digests, vectors, write
    from pqchain.conform.vector import Family, Vector, families

__all__ = ["Family", "ModelSigner", "Vector", "checks", "digests", "families", "vectors", "write"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "oracles": "checks",
        "signers": "ModelSigner",
        "suite": "digests vectors write",
        "vector": "Family Vector families",
    },
)
