"""Resource limits of one session, the same for every transport.

Data that waits to be sent is counted in pieces, one per call of `send`. `bytes` also count by
length, because the queue is their only owner; a `memoryview` refers to memory that the node keeps
anyway, such as a cached chunk, and counts only as a piece. A session that exceeds a limit is closed
with the reason `PEER_NOT_READING`.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_QUEUED = 1 << 15
"""Pieces that may wait on one session: two for each of 10,000 chunks requested at once, 13 MB."""

MAX_QUEUED_BYTES = 32 << 20
"""Owned bytes that may wait on one session before the next piece closes it."""

PEER_NOT_READING = "the other side reads nothing"

MAX_UNREAD_BYTES = 4 << 20
"""Received bytes of one session that may wait for the node; nothing is read beyond that."""

MAX_CHANNELS, MAX_UNAUTHENTICATED_CHANNELS = 1 << 14, 256
"""Open QUIC streams per session, after and before authentication: 10,000 blocks need 10,000."""

MAX_LIBRARY_BYTES = 8 << 20
"""Bytes of a session that a QUIC library may copy and keep until they are acknowledged."""

MAX_CREDIT_BYTES = 32 << 20
"""Maximum flow-control credit of a QUIC peer beyond the data already delivered."""

TURN_SECONDS = 0.01
"""Time budget of all sessions in one turn of the event loop, of 50 ms with other callbacks."""

PIECE_BYTES = 32 << 10
"""Received bytes passed to a node at once: 300 heartbeats, which take it some 10 ms."""


@dataclass(slots=True)
class Queued:
    """Counters of the data that waits to be sent on one session."""

    pieces: int = 0
    bytes: int = 0
    owned_bytes: int = 0
    """The part of `bytes` whose only owner is the queue."""

    @property
    def is_full(self) -> bool:
        """Whether a limit is reached, so that the peer must be assumed not to read."""
        return self.pieces >= MAX_QUEUED or self.owned_bytes >= MAX_QUEUED_BYTES

    def add(self, view: memoryview) -> None:
        """Count a queued piece."""
        self._count(view, 1)

    def remove(self, view: memoryview) -> None:
        """Uncount a piece that was sent or dropped."""
        self._count(view, -1)

    def _count(self, view: memoryview, sign: int) -> None:
        self.pieces += sign
        self.bytes += sign * len(view)
        self.owned_bytes += sign * len(view) * isinstance(view.obj, bytes)
