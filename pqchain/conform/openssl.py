"""Verification with ML-DSA by OpenSSL, through the package cryptography."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

Verify = Callable[[bytes, bytes, bytes, bytes], bool]


def verifier(algorithm: str) -> Verify | None:
    """Return OpenSSL's verifier, None if this cryptography or its OpenSSL has none.

    It takes message, signature, public key and context. A key or context of a wrong length raises
    ValueError.
    """
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    try:
        module = import_module("cryptography.hazmat.primitives.asymmetric.mldsa")
        key_class = getattr(module, f"MLDSA{algorithm.removeprefix('ML-DSA-')}PublicKey")
        key_class.from_public_bytes(bytes(1))
    except (ImportError, AttributeError, UnsupportedAlgorithm):
        return None
    except ValueError:
        pass  # one byte is no key: so keys are looked at

    def verify(message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        key = key_class.from_public_bytes(public_key)
        try:
            key.verify(signature, message, context or None)
        except InvalidSignature:
            return False
        return True

    return verify


def version() -> str:
    """Return the versions of cryptography and of its OpenSSL, in words."""
    import cryptography
    from cryptography.hazmat.backends.openssl import backend

    words = backend.openssl_version_text().split()
    return f"{cryptography.__version__} ({' '.join(words[:2])})"
