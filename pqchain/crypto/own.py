"""Signers of the user's own: a Python class, and hashes that stand in for mere numbers."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

from pqchain.algorithms import Algorithm
from pqchain.crypto.interface import Signer
from pqchain.errors import CryptoFailure, UsageError

METHODS = ("generate_keypair", "sign", "verify")
"""What a class of the user's own does."""

SIZES = ("public_key_bytes", "secret_key_bytes", "signature_bytes")
"""What it says of itself, beside `name`; and `signature_max_bytes` where lengths vary."""

STAND_IN_SECRET_BYTES = 32


class OwnSigner(Signer):
    """A class with the methods of `Signer`; what it returns is checked, because it is new."""

    def __init__(self, algorithm: Algorithm, implementation: str, make: Callable[[], Any]) -> None:
        self._make = make
        super().__init__(algorithm, implementation)

    def _prepare(self) -> None:
        self._own = self._make()

    def generate_keypair(self) -> tuple[bytes, bytes]:
        """Return a fresh key pair, of the lengths that the class states."""
        pair = self._own.generate_keypair()
        expected = (self._public_key_bytes, self._secret_key_bytes)
        if not isinstance(pair, tuple) or tuple(map(_length, pair)) != expected:
            found = [_length(each) for each in pair] if isinstance(pair, tuple) else pair
            raise CryptoFailure(
                f"{self.algorithm.name}.generate_keypair() gave {found}; expected a public key and "
                f"a secret key of {expected[0]} and {expected[1]} bytes"
            )
        return pair[0], pair[1]

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        signature: bytes = self._own.sign(message, secret_key)
        if _length(signature) not in self._possible:
            raise CryptoFailure(
                f"{self.algorithm.name}.sign() gave {_length(signature)}; expected bytes, "
                f"{self._possible[0]} to {self._possible[-1]} of them: correct signature_bytes or "
                "signature_max_bytes of the class"
            )
        return signature

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        verdict = self._own.verify(message, signature, public_key)
        if not isinstance(verdict, bool):
            raise CryptoFailure(
                f"{self.algorithm.name}.verify() gave {verdict!r}; expected True or False"
            )
        return verdict


class StandIn(Signer):
    """Hashes of the right length for a scheme of which only numbers are known.

    Whoever knows the public key can make them, so they protect nothing: they fill blocks and
    messages, and change where something was changed. Their times mean nothing.
    """

    def _prepare(self) -> None:
        pass

    def generate_keypair(self) -> tuple[bytes, bytes]:
        """Return a secret of 32 bytes, and its hash of the public key's length."""
        secret = os.urandom(STAND_IN_SECRET_BYTES)
        return self._public(secret), secret

    def _public(self, secret: bytes) -> bytes:
        return hashlib.shake_256(b"public key" + secret).digest(self._public_key_bytes)

    def _signature(self, message: bytes, public_key: bytes) -> bytes:
        length = self.algorithm.signature_bytes
        return hashlib.shake_256(b"signature" + public_key + message).digest(length)

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        return self._signature(message, self._public(secret_key))

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        return signature == self._signature(message, public_key)


def described(own: Any) -> dict[str, Any]:
    """Return name and sizes that a class states. Raises UsageError with all that it lacks."""
    what = getattr(own, "__name__", type(own).__name__)
    lacking = [f"{name}()" for name in METHODS if not callable(getattr(own, name, None))]
    lacking += [
        f"{name}, a whole number" for name in SIZES if not isinstance(getattr(own, name, None), int)
    ]
    if not isinstance(name := getattr(own, "name", None), str):
        lacking.append("name, a text")
    if lacking:
        raise UsageError(f"{what} is no signer: it lacks {'; '.join(lacking)}")
    sizes = {each: getattr(own, each) for each in SIZES}
    longest = getattr(own, "signature_max_bytes", sizes["signature_bytes"])
    return {"name": name, **sizes, "signature_max_bytes": longest}


def _length(value: object) -> object:
    return len(value) if isinstance(value, bytes) else type(value).__name__
