"""Valid codes and chunk lengths; imports no numpy, so that scenarios are cheap to load."""

from __future__ import annotations

from pqchain.errors import UsageError

ALIGNMENT_BYTES = 64
"""Chunk lengths are multiples of this, which are full vectors for every engine."""


def chunk_bytes(block_bytes: int, data_chunks: int) -> int:
    """Return the length of a chunk in bytes: a k-th of the block, rounded up to whole vectors.

    Raises UsageError for an empty block.

    >>> chunk_bytes(64_000_000, 7)
    9142912
    """
    if block_bytes < 1:
        raise UsageError(f"a block of {block_bytes} bytes has nothing to encode; give at least 1")
    wide = data_chunks * ALIGNMENT_BYTES
    return -(-block_bytes // wide) * ALIGNMENT_BYTES


def check_code(data_chunks: int, parity_chunks: int) -> None:
    """Raise UsageError unless such a code exists over GF(256)."""
    if data_chunks < 1 or parity_chunks < 1 or data_chunks + parity_chunks > 255:
        raise UsageError(
            f"({data_chunks}, {parity_chunks}) is no code over GF(256): at least 1 data chunk and "
            "1 parity chunk, at most 255 together"
        )
