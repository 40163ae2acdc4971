"""Oracles for expected results: a model of the specification, portable C, and OpenSSL.

The oracles share no code. If they disagree on a vector, pqchain has a defect and writes no vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from pqchain.crypto import obstacle
from pqchain.errors import InvalidResult, Unsupported
from pqchain_conform import implementations
from pqchain_conform.models import falcon, ml_dsa, ml_kem, slh_dsa_verifier
from pqchain_conform.models.checks import ReferenceModel, RuleCheck, expected
from pqchain_conform.vector import Vector, families, scheme


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts of the oracles on one vector."""

    model: str
    portable: bool | None
    openssl: bool | None
    """None if OpenSSL lacks the scheme or the operation."""
    unexpected_failures: tuple[str, ...]
    """Rules that fail in the model but do not belong to the vector's family."""

    def agree(self, vector: Vector) -> bool:
        """Return whether all verdicts are the expected one and only the probed rules fail."""
        # If another rule failed too, a verifier without the probed rule would still reject the
        # vector and pass unnoticed.
        if self.model != vector.expected or self.unexpected_failures:
            return False
        # Implementations may legitimately differ here.
        if vector.expected == "acceptable":
            return True
        return {self.portable, self.openssl} - {None} == {vector.expected == "valid"}


@cache
def model(algorithm: str) -> ReferenceModel:
    """Return the model verifier of an algorithm."""
    return _MODELS[scheme(algorithm)](algorithm)


_MODELS: dict[str, type[ReferenceModel]] = {
    "ml-dsa": ml_dsa.MLDSAVerifier,
    "falcon": falcon.FalconVerifier,
    "slh-dsa": slh_dsa_verifier.SLHDSAVerifier,
    "ml-kem": ml_kem.MLKEMDecapsulator,
}


def portable(algorithm: str) -> str:
    """Return the name of the portable C build of an algorithm."""
    return "slhdsa/ref" if scheme(algorithm) == "slh-dsa" else "liboqs-0.13/ref"


def checks(vector: Vector) -> list[RuleCheck]:
    """Return the model's result for each rule that it applies to the vector."""
    return list(model(vector.algorithm).checks(*vector.case))


def judge(vectors: Iterable[Vector], algorithm: str) -> Iterator[tuple[Vector, Verdicts]]:
    """Yield each vector with the oracles' verdicts; all vectors must be of `algorithm`.

    Raises Unsupported if the portable C build is missing.
    """
    name = portable(algorithm)
    if missing := obstacle(name):
        raise Unsupported(f"{name} is unavailable here: {missing}")
    known = families(scheme(algorithm))
    for vector in vectors:
        results = checks(vector)
        failed = (check.name for check in results if not check.holds)
        verdicts = Verdicts(
            model=expected(results),
            portable=implementations.accepts(name, vector),
            openssl=implementations.accepts("openssl", vector),
            unexpected_failures=tuple(
                name for name in failed if name not in known[vector.family].checks
            ),
        )
        yield vector, verdicts


def decided(vectors: Iterable[Vector], algorithm: str) -> tuple[Vector, ...]:
    """Return the vectors unchanged. Raises InvalidResult if the oracles disagree on one."""
    judged = list(judge(vectors, algorithm))
    wrong = [f"{v.ident} ({v.probe}): {result}" for v, result in judged if not result.agree(v)]
    if wrong:
        raise InvalidResult(
            f"the oracles disagree on {len(wrong)} vectors of {algorithm}: {'; '.join(wrong[:3])}. "
            "Report this defect of pqchain."
        )
    return tuple(vector for vector, _ in judged)
