"""Sessions with peers: each has one channel, whose bytes are split into complete messages.

A peer that sends a malformed message, opens a second channel or ends its channel loses the session.
At most one incomplete message is buffered per peer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from pqchain.delegates.messages import Frames, Message, MessageKind, encode, kind_of
from pqchain.errors import Malformed
from pqchain.wire.session import Closed, Event, Key, Opened, Received, Transport

REDIAL_SECONDS = 0.05
"""Delay before a peer whose session has closed is dialled again."""


class Peers:
    """Peers of a node. Of two nodes, the one with the other in its `dials` opens the session."""

    def __init__(
        self,
        index: int,
        transport: Transport,
        *,
        dials: Collection[int],
        count: int,
        longest_bytes: int,
        rejected: Counter[str],
    ) -> None:
        """Set up `count` peers, of which `dials` are dialled, for messages up to `longest_bytes`.

        `rejected["malformed"]` counts the sessions that were closed because of a malformed message.
        """
        self._index, self._transport, self._dials, self._count = index, transport, dials, count
        self._longest, self._rejected = longest_bytes, rejected
        self._sessions: dict[int, int] = {}
        """Open session with each peer."""
        self._peers: dict[int, int] = {}
        """Peer of each open session."""
        self._channels: dict[int, Key] = {}
        """Channel of each peer."""
        self._frames: dict[Key, Frames] = {}
        self._dialled: set[int] = set()
        self.redial: float | None = None
        """Time of the next dialling in seconds, or None."""

    @property
    def connected(self) -> bool:
        """Whether there is a channel to every peer."""
        return len(self._channels) == self._count

    def dial(self, now: float) -> None:
        """Dial each peer in `dials` that has no session."""
        self.redial = None
        for peer in self._dials:
            if peer not in self._sessions and peer not in self._dialled:
                self._dialled.add(peer)
                self._transport.dial(peer, early=False, now=now)

    def handle(self, event: Event, now: float) -> list[tuple[int, bytes]]:
        """Handle a transport event; return complete messages with their peers."""
        if isinstance(event, Opened):
            self._opened(event, now)
        elif isinstance(event, Closed):
            self._closed(event.session, event.peer, now)
        elif isinstance(event, Received):
            return self._received(event, now)
        return []

    def put(self, peer: int, data: bytes) -> bool:
        """Send a message; return False if there is no channel to that peer."""
        key = self._channels.get(peer)
        if key is not None:
            self._transport.send(*key, data)
        return key is not None

    def _opened(self, event: Opened, now: float) -> None:
        # A peer may restart before its old session times out here, or dial repeatedly: the newest
        # session counts.
        if (old := self._sessions.get(event.peer)) is not None:
            self._remove(old, event.peer)
            self._transport.close(old, "replaced by a newer session", now=now)
        self._sessions[event.peer] = event.session
        self._peers[event.session] = event.peer
        if event.dialled:
            channel = self._transport.open(event.session)
            self._add_channel(event.peer, (event.session, channel))
            # A channel exists for the peer only once bytes arrive on it.
            hello = Message(MessageKind.HELLO, self._index, 0, 0, b"")
            self._transport.send(event.session, channel, encode(hello))

    def _add_channel(self, peer: int, key: Key) -> None:
        self._channels[peer] = key
        self._frames[key] = Frames(self._longest)

    def _remove(self, session: int, peer: int) -> None:
        self._peers.pop(session, None)
        del self._sessions[peer]
        if (key := self._channels.pop(peer, None)) is not None:
            del self._frames[key]

    def _closed(self, session: int, peer: int, now: float) -> None:
        if self._sessions.get(peer) not in (session, None):
            return  # a newer session has replaced it
        self._dialled.discard(peer)
        if peer in self._sessions:
            self._remove(session, peer)
        if peer in self._dials:
            self.redial = now + REDIAL_SECONDS

    def _received(self, event: Received, now: float) -> list[tuple[int, bytes]]:
        if (peer := self._peers.get(event.session)) is None:
            return []
        key = (event.session, event.channel)
        # The first channel that carries bytes is the peer's only one.
        if peer not in self._channels:
            self._add_channel(peer, key)
        try:
            if key not in self._frames:
                raise Malformed("a peer must use one channel; got a second one")
            complete = self._frames[key].feed(event.data)
        except Malformed as error:
            self._rejected["malformed"] += 1
            self._close(event.session, peer, str(error), now)
            return []
        if event.end:
            self._close(event.session, peer, "the peer ended its channel", now)
        return [(peer, data) for data in complete if kind_of(data) is not MessageKind.HELLO]

    def _close(self, session: int, peer: int, reason: str, now: float) -> None:
        self._transport.close(session, reason, now=now)
        self._closed(session, peer, now)
