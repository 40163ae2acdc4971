"""Sessions to other nodes, one channel on each, and the messages that come whole over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from pqchain.consensus.delegate.messages import Frames, Kind, Message, encode, kind_of
from pqchain.errors import Malformed
from pqchain.wire.session import Closed, Event, Key, Opened, Received, Transport

BEAT_SECONDS = 0.05
"""After which whoever could not be reached is dialled again."""


class Peers:
    """Those that a node talks to. Of two the one that has the other in `dials` dials."""

    def __init__(
        self,
        index: int,
        transport: Transport,
        *,
        dials: Collection[int],
        count: int,
        refused: Counter[str],
    ) -> None:
        """Take whom we dial, how many there are in all, and where to count what is malformed."""
        self._index, self._transport, self._dials, self._count = index, transport, dials, count
        self._refused = refused
        self._sessions: dict[int, int] = {}
        """The session to each peer that is open."""
        self._channels: dict[int, Key] = {}
        self._frames: dict[Key, Frames] = {}
        self._dialled: set[int] = set()
        self.redial: float | None = None
        """When to dial again."""

    @property
    def connected(self) -> bool:
        """Whether there is a channel to each of them."""
        return len(self._channels) == self._count

    def dial(self, now: float) -> None:
        """Dial whom we have no session to."""
        self.redial = None
        for peer in self._dials:
            if peer not in self._sessions and peer not in self._dialled:
                self._dialled.add(peer)
                self._transport.dial(peer, early=False, now=now)

    def handle(self, event: Event, now: float) -> list[tuple[int, bytes]]:
        """Take in what the transport tells; return messages that are whole, and whose they are."""
        if isinstance(event, Opened):
            self._sessions[event.peer] = event.session
            if event.dialled:
                channel = self._transport.open(event.session)
                self._channels[event.peer] = (event.session, channel)
                # The other side learns of the channel by what comes on it.
                hello = Message(Kind.HELLO, self._index, 0, 0, b"")
                self._transport.send(event.session, channel, encode(hello))
        elif isinstance(event, Closed):
            self._closed(event, now)
        elif isinstance(event, Received):
            return self._received(event)
        return []

    def put(self, peer: int, data: bytes) -> bool:
        """Send a message, if there is a channel to that peer."""
        key = self._channels.get(peer)
        if key is not None:
            self._transport.send(*key, data)
        return key is not None

    def _closed(self, event: Closed, now: float) -> None:
        self._dialled.discard(event.peer)
        if self._sessions.get(event.peer) not in (event.session, None):
            return
        self._sessions.pop(event.peer, None)
        if (key := self._channels.pop(event.peer, None)) is not None:
            self._frames.pop(key, None)
        if event.peer in self._dials:
            self.redial = now + BEAT_SECONDS

    def _received(self, event: Received) -> list[tuple[int, bytes]]:
        peers = [peer for peer, session in self._sessions.items() if session == event.session]
        if not peers:
            return []
        key = (event.session, event.channel)
        self._channels.setdefault(peers[0], key)
        try:
            whole = self._frames.setdefault(key, Frames()).feed(event.data)
        except Malformed:
            self._refused["malformed"] += 1
            return []
        return [(peers[0], data) for data in whole if kind_of(data) is not Kind.HELLO]
