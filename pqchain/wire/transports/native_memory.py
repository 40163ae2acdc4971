"""Python memory that the QUIC library accesses, and its release; see docs/design.

A handle's thread reads lent memory and writes registered memory until the handle is freed.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable

from pqchain.wire.session import Buffer
from pqchain.wire.transports.native_library import QuicLibrary


class Memory:
    """Python buffers that the threads of one handle may access, kept until they no longer do.

    A separate `memoryview` keeps the buffer alive and its size fixed: resizing a lent bytearray
    raises BufferError, even after the owner has released its own views.
    """

    def __init__(self) -> None:
        self.lent: dict[int, memoryview] = {}
        self.registered: dict[tuple[int, int, int], tuple[memoryview | None, int]] = {}
        """Registered memory, and the number of bytes to come, by host, session and stream."""
        self._tokens = 0

    def lend(self, data: Buffer) -> int:
        """Keep a buffer and return its token."""
        self._tokens += 1
        self.lent[self._tokens] = memoryview(data)
        return self._tokens

    def filled(self, key: tuple[int, int, int], count: int) -> None:
        """Count bytes received into registered memory, and release the memory when it is full."""
        memory, left = self.registered.pop(key, (None, 0))
        if left > count:
            self.registered[key] = (memory, left - count)

    def drop(self, host: int, session: int | None = None) -> None:
        """Release the memory registered for a host, or for one of its sessions."""
        for key in [key for key in self.registered if key[0] == host and session in (None, key[1])]:
            del self.registered[key]


def release(owner: object, library: QuicLibrary, handle: int, memory: Memory) -> Callable[[], None]:
    """Return a finalizer that frees a handle when called, when `owner` is deleted, or at exit.

    The finalizer, not the owner, keeps the memory, so that it is released only after the library
    has stopped the handle's thread.
    """
    process = os.getpid()

    def free(memory: Memory) -> None:
        # A forked child has the handle's number but not its thread, which could never be joined.
        if os.getpid() == process:
            library.call("free", handle)
        memory.lent.clear()
        memory.registered.clear()

    return weakref.finalize(owner, free, memory)
