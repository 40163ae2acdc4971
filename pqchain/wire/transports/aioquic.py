"""Sans-I/O QUIC endpoint: all connections of one node; the caller provides the time.

It uses aioquic, and runs on a modelled clock and on a socket alike.

A session ticket is bound to the client that was authenticated on the ticket's session, and is valid
for one use. A client that resumes with it is therefore identified, and a replayed 0-RTT request
finds no ticket: it is neither decrypted nor answered.
"""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from typing import Any

import aioquic
from aioquic import tls
from aioquic._buffer import Buffer as HeaderBuffer
from aioquic.quic import events, packet
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from pqchain.errors import Unsupported
from pqchain.wire.identity import server_name
from pqchain.wire.session import Address, Buffer, Closed, Endpoint, TransportSettings
from pqchain.wire.transports.admission import Admission
from pqchain.wire.transports.aioquic_connection import (
    MAX_DATAGRAM_BYTES,
    WINDOW_BYTES,
    Connection,
    add_recent,
    forget,
    limit_data,
)
from pqchain.wire.transports.authentication import QuicTransport

ALPN = "pqchain-reencode/1"
_IDLE_SECONDS = 30.0
_MIN_INITIAL_BYTES = 1200
_CANCELLED = 0x102
_VERSION_1 = 1

# Added to timers, because aioquic sends an acknowledgement after its deadline, not at it.
_SLACK_SECONDS = 1e-6


MAX_TICKETS = 32
"""Maximum number of tickets of one peer; a further one replaces the oldest."""

MAX_TICKET_SECONDS = 3600.0


class Tickets:
    """Tickets issued to clients, or received from servers; each can be used once."""

    # A peer gets a ticket with every handshake, and would fill the memory by dialling in a loop. A
    # ticket replaces the proof of identity, so that a stolen one must not be valid for long; a node
    # that redials after a failure does so within minutes.

    def __init__(self) -> None:
        self._by_peer: dict[int, dict[bytes, tuple[Any, float]]] = {}
        """Tickets with the time of their issue, by peer and label, the oldest first."""

    def add(self, ticket: Any, peer: int, now: float) -> None:
        """Keep a ticket of aioquic, and drop the peer's oldest one above the limit."""
        tickets = self._by_peer.setdefault(peer, {})
        tickets[ticket.ticket] = ticket, now
        if len(tickets) > MAX_TICKETS:
            del tickets[next(iter(tickets))]

    def pop(self, label: bytes, now: float) -> tuple[Any, int | None]:
        """Remove and return the ticket with this label and its peer; None if unknown or old."""
        # Removed at the first use, so that a replay of the same first flight finds no ticket.
        for peer, tickets in self._by_peer.items():
            ticket, issued = tickets.pop(label, (None, 0.0))
            if ticket is not None and now - issued <= MAX_TICKET_SECONDS:
                return ticket, peer
        return None, None

    def pop_newest(self, peer: int, now: float) -> Any:
        """Remove and return the peer's newest ticket, or None if there is none or it is too old."""
        label = next(reversed(self._by_peer.get(peer, {})), b"")
        return self.pop(label, now)[0]


