"""The engine behind its registers: start an attempt, and wait for its end.

`read` and `write` access a register by its name in `registers.OFFSETS`, over a bus or a line.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from pqchain.errors import BoardTimeout, WrongBitstream

VERSION = 0x46530001
"""Version of the core that the drivers support: FALCON_SIGN_VERSION in hls_kernels."""

START, DONE, IDLE, READY = 1, 2, 4, 8
"""Bits of the register CTRL."""

KEEP, USE = 1, 3
"""Values of the register `key`: keep the request's expanded key, use the kept one."""

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
