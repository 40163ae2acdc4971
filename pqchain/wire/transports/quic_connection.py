"""One QUIC connection of an endpoint, and what waits to be sent; `proof` says who is there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pqchain.wire.session import Buffer
from pqchain.wire.transports.proof import REFUSED, UNPROVEN_SECONDS, Owner, Proving

WINDOW_BYTES = 4 << 20
"""What is handed to one connection ahead of acknowledgements; aioquic itself never says stop."""

SLICE_BYTES = 256 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What an endpoint takes from aioquic, or from a fork of it whose modules look the same."""

    package: Any
    longest_bytes: int
    """The longest datagram that it sends."""
    buffer: Callable[..., Any]
    """What its parser of headers takes."""
    buffered: Callable[[Any, int], int]
    """Says how many bytes of a stream it holds."""
    settings: Callable[[str], dict[str, Any]]
    """Says, for a congestion control, what only its configuration knows."""
    logger: Callable[[Callable[[], float]], Any] | None = None
    """Makes a qlog on the caller's clock, where the library can write one."""
    over: tuple[type[Exception], ...] = ()
    """What it raises on a connection that the other side has closed, or that it broke itself."""


@dataclass(eq=False)
class QuicOwner(Owner):
    """What an endpoint shares with its connections."""

    library: Library
    sessions: dict[int, Connection] = field(default_factory=dict, init=False)
    """Those that are not over."""
    dirty: dict[int, Connection] = field(default_factory=dict, init=False)
    """Those that may have something to send."""


@dataclass(slots=True, eq=False, kw_only=True)
class Connection(Proving):
    """One connection and what we know about it."""

    owner: QuicOwner
    quic: Any
    created: float
    outgoing: dict[int, deque[tuple[memoryview, bool]]] = field(default_factory=dict)
    stopped: set[int] = field(default_factory=set)
    """Streams on which the other side wants nothing more."""
    ended: set[int] = field(default_factory=set)
    """Streams that the other side has ended: older versions say so again at every repetition."""
    timer: float | None = None

    @property
    def over(self) -> bool:
        """Whether the node hears no more of it."""
        return self.session not in self.owner.sessions

    def say(self, data: bytes) -> None:
        """Send that on a one-way stream of its own."""
        stream = self.quic.get_next_available_stream_id(is_unidirectional=True)
        self.write(stream, data, end=True)

    def take(self, stream: int, data: bytes, end: bool) -> None:
        """Take in bytes of a stream, of whose end older versions tell more than once."""
        if stream in self.ended:
            return
        if end:
            self.ended.add(stream)
        self.received(stream, data, end)

    def check_time(self, now: float) -> None:
        """Refuse a client that proves nothing for too long."""
        unproven = not self.dialled and not self.opened and not self.over
        if unproven and now > self.created + UNPROVEN_SECONDS:
            self.end("no proof of identity in time", REFUSED)

    def end(self, reason: str, code: int = 0) -> None:
        """Say goodbye with a CONNECTION_CLOSE."""
        self.owner.sessions.pop(self.session, None)
        self.owner.dirty[self.session] = self
        self.outgoing.clear()
        self.waiting.clear()
        self.quic.close(error_code=code, reason_phrase=reason)

    # What is to be sent.

    def feed(self) -> None:
        """Hand queued bytes to QUIC, as far as its buffers are not full."""
        if not self.outgoing or self.over:
            return
        # What a dialled connection sends before it is opened would miss the 0-RTT keys anyway.
        room = max(WINDOW_BYTES // len(self.outgoing), SLICE_BYTES)
        for channel, queue in list(self.outgoing.items()):
            buffered = self.owner.library.buffered(self.quic, channel)
            while queue and buffered < room:
                view, end = queue.popleft()
                part, rest = view[:SLICE_BYTES], view[SLICE_BYTES:]
                if len(rest):
                    queue.appendleft((rest, end))
                self.write(channel, part, end=end and not len(rest))
                buffered += len(part)
            if not queue:
                del self.outgoing[channel]

    def write(self, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Hand bytes to QUIC. If the other side has closed, they are lost; the event comes."""
        # aioquic appends to a bytearray, which takes any buffer.
        try:
            self.quic.send_stream_data(channel, data, end)
        except self.owner.library.over:
            return
