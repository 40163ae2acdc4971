"""Expanded keys that the fast engine keeps between signatures: the driver's side.

The engine cannot tell keys apart, so the driver remembers a digest of the key that the engine
keeps, and omits the key from requests only if it is the same and the engine still has it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from pqchain.falcon import kernel

KEEP, USE, FORGET = 1, 3, 0
"""Values of the register `key`: keep the request's key, use the kept one, wipe it."""

KEPT = 4
"""Bit of the register `key`: a key is kept."""


class KeptKey:
    """The key that an engine keeps, by its register `key`."""

    __slots__ = ("_digest", "_read", "_write")

    def __init__(self, read: Callable[[], int], write: Callable[[int], object]) -> None:
        """Wipe a key that an earlier program left; `read` and `write` access the register."""
        self._read, self._write = read, write
        self._digest: bytes | None = None
        self.forget()

    def prepare(self, request: bytes | bytearray, logn: int) -> int:
        """Set the register for an attempt; return how many bytes of the request to omit.

        They are the key at its beginning, or none.
        """
        key_bytes = 4 << logn
        digest = hashlib.sha256(memoryview(request)[:key_bytes]).digest()
        if digest == self._digest and self._read() & KEPT:
            self._write(USE)
            return key_bytes
        self._write(KEEP)
        self._digest = digest
        return 0

    def finish(self, status: int | None) -> None:
        """Forget the key unless the status of the attempt means that the engine keeps it."""
        if status not in (kernel.SIGNED, kernel.RETRY):
            self.forget()

    def forget(self) -> None:
        """Wipe the key."""
        self._digest = None
        self._write(FORGET)
