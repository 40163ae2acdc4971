"""Limits of aioquic's buffers and windows, which it has no settings for."""

from __future__ import annotations

from typing import Any

import aioquic
from aioquic.quic.connection import QuicConnection
from aioquic.quic.stream import QuicStream

from pqchain.wire.transports.limits import MAX_CREDIT_BYTES


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
