"""The engine behind its registers: start an attempt, wait for its end, and keep the expanded key.

`read` and `write` access a register by its name in `registers.OFFSETS`, over a bus or a line.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import TypeAlias

from pqchain.errors import BoardTimeout, WrongBitstream
from pqchain.falcon import kernel

VERSION = 0x46530001
"""Version of the core that the drivers support: FALCON_SIGN_VERSION in hls_kernels."""

START, DONE, IDLE, READY = 1, 2, 4, 8
"""Bits of the register CTRL."""

KEEP, USE, FORGET = 1, 3, 0
"""Values of the register `key`: keep the request's key, use the kept one, wipe it."""

KEPT = 4
"""Bit of the register `key`: a key is kept."""

Read: TypeAlias = Callable[[str], int]
Write: TypeAlias = Callable[[str, int], object]


def start(write: Write, request: int, response: int, logn: int) -> None:
    """Start an attempt on a request and a response at addresses of the engine's memory."""
    for name, address in (("request", request), ("response", response)):
        write(f"{name}_1", address & 0xFFFFFFFF)
        write(f"{name}_2", address >> 32)
    write("logn", logn)
    write("CTRL", START)


def wait(read: Read, timeout_seconds: float, problem: str, poll_seconds: float = 0.0) -> int:
    """Wait for the end of an attempt; return its status. Raises BoardTimeout with the problem."""
    deadline = time.monotonic() + timeout_seconds
    # Reading the done bit clears it, so it is read once per iteration.
    while not read("CTRL") & DONE:
        if time.monotonic() > deadline:
            raise BoardTimeout(problem)
        time.sleep(poll_seconds)
    return read("status")


def check_version(version: int, place: str) -> None:
    """Raise WrongBitstream for another version: a key is sent to a core of this version only."""
    if version != VERSION:
        raise WrongBitstream(
            f"the version of the core {place} must be {VERSION:#010x}; got {version:#010x}. Use "
            "the bitstream of this release, or build it again"
        )


class KeptKey:
    """Expanded key that the fast engine keeps between attempts, by its register `key`.

    The engine cannot tell keys apart, so the driver remembers a digest of the key that it keeps,
    and omits the key from requests only if it is the same and the engine still has it.
    """

    __slots__ = ("_digest", "_read", "_write")

    def __init__(self, read: Read, write: Write) -> None:
        """Wipe a key that an earlier program left."""
        self._read, self._write = read, write
        self._digest: bytes | None = None
        self.forget()

    def prepare(self, request: bytes | bytearray, logn: int) -> int:
        """Set the register for an attempt; return how many bytes of the request to omit.

        They are the key at its beginning, or none.
        """
        key_bytes = 4 << logn
        digest = hashlib.sha256(memoryview(request)[:key_bytes]).digest()
        if digest == self._digest and self._read("key") & KEPT:
            self._write("key", USE)
            return key_bytes
        self._write("key", KEEP)
        self._digest = digest
        return 0

    def finish(self, status: int | None) -> None:
        """Forget the key unless the status of the attempt means that the engine keeps it."""
        if status not in (kernel.SIGNED, kernel.RETRY):
            self.forget()

    def forget(self) -> None:
        """Wipe the key."""
        self._digest = None
        self._write("key", FORGET)
