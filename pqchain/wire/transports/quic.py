"""QUIC sessions without sockets: one endpoint of connections, told the time by the caller.

Knows aioquic's way of speaking and imports neither it nor a fork: `Library` says what an endpoint
takes, `aioquic` and `qh3` give it. The same endpoint runs on the virtual clock and behind a socket.

Who is who: a server shows a pinned certificate. A client, of which aioquic cannot ask one, answers
a challenge that comes with the server's first flight, with its post-quantum signature over the
challenge and the server's certificate. A session ticket is bound to the client that had proven
itself on the ticket's session, and is good for one use: whoever resumes with it is that client,
and a replayed 0-RTT request finds the ticket gone, so that it is neither decrypted nor answered.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from pqchain.errors import Unsupported
from pqchain.wire import identities
from pqchain.wire.identities import Identity, PublicIdentity
from pqchain.wire.session import Address, Buffer, Closed, Event, Opened, Received

ALPN = "pqchain-reencode/1"
WINDOW_BYTES = 4 << 20
"""What is handed to one connection ahead of acknowledgements; aioquic itself never says stop."""

SLICE_BYTES = 256 << 10
_UNPROVEN_BYTES = 64 << 10
"""What an unproven client may send before it is cut off."""

_UNPROVEN_SECONDS = 10.0
_IDLE_SECONDS = 30.0
_ANSWER, _CHALLENGE = 2, 3
"""The first one-way streams of the client and of the server."""

_CHALLENGE_BYTES = 32
_REFUSED = 0x101
_CANCELLED = 0x102
_LEAST_INITIAL_BYTES = 1200
_VERSION_1 = 1
"""Of QUIC, RFC 9000."""

_SLACK_SECONDS = 1e-6
"""aioquic sends an acknowledgement after its time, not at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What an endpoint takes from aioquic, or from a fork of it whose classes look the same."""

    name: str
    version: str
    longest_bytes: int
    """The longest datagram that it sends."""
    configuration: Callable[..., Any]
    connection: Callable[..., Any]
    events: ModuleType
    certificate: Callable[[bytes], Any]
    """Loads a certificate in PEM."""
    key: Callable[[bytes], Any]
    """Loads a private key in PEM."""
    header: Callable[[bytes], Any]
    """Parses the header of a long packet, or raises ValueError."""
    initial: object
    """What that calls a client's first packets."""
    buffered: Callable[[Any, int], int]
    """Says how many bytes of a stream it holds."""
    resumes: bool
    """Whether session tickets are given and taken."""
    settings: Callable[[str], dict[str, Any]]
    """Says, for a congestion control, what only its configuration knows."""
    logger: Callable[[Callable[[], float]], Any] | None
    """Makes a qlog on the caller's clock, where the library can write one."""
    refusals: tuple[type[Exception], ...]
    """What it raises if a stream has ended by itself."""
    over: tuple[type[Exception], ...]
    """What it raises on a connection that the other side has closed, or that it broke itself."""


@dataclass(slots=True, eq=False)
class _Connection:
    """One connection and what we know about it."""

    quic: Any
    session: int
    dialled: bool
    created: float
    peer: int | None = None
    opened: bool = False
    challenge: bytes = b""
    answer: bytearray = field(default_factory=bytearray)
    waiting: list[Received] = field(default_factory=list)
    outgoing: dict[int, deque[tuple[memoryview, bool]]] = field(default_factory=dict)
    stopped: set[int] = field(default_factory=set)
    """Streams on which the other side wants nothing more."""
    ended: set[int] = field(default_factory=set)
    """Streams that the other side has ended: older versions say so again at every repetition."""
    names: set[bytes] = field(default_factory=set)
    """The connection IDs under which its datagrams arrive."""
    timer: float | None = None
    over: bool = False


