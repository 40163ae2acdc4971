"""Oracles for expected results: a model of the specification, portable C, and OpenSSL.

The oracles share no code. If they disagree on a vector, pqchain has a defect and writes no vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from pqchain.conform import openssl
from pqchain.conform.models import falcon_verifier, ml_dsa_verifier
from pqchain.conform.models.checks import Check, Model, expected
from pqchain.conform.vector import Case, Vector, families, scheme
from pqchain.crypto import open_signer
from pqchain.errors import BadLength, DataError

PORTABLE = "liboqs-0.13/ref"
"""Implementation name of the portable C build."""

Verify = Callable[[bytes, bytes, bytes, bytes], bool]
"""Function of (message, signature, public key, context): whether the signature is valid."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts of the oracles on one vector."""

    model: str
    portable: bool
    openssl: bool | None
    """None if OpenSSL lacks the scheme."""
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
def model(algorithm: str) -> Model:
    """Return the model verifier of an algorithm."""
    if scheme(algorithm) == "ml-dsa":
        return ml_dsa_verifier.MLDSAVerifier(algorithm)
    return falcon_verifier.FalconVerifier(algorithm)


def checks(vector: Vector) -> list[Check]:
    """Return the model's result for each rule that it applies to the vector."""
    return list(model(vector.algorithm).checks(*vector.case))


def judge(vectors: Iterable[Vector], algorithm: str) -> Iterator[tuple[Vector, Verdicts]]:
    """Yield each vector with the oracles' verdicts; all vectors must be of `algorithm`."""
    portable, by_openssl = open_signer(algorithm, PORTABLE).verify, openssl.verifier(algorithm)
    known = families(scheme(algorithm))
    for vector in vectors:
        results = checks(vector)
        failed = (check.name for check in results if not check.holds)
        verdicts = Verdicts(
            model=expected(results),
            portable=_accepts(portable, vector.case),
            openssl=_accepts(by_openssl, vector.case) if by_openssl else None,
            unexpected_failures=tuple(
                name for name in failed if name not in known[vector.family].checks
            ),
        )
        yield vector, verdicts


def _accepts(verify: Verify, case: Case) -> bool:
    try:
        return verify(*case)
    # An error for a wrong length counts as a rejection.
    except (BadLength, ValueError):
        return False


def decided(vectors: Iterable[Vector], algorithm: str) -> tuple[Vector, ...]:
    """Return the vectors unchanged. Raises DataError if the oracles disagree on at least one."""
    judged = list(judge(vectors, algorithm))
    wrong = [f"{v.ident} ({v.probe}): {result}" for v, result in judged if not result.agree(v)]
    if wrong:
        raise DataError(
            f"the oracles disagree on {len(wrong)} vectors of {algorithm}: {'; '.join(wrong[:3])}. "
            "Report this defect of pqchain."
        )
    return tuple(vector for vector, _ in judged)
