"""Limits on what one session may make a node hold; the same for every transport.

Sent data that waits counts in pieces, one for each call of `send`. `bytes` count by their length
too, since the transport is their only owner; a `memoryview` is of memory that the node keeps
anyway, such as a cached chunk, and costs one piece. A session above a limit is closed with
`READS_NOTHING`.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_QUEUED = 1 << 15
"""Pieces that may wait to be sent on one session: 13 MB of small ones.

The most that an honest peer lets wait are two for each of 10,000 chunks that it asks for at once.
"""

MOST_QUEUED_BYTES = 32 << 20
"""Bytes that may wait on one session, before the piece that exceeds them."""

READS_NOTHING = "the other side reads nothing"

MOST_UNREAD_BYTES = 4 << 20
"""Received bytes that may wait on one session for the node; the transport reads no further."""

MOST_CHANNELS, MOST_UNPROVEN_CHANNELS = 1 << 14, 256
"""Open QUIC streams of a session: a node that gathers 10,000 blocks at once opens 10,000."""

MOST_HANDED_BYTES = 8 << 20
"""Bytes of a session that a QUIC library holds a copy of until they are acknowledged."""

MOST_AHEAD_BYTES = 32 << 20
"""Bytes that a QUIC peer may be allowed to send ahead of those that were delivered."""

TURN_SECONDS = 0.01
"""Work of one turn of the event loop, after which the rest waits for the next turn.

The promise is 50 ms; a piece that has begun, and other callbacks, need the rest.
"""

PIECE_BYTES = 32 << 10
"""Received bytes that a node is given at once: 300 heartbeats take it some 10 ms."""


@dataclass(slots=True)
class Queued:
    """What waits to be sent on one session."""

    pieces: int = 0
    bytes: int = 0
    owned_bytes: int = 0
    """Of them those whose only owner is the queue."""

    @property
    def is_full(self) -> bool:
        """Whether the other side has left so much that it must be taken to read nothing."""
        return self.pieces >= MOST_QUEUED or self.owned_bytes >= MOST_QUEUED_BYTES

    def add(self, view: memoryview) -> None:
        """Count a piece."""
        self._count(view, 1)

    def remove(self, view: memoryview) -> None:
        """Count it no longer."""
        self._count(view, -1)

    def _count(self, view: memoryview, sign: int) -> None:
        self.pieces += sign
        self.bytes += sign * len(view)
        self.owned_bytes += sign * len(view) * isinstance(view.obj, bytes)