class QuicEndpoint:
    """All QUIC connections of one node, as a `Transport` and as a state machine on datagrams."""

    def __init__(
        self,
        identity: Identity,
        directory: Sequence[PublicIdentity],
        addresses: Mapping[int, Address],
        library: Library,
        *,
        datagram_bytes: int = 1452,
        congestion: str = "reno",
        log: bool = False,
    ) -> None:
        """Take our identity, everyone's public one, where everyone listens, and whose QUIC."""
        if datagram_bytes > library.longest_bytes:
            raise Unsupported(
                f"datagrams of {datagram_bytes} bytes: {library.name} {library.version} sends at "
                f"most {library.longest_bytes}; take shorter ones, or aioquic 1.7 on Python 3.11"
            )
        self._library = library
        self._identity = identity
        self._directory = {public.index: public for public in directory}
        self._addresses = addresses
        self._now = 0.0
        self.log = library.logger(lambda: self._now) if log and library.logger else None
        self._common: dict[str, Any] = {
            "alpn_protocols": [ALPN],
            "idle_timeout": _IDLE_SECONDS,
            "max_data": 4 * WINDOW_BYTES,
            "max_stream_data": 4 * WINDOW_BYTES,
            "max_datagram_size": datagram_bytes,
            "supported_versions": [_VERSION_1],
            "quic_logger": self.log,
            **library.settings(congestion),
        }
        pem = identity.public.certificate_pem
        self._server = library.configuration(
            is_client=False,
            certificate=library.certificate(pem),
            private_key=library.key(identity.certificate_key_pem),
            **self._common,
        )
        self._sessions: dict[int, _Connection] = {}
        self._by_name: dict[bytes, _Connection] = {}
        self._all: dict[int, _Connection] = {}
        self._dirty: dict[int, _Connection] = {}
        self._events: list[Event] = []
        self._count = 0
        self._given: dict[bytes, tuple[Any, _Connection]] = {}
        self._kept: dict[int, list[Any]] = {}
        self.early_sessions = 0
        """Sessions of others that were resumed with a ticket of ours."""

    # What a node asks for.

    def dial(self, peer: int, *, early: bool, now: float) -> int:
        """Begin a session; `early` uses a ticket of an earlier session if there is one."""
        self._now = now
        public = self._directory[peer]
        tickets = self._kept.get(peer, [])
        ticket = tickets.pop() if early and tickets else None
        quic = self._library.connection(
            configuration=self._library.configuration(
                is_client=True,
                server_name=identities.server_name(peer),
                cadata=public.certificate_pem,
                session_ticket=ticket,
                **self._common,
            ),
            session_ticket_handler=self._kept.setdefault(peer, []).append,
        )
        connection = self._added(quic, dialled=True, now=now)
        connection.peer = peer
        quic.connect(self._addresses[peer], now)
        self._collect(connection, now)
        if ticket is not None:
            connection.opened = True
            self._events.append(Opened(connection.session, peer, True, early=True))
        return connection.session

    def open(self, session: int) -> int:
        """Open a two-way stream."""
        connection = self._sessions[session]
        channel: int = connection.quic.get_next_available_stream_id()
        # The number is taken when something is sent on it.
        self._write(connection, channel, b"")
        connection.outgoing[channel] = deque()
        return channel

    def send(self, session: int, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Queue bytes for a stream; they are handed on as acknowledgements make room."""
        connection = self._sessions.get(session)
        if connection is None or channel in connection.stopped:
            return
        view = memoryview(data).cast("B")
        connection.outgoing.setdefault(channel, deque()).append((view, end))
        self._dirty[session] = connection

    def stop(self, session: int, channel: int) -> None:
        """Ask the sender to stop, and forget what we had for it."""
        connection = self._sessions.get(session)
        if connection is None:
            return
        try:
            connection.quic.stop_stream(channel, _CANCELLED)
        except self._library.refusals:  # it has ended by itself
            return
        self._dirty[session] = connection

    def close(self, session: int, reason: str, *, now: float) -> None:
        """Send a CONNECTION_CLOSE and forget the session."""
        self._now = now
        connection = self._sessions.pop(session, None)
        if connection is not None:
            connection.over = True
            connection.outgoing.clear()
            connection.quic.close(reason_phrase=reason)
            self._dirty[session] = connection

    def queued_bytes(self) -> int:
        """Return what waits in our queues; what QUIC has taken is not counted."""
        return sum(
            len(view)
            for connection in self._sessions.values()
            for queue in connection.outgoing.values()
            for view, _ in queue
        )

    # What the network, or its model, tells.

    def receive(self, datagram: bytes, address: Address, now: float) -> None:
        """Take in one datagram."""
        self._now = now
        if not datagram:
            return
        if datagram[0] & 0x80:
            try:
                header = self._library.header(datagram)
            except ValueError:
                return
            connection = self._by_name.get(header.destination_cid)
            initial = header.packet_type == self._library.initial
            if connection is None:
                if not initial or len(datagram) < _LEAST_INITIAL_BYTES:
                    return
                if header.version != _VERSION_1:
                    return
                connection = self._accepted(header.destination_cid, now)
        else:
            connection = self._by_name.get(datagram[1:9])
            if connection is None:
                return
        self._dirty[connection.session] = connection
        try:
            connection.quic.receive_datagram(datagram, address, now)
        except self._library.over as error:
            self._terminated(connection, str(error))
            return
        self._collect(connection, now)

    def timer(self) -> float | None:
        """Return when `handle_timer` wants to be called, or None."""
        timers = [each.timer for each in self._all.values() if each.timer is not None]
        return min(timers) + _SLACK_SECONDS if timers else None

    def handle_timer(self, now: float) -> None:
        """Let every connection whose time has come act."""
        self._now = now
        for connection in list(self._all.values()):
            if connection.timer is not None and connection.timer <= now:
                self._dirty[connection.session] = connection
                try:
                    connection.quic.handle_timer(now)
                except self._library.over as error:
                    self._terminated(connection, str(error))
                    continue
                self._collect(connection, now)

    def datagrams(self, now: float) -> list[tuple[bytes, Address]]:
        """Return what is to be sent now."""
        self._now = now
        sent: list[tuple[bytes, Address]] = []
        dirty, self._dirty = self._dirty, {}
        for connection in dirty.values():
            self._feed(connection)
            try:
                sent += connection.quic.datagrams_to_send(now)
            except self._library.over as error:
                self._terminated(connection, str(error))
                continue
            self._collect(connection, now)
            connection.timer = connection.quic.get_timer()
        return sent

    def events(self) -> list[Event]:
        """Return what has happened since the last call."""
        happened, self._events = self._events, []
        return happened

    # What happens inside.

    def _added(self, quic: Any, *, dialled: bool, now: float) -> _Connection:
        """Give a connection a number and its first name."""
        self._count += 1
        connection = _Connection(quic, self._count, dialled, now)
        self._sessions[connection.session] = self._all[connection.session] = connection
        self._dirty[connection.session] = connection
        self._name(connection, quic.host_cid)
        return connection

    def _accepted(self, original: bytes, now: float) -> _Connection:
        """Answer a client that we do not know yet."""
        holder: list[_Connection] = []

        def fetch(label: bytes) -> Any:
            # Gone after one use: a replay of the same first flight finds nothing.
            ticket, owner = self._given.pop(label, (None, None))
            if ticket is None or owner is None or owner.peer is None:
                return None
            holder[0].peer = owner.peer
            return ticket

        def give(ticket: Any) -> None:
            self._given[ticket.ticket] = (ticket, holder[0])

        quic = self._library.connection(
            configuration=self._server,
            original_destination_connection_id=original,
            session_ticket_fetcher=fetch if self._library.resumes else None,
            session_ticket_handler=give if self._library.resumes else None,
        )
        connection = self._added(quic, dialled=False, now=now)
        holder.append(connection)
        self._name(connection, original)
        return connection

    def _name(self, connection: _Connection, name: bytes) -> None:
        """Let datagrams to that connection ID reach the connection."""
        connection.names.add(name)
        self._by_name[name] = connection

    def _collect(self, connection: _Connection, now: float) -> None:
        """Turn the connection's events into ours."""
        quic, events = connection.quic, self._library.events
        event: Any
        while (event := quic.next_event()) is not None:
            if isinstance(event, events.StreamDataReceived):
                self._stream_data(connection, event)
            elif isinstance(event, events.ConnectionIdIssued):
                self._name(connection, event.connection_id)
            elif isinstance(event, events.ConnectionIdRetired):
                connection.names.discard(event.connection_id)
                self._by_name.pop(event.connection_id, None)
            elif isinstance(event, events.ProtocolNegotiated):
                self._negotiated(connection)
            elif isinstance(event, events.StopSendingReceived):
                connection.outgoing.pop(event.stream_id, None)
                connection.stopped.add(event.stream_id)
            elif isinstance(event, events.ConnectionTerminated):
                self._terminated(connection, event.reason_phrase or f"error {event.error_code:#x}")
        unproven = not connection.dialled and not connection.opened and not connection.over
        if unproven and now > connection.created + _UNPROVEN_SECONDS:
            self._refuse(connection, "no proof of identity in time")

    def _negotiated(self, connection: _Connection) -> None:
        """Greet a client whose hello was understood, unless a ticket has said who it is."""
        if connection.dialled:
            return
        if connection.peer is not None:
            self.early_sessions += 1
            self._proven(connection, early=True)
            return
        connection.challenge = os.urandom(_CHALLENGE_BYTES)
        stream = connection.quic.get_next_available_stream_id(is_unidirectional=True)
        self._write(connection, stream, connection.challenge, end=True)

    def _stream_data(self, connection: _Connection, event: Any) -> None:
        """Sort proof from data, and hold data back until there is proof."""
        if connection.over:
            return
        if event.stream_id == (_CHALLENGE if connection.dialled else _ANSWER):
            connection.answer += event.data
            if len(connection.answer) > _UNPROVEN_BYTES:
                self._refuse(connection, "too long an answer")
            elif event.end_stream:
                self._answered(connection, bytes(connection.answer))
            return
        if event.stream_id in connection.ended:
            return
        if event.end_stream:
            connection.ended.add(event.stream_id)
        received = Received(connection.session, event.stream_id, event.data, event.end_stream)
        if connection.opened:
            self._events.append(received)
            return
        connection.waiting.append(received)
        if sum(len(each.data) for each in connection.waiting) > _UNPROVEN_BYTES:
            self._refuse(connection, "too much before a proof of identity")

    def _answered(self, connection: _Connection, answer: bytes) -> None:
        """Answer a challenge, or judge the answer to ours."""
        own = self._identity
        if connection.dialled:
            assert connection.peer is not None
            proof = own.sign(answer, self._directory[connection.peer])
            stream = connection.quic.get_next_available_stream_id(is_unidirectional=True)
            text = own.index.to_bytes(4, "big") + proof
            self._write(connection, stream, text, end=True)
            self._proven(connection)
            return
        client = self._directory.get(int.from_bytes(answer[:4], "big"))
        if (
            connection.opened
            or client is None
            or client.index == own.index
            or not identities.verify(
                answer[4:], connection.challenge, client=client, server=own.public
            )
        ):
            self._refuse(connection, "no known identity was proven")
            return
        connection.peer = client.index
        self._proven(connection)

    def _proven(self, connection: _Connection, *, early: bool = False) -> None:
        """Tell the node of the session, and of what came before the proof."""
        if connection.opened:
            return
        assert connection.peer is not None
        connection.opened = True
        self._events.append(Opened(connection.session, connection.peer, connection.dialled, early))
        self._events += connection.waiting
        connection.waiting.clear()

    def _refuse(self, connection: _Connection, reason: str) -> None:
        """Close a connection that the node never heard of."""
        connection.over = True
        connection.waiting.clear()
        self._sessions.pop(connection.session, None)
        connection.quic.close(error_code=_REFUSED, reason_phrase=reason)
        self._dirty[connection.session] = connection

    def _terminated(self, connection: _Connection, reason: str) -> None:
        """Forget a connection, and tell the node if it knew it."""
        for name in connection.names:
            self._by_name.pop(name, None)
        self._all.pop(connection.session, None)
        self._dirty.pop(connection.session, None)
        connection.timer = None
        known = connection.session in self._sessions
        self._sessions.pop(connection.session, None)
        if known and not connection.over and connection.peer is not None:
            connection.over = True
            self._events.append(Closed(connection.session, connection.peer, reason))

    def _feed(self, connection: _Connection) -> None:
        """Hand queued bytes to QUIC, as far as its buffers are not full."""
        waiting = [channel for channel, queue in connection.outgoing.items() if queue]
        if not waiting or connection.over:
            return
        # What a dialled connection sends before it is opened would miss the 0-RTT keys anyway.
        room = max(WINDOW_BYTES // len(waiting), SLICE_BYTES)
        for channel in waiting:
            queue = connection.outgoing[channel]
            buffered = self._library.buffered(connection.quic, channel)
            while queue and buffered < room:
                view, end = queue.popleft()
                part, rest = view[:SLICE_BYTES], view[SLICE_BYTES:]
                if len(rest):
                    queue.appendleft((rest, end))
                self._write(connection, channel, part, end=end and not len(rest))
                buffered += len(part)
            if not queue:
                del connection.outgoing[channel]

    def _write(
        self, connection: _Connection, channel: int, data: Buffer, *, end: bool = False
    ) -> None:
        """Hand bytes to QUIC. If the other side has closed, they are lost; the event comes."""
        # aioquic appends to a bytearray, which takes any buffer.
        try:
            connection.quic.send_stream_data(channel, data, end)
        except self._library.over:
            return


def write_qlog(endpoint: QuicEndpoint, path: Path) -> None:
    """Write the traces of an endpoint that was made with `log`, for qvis."""
    from pqchain.results import write_atomically

    traces = endpoint.log.to_dict() if endpoint.log is not None else {"traces": []}
    write_atomically(path, json.dumps(traces))


def kept_tickets(endpoint: QuicEndpoint) -> dict[int, int]:
    """Return how many session tickets the endpoint has for each peer."""
    return {peer: len(tickets) for peer, tickets in endpoint._kept.items()}


def drain(endpoint: QuicEndpoint, now: float) -> Iterable[tuple[bytes, Address]]:
    """Yield datagrams until the endpoint has nothing more to send at this moment."""
    while batch := endpoint.datagrams(now):
        yield from batch