class QuicEndpoint(QuicTransport, Endpoint):
    """All QUIC connections of one node, as an `Endpoint`."""

    def __init__(self, settings: TransportSettings) -> None:
        if settings.datagram_bytes > MAX_DATAGRAM_BYTES:
            raise Unsupported(
                f"datagram_bytes must be at most {MAX_DATAGRAM_BYTES} with "
                f"aioquic {aioquic.__version__}; got {settings.datagram_bytes}. Take "
                "shorter datagrams, or aioquic 1.7 on Python 3.11."
            )
        super().__init__(settings, os.urandom)
        self._now = 0.0
        self._numbers = itertools.count(1)
        self._common: dict[str, Any] = {
            "alpn_protocols": [ALPN],
            "congestion_control_algorithm": settings.congestion,
            "idle_timeout": _IDLE_SECONDS,
            "max_data": 4 * WINDOW_BYTES,
            "max_stream_data": 4 * WINDOW_BYTES,
            "max_datagram_size": settings.datagram_bytes,
            "supported_versions": [_VERSION_1],
        }
        pem = settings.identity.public.certificate_pem
        self._server = QuicConfiguration(
            is_client=False,
            certificate=tls.load_pem_x509_certificates(pem)[0],
            private_key=tls.load_pem_private_key(settings.identity.certificate_key_pem),
            **self._common,
        )
        self._by_id: dict[bytes, Connection] = {}
        self._all: dict[int, Connection] = {}
        self._issued_tickets = Tickets()
        self._admission = Admission()
        self._received_tickets = Tickets()

    # Calls of the node.

    def dial(self, peer: int, *, early: bool, now: float) -> int:
        """Start a session; `early` uses a ticket of an earlier session if there is one."""
        self._now = now
        ticket = self._received_tickets.pop_newest(peer, now) if early else None
        configuration = QuicConfiguration(
            is_client=True,
            server_name=server_name(peer),
            cadata=self.directory[peer].certificate_pem,
            session_ticket=ticket,
            **self._common,
        )

        def keep(ticket: Any) -> None:
            self._received_tickets.add(ticket, peer, self._now)

        connection = self._add(configuration, peer, session_ticket_handler=keep)
        connection.quic.connect(self.addresses[peer], now)
        self._collect(connection)
        if ticket is not None:
            connection.authenticate(early=True)
        return connection.session

    def open(self, session: int) -> int:
        """Open a bidirectional stream and return its id."""
        connection = self.sessions[session]
        channel: int = connection.quic.get_next_available_stream_id()
        # aioquic reserves the id only when something is sent on the stream.
        connection.write(channel, b"")
        return channel

    def send(self, session: int, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Queue bytes for a stream; they are passed on as acknowledgements arrive."""
        connection = self.sessions.get(session)
        if connection is not None and channel not in connection.stopped:
            connection.put(channel, data, end=end)

    def stop(self, session: int, channel: int) -> None:
        """Ask the peer to stop sending on this channel (STOP_SENDING)."""
        if (connection := self.sessions.get(session)) is not None:
            # Raised, depending on the version, if the stream has already ended.
            with suppress(AssertionError, ValueError, RuntimeError):
                connection.quic.stop_stream(channel, _CANCELLED)
                self.dirty[session] = connection

    # Calls of the driver.

    def receive(self, datagram: bytes, address: Address, now: float) -> None:
        """Process one received datagram."""
        self._now = now
        if (connection := self._connection_of(datagram, address)) is not None:
            self.dirty[connection.session] = connection
            connection.quic.receive_datagram(datagram, address, now)
            self._collect(connection)

    def timer(self) -> float | None:
        """Return the time at which `handle_timer` must be called, or None."""
        timers = [timer for each in self._all.values() if (timer := each.timer) is not None]
        return min(timers) + _SLACK_SECONDS if timers else None

    def handle_timer(self, now: float) -> None:
        """Handle the timers of all connections that are due."""
        self._now = now
        for connection in list(self._all.values()):
            if connection.timer is not None and connection.timer <= now:
                self.dirty[connection.session] = connection
                connection.quic.handle_timer(now)
                self._collect(connection)

    def datagrams(self, now: float) -> list[tuple[bytes, Address]]:
        """Return the datagrams to be sent now, each with its destination."""
        self._now = now
        datagrams: list[tuple[bytes, Address]] = []
        dirty, self.dirty = self.dirty, {}
        for connection in dirty.values():
            connection.feed()
            flight = connection.quic.datagrams_to_send(now)
            self._collect(connection)
            datagrams += flight
            connection.timer = connection.quic.get_timer()
            if connection.is_closed and flight:
                # CONNECTION_CLOSE was sent; the library would keep the buffers for a while.
                self._remove(connection, "")
        return datagrams

    # Internals.

    def _connection_of(self, datagram: bytes, address: Address) -> Connection | None:
        """Return the connection of a datagram; a new client's Initial packet may create one."""
        if not datagram:
            return None
        if not datagram[0] & 0x80:
            # Short header: the connection id has the 8 bytes that this side chose.
            return self._by_id.get(datagram[1:9])
        try:
            header = packet.pull_quic_header(HeaderBuffer(data=datagram), host_cid_length=8)
        except ValueError:
            return None
        connection = self._by_id.get(header.destination_cid)
        if (
            # Shorter first datagrams are dropped (RFC 9000, section 14.1), as are other versions.
            connection is None
            and header.packet_type == packet.QuicPacketType.INITIAL
            and len(datagram) >= _MIN_INITIAL_BYTES
            and header.version == _VERSION_1
        ):
            return self._accept(header.destination_cid, str(address[0]))
        return connection

    def _add(self, configuration: Any, peer: int | None = None, **more: Any) -> Connection:
        quic = QuicConnection(configuration=configuration, **more)
        session, dialled = next(self._numbers), peer is not None
        connection = Connection(
            owner=self, quic=quic, session=session, dialled=dialled, created=self._now, peer=peer
        )
        for table in (self.sessions, self._all, self.dirty):
            table[session] = connection
        self._by_id[quic.host_cid] = connection
        return connection

    def _accept(self, original: bytes, host: str) -> Connection:
        def fetch(label: bytes) -> Any:
            ticket, connection.peer = self._issued_tickets.pop(label, self._now)
            return ticket

        tickets: list[Any] = []
        connection = self._add(
            self._server,
            original_destination_connection_id=original,
            session_ticket_fetcher=fetch,
            session_ticket_handler=tickets.append,
        )
        connection.tickets = tickets
        limit_data(connection.quic, False)
        self._by_id[original] = connection
        if (evicted := self._admission.add(connection.session, host)) is not None:
            self._remove(self._all[evicted], "")
        return connection

    def _collect(self, connection: Connection) -> None:
        quic = connection.quic
        event: Any
        while (event := quic.next_event()) is not None:
            if isinstance(event, events.StreamDataReceived):
                connection.handle(event.stream_id, event.data, event.end_stream)
            elif isinstance(event, events.ConnectionIdIssued):
                self._by_id[event.connection_id] = connection
            elif isinstance(event, events.ConnectionIdRetired):
                self._by_id.pop(event.connection_id, None)
            elif isinstance(event, events.ProtocolNegotiated):
                connection.challenge_client()
            elif isinstance(event, events.StopSendingReceived):
                connection.queued.drop(event.stream_id)
                add_recent(connection.stopped, event.stream_id)
            elif isinstance(event, events.ConnectionTerminated):
                self._remove(connection, event.reason_phrase or f"error {event.error_code:#x}")
        connection.check_limits(self._now)
        if connection.opened:
            if not connection.dialled:
                assert connection.peer is not None
                limit_data(connection.quic, True)
                # Not before authentication, because a ticket identifies a client.
                while connection.tickets:
                    self._issued_tickets.add(connection.tickets.pop(), connection.peer, self._now)
            self._admission.remove(connection.session)

    def _remove(self, connection: Connection, reason: str) -> None:
        """Forget a connection; report its end if the node knows the session or has dialled it."""
        session, peer = connection.session, connection.peer
        self._admission.remove(session)
        self._by_id = {key: other for key, other in self._by_id.items() if other is not connection}
        self._all.pop(session, None)
        forget(connection.quic)
        self.dirty.pop(session, None)
        if self.sessions.pop(session, None) is not None and peer is not None:
            self.pending.append(Closed(session, peer, reason))


open_transport = QuicEndpoint
