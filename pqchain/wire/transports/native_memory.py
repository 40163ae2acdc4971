"""Memory of Python that our QUIC library may touch, and when it is let go: docs/design.

A handle's thread reads what was lent and writes where it was told to, until the handle is freed.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable

from pqchain.wire.session import Buffer
from pqchain.wire.transports.native_library import Library


class Memory:
    """Memory of Python that the threads of one handle may touch, exported until they no longer do.

    A `memoryview` of our own keeps the buffer alive and fixed: resizing a bytearray that is lent
    raises BufferError, whatever its owner releases.
    """

    def __init__(self) -> None:
        self.lent: dict[int, memoryview] = {}
        """Buffers that are being sent, by token."""
        self.placed: dict[tuple[int, int, int], tuple[memoryview | None, int]] = {}
        """Where bytes of a stream go, and how many are to come: by host, session and stream."""
        self._tokens = 0

    def lend(self, data: Buffer) -> int:
        """Keep a buffer and return its token."""
        self._tokens += 1
        self.lent[self._tokens] = memoryview(data)
        return self._tokens

    def filled(self, key: tuple[int, int, int], count: int) -> None:
        """Note that bytes have come, and let go of memory that is full."""
        memory, left = self.placed.pop(key, (None, 0))
        if left > count:
            self.placed[key] = (memory, left - count)

    def drop(self, host: int, session: int | None = None) -> None:
        """Let go of what was placed for a host, or for one session of it."""
        for key in [key for key in self.placed if key[0] == host and session in (None, key[1])]:
            del self.placed[key]


def release(owner: object, library: Library, handle: int, memory: Memory) -> Callable[[], None]:
    """Return a call that frees a handle once: when called, with its owner, or at exit.

    The finalizer, and not the owner, keeps the memory: it is let go only after the library has
    ended the handle's thread.
    """
    process = os.getpid()

    def free(kept: Memory) -> None:
        # A forked child has the handle's number but not its thread, which could never be joined.
        if os.getpid() == process:
            library.call("free", handle)
        kept.lent.clear()
        kept.placed.clear()

    return weakref.finalize(owner, free, memory)
