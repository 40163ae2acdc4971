"""Our own QUIC library (native/quic), loaded: its calls with their errors, its events as rows.

quic.h there says what each call does. Nothing above sees a pointer but what is lent and placed.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqchain.crypto import external_libraries
from pqchain.errors import PqchainError, Unsupported, UsageError
from pqchain.installation import folders
from pqchain.wire.session import Buffer
from pqchain.wire.transports.registry import NATIVE

_ABI = 2
"""The number in native/quic/src/lib.rs that this module was written for."""

HELLO, EARLY, DATA, FILLED, CLOSED = range(1, 6)
"""Kinds of events."""

END = 1
"""Flag of the last bytes of a stream."""

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
"""`pqq_event`."""

_MOST_EVENTS = 1024
_EVENT_BYTES = 1 << 20
"""What all hosts of a modelled network say at once; a host on a socket has a loop to share."""

_ERROR_BYTES = 1 << 12

Row = tuple[int, int, int, int, int, int, int, int, bytes]
"""An event: time in ns, stream, count, host, kind, session, peer, flags, its bytes."""


def file() -> Path | None:
    """Return the library's file, or None if it was not built."""
    paths = (folder / NATIVE for folder in folders())
    return next(filter(Path.is_file, paths), None)


_NEVER = "it is for processors"
"""How a reason begins that no build changes."""


def absence() -> str:
    """Say why there is no such file, and what to do."""
    for folder in folders():
        reason = folder / "_native/quic/reason.txt"
        if reason.is_file():
            said = reason.read_text(encoding="utf-8").strip()
            return said if said.startswith(_NEVER) else f"{said}, and run make"
    return "it was not built: install cargo (Rust 1.85 or newer), and run make"


@cache
def load() -> Library:
    """Load the library once. Raises Unsupported with the reason if it is not here."""
    path = file()
    if path is None:
        raise Unsupported(f"the transport native needs the QUIC library of pqchain; {absence()}")
    handle = external_libraries.library(path, functions=_FUNCTIONS)
    if handle is None or handle.pqq_abi() != _ABI:
        raise Unsupported(f"{path} does not speak interface {_ABI}; build it again: make -B")
    return Library(handle)


def pointer(memory: Buffer) -> int:
    """Return the address of memory; the caller keeps the memory while the library may use it."""
    return int(np.frombuffer(memory, np.uint8).ctypes.data)


class Library:
    """The functions of the library; those that are called often are attributes, unchecked."""

    def __init__(self, handle: Any) -> None:
        self.send, self.queued = handle.pqq_send, handle.pqq_queued
        self.run, self._events = handle.pqq_run, handle.pqq_events
        self._handle = handle

    def call(self, name: str, *arguments: int | bytes | None) -> int:
        """Call a function. Raises UsageError and PqchainError with the library's words."""
        return self.checked(getattr(self._handle, f"pqq_{name}")(*arguments))

    def checked(self, answer: int) -> int:
        """Return an answer that is no fault, else raise it."""
        if answer >= 0:
            return answer
        text = bytearray(_ERROR_BYTES)
        length = self._handle.pqq_error(pointer(text), len(text))
        said = text[:length].decode(errors="replace")
        raise UsageError(said) if answer == -1 else PqchainError(said)

    def numbers(self, *values: int) -> tuple[bytes, int]:
        """Return numbers as the library takes them."""
        return np.array(values, np.uint64).tobytes(), len(values)

    def filled(self, name: str, *arguments: int, count: int) -> list[int]:
        """Return the numbers that a function fills in."""
        out = np.zeros(count, np.uint64)
        used = self.call(name, *arguments, out.ctypes.data, count)
        return [int(value) for value in out[:used]]


class Mailbox:
    """Takes the events of one handle."""

    def __init__(
        self,
        library: Library,
        handle: int,
        *,
        most: int = _MOST_EVENTS,
        event_bytes: int = _EVENT_BYTES,
    ) -> None:
        """Take at most so many events, and so many bytes of them, at once."""
        self._library, self._handle = library, handle
        self._records: NDArray[np.void] = np.zeros(most, _RECORD)
        self._data = memoryview(bytearray(event_bytes))
        self._where = (self._records.ctypes.data, most, pointer(self._data), event_bytes)
        self.full = False
        """Whether the last call had no room for more, so that more may wait."""

    def take(self) -> list[Row]:
        """Return what has happened, in order; there may be more."""
        count = self._library.checked(self._library._events(self._handle, *self._where))
        rows, begin = [], 0
        for *row, length in self._records[:count].tolist():
            rows.append((*row, bytes(self._data[begin : begin + length])))
            begin += length
        self.full = count == len(self._records) or begin == len(self._data)
        return rows
