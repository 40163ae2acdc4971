"""Generators of boundary vectors under crafted and honest keys; every run gives equal bytes."""

from __future__ import annotations

from functools import cache

from pqchain_conform.vector import Vector, scheme


@cache
def generate(algorithm: str) -> tuple[Vector, ...]:
    """Return all vectors of an algorithm; takes some seconds, about 10 s for Falcon.

    Falcon's vectors under honest keys need the portable build of liboqs. Raises UnknownName for an
    algorithm without vectors, and Unsupported if that build is missing.
    """
    if scheme(algorithm) == "ml-dsa":
        from pqchain_conform.generators import ml_dsa, ml_dsa_honest

        return ml_dsa.collect(algorithm, ml_dsa_honest.extend)
    if scheme(algorithm) == "slh-dsa":
        from pqchain_conform.generators import slh_dsa

        return slh_dsa.collect(algorithm)
    if scheme(algorithm) == "ml-kem":
        from pqchain_conform.generators import ml_kem

        return ml_kem.collect(algorithm)
    from pqchain_conform.generators import falcon

    return falcon.collect(algorithm)
