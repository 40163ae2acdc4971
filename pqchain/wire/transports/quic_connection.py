"""One QUIC connection of an endpoint, and what waits to be sent; `proof` says who is there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from pqchain.wire.session import Buffer, Closed
from pqchain.wire.transports.limits import (
    MOST_CHANNELS,
    MOST_HANDED_BYTES,
    MOST_UNPROVEN_CHANNELS,
    READS_NOTHING,
    Queued,
)
from pqchain.wire.transports.proof import REFUSED, UNPROVEN_SECONDS, Owner, Proving

WINDOW_BYTES = 4 << 20
"""What is handed to one connection ahead of acknowledgements; aioquic itself never says stop."""

SLICE_BYTES = 256 << 10


def remember(streams: dict[int, None], stream: int) -> None:
    """Add a stream to the last ones, of which no more are kept than may be open at once."""
    streams[stream] = None
    if len(streams) > MOST_CHANNELS:
        del streams[next(iter(streams))]


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
    streams: Callable[[Any], Collection[int]]
    """Says which streams are open; empty if the library itself allows only a few."""
    forget: Callable[[Any], None]
    """Drops the buffers of a connection that is over; its objects refer to each other, so that
    they would last until a garbage collection."""
    limit_data: Callable[[Any, bool], None] = lambda quic, proven: None
    """Limits what a client may send until it has proven who it is, where the library allows it."""
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
    tickets: list[Any] = field(default_factory=list)
    """Tickets for the client, which has not proven who it is yet."""
    handed: set[int] = field(default_factory=set)
    """The channels of which QUIC may hold something."""
    stopped: dict[int, None] = field(default_factory=dict)
    """The last streams on which the other side wants nothing more."""
    ended: dict[int, None] = field(default_factory=dict)
    """The last streams that the other side has ended: older versions say so again and again."""
    timer: float | None = None
    queued: Queued = field(default_factory=Queued)

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
            remember(self.ended, stream)
        self.received(stream, data, end)

    def check_time(self, now: float) -> None:
        """Refuse a client that proves nothing for too long."""
        unproven = not self.dialled and not self.opened and not self.over
        if unproven and now > self.created + UNPROVEN_SECONDS:
            self.end("no proof of identity in time", REFUSED)

    def check_streams(self) -> None:
        """Close a connection with too many open streams; older versions let a peer open any."""
        count = len(self.owner.library.streams(self.quic))
        if self.over or count <= MOST_UNPROVEN_CHANNELS:
            return
        if not self.opened:
            self.end("too many streams before a proof of identity", REFUSED)
        elif count > MOST_CHANNELS:
            self.cut_off("too many open streams")

    def end(self, reason: str, code: int = 0) -> None:
        """Say goodbye with a CONNECTION_CLOSE."""
        self.owner.sessions.pop(self.session, None)
        self.owner.dirty[self.session] = self
        self.drop_queues()
        self.waiting.clear()
        self.quic.close(error_code=code, reason_phrase=reason)

    def cut_off(self, reason: str) -> None:
        """Close the connection and tell the node, which has not asked for it."""
        assert self.peer is not None
        self.end(reason)
        self.owner.happened.append(Closed(self.session, self.peer, reason))

    # What is to be sent.

    def put(self, channel: int, data: Buffer, *, end: bool) -> None:
        """Queue bytes; a session whose queue is full is closed instead."""
        if self.queued.is_full:
            self.cut_off(READS_NOTHING)
            return
        view = memoryview(data).cast("B")
        self.queued.add(view)
        self.outgoing.setdefault(channel, deque()).append((view, end))
        self.owner.dirty[self.session] = self

    def drop(self, channel: int) -> None:
        """Forget what waits on a channel."""
        for view, _ in self.outgoing.pop(channel, ()):
            self.queued.remove(view)

    def drop_queues(self) -> None:
        """Forget what waits on all channels."""
        self.outgoing.clear()
        self.queued = Queued()

    def feed(self) -> None:
        """Hand queued bytes to QUIC, as far as its buffers are not full."""
        if not self.outgoing or self.over:
            return
        # What a dialled connection sends before it is opened would miss the 0-RTT keys anyway.
        room = max(WINDOW_BYTES // len(self.outgoing), SLICE_BYTES)
        held = self._held_bytes()
        for channel, queue in list(self.outgoing.items()):
            # Each of many channels has a slice, but not so that their sum knows no limit.
            if held > MOST_HANDED_BYTES:
                return
            buffered = self.owner.library.buffered(self.quic, channel)
            while queue and buffered < room:
                view, end = queue.popleft()
                self.queued.remove(view)
                part, rest = view[:SLICE_BYTES], view[SLICE_BYTES:]
                if len(rest):
                    self.queued.add(rest)
                    queue.appendleft((rest, end))
                self.write(channel, part, end=end and not len(rest))
                self.handed.add(channel)
                buffered += len(part)
                held += len(part)
            if not queue:
                del self.outgoing[channel]

    def _held_bytes(self) -> int:
        """Return what QUIC holds of all streams."""
        held = {stream: self.owner.library.buffered(self.quic, stream) for stream in self.handed}
        self.handed = {stream for stream, count in held.items() if count}
        return sum(held.values())

    def write(self, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Hand bytes to QUIC. If the other side has closed, they are lost; the event comes."""
        # aioquic appends to a bytearray, which takes any buffer.
        try:
            self.quic.send_stream_data(channel, data, end)
        except self.owner.library.over:
            return
