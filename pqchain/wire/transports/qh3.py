"""Adapter of qh3, a fork of aioquic with packet handling in Rust. Only this module imports qh3.

Certificates need P-256 keys, because qh3's clients do not accept Ed25519. Sessions are not resumed.
"""

from __future__ import annotations

from functools import partial

import qh3.quic.connection
from qh3._hazmat import Buffer

from pqchain.wire.transports.quic import QuicEndpoint
from pqchain.wire.transports.quic_connection import Library

LIBRARY = Library(
    package=qh3,
    # Largest size that was tested; packets come out 29 bytes shorter than requested.
    max_datagram_bytes=16_000,
    buffer=Buffer,
    # Unsent bytes of a stream; qh3 does not count those that wait for acknowledgement.
    buffered=lambda quic, channel: int(quic.get_send_buffer_size(channel)),
    # qh3 itself allows a peer 128 concurrent streams.
    streams=lambda quic: (),
    forget=lambda quic: setattr(quic, "_core", None),
    settings=lambda congestion: {"probe_datagram_size": False},
    closed_errors=(qh3.quic.connection.QuicConnectionError,),
)

open_transport = partial(QuicEndpoint, library=LIBRARY)
