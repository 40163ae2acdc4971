"""User-defined signature schemes: Python classes, and placeholders for schemes without code.

Code from a file is used in a child process (`pqchain.crypto.isolation`), which runs `first_use` and
`perform`; a registered object is used in this process.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from pqchain import algorithms
from pqchain.algorithms import Algorithm
from pqchain.crypto import library_check, open_scheme
from pqchain.crypto.interface import Signer
from pqchain.crypto.isolation import describe
from pqchain.crypto.library_check import MAX_SIZE_BYTES, CheckedSigner, LibrarySigner
from pqchain.errors import CryptoFailure, UsageError

METHODS = ("generate_keypair", "sign", "verify")

SIZES = ("public_key_bytes", "secret_key_bytes", "signature_bytes")
"""Attributes that a class needs besides `name`; `signature_max_bytes` too if lengths vary."""

PLACEHOLDER_SECRET_BYTES = 32


class UserSigner(CheckedSigner):
    """Adapter that checks the results of a user's class; its exceptions become a CryptoFailure."""

    def __init__(self, algorithm: Algorithm, implementation: str, make: Callable[[], Any]) -> None:
        self._make = make
        super().__init__(algorithm, implementation)

    def _prepare(self) -> None:
        self._instance = self._call("")

    def _call(self, method: str, *arguments: bytes) -> Any:
        try:
            function = getattr(self._instance, method) if method else self._make
            return function(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also SystemExit, which would end the caller unnoticed
            name = f"{self.algorithm.name}.{method}".rstrip(".")
            raise CryptoFailure(f"{name}() raised {describe(error)}") from error

    def failure(self, method: str, requirement: str) -> CryptoFailure:
        """Return the error of a method that violates a requirement, with the method's location."""
        code = getattr(getattr(self._instance, method, None), "__code__", None)
        prefix = f"{Path(code.co_filename).name}:{code.co_firstlineno}: " if code else ""
        return CryptoFailure(f"{prefix}{self.algorithm.name}.{method}() {requirement}.")

    def generate_keypair(self) -> tuple[bytes, bytes]:
        """Return a fresh (public key, secret key). Raises CryptoFailure for other lengths."""
        pair = self._call("generate_keypair")
        expected = [self._public_key_bytes, self._secret_key_bytes]
        lengths = [_length(key) for key in pair] if type(pair) in (tuple, list) else _length(pair)
        if lengths != expected:
            raise self.failure(
                "generate_keypair",
                f"must return a public key and a secret key of {expected[0]} and {expected[1]} "
                f"bytes; got {lengths}",
            )
        return pair[0], pair[1]

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        signature: bytes = self._call("sign", message, secret_key)
        if _length(signature) not in self._possible:
            raise self.failure(
                "sign",
                f"must return {self._possible[0]} to {self._possible[-1]} bytes; got "
                f"{_length(signature)}. Correct the sizes that the class states",
            )
        return signature

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        verdict = self._call("verify", message, signature, public_key)
        # A truthy value, such as an error text, must not count as a valid signature.
        if verdict is not True and verdict is not False:
            kind = type(verdict).__name__
            raise self.failure("verify", f"must return True or False; got a value of type {kind}")
        return verdict


class Placeholder(Signer):
    """Placeholder for a scheme without code: keys and signatures are hashes of the right length.

    The signatures are not secure, because the public key suffices to compute them. They fill blocks
    and messages, and do not verify for changed messages or keys. Their times are meaningless.
    """

    def _prepare(self) -> None:
        pass

    def generate_keypair(self) -> tuple[bytes, bytes]:
        """Return a hash of the secret key as public key, and a secret key of 32 bytes."""
        secret = os.urandom(PLACEHOLDER_SECRET_BYTES)
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


def attributes(user_class: Any) -> dict[str, Any]:
    """Return name and sizes of a user's class. Raises UsageError, which lists all mistakes."""
    fields = {name: getattr(user_class, name, None) for name in ("name", *SIZES)}
    longest = getattr(user_class, "signature_max_bytes", fields["signature_bytes"])
    fields["signature_max_bytes"] = longest
    wrong = [
        f"it lacks {name}()" for name in METHODS if not callable(getattr(user_class, name, None))
    ]
    wrong += [
        f"{name} must be a whole number from 1 to {MAX_SIZE_BYTES}"
        for name, size in fields.items()
        if name != "name" and not (type(size) is int and 0 < size <= MAX_SIZE_BYTES)
    ]
    if wrong:
        class_name = getattr(user_class, "__name__", type(user_class).__name__)
        raise UsageError(f"{class_name} is not a signature scheme: {'; '.join(wrong)}")
    return fields


def load_class(location: str) -> Any:
    """Return the class at "file.py:Class" or "module:Class". Raises UsageError with the line."""
    file, _, name = location.rpartition(":")
    if not file or not name:
        raise UsageError(f"{location!r} must be file.py:Class or module:Class.")
    try:
        is_path = file.endswith(".py")
        module = _load_file(Path(file)) if is_path else importlib.import_module(file)
        return getattr(module, name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A missing class, in contrast to an AttributeError raised by the module's own code.
        if isinstance(error, AttributeError) and error.name == name and error.obj is module:
            raise UsageError(
                f"{file} has no {name!r}; name a class with the methods of Signer"
            ) from None
        raise UsageError(f"{location} cannot be imported: {describe(error)}") from error


def _load_file(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"the file {path} does not exist")
    spec = importlib.util.spec_from_file_location(f"pqchain_user_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _length(value: object) -> object:
    return len(value) if type(value) is bytes else type(value).__name__


@cache
def _opened(algorithm: str, implementation: str) -> Any:
    return open_scheme(algorithms.get(algorithm), implementation)


def first_use(algorithm: str, implementation: str) -> None:
    """Use a scheme once, in the child. Raises CryptoFailure."""
    # A shared library is used with guard bytes after its buffers.
    file = algorithms.implementation(implementation).file
    signer = LibrarySigner(file, algorithm) if file else _opened(algorithm, implementation)
    library_check.first_use(signer)


def perform(
    algorithm: str, implementation: str, operation: str, values: list[Any], **options: Any
) -> Any:
    """Perform an operation, in the child, on hexadecimal texts or lists of them."""
    inputs = [
        bytes.fromhex(value) if isinstance(value, str) else list(map(bytes.fromhex, value))
        for value in values
    ]
    return getattr(_opened(algorithm, implementation), operation)(*inputs, **options)
