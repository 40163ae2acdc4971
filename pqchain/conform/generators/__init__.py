"""Boundary vectors under crafted and honest keys, with the same bytes in every run."""

from __future__ import annotations

from functools import cache

from pqchain.conform.vector import Vector, scheme


@cache
def generate(algorithm: str) -> tuple[Vector, ...]:
    """Return all vectors of an algorithm; ML-DSA takes seconds, Falcon about ten.

    Falcon's vectors under honest keys need the portable build of liboqs. Raises UnknownName for an
    algorithm without vectors, and Unsupported if that build is missing.
    """
    if scheme(algorithm) == "ml-dsa":
        from pqchain.conform.generators import ml_dsa, ml_dsa_honest

        return ml_dsa.collect(algorithm, ml_dsa_honest.extend)
    from pqchain.conform.generators import falcon

    return falcon.collect(algorithm)
