"""Who decides what is expected: a model of the specification, portable C, and OpenSSL.

They share no code. A vector on which they differ is a mistake of ours, and is never written.
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
"""The portable C build."""

Verify = Callable[[bytes, bytes, bytes, bytes], bool]
"""Message, signature, public key and context in; whether it is valid out."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What the oracles say of one vector."""

    model: str
    """"valid", "invalid" or "acceptable"."""
    portable: bool
    openssl: bool | None
    """None where OpenSSL has not the scheme."""
    strays: tuple[str, ...]
    """Rules that fail in the model and are not of the vector's family."""

    def agree(self, vector: Vector) -> bool:
        """Return whether all say what the vector expects, for the reason that it gives."""
        if self.model != vector.expected or self.strays:
            return False
        if vector.expected == "acceptable":
            return True
        said = {self.portable, self.openssl} - {None}
        return said == {vector.expected == "valid"}


@cache
def model(algorithm: str) -> Model:
    """Return the model of an algorithm."""
    if scheme(algorithm) == "ml-dsa":
        return ml_dsa_verifier.Verifier(algorithm)
    return falcon_verifier.Verifier(algorithm)


def checks(vector: Vector) -> list[Check]:
    """Return what the model says of every rule."""
    return list(model(vector.algorithm).checks(*vector.case))


def portable(algorithm: str, implementation: str = PORTABLE) -> Verify:
    """Return a verifier of ours, in which a wrong length is a refusal and not an error."""
    signer = open_signer(algorithm, implementation)

    def verify(message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        try:
            return signer.verify(message, signature, public_key, context)
        except BadLength:
            return False

    return verify


def judge(vectors: Iterable[Vector], algorithm: str) -> Iterator[tuple[Vector, Verdicts]]:
    """Yield every vector with what the oracles say; all are of that algorithm."""
    c, third = portable(algorithm), openssl.verifier(algorithm)
    known = families(scheme(algorithm))
    for vector in vectors:
        found = checks(vector)
        failed = (check.name for check in found if not check.holds)
        verdicts = Verdicts(
            model=expected(found),
            portable=c(*vector.case),
            openssl=_unraised(third, vector.case) if third else None,
            strays=tuple(name for name in failed if name not in known[vector.family].checks),
        )
        yield vector, verdicts


def _unraised(verify: Verify, case: Case) -> bool:
    try:
        return verify(*case)
    except ValueError:
        return False


def decided(vectors: Iterable[Vector], algorithm: str) -> tuple[Vector, ...]:
    """Return the vectors if all oracles agree on each. Raises DataError with the first few."""
    judged = list(judge(vectors, algorithm))
    wrong = [f"{v.ident} ({v.probe}): {said}" for v, said in judged if not said.agree(v)]
    if wrong:
        raise DataError(
            f"the oracles do not agree on {len(wrong)} vectors of {algorithm}, so pqchain is "
            f"wrong somewhere; please report it: {'; '.join(wrong[:3])}"
        )
    return tuple(vector for vector, _ in judged)
