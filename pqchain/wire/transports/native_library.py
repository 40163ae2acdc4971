"""Python binding of pqchain's QUIC library (native/quic): calls, error checks, events and memory.

The header quic.h there documents the calls. A handle's thread reads lent memory and writes
registered memory until the handle is freed; see docs/design/memory-contract.md.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqchain import installation
from pqchain.crypto import external_libraries
from pqchain.errors import PqchainError, Unsupported, UsageError
from pqchain.wire.session import Buffer

_ABI = 2
"""Interface version in native/quic/src/lib.rs that this module expects."""

HELLO, EARLY, DATA, FILLED, CLOSED = range(1, 6)

END = 1
"""Event flag of the last bytes of a stream."""

NEVER_NS = 2**63 - 1

_FUNCTIONS = {
    "pqq_abi": "q=",
    "pqq_error": "q=pq",
    "pqq_network": "q=pq",
    "pqq_start": "q=qpqpq",
    "pqq_stop_host": "q=qq",
    "pqq_socket": "q=pqpqpq",
    "pqq_port": "q=q",
    "pqq_descriptor": "q=q",
    "pqq_free": "q=q",
    "pqq_dial": "q=qqqqpq",
    "pqq_open": "q=qqqq",
    "pqq_send": "q=qqqqpqq",
    "pqq_lend": "q=qqqqpqqqq",
    "pqq_returned": "q=qpq",
    "pqq_place": "q=qqqqqpq",
    "pqq_stop": "q=qqqq",
    "pqq_prove": "q=qqqq",
    "pqq_close": "q=qqqqpq",
    "pqq_queued": "q=qq",
    "pqq_events": "q=qpqpq",
    "pqq_statistics": "q=qqpq",
    "pqq_run": "q=qq",
    "pqq_totals": "q=qpq",
    "pqq_digest": "q=qpq",
    "pqq_inject": "q=qqqpq",
    "pqq_tap": "q=qq",
    "pqq_tapped": "q=qpqpq",
}

_RECORD = np.dtype(
    [(name, "u8") for name in ("time_ns", "stream", "count")]
    + [(name, "i4" if name == "peer" else "u4")
       for name in ("host", "kind", "session", "peer", "flags", "length")]
)  # fmt: skip
"""Layout of the C structure `pqq_event`."""

_MAX_EVENTS = 1024
# Buffer of a modelled network; a host on a socket shares its event loop and takes less.
_EVENT_BYTES = 1 << 20

_ERROR_BYTES = 1 << 12

EventRow = tuple[int, int, int, int, int, int, int, int, bytes]
"""An event: time in ns, stream, count, host, kind, session, peer, flags, data."""


@cache
def load() -> QuicLibrary:
    """Load the library once. Raises Unsupported if it is missing, and NativeLibraryBroken."""
    handle = external_libraries.bundled("quic", functions=_FUNCTIONS, abi=_ABI)
    if handle is None:
        reason = installation.omission_reason("quic")
        reason = reason or "it was not built: install cargo (Rust 1.85 or newer)"
        # No rebuild helps a processor that the library does not support.
        remedy = "" if reason.startswith("it is for processors") else ", and run make"
        raise Unsupported(
            f"the transport native needs the QUIC library of pqchain; {reason}{remedy}"
        )
    return QuicLibrary(handle)


def pointer(memory: Buffer) -> int:
    """Return the address of a buffer, which the caller keeps alive while the library uses it."""
    return int(np.frombuffer(memory, np.uint8).ctypes.data)


def integers(*values: int) -> tuple[bytes, int]:
    """Return integers as a C array and its length, the arguments of a call."""
    return np.array(values, np.uint64).tobytes(), len(values)


class QuicLibrary:
    """Functions of the library; frequently called ones are attributes without error checks."""

    def __init__(self, handle: Any) -> None:
        # Looking these up once saves time in every event and send.
        self.send, self.queued = handle.pqq_send, handle.pqq_queued
        self.run, self._events = handle.pqq_run, handle.pqq_events
        self._handle = handle

    def call(self, name: str, *arguments: int | bytes | None) -> int:
        """Call a function and return its result. Raises UsageError or PqchainError on an error."""
        return self.check(getattr(self._handle, f"pqq_{name}")(*arguments))

    def check(self, answer: int) -> int:
        """Return a result, or raise the library's error if it is negative."""
        if answer >= 0:
            return answer
        text = bytearray(_ERROR_BYTES)
        length = self._handle.pqq_error(pointer(text), len(text))
        message = text[:length].decode(errors="replace")
        raise UsageError(message) if answer == -1 else PqchainError(message)

    def read_array(self, name: str, *arguments: int, count: int) -> list[int]:
        """Return the integers that a function writes to its output array of `count` elements."""
        out = np.zeros(count, np.uint64)
        used = self.call(name, *arguments, out.ctypes.data, count)
        return [int(value) for value in out[:used]]


class EventReader:
    """Reader of the events of one library handle, a modelled network or a host."""

    def __init__(
        self,
        library: QuicLibrary,
        handle: int,
        *,
        max_events: int = _MAX_EVENTS,
        event_bytes: int = _EVENT_BYTES,
    ) -> None:
        self._library, self._handle = library, handle
        self._records: NDArray[np.void] = np.zeros(max_events, _RECORD)
        self._data = memoryview(bytearray(event_bytes))
        self._buffers = (self._records.ctypes.data, max_events, pointer(self._data), event_bytes)
        self.full = False
        """Whether the last call filled a buffer, so that further events may be available."""

    def read(self) -> list[EventRow]:
        """Return the next events, in order; if `full` is set, further events may be available."""
        count = self._library.check(self._library._events(self._handle, *self._buffers))
        rows, begin = [], 0
        for *row, length in self._records[:count].tolist():
            rows.append((*row, bytes(self._data[begin : begin + length])))
            begin += length
        self.full = count == len(self._records) or begin == len(self._data)
        return rows


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

    def release_with(self, owner: object, library: QuicLibrary, handle: int) -> Callable[[], None]:
        """Return a finalizer that frees a handle when called, when `owner` is deleted, or at exit.

        The finalizer, not the owner, keeps the memory, so that it is released only after the
        library has stopped the handle's thread.
        """
        process = os.getpid()

        def free() -> None:
            # A forked child has the handle's number but not its thread, which cannot be joined.
            if os.getpid() == process:
                library.call("free", handle)
            self.lent.clear()
            self.registered.clear()

        return weakref.finalize(owner, free)
