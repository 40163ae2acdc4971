"""QUIC by qh3, a fork of aioquic with its packets in Rust. The only importer of qh3.

Certificates need keys on P-256: qh3's clients do not take Ed25519. Sessions are not resumed.
"""

from __future__ import annotations

from functools import partial

import qh3.quic.connection
from qh3._hazmat import Buffer

from pqchain.wire.transports.quic import QuicEndpoint
from pqchain.wire.transports.quic_connection import Library

LIBRARY = Library(
    package=qh3,
    # Tried up to here; packets come out 29 bytes shorter than asked for.
    longest_bytes=16_000,
    buffer=Buffer,
    # What a stream has not sent yet; qh3 does not count what waits for acknowledgement.
    buffered=lambda quic, channel: int(quic.get_send_buffer_size(channel)),
    # It allows a peer 128 streams at a time.
    streams=lambda quic: (),
    forget=lambda quic: setattr(quic, "_core", None),
    settings=lambda congestion: {"probe_datagram_size": False},
    over=(qh3.quic.connection.QuicConnectionError,),
)

open_transport = partial(QuicEndpoint, library=LIBRARY)
