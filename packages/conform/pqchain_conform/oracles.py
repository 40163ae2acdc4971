"""Oracles for expected results: a model of the specification, portable C, and OpenSSL.

The oracles share no code. If they disagree on a vector, pqchain has a defect and writes no vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from pqchain.crypto import open_kem, open_signer
from pqchain.crypto.slhdsa import SlhDsaSigner
from pqchain.errors import BadLength, CryptoFailure, InvalidResult, Unsupported
from pqchain_conform import openssl
from pqchain_conform.models import (
    falcon_verifier,
    ml_dsa_verifier,
    ml_kem_decapsulator,
    slh_dsa_verifier,
)
from pqchain_conform.models.checks import ReferenceModel, RuleCheck, expected
from pqchain_conform.models.slh_dsa import pre_hash_name
from pqchain_conform.vector import Vector, families, scheme

PORTABLE = {"ml-dsa": "liboqs-0.13/ref", "falcon": "liboqs-0.13/ref", "slh-dsa": "slhdsa/ref"}
"""Implementation name of the portable C build, by signature scheme."""

PORTABLE_KEM = "liboqs-0.13/ref"

Oracle = Callable[..., bool]
"""Function of `Vector.case`: whether the answer is the expected one."""


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
    "ml-dsa": ml_dsa_verifier.MLDSAVerifier,
    "falcon": falcon_verifier.FalconVerifier,
    "slh-dsa": slh_dsa_verifier.SLHDSAVerifier,
    "ml-kem": ml_kem_decapsulator.MLKEMDecapsulator,
}


def verify_function(algorithm: str, implementation: str) -> Oracle:
    """Return the function `verify` of an implementation, that of the interface for HashSLH-DSA.

    Raises Unsupported and UsageError as `open_signer` does.
    """
    signer = open_signer(algorithm.removeprefix("Hash"), implementation)
    name = pre_hash_name(algorithm)
    if not name:
        return signer.verify
    if not isinstance(signer, SlhDsaSigner):
        raise Unsupported(f"{implementation} does not verify {algorithm}; use slhdsa/ref")

    def verify(message: bytes, signature: bytes, public_key: bytes, context: bytes = b"") -> bool:
        return signer.verify_prehash(
            message, signature, public_key, hash_name=name, context=context
        )

    return verify


def portable(algorithm: str) -> Oracle:
    """Return the portable C build as an oracle. Raises Unsupported if it is missing."""
    if scheme(algorithm) != "ml-kem":
        return verify_function(algorithm, PORTABLE[scheme(algorithm)])
    kem = open_kem(algorithm, PORTABLE_KEM)

    def accepts(
        operation: str, key: bytes, ciphertext: bytes = b"", shared_secret: bytes = b""
    ) -> bool:
        if operation == "encapsulate":
            return bool(kem.encapsulate(key))
        return kem.decapsulate(ciphertext, key) == shared_secret or not shared_secret

    return accepts


def checks(vector: Vector) -> list[RuleCheck]:
    """Return the model's result for each rule that it applies to the vector."""
    return list(model(vector.algorithm).checks(*vector.case))


def judge(vectors: Iterable[Vector], algorithm: str) -> Iterator[tuple[Vector, Verdicts]]:
    """Yield each vector with the oracles' verdicts; all vectors must be of `algorithm`."""
    by_portable, by_openssl = portable(algorithm), openssl.oracle(algorithm)
    known = families(scheme(algorithm))
    for vector in vectors:
        results = checks(vector)
        failed = (check.name for check in results if not check.holds)
        verdicts = Verdicts(
            model=expected(results),
            portable=_accepts(by_portable, vector),
            openssl=_accepts(by_openssl, vector) if by_openssl else None,
            unexpected_failures=tuple(
                name for name in failed if name not in known[vector.family].checks
            ),
        )
        yield vector, verdicts


def _accepts(oracle: Oracle, vector: Vector) -> bool | None:
    try:
        return oracle(*vector.case)
    except NotImplementedError:
        return None
    # An error instead of an answer, as for a wrong length, counts as a rejection.
    except (BadLength, CryptoFailure, ValueError):
        return False


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
