"""Who the others are: the sessions with them, heartbeats, and whom they make us take for dead.

Knows sessions and messages, and nothing of chunks: what hangs on a session besides heartbeats is
forgotten by whoever put it there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from pqchain.errors import DataError
from pqchain.reencode.protocol.work import Own
from pqchain.wire.messages import Message, Reader, pack
from pqchain.wire.session import Key, Opened

LOG = logging.getLogger("pqchain.reencode")

_UNKNOWN_PATIENCE = 10
"""How many time-outs a node has that was never heard."""

MOST_PARTIAL_BYTES = 4 << 20
"""Of messages that are not whole: so much may a peer leave lying on all its channels."""

MOST_SESSIONS = 4
"""Sessions that a peer may have dialled: it needs one for heartbeats and one for chunks."""

MOST_CHANNELS = 1024
"""Channels of its own that a peer may leave open: an honest one ends each with its request."""

_AWAITED_ECHOES = 16
"""Heartbeats of which an echo still tells the round-trip time."""

_MOST_QUEUED_BYTES = 1 << 62


def _queued(message: Message) -> int:
    """Return how many bytes wait, as a message says. Raises DataError."""
    count = int(message["queued"])
    if not 0 <= count <= _MOST_QUEUED_BYTES:
        raise DataError(f"queued is {str(count)[:20]}; expected a number of bytes")
    return count


@dataclass(slots=True, eq=False)
class Peer:
    """What a node knows of another."""

    index: int
    heard: float
    alive: bool = True
    known: bool = False
    """Whether it was ever heard."""
    session: int = 0
    """The session that we dialled, once it is open."""
    dialling: int = 0
    channel: int = 0
    sent: dict[int, float] = field(default_factory=dict)
    """When each heartbeat left that has no echo yet."""
    round_trip: float = float("inf")
    queued: int = 0
    """Bytes that wait in its queues, as it says."""
    failed: bool = False
    """Whether it has given up its own part, as it says; it goes on serving."""
    since: float | None = None
    """When it started, by its own clock; another value means that it has restarted."""


class Peers:
    """All the others."""

    def __init__(
        self, own: Own, news: Callable[[], Message], forget: Callable[[Peer, int], None]
    ) -> None:
        """Say the `news` with each heartbeat, and let a session that is over be forgotten."""
        self._own, self._news, self._forget = own, news, forget
        self.all: dict[int, Peer] = {}
        self.readers: dict[Key, Reader] = {}
        """What takes each open channel apart."""
        self.next_beat: float | None = None
        self.by_session: dict[int, Peer] = {}
        """Who is at the other end, while the session is not over."""
        self._theirs: dict[int, set[int]] = {}
        """The open channels of the other side, by the session that it dialled."""
        self._beat = 0
        self._since = 0.0

    def start(self) -> None:
        """Begin to know the others; the first `tick` dials them."""
        own = self._own
        self._since = own.now
        others = (index for index in range(own.scenario.nodes) if index != own.index)
        self.all = {index: Peer(index, heard=own.now) for index in others}

    @property
    def connected(self) -> bool:
        """Whether sessions to all peers are open."""
        return all(peer.session for peer in self.all.values())

    def tick(self) -> bool:
        """Send heartbeats, dial whom we have lost; return if another is newly taken for dead."""
        own, buried = self._own, False
        self.next_beat = own.now + own.scenario.heartbeat_seconds
        self._beat += 1
        for peer in self.all.values():
            if peer.session:
                self._send_beat(peer)
            elif not peer.dialling:
                peer.dialling = self.dial(peer)
            # Who was never heard may still be starting; who has fallen silent is dead.
            patience = 1 if peer.known else _UNKNOWN_PATIENCE
            if peer.alive and own.now - peer.heard > patience * own.scenario.timeout_seconds:
                LOG.info("node %d: node %d is dead", own.index, peer.index)
                peer.alive = False
                buried = True
                self._drop_sessions(peer, "taken for dead", but=0)
        return buried

    def beat_all(self) -> None:
        """Send everyone a heartbeat ahead of time, because there is news."""
        self._beat += 1
        for peer in self.all.values():
            if peer.session:
                self._send_beat(peer)

    def dial(self, peer: Peer, *, early: bool = False) -> int:
        """Begin a session and return its number."""
        session = self._own.transport.dial(peer.index, early=early, now=self._own.now)
        self.by_session[session] = peer
        return session

    def opened(self, event: Opened) -> Peer:
        """Note a session; on the one that we dialled for it, heartbeats begin."""
        peer = self.all[event.peer]
        self.heard(peer)
        self.by_session[event.session] = peer
        if not event.dialled:
            self._theirs[event.session] = set()
            sessions = [at for at in self._theirs if self.by_session[at] is peer]
            if len(sessions) > MOST_SESSIONS:
                self.closed(sessions[0])
                self._own.transport.close(sessions[0], "too many sessions", now=self._own.now)
        if event.dialled and event.session == peer.dialling:
            peer.session, peer.dialling = event.session, 0
            peer.channel = self._own.transport.open(peer.session)
            self.readers[peer.session, peer.channel] = Reader()
            self._send_beat(peer)
        return peer

    def closed(self, session: int) -> Peer | None:
        """Forget a session, and return whose it was; the next heartbeat dials again."""
        if (peer := self.by_session.pop(session, None)) is None:
            return None
        self._theirs.pop(session, None)
        for key in [key for key in self.readers if key[0] == session]:
            del self.readers[key]
        if session in (peer.session, peer.dialling):
            peer.session = peer.dialling = peer.channel = 0
        self._forget(peer, session)
        return peer

    def accept(self, key: Key) -> Reader:
        """Return the parser of a channel that the other side has opened.

        Raises DataError if it leaves too many open.
        """
        theirs = self._theirs.setdefault(key[0], set())
        if len(theirs) >= MOST_CHANNELS:
            raise DataError(f"more than {MOST_CHANNELS} open channels")
        theirs.add(key[1])
        reader = self.readers[key] = Reader()
        return reader

    def ended(self, key: Key) -> None:
        """Forget a channel that the other side has ended."""
        self.readers.pop(key, None)
        self._theirs.get(key[0], set()).discard(key[1])

    def heard(self, peer: Peer) -> None:
        """Note a sign of life."""
        peer.heard = self._own.now
        peer.alive = peer.known = True

    def partial_bytes(self, peer: Peer) -> int:
        """Return how much of messages that are not whole a peer has sent."""
        of = self.by_session.get
        return sum(
            reader.partial_bytes for key, reader in self.readers.items() if of(key[0]) is peer
        )

    def beaten(self, peer: Peer, key: Key, message: Message) -> None:
        """Take in a heartbeat and echo it."""
        peer.queued = _queued(message)
        peer.failed = bool(message["failed"])
        if peer.since not in (None, message["since"]):
            # It has restarted and knows nothing of our sessions with it.
            self._drop_sessions(peer, "the other side has restarted", but=key[0])
            peer.dialling = self.dial(peer)
        peer.since = message["since"]
        queued = self._own.transport.queued_bytes()
        echo = {"type": "echo", "number": message["number"], "queued": queued}
        self._own.transport.send(*key, pack(echo))

    def echoed(self, peer: Peer, message: Message) -> None:
        """Take in the echo of a heartbeat."""
        peer.queued = _queued(message)
        if (sent := peer.sent.pop(int(message["number"]), None)) is not None:
            # The least of all is nearest to the way itself, without queues.
            peer.round_trip = min(peer.round_trip, self._own.now - sent)

    def _send_beat(self, peer: Peer) -> None:
        oldest = self._beat - _AWAITED_ECHOES
        peer.sent = {number: at for number, at in peer.sent.items() if number > oldest}
        peer.sent[self._beat] = self._own.now
        message: Message = {
            "type": "beat",
            "number": self._beat,
            "since": self._since,
            "queued": self._own.transport.queued_bytes(),
            **self._news(),
        }
        self._own.transport.send(peer.session, peer.channel, pack(message))

    def _drop_sessions(self, peer: Peer, reason: str, *, but: int) -> None:
        """Close all sessions with a peer, in either direction, but one."""
        for session in [at for at, owner in self.by_session.items() if owner is peer]:
            if session != but:
                self.closed(session)
                self._own.transport.close(session, reason, now=self._own.now)
