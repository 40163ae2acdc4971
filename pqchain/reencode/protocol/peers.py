"""Who the others are: the sessions with them, heartbeats, and whom they make us take for dead.

Knows sessions and messages, and what time the caller says it is. Knows nothing of chunks: what
hangs on a session besides heartbeats is forgotten by whoever put it there, as `lost` says.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from pqchain.reencode.protocol.work import Shared
from pqchain.wire.messages import Message, Reader, pack
from pqchain.wire.session import Key, Opened

LOG = logging.getLogger("pqchain.reencode")

_UNKNOWN_PATIENCE = 10
"""How many time-outs a node has that was never heard."""

_AWAITED_ECHOES = 16
"""Heartbeats of which an echo still tells the round-trip time."""


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
    """All the others. What a heartbeat says beside the time is the caller's `news`."""

    def __init__(self, shared: Shared) -> None:
        self._index, self._scenario = shared.index, shared.scenario
        self._transport = shared.transport
        self.all: dict[int, Peer] = {}
        self.readers: dict[Key, Reader] = {}
        """What takes each open channel apart."""
        self.next_beat: float | None = None
        self.by_session: dict[int, Peer] = {}
        """Who is at the other end, while the session is not over."""
        self._lost: list[tuple[Peer, int]] = []
        self._beat = 0
        self._since = 0.0

    def start(self, now: float) -> None:
        """Begin to know the others; the first `tick` dials them."""
        self._since = now
        for index in range(self._scenario.nodes):
            if index != self._index:
                self.all[index] = Peer(index, heard=now)

    @property
    def connected(self) -> bool:
        """Whether sessions to all peers are open."""
        return all(peer.session for peer in self.all.values())

    def lost(self) -> list[tuple[Peer, int]]:
        """Return the sessions that are over since the last call, and whose they were."""
        lost, self._lost = self._lost, []
        return lost

    def tick(self, news: Message, now: float) -> list[Peer]:
        """Send heartbeats, dial whom we have lost; return those who are newly taken for dead."""
        self.next_beat = now + self._scenario.heartbeat_seconds
        self._beat += 1
        buried = []
        for peer in self.all.values():
            if peer.session:
                self._send_beat(peer, news, now)
            elif not peer.dialling:
                peer.dialling = self.dial(peer, early=False, now=now)
            # Who was never heard may still be starting; who has fallen silent is dead.
            patience = 1 if peer.known else _UNKNOWN_PATIENCE
            if peer.alive and now - peer.heard > patience * self._scenario.timeout_seconds:
                LOG.info("node %d: node %d is dead", self._index, peer.index)
                peer.alive = False
                self._drop_sessions(peer, "taken for dead", now, but=0)
                buried.append(peer)
        return buried

    def beat_all(self, news: Message, now: float) -> None:
        """Send everyone a heartbeat ahead of time, because there is news."""
        self._beat += 1
        for peer in self.all.values():
            if peer.session:
                self._send_beat(peer, news, now)

    def dial(self, peer: Peer, *, early: bool, now: float) -> int:
        """Begin a session and return its number."""
        session = self._transport.dial(peer.index, early=early, now=now)
        self.by_session[session] = peer
        return session

    def opened(self, event: Opened, news: Message, now: float) -> Peer:
        """Note a session; on the one that we dialled for it, heartbeats begin."""
        peer = self.all[event.peer]
        self.heard(peer, now)
        self.by_session[event.session] = peer
        if event.dialled and event.session == peer.dialling:
            peer.session, peer.dialling = event.session, 0
            peer.channel = self._transport.open(peer.session)
            self.readers[peer.session, peer.channel] = Reader()
            self._send_beat(peer, news, now)
        return peer

    def closed(self, session: int) -> Peer | None:
        """Forget a session, and return whose it was; the next heartbeat dials again."""
        if (peer := self.by_session.pop(session, None)) is not None:
            self._over(peer, session)
        return peer

    def heard(self, peer: Peer, now: float) -> None:
        """Note a sign of life."""
        peer.heard = now
        peer.alive = peer.known = True

    def beaten(self, peer: Peer, key: Key, message: Message, now: float) -> None:
        """Take in a heartbeat and echo it."""
        peer.queued = int(message["queued"])
        peer.failed = bool(message["failed"])
        if peer.since not in (None, message["since"]):
            # It has restarted and knows nothing of our sessions with it.
            self._drop_sessions(peer, "the other side has restarted", now, but=key[0])
            peer.dialling = self.dial(peer, early=False, now=now)
        peer.since = message["since"]
        queued = self._transport.queued_bytes()
        echo = {"type": "echo", "number": message["number"], "queued": queued}
        self._transport.send(*key, pack(echo))

    def echoed(self, peer: Peer, message: Message, now: float) -> None:
        """Take in the echo of a heartbeat."""
        peer.queued = int(message["queued"])
        if (sent := peer.sent.pop(int(message["number"]), None)) is not None:
            # The least of all is nearest to the way itself, without queues.
            peer.round_trip = min(peer.round_trip, now - sent)

    def _send_beat(self, peer: Peer, news: Message, now: float) -> None:
        oldest = self._beat - _AWAITED_ECHOES
        peer.sent = {number: at for number, at in peer.sent.items() if number > oldest}
        peer.sent[self._beat] = now
        message: Message = {
            "type": "beat",
            "number": self._beat,
            "since": self._since,
            "queued": self._transport.queued_bytes(),
            **news,
        }
        self._transport.send(peer.session, peer.channel, pack(message))

    def _drop_sessions(self, peer: Peer, reason: str, now: float, *, but: int) -> None:
        """Close all sessions with a peer, in either direction, but one."""
        for session in [at for at, owner in self.by_session.items() if owner is peer]:
            if session != but:
                del self.by_session[session]
                self._over(peer, session)
                self._transport.close(session, reason, now=now)

    def _over(self, peer: Peer, session: int) -> None:
        for key in [key for key in self.readers if key[0] == session]:
            del self.readers[key]
        if session in (peer.session, peer.dialling):
            peer.session = peer.dialling = peer.channel = 0
        self._lost.append((peer, session))
