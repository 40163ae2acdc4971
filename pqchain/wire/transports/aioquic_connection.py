"""QUIC connection of an endpoint, with its send queues and limits."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from aioquic.quic.connection import QuicConnection

from pqchain.wire.session import Buffer, Closed
from pqchain.wire.transports.aioquic_library import buffered_bytes
from pqchain.wire.transports.authentication import (
    REFUSED,
    UNAUTHENTICATED_SECONDS,
    Session,
)
from pqchain.wire.transports.limits import (
    MAX_CHANNELS,
    MAX_LIBRARY_BYTES,
    MAX_UNAUTHENTICATED_CHANNELS,
    PEER_NOT_READING,
    Queued,
)

WINDOW_BYTES = 4 << 20
"""Maximum unacknowledged bytes passed to one connection; aioquic itself has no limit."""

SLICE_BYTES = 256 << 10


def add_recent(streams: dict[int, None], stream: int) -> None:
    """Add a stream, and drop the oldest entry if there are more than `MAX_CHANNELS`."""
    streams[stream] = None
    if len(streams) > MAX_CHANNELS:
        del streams[next(iter(streams))]


@dataclass(slots=True, eq=False, kw_only=True)
class Connection(Session):
    """One QUIC connection, its send queues and its authentication."""

    quic: QuicConnection
    created: float
    outgoing: dict[int, deque[tuple[memoryview, bool]]] = field(default_factory=dict)
    tickets: list[Any] = field(default_factory=list)
    """Session tickets of a client that is not authenticated yet."""
    fed: set[int] = field(default_factory=set)
    """Channels with data that may still be in the library's buffers."""
    stopped: dict[int, None] = field(default_factory=dict)
    """Recent streams on which the peer asked to stop sending."""
    ended: dict[int, None] = field(default_factory=dict)
    """Recent streams that the peer has ended: older library versions report an end repeatedly."""
    timer: float | None = None
    queued: Queued = field(default_factory=Queued)

    def send_once(self, data: bytes) -> None:
        """Send data on a new unidirectional stream."""
        stream = self.quic.get_next_available_stream_id(is_unidirectional=True)
        self.write(stream, data, end=True)

    def handle(self, stream: int, data: bytes, end: bool) -> None:
        """Handle stream data; ignore repeated ends, which older library versions report."""
        if stream in self.ended:
            return
        if end:
            add_recent(self.ended, stream)
        self.received(stream, data, end)

    def check_time(self, now: float) -> None:
        """Close the connection of a client that is not authenticated in time."""
        unauthenticated = not self.dialled and not self.opened and not self.is_closed
        if unauthenticated and now > self.created + UNAUTHENTICATED_SECONDS:
            self.end("no proof of identity in time", REFUSED)

    def check_streams(self) -> None:
        """Close a connection with too many open streams, which older libraries do not limit."""
        count = len(self.quic._streams)
        if self.is_closed or count <= MAX_UNAUTHENTICATED_CHANNELS:
            return
        if not self.opened:
            self.end("too many streams before a proof of identity", REFUSED)
        elif count > MAX_CHANNELS:
            self.close_and_report("too many open streams")

    def end(self, reason: str, code: int = 0) -> None:
        """Send CONNECTION_CLOSE and drop all queues."""
        self.owner.sessions.pop(self.session, None)
        self.owner.dirty[self.session] = self
        self.outgoing.clear()
        self.queued = Queued()
        self.early_data.clear()
        self.quic.close(error_code=code, reason_phrase=reason)

    def close_and_report(self, reason: str) -> None:
        """Close the connection and report it to the node."""
        assert self.peer is not None
        self.end(reason)
        self.owner.pending.append(Closed(self.session, self.peer, reason))

    def put(self, channel: int, data: Buffer, *, end: bool) -> None:
        """Queue bytes; close the session instead if its queue is full."""
        if self.queued.is_full:
            self.close_and_report(PEER_NOT_READING)
            return
        view = memoryview(data).cast("B")
        self.queued.add(view)
        self.outgoing.setdefault(channel, deque()).append((view, end))
        self.owner.dirty[self.session] = self

    def drop(self, channel: int) -> None:
        """Drop the queue of a channel."""
        for view, _ in self.outgoing.pop(channel, ()):
            self.queued.remove(view)

    def feed(self) -> None:
        """Pass queued bytes to the library until its buffers are full."""
        if not self.outgoing or self.is_closed:
            return
        # Bytes passed before a dialled connection is open would not be sent with the 0-RTT keys
        # anyway.
        room = max(WINDOW_BYTES // len(self.outgoing), SLICE_BYTES)
        total = self._library_bytes()
        for channel, queue in list(self.outgoing.items()):
            # Every channel gets at least a slice, but the sum over many channels is bounded.
            if total > MAX_LIBRARY_BYTES:
                return
            buffered = buffered_bytes(self.quic, channel)
            while queue and buffered < room:
                view, end = queue.popleft()
                self.queued.remove(view)
                part, rest = view[:SLICE_BYTES], view[SLICE_BYTES:]
                if len(rest):
                    self.queued.add(rest)
                    queue.appendleft((rest, end))
                self.write(channel, part, end=end and not len(rest))
                self.fed.add(channel)
                buffered += len(part)
                total += len(part)
            if not queue:
                del self.outgoing[channel]

    def _library_bytes(self) -> int:
        counts = {stream: buffered_bytes(self.quic, stream) for stream in self.fed}
        self.fed = {stream for stream, count in counts.items() if count}
        return sum(counts.values())

    def write(self, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Pass bytes to the library; they are discarded if the peer has closed the connection."""
        # aioquic appends to a bytearray, which takes any buffer.
        self.quic.send_stream_data(channel, data, end)  # type: ignore[arg-type]
