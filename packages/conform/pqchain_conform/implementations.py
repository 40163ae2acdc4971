"""Verdicts of implementations in this process: pqchain's builds, and OpenSSL."""

from __future__ import annotations

from functools import cache

from pqchain.crypto import Kem, open_kem, open_signer
from pqchain.crypto.slhdsa import SlhDsaSigner
from pqchain.errors import BadLength, CryptoFailure, Unsupported, UsageError
from pqchain_conform import openssl
from pqchain_conform.models.slh_dsa import pre_hash_name
from pqchain_conform.vector import Vector


@cache
def _verifier(name: str, algorithm: str) -> openssl.Verify | None:
    """Return the function `verify`, of the interface for HashSLH-DSA; None if it is missing."""
    if name == "openssl":
        return openssl.verifier(algorithm) if algorithm.startswith("ML-DSA") else None
    try:
        signer = open_signer(algorithm.removeprefix("Hash"), name)
    except (Unsupported, UsageError):
        return None
    hash_name = pre_hash_name(algorithm)
    if not hash_name:
        return signer.verify
    if not isinstance(signer, SlhDsaSigner):
        return None
    return lambda message, signature, public_key, context: signer.verify_prehash(
        message, signature, public_key, hash_name=hash_name, context=context
    )


@cache
def _kem(name: str, algorithm: str) -> Kem | openssl.Encapsulator | None:
    if name == "openssl":
        return openssl.encapsulator(algorithm) if algorithm.startswith("ML-KEM") else None
    try:
        return open_kem(algorithm, name)
    except (Unsupported, UsageError):
        return None


def answer(name: str, operation: str, algorithm: str, *data: bytes) -> tuple[str, bytes]:
    """Return an implementation's verdict, a key of `protocol.VERDICTS`, and a shared secret.

    `name` is one of pqchain's registry, or "openssl"; `data` has the byte strings of
    `protocol.OPERATIONS`. Only decapsulations give a secret.
    """
    try:
        if operation == "verify":
            public_key, message, context, signature = data
            if (verify := _verifier(name, algorithm)) is None:
                return "unsupported", b""
            accepted = verify(message, signature, public_key, context)
            return "accept" if accepted else "reject", b""
        kem = _kem(name, algorithm)
        if operation == "encapsulate" and kem:
            kem.encapsulate(*data)
            return "accept", b""
        if operation == "decapsulate" and isinstance(kem, Kem):
            key, ciphertext = data
            return "accept", kem.decapsulate(ciphertext, key)
        return "unsupported", b""
    except (BadLength, CryptoFailure, ValueError):
        # An error instead of a verdict, as for a key of a wrong length.
        return "refuse", b""


def accepts(name: str, vector: Vector) -> bool | None:
    """Return whether an implementation accepts a vector and gives its secret; None if it cannot."""
    verdict, secret = answer(name, vector.operation, vector.algorithm, *vector.data)
    # Without a shared secret in the vector, any is accepted.
    expected = getattr(vector, "shared_secret", b"") or secret
    return None if verdict == "unsupported" else verdict == "accept" and secret == expected
