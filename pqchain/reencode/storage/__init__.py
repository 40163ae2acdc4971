"""Reed-Solomon code and chunk files; here lengths and limits, so that scenarios load no numpy."""

from __future__ import annotations

from pqchain.errors import UsageError

ALIGNMENT_BYTES = 64
"""Chunk lengths are multiples of this, so that every engine processes full vectors."""


def chunk_bytes(block_bytes: int, data_chunks: int) -> int:
    """Return the chunk length in bytes: 1/k of the block, rounded up to `ALIGNMENT_BYTES`.

    Raises UsageError for an empty block.

    >>> chunk_bytes(64_000_000, 7)
    9142912
    """
    if block_bytes < 1:
        raise UsageError(f"block_bytes must be at least 1; got {block_bytes}.")
    stripe_bytes = data_chunks * ALIGNMENT_BYTES
    return -(-block_bytes // stripe_bytes) * ALIGNMENT_BYTES


def check_code(data_chunks: int, parity_chunks: int) -> None:
    """Raise UsageError unless such a code exists over GF(256)."""
    if data_chunks < 1 or parity_chunks < 1 or data_chunks + parity_chunks > 255:
        raise UsageError(
            "a code over GF(256) must have at least 1 data chunk and 1 parity chunk, and at most "
            f"255 in total; got ({data_chunks}, {parity_chunks})."
        )
