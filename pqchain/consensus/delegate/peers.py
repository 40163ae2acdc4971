"""Sessions with other nodes: one session for each peer, one channel on it, complete messages.

A peer that sends a malformed message, opens a second channel or ends its channel loses the session.
What is kept of a peer is at most one message that is not complete.
"""

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
        longest_bytes: int,
        refused: Counter[str],
    ) -> None:
        """Take whom we dial, the number of peers, the longest legal message, and a counter.

        The counter has a row "malformed" for sessions that were closed because of one.
        """
        self._index, self._transport, self._dials, self._count = index, transport, dials, count
        self._longest, self._refused = longest_bytes, refused
        self._sessions: dict[int, int] = {}
        """The open session with each peer."""
        self._peers: dict[int, int] = {}
        """The peer of each open session."""
        self._channels: dict[int, Key] = {}
        """The channel of each peer."""
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

    @property
    def partial_bytes(self) -> int:
        """Bytes that are kept of messages that are not complete."""
        return sum(frames.partial_bytes for frames in self._frames.values())

    def handle(self, event: Event, now: float) -> list[tuple[int, bytes]]:
        """Handle a transport event; return complete messages, each with its peer."""
        if isinstance(event, Opened):
            self._opened(event, now)
        elif isinstance(event, Closed):
            self._closed(event.session, event.peer, now)
        elif isinstance(event, Received):
            return self._received(event, now)
        return []

    def put(self, peer: int, data: bytes) -> bool:
        """Send a message, if there is a channel to that peer."""
        key = self._channels.get(peer)
        if key is not None:
            self._transport.send(*key, data)
        return key is not None

    def _opened(self, event: Opened, now: float) -> None:
        # The peer has restarted before its old session timed out here, or dials again and again.
        if (before := self._sessions.get(event.peer)) is not None:
            self._forget(before, event.peer)
            self._transport.close(before, "replaced by a newer session", now=now)
        self._sessions[event.peer] = event.session
        self._peers[event.session] = event.peer
        if event.dialled:
            channel = self._transport.open(event.session)
            self._add_channel(event.peer, (event.session, channel))
            # The other side learns of the channel by what comes on it.
            hello = Message(Kind.HELLO, self._index, 0, 0, b"")
            self._transport.send(event.session, channel, encode(hello))

    def _add_channel(self, peer: int, key: Key) -> None:
        self._channels[peer] = key
        self._frames[key] = Frames(self._longest)

    def _forget(self, session: int, peer: int) -> None:
        self._peers.pop(session, None)
        del self._sessions[peer]
        if (key := self._channels.pop(peer, None)) is not None:
            del self._frames[key]

    def _closed(self, session: int, peer: int, now: float) -> None:
        if self._sessions.get(peer) not in (session, None):
            return  # replaced by a newer one
        self._dialled.discard(peer)
        if peer in self._sessions:
            self._forget(session, peer)
        if peer in self._dials:
            self.redial = now + BEAT_SECONDS

    def _received(self, event: Received, now: float) -> list[tuple[int, bytes]]:
        if (peer := self._peers.get(event.session)) is None:
            return []
        key = (event.session, event.channel)
        if peer not in self._channels:
            self._add_channel(peer, key)
        try:
            if key not in self._frames:
                raise Malformed("a second channel")
            complete = self._frames[key].feed(event.data)
        except Malformed as error:
            self._refused["malformed"] += 1
            self._close(event.session, peer, str(error), now)
            return []
        if event.end:
            self._close(event.session, peer, "its channel has ended", now)
        return [(peer, data) for data in complete if kind_of(data) is not Kind.HELLO]

    def _close(self, session: int, peer: int, reason: str, now: float) -> None:
        self._transport.close(session, reason, now=now)
        self._closed(session, peer, now)
