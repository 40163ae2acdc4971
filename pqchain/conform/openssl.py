"""ML-DSA verification with OpenSSL, through the package cryptography."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

Verify = Callable[[bytes, bytes, bytes, bytes], bool]


def verifier(algorithm: str) -> Verify | None:
    """Return OpenSSL's verifier, or None if the cryptography package or its OpenSSL lacks ML-DSA.

    The verifier takes message, signature, public key and context. It raises ValueError for a key or
    context of a wrong length.
    """
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    # Old versions lack the module or the class. Others have both but an OpenSSL without ML-DSA,
    # which shows only when a key is loaded: hence the trial with an invalid key of one byte.
    try:
        module = import_module("cryptography.hazmat.primitives.asymmetric.mldsa")
        key_class = getattr(module, f"MLDSA{algorithm.removeprefix('ML-DSA-')}PublicKey")
        key_class.from_public_bytes(bytes(1))
    except (ImportError, AttributeError, UnsupportedAlgorithm):
        return None
    except ValueError:
        pass  # the invalid key was parsed and rejected, so ML-DSA is available

    def verify(message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        key = key_class.from_public_bytes(public_key)
        try:
            key.verify(signature, message, context or None)
        except InvalidSignature:
            return False
        return True

    return verify


def version() -> str:
    """Return the versions of cryptography and its OpenSSL, such as "46.0.1 (OpenSSL 3.5.2)"."""
    import cryptography
    from cryptography.hazmat.backends.openssl import backend

    name, number, *_ = backend.openssl_version_text().split()
    return f"{cryptography.__version__} ({name} {number})"
