"""ML-DSA verification and ML-KEM encapsulation with OpenSSL, through the package cryptography."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

Verify = Callable[[bytes, bytes, bytes, bytes], bool]


class Encapsulator:
    """ML-KEM of OpenSSL, without decapsulation: the package takes those keys only as seeds."""

    def __init__(self, key_class: Any) -> None:
        self._key_class = key_class

    def encapsulate(self, public_key: bytes) -> tuple[bytes, bytes]:
        """Return (ciphertext, shared secret). Raises ValueError for a key that it refuses."""
        secret, ciphertext = self._key_class.from_public_bytes(public_key).encapsulate()
        return ciphertext, secret


def encapsulator(algorithm: str) -> Encapsulator | None:
    """Return ML-KEM, or None if the package or its OpenSSL lacks the parameter set."""
    key_class = _public_key_class("mlkem", algorithm.replace("-", ""))
    return None if key_class is None else Encapsulator(key_class)


def verifier(algorithm: str) -> Verify | None:
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


def version() -> str:
    """Return the versions of cryptography and its OpenSSL, such as "46.0.1 (OpenSSL 3.5.2)"."""
    import cryptography
    from cryptography.hazmat.backends.openssl import backend

    name, number, *_ = backend.openssl_version_text().split()
    return f"{cryptography.__version__} ({name} {number})"
