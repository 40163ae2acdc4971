"""Signers and KEMs from a user's file, with every call in a child process.

A crash, an exit or a hang of that code becomes one CryptoFailure, at the first call and at any
later one. A call takes about 0.1 ms more than in this process; benchmarks therefore make one
`call` per round and measure the time in the child.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pqchain import algorithms
from pqchain.crypto import isolation
from pqchain.crypto.interface import Columns, Kem, Scheme, Signer
from pqchain.errors import CryptoFailure, UsageError

LIMIT_VARIABLE = "PQCHAIN_USER_CODE_SECONDS"
"""Environment variable with the timeout in seconds of loading user code and of its first use."""

_DEFAULT_LIMIT_SECONDS = 6.0
_SLOWDOWN = 10
"""Timeout of an operation as a multiple of the time of its first use."""

_first_uses: dict[tuple[str, str], float | CryptoFailure] = {}
"""Time in seconds of the first use, or its error, by (location of the code, algorithm)."""


def limit_seconds() -> float:
    """Return the timeout in seconds of loading and first using user code. Raises UsageError."""
    text = os.environ.get(LIMIT_VARIABLE) or str(_DEFAULT_LIMIT_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise UsageError(f"{LIMIT_VARIABLE} must be seconds above 0, up to 86400; got {text!r}.")
    return seconds


def forget(location: str) -> None:
    """Discard cached state of the code at a location, so that its next use reloads it."""
    isolation.forget(location)
    for key in [key for key in _first_uses if key[0] == location]:
        del _first_uses[key]


def call(
    locations: Sequence[str],
    function: str,
    *,
    expected_seconds: float = 0.0,
    keep: bool = True,
    **arguments: Any,
) -> Any:
    """Call a function in a child process in which the code at `locations` is registered.

    The timeout is `limit_seconds()` plus ten times `expected_seconds`. Raises CryptoFailure as
    `isolation.call` does, with the name of the file.
    """
    limit = limit_seconds() + _SLOWDOWN * expected_seconds
    try:
        return isolation.call(
            function, limit_seconds=limit, schemes=locations, keep=keep, **arguments
        )
    except CryptoFailure as error:
        # Name the file, unless the error does so already with the line.
        text, files = str(error), [Path(at.rpartition(":")[0] or at).name for at in locations]
        if not any(file in text for file in files):
            text = f"{', '.join(files)}: {text}"
        if isinstance(error, isolation.CallTimeout):
            text += f"; if it is only slow, set {LIMIT_VARIABLE} above {limit_seconds():g}"
        raise type(error)(text) from error


def first_use_seconds(algorithm: str, implementation: str) -> float:
    """Return the time in seconds of the first use: key pair, signature and two verifications.

    For a KEM: key pair, encapsulation and decapsulation. Measured once per scheme; if that failed,
    every call raises CryptoFailure.
    """
    location = algorithms.implementation(implementation).location
    key = (location, algorithm)
    if key not in _first_uses:
        try:
            _first_uses[key] = call(
                [location], "pqchain.crypto.child_calls:first_use",
                algorithm=algorithm, implementation=implementation,
            )  # fmt: skip
        except CryptoFailure as error:
            _first_uses[key] = error
    outcome = _first_uses[key]
    if isinstance(outcome, CryptoFailure):
        raise CryptoFailure(str(outcome))
    return outcome


class _Isolated(Scheme):
    # Opening includes the first use: it finds code that does not work before the code is needed,
    # and gives the expected time from which the timeouts of later calls are derived.
    def _prepare(self) -> None:
        self._location = algorithms.implementation(self.implementation).location
        self._seconds = first_use_seconds(self.algorithm.name, self.implementation)

    # Requests and results are JSON, which has no bytes: they are passed as hexadecimal text.
    def _perform(self, operation: str, *arguments: bytes) -> Any:
        return call(
            [self._location], "pqchain.crypto.child_calls:perform", expected_seconds=self._seconds,
            algorithm=self.algorithm.name, implementation=self.implementation,
            operation=operation, values=[value.hex() for value in arguments],
        )  # fmt: skip

    def generate_keypair(self) -> tuple[bytes, bytes]:
        public_key, secret_key = map(bytes.fromhex, self._perform("generate_keypair"))
        return public_key, secret_key


class IsolatedSigner(_Isolated, Signer):
    """A signature scheme of the user, run in a child process."""

    def _sign(self, message: bytes, secret_key: bytes, context: bytes) -> bytes:
        return bytes.fromhex(self._perform("sign", message, secret_key))

    def _verify(self, message: bytes, signature: bytes, public_key: bytes, context: bytes) -> bool:
        return bool(self._perform("verify", message, signature, public_key))

    def _verify_batch(self, columns: Columns, *, threads: int, stop_at_first: bool) -> list[int]:
        # One call for the whole batch, because each call has a fixed cost.
        wrong: list[int] = call(
            [self._location], "pqchain.crypto.child_calls:perform_batch",
            expected_seconds=self._seconds * len(columns[0]),
            algorithm=self.algorithm.name, implementation=self.implementation,
            columns=[[value.hex() for value in column] for column in columns],
            threads=threads, stop_at_first=stop_at_first,
        )  # fmt: skip
        return wrong


class IsolatedKem(_Isolated, Kem):
    """A key-encapsulation mechanism of the user, run in a child process."""

    def _encapsulate(self, public_key: bytes) -> tuple[bytes, bytes]:
        ciphertext, secret = map(bytes.fromhex, self._perform("encapsulate", public_key))
        return ciphertext, secret

    def _decapsulate(self, ciphertext: bytes, secret_key: bytes) -> bytes:
        return bytes.fromhex(self._perform("decapsulate", ciphertext, secret_key))
