"""Resource limits of one session, the same for every transport.

Data that waits to be sent is counted in pieces, one per call of `send`. `bytes` also count by
length, because the queue is their only owner; a `memoryview` refers to memory that the node keeps
anyway, such as a cached chunk, and counts only as a piece. A session that exceeds a limit is closed
with the reason `PEER_NOT_READING`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from pqchain.wire.session import Buffer

MAX_QUEUED = 1 << 15
"""Maximum number of queued pieces of a session (13 MB), two for each of 10,000 chunks."""

MAX_QUEUED_BYTES = 32 << 20
"""Maximum bytes owned by a session's queue; beyond it the next piece closes the session."""

PEER_NOT_READING = "the other side reads nothing"

MAX_UNREAD_BYTES = 4 << 20
"""Maximum received bytes of a session that wait for the node; beyond it reading pauses."""

MAX_CHANNELS, MAX_UNAUTHENTICATED_CHANNELS = 1 << 14, 256
"""Maximum QUIC streams per session after and before authentication; 10,000 blocks need 10,000."""

MAX_LIBRARY_BYTES = 8 << 20
"""Maximum bytes of a session that a QUIC library copies and keeps until acknowledgement."""

MAX_CREDIT_BYTES = 32 << 20
"""Maximum flow-control credit of a QUIC peer beyond the data already delivered."""

TURN_SECONDS = 0.01
"""Time budget in seconds that all sessions share in one turn of the event loop."""

PIECE_BYTES = 32 << 10
"""Maximum received bytes passed to a node at once: 300 heartbeats, about 10 ms of processing."""


@dataclass(slots=True)
class SendQueues:
    """Data that waits to be sent on one session, by channel, with its counters."""

    pieces: int = 0
    bytes: int = 0
    owned_bytes: int = 0
    """The part of `bytes` whose only owner is the queue."""
    channels: dict[int, deque[tuple[memoryview, bool]]] = field(default_factory=dict)
    """Pieces of each channel, and whether a piece ends it; no channel is empty."""

    @property
    def is_full(self) -> bool:
        """Whether a limit is reached, so that the peer is assumed not to read."""
        return self.pieces >= MAX_QUEUED or self.owned_bytes >= MAX_QUEUED_BYTES

    def _count(self, view: memoryview, sign: int) -> None:
        self.pieces += sign
        self.bytes += sign * len(view)
        self.owned_bytes += sign * len(view) * isinstance(view.obj, bytes)

    def put(self, channel: int, data: Buffer, end: bool) -> None:
        """Queue data of a channel."""
        view = memoryview(data).cast("B")
        self._count(view, 1)
        self.channels.setdefault(channel, deque()).append((view, end))

    def take(self, channel: int, count: int) -> tuple[memoryview, bool]:
        """Remove and return at most `count` bytes of a channel, and whether they end it."""
        queue = self.channels[channel]
        view, end = queue.popleft()
        self._count(view, -1)
        part, rest = view[:count], view[count:]
        if len(rest):
            self._count(rest, 1)
            queue.appendleft((rest, end))
        if not queue:
            del self.channels[channel]
        return part, end and not len(rest)

    def drop(self, channel: int) -> None:
        """Drop the data of a channel."""
        for view, _ in self.channels.pop(channel, ()):
            self._count(view, -1)
