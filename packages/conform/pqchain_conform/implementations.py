"""Verdicts of implementations in this process: pqchain's builds, and OpenSSL."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from pqchain.crypto import Kem, Signer, open_kem, open_signer
from pqchain.errors import BadLength, CryptoFailure, Unsupported, UsageError
from pqchain_conform.vector import Vector

Verify = Callable[[bytes, bytes, bytes, bytes], bool]

IN_BATCH = "+batch"
"""Ending of an implementation's name: each signature is verified within a batch of valid ones."""


class Encapsulator:
    """ML-KEM of OpenSSL, without decapsulation: the package takes those keys only as seeds."""

    def __init__(self, key_class: Any) -> None:
        self._key_class = key_class

    def encapsulate(self, public_key: bytes) -> tuple[bytes, bytes]:
        """Return (ciphertext, shared secret). Raises ValueError for a key that it refuses."""
        secret, ciphertext = self._key_class.from_public_bytes(public_key).encapsulate()
        return ciphertext, secret


def openssl_kem(algorithm: str) -> Encapsulator | None:
    """Return ML-KEM, or None if the package or its OpenSSL lacks the parameter set."""
    key_class = _public_key_class("mlkem", algorithm.replace("-", ""))
    return None if key_class is None else Encapsulator(key_class)


def openssl_verifier(algorithm: str) -> Verify | None:
    """Return OpenSSL's verifier, or None if the cryptography package or its OpenSSL lacks ML-DSA.

    The verifier takes message, signature, public key and context. It raises ValueError for a key or
    context of a wrong length.
    """
    from cryptography.exceptions import InvalidSignature

    key_class = _public_key_class("mldsa", algorithm.replace("-", ""))
    if key_class is None:
        return None

    def verify(message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        key = key_class.from_public_bytes(public_key)
        try:
            key.verify(signature, message, context or None)
        except InvalidSignature:
            return False
        return True

    return verify


def _public_key_class(module: str, name: str) -> Any:
    """Return the class of public keys of an algorithm such as MLDSA44, or None if it is missing."""
    from cryptography.exceptions import UnsupportedAlgorithm

    # Old versions lack the module or the class. Others have both but an OpenSSL without the
    # algorithm, which shows only when a key is loaded: hence the trial with a key of one byte.
    try:
        package = import_module(f"cryptography.hazmat.primitives.asymmetric.{module}")
        key_class = getattr(package, f"{name}PublicKey")
        key_class.from_public_bytes(bytes(1))
    except (ImportError, AttributeError, UnsupportedAlgorithm):
        return None
    except ValueError:
        pass  # the key was parsed and rejected, so the algorithm is available
    return key_class


def openssl_version() -> str:
    """Return the versions of cryptography and its OpenSSL, such as "46.0.1 (OpenSSL 3.5.2)"."""
    import cryptography
    from cryptography.hazmat.backends.openssl import backend

    name, number, *_ = backend.openssl_version_text().split()
    return f"{cryptography.__version__} ({name} {number})"


@cache
def _verifier(name: str, algorithm: str) -> Verify | None:
    if name == "openssl":
        return openssl_verifier(algorithm) if algorithm.startswith("ML-DSA") else None
    try:
        signer = open_signer(algorithm, name and name.removesuffix(IN_BATCH))
        return _in_batch(signer) if name and name.endswith(IN_BATCH) else signer.verify
    except (Unsupported, UsageError):
        return None


def _in_batch(signer: Signer) -> Verify:
    """Return a verifier that puts each signature at another place among ten valid ones."""
    public_key, secret_key = signer.generate_keypair()
    messages = [bytes(200), b""] * 5
    valid = [(message, signer.sign(message, secret_key), public_key) for message in messages[:2]]

    def verify(message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        if context:  # a batch takes none
            return signer.verify(message, signature, public_key, context)
        place = (len(message) + sum(signature)) % (len(messages) + 1)
        items = valid * 5
        items.insert(place, (message, signature, public_key))
        wrong = signer.verify_batch(*map(list, zip(*items, strict=True)))
        if wrong not in ([], [place]):
            raise AssertionError(f"only signature {place} may be wrong; got {wrong}")
        return not wrong

    return verify


@cache
def _kem(name: str, algorithm: str) -> Kem | Encapsulator | None:
    if name == "openssl":
        return openssl_kem(algorithm) if algorithm.startswith("ML-KEM") else None
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
