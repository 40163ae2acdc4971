"""QUIC by aioquic, of which this is the only importer. `quic` has the endpoint."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import aioquic.quic.connection
from aioquic._buffer import Buffer
from aioquic.quic.connection import QuicConnection
from aioquic.quic.logger import QuicLogger, QuicLoggerTrace
from aioquic.quic.stream import QuicStream

from pqchain.wire.transports.limits import MOST_AHEAD_BYTES, MOST_CHANNELS
from pqchain.wire.transports.quic import ALPN, QuicEndpoint
from pqchain.wire.transports.quic_connection import Library


def _number(stream: QuicStream) -> int:
    """Return the hash of a stream: its number.

    Streams that shared a packet go to the back of aioquic's line in the order of a set. Python's
    own hash is the address in memory, so that with losses one seed had several results.
    """
    return stream.stream_id or 0


QuicStream.__hash__ = _number  # type: ignore[assignment, method-assign]


_STRANGER_STREAMS = 128
"""Open streams of a peer that has not proven its identity; aioquic's own first limit."""

_write_connection_limits = QuicConnection._write_connection_limits
_write_stream_limits = QuicConnection._write_stream_limits


def _limit_connection(self: QuicConnection, builder: Any, space: Any) -> None:
    """Let the limits of a connection grow with what has ended and was delivered.

    aioquic doubles a limit whenever half of it is used, whether or not anything has ended: by a few
    datagrams a peer could open a million streams, or fill gigabytes with gaps.
    """
    most = getattr(self, "most_streams", _STRANGER_STREAMS)
    for limit in (self._local_max_streams_bidi, self._local_max_streams_uni):
        _restrain(limit, limit.used - len(self._streams) + most)
    data = self._local_max_data
    if data.used * 2 > data.value and data.value >= MOST_AHEAD_BYTES // 2:
        receivers = [stream.receiver for stream in self._streams.values()]
        undelivered = sum(each.highest_offset - each._buffer_start for each in receivers)
        _restrain(data, data.used - undelivered + MOST_AHEAD_BYTES)
    _write_connection_limits(self, builder, space)


def _restrain(limit: Any, most: int) -> None:
    """Change a limit so that aioquic, which is about to double it, does not exceed `most`."""
    if limit.used * 2 > limit.value and limit.value * 2 > most:
        limit.value = max(limit.value, most) // 2


def _limit_stream(self: QuicConnection, builder: Any, space: Any, stream: QuicStream) -> None:
    """Let the limit of a stream grow with what was delivered, as above."""
    limit, receiver = stream.max_stream_data_local, stream.receiver
    most = receiver._buffer_start + MOST_AHEAD_BYTES
    if receiver.highest_offset * 2 > limit > 0 and limit * 2 > most:
        stream.max_stream_data_local = max(limit, most) // 2
    _write_stream_limits(self, builder, space, stream)


QuicConnection._write_connection_limits = _limit_connection  # type: ignore[method-assign]
QuicConnection._write_stream_limits = _limit_stream  # type: ignore[method-assign]


def _trust(quic: QuicConnection) -> None:
    """Let a peer that has proven its identity open more streams."""
    quic.most_streams = MOST_CHANNELS  # type: ignore[attr-defined]


def _buffered(quic: aioquic.quic.connection.QuicConnection, channel: int) -> int:
    """Return what a stream holds unacknowledged. aioquic has no public word for it."""
    stream = quic._streams.get(channel)
    return len(stream.sender._buffer) if stream is not None else 0


def _logger(clock: Callable[[], float]) -> QuicLogger:
    """Return a log whose traces are on the caller's clock."""

    class Trace(QuicLoggerTrace):
        def log_event(self, *, category: str, event: str, data: dict[str, Any]) -> None:
            name = f"{category}:{event}"
            self._events.append({"data": data, "name": name, "time": clock() * 1000})

    class Log(QuicLogger):
        def start_trace(self, is_client: bool, odcid: bytes) -> QuicLoggerTrace:
            self._traces.append(Trace(is_client=is_client, odcid=odcid))
            return self._traces[-1]

    return Log()


_LENGTHENING = "-" * 255
"""A protocol that nobody speaks makes the hello longer. aioquic fills its first datagram up with
zeros behind the packet; qh3 counts the packet alone for what it may answer, three times as much,
and ends the connection ("packet builder capacity exhausted") if its answer does not fit."""

LIBRARY = Library(
    package=aioquic,
    # Older versions encrypt in C with a buffer for one Ethernet frame.
    longest_bytes=1500 if aioquic.__version__.startswith(("1.0", "1.1", "1.2", "1.3")) else 16_000,
    buffer=Buffer,
    buffered=_buffered,
    streams=lambda quic: quic._streams,
    trust=_trust,
    settings=lambda congestion: {
        "congestion_control_algorithm": congestion,
        "alpn_protocols": [ALPN, _LENGTHENING],
    },
    logger=_logger,
)

open_transport = partial(QuicEndpoint, library=LIBRARY)
