"""QUIC connection of an endpoint, with limits that aioquic has no settings for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import aioquic
from aioquic.quic.connection import QuicConnection
from aioquic.quic.stream import QuicStream

from pqchain.wire.session import Buffer, Closed
from pqchain.wire.transports.authentication import REFUSED, UNAUTHENTICATED_SECONDS, Session
from pqchain.wire.transports.limits import (
    MAX_CHANNELS,
    MAX_CREDIT_BYTES,
    MAX_LIBRARY_BYTES,
    MAX_UNAUTHENTICATED_CHANNELS,
    PEER_NOT_READING,
    SendQueues,
)

WINDOW_BYTES = 4 << 20
"""Maximum unacknowledged bytes passed to one connection; aioquic itself has no limit."""

SLICE_BYTES = 256 << 10


def _stream_id(stream: QuicStream) -> int:
    # aioquic requeues streams that shared a packet in the order of a set. Python's default hash is
    # the memory address, which made the result for one seed vary when datagrams were lost.
    return stream.stream_id or 0


QuicStream.__hash__ = _stream_id  # type: ignore[assignment, method-assign]


# Older versions encrypt in C with a buffer of one Ethernet frame.
_IS_OLD = aioquic.__version__.startswith(("1.0", "1.1", "1.2", "1.3"))

MAX_DATAGRAM_BYTES = 1500 if _IS_OLD else 16_000
"""Longest datagram that the installed aioquic can send."""

UNAUTHENTICATED_DATA_BYTES = 64 << 10
"""Flow-control limit in bytes of an unauthenticated client, including gaps in its streams."""

# These private methods are wrapped below, because they decide how aioquic's windows grow.
_write_connection_limits = QuicConnection._write_connection_limits
_write_stream_limits = QuicConnection._write_stream_limits


def _limit_connection(self: QuicConnection, builder: Any, space: Any) -> None:
    # aioquic doubles a limit whenever half of it is used, delivered or not: with a few datagrams,
    # each with one byte far ahead, a peer could make it buffer gigabytes of gaps.
    data = self._local_max_data
    if data.value < self._configuration.max_data:
        if data.used * 2 > data.value:
            data.value //= 2  # aioquic is about to double it
    elif data.used * 2 > data.value and data.value * 2 > MAX_CREDIT_BYTES:
        receivers = [stream.receiver for stream in self._streams.values()]
        undelivered = sum(
            receiver.highest_offset - receiver._buffer_start for receiver in receivers
        )
        data.value = _halved(data.value, data.used - undelivered)
    _write_connection_limits(self, builder, space)


def _limit_stream(self: QuicConnection, builder: Any, space: Any, stream: QuicStream) -> None:
    limit, receiver = stream.max_stream_data_local, stream.receiver
    if receiver.highest_offset * 2 > limit > 0:
        stream.max_stream_data_local = _halved(limit, receiver._buffer_start)
    _write_stream_limits(self, builder, space, stream)


def _halved(limit: int, delivered: int) -> int:
    """Return half of the new flow-control limit, because aioquic then doubles it."""
    return min(limit, max(limit, delivered + MAX_CREDIT_BYTES) // 2)


QuicConnection._write_connection_limits = _limit_connection  # type: ignore[method-assign]
QuicConnection._write_stream_limits = _limit_stream  # type: ignore[method-assign]


def buffered_bytes(quic: QuicConnection, channel: int) -> int:
    """Return the bytes of a stream in the library's send buffer."""
    stream = quic._streams.get(channel)
    return len(stream.sender._buffer) if stream is not None else 0


def forget(quic: QuicConnection) -> None:
    """Drop the buffers of an ended connection, which has reference cycles."""
    quic._streams.clear()
    quic._streams_queue.clear()
    for space in quic._loss.spaces:
        space.sent_packets.clear()


def limit_data(quic: QuicConnection, authenticated: bool) -> None:
    """Set the data limit of a client before or after its authentication."""
    data = quic._local_max_data
    if authenticated:
        data.value = max(data.value, quic._configuration.max_data)
    else:
        data.value = data.sent = UNAUTHENTICATED_DATA_BYTES


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
    tickets: list[Any] = field(default_factory=list)
    """Session tickets of a client that is not authenticated yet."""
    fed: set[int] = field(default_factory=set)
    """Channels with data that may still be in the library's buffers."""
    stopped: dict[int, None] = field(default_factory=dict)
    """Recent streams on which the peer asked to stop sending."""
    ended: dict[int, None] = field(default_factory=dict)
    """Recent streams that the peer has ended: older library versions report an end repeatedly."""
    timer: float | None = None
    queued: SendQueues = field(default_factory=SendQueues)

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

    def check_limits(self, now: float) -> None:
        """Close a connection with too many open streams, or that is not authenticated in time."""
        count = 0 if self.is_closed else len(self.quic._streams)
        if self.opened and count > MAX_CHANNELS:
            self.close_and_report("too many open streams")
        elif not self.opened and count > MAX_UNAUTHENTICATED_CHANNELS:
            self.end("too many streams before a proof of identity", REFUSED)
        elif not (self.dialled or self.opened or self.is_closed) and (
            now > self.created + UNAUTHENTICATED_SECONDS
        ):
            self.end("no proof of identity in time", REFUSED)

    def end(self, reason: str, code: int = 0) -> None:
        """Send CONNECTION_CLOSE and drop all queues."""
        self.owner.sessions.pop(self.session, None)
        self.owner.dirty[self.session] = self
        self.queued = SendQueues()
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
        self.queued.put(channel, data, end)
        self.owner.dirty[self.session] = self

    def feed(self) -> None:
        """Pass queued bytes to the library until its buffers are full."""
        channels = self.queued.channels
        if not channels or self.is_closed:
            return
        # Bytes passed before a dialled connection is open would not be sent with the 0-RTT keys
        # anyway.
        room = max(WINDOW_BYTES // len(channels), SLICE_BYTES)
        counts = {stream: buffered_bytes(self.quic, stream) for stream in self.fed}
        self.fed = {stream for stream, count in counts.items() if count}
        total = sum(counts.values())
        for channel in list(channels):
            # Every channel gets at least a slice, but the sum over many channels is bounded.
            if total > MAX_LIBRARY_BYTES:
                return
            buffered = buffered_bytes(self.quic, channel)
            while channel in channels and buffered < room:
                part, last = self.queued.take(channel, SLICE_BYTES)
                self.write(channel, part, end=last)
                self.fed.add(channel)
                buffered += len(part)
                total += len(part)

    def write(self, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Pass bytes to the library; they are discarded if the peer has closed the connection."""
        # aioquic appends to a bytearray, which takes any buffer.
        self.quic.send_stream_data(channel, data, end)  # type: ignore[arg-type]
