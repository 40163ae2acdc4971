"""Limits on what one session may make a node hold; the same for every transport.

Sent data that waits counts in pieces, one for each call of `send`. `bytes` count by their length
too, since the transport is their only owner; a `memoryview` is of memory that the node keeps
anyway, such as a cached chunk, and costs one piece. A session above a limit is closed with
`READS_NOTHING`.
"""

from __future__ import annotations

MOST_QUEUED = 100_000
"""Pieces that may wait to be sent on one session: 40 MB of small ones."""

MOST_QUEUED_BYTES = 32 << 20
"""Bytes that may wait on one session, before the piece that exceeds them."""

READS_NOTHING = "the other side reads nothing"

MOST_UNREAD_BYTES = 4 << 20
"""Received bytes that may wait on one session for the node; the transport reads no further."""

MOST_CHANNELS = 1 << 14
"""Open channels of one session. A node that gathers 10,000 blocks at once opens 10,000."""

TURN_SECONDS = 0.02
"""Work of one turn of the event loop, after which the rest waits for the next turn.

The promise is 50 ms; a piece that has begun, and other callbacks, need the rest.
"""

PIECE_BYTES = 16 << 10
"""Received bytes that a node is given at once: messages of 16 bytes take it some 10 ms."""
