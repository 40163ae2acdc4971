"""Encoding and verification of quorums of votes (certificates).

All integers are unsigned and big-endian: the number of votes (2), then for each vote, by ascending
rank, the rank (3), the length of the signature (2) and the signature.
"""

from __future__ import annotations

from collections.abc import Mapping

from pqchain.chain.encoding import Reader
from pqchain.delegates.keys import DelegateKeys
from pqchain.delegates.messages import MessageKind, statement
from pqchain.errors import Malformed

_COUNT_BYTES, _RANK_BYTES, _LENGTH_BYTES = 2, 3, 2


def encode(votes: Mapping[int, bytes]) -> bytes:
    """Return the encoding of votes, which are given as signatures by rank."""
    parts = [len(votes).to_bytes(_COUNT_BYTES, "big")]
    for rank, signature in sorted(votes.items()):
        length = len(signature).to_bytes(_LENGTH_BYTES, "big")
        parts += (rank.to_bytes(_RANK_BYTES, "big"), length, signature)
    return b"".join(parts)


def encode_field(view: int, votes: Mapping[int, bytes], *, quorum: int, length: int) -> bytes:
    """Return a certificate of fixed length: the view (2 bytes), a quorum of votes, and zeros."""
    ranks = sorted(votes)[:quorum]
    data = view.to_bytes(2, "big") + encode({rank: votes[rank] for rank in ranks})
    return data.ljust(length, b"\0")


def decode_field(data: bytes) -> tuple[int, dict[int, bytes]]:
    """Return the view and the votes of a certificate; raise Malformed for another encoding."""
    reader = Reader(data)
    view, votes = reader.number(2, "a view"), decode(reader)
    if any(reader.take(reader.remaining, "padding")):
        raise Malformed("the padding of a certificate must be zero")
    return view, votes


def decode_final(proof: bytes) -> tuple[int, dict[int, bytes]]:
    """Return the view and the votes of a stored final block."""
    reader = Reader(proof)
    return reader.number(2, "a view"), decode(reader)


def longest_bytes(count: int, *, field_bytes: int) -> int:
    """Return the length of `count` encoded votes with signatures of `field_bytes` bytes."""
    return _COUNT_BYTES + count * (_RANK_BYTES + _LENGTH_BYTES + field_bytes)


def decode(reader: Reader) -> dict[int, bytes]:
    """Decode votes; raise Malformed for an invalid encoding or ranks that do not ascend."""
    votes: dict[int, bytes] = {}
    last = -1
    for _ in range(reader.number(_COUNT_BYTES, "a count of votes")):
        rank = reader.number(_RANK_BYTES, "a rank")
        # Ascending ranks rule out duplicate votes and give each quorum one encoding.
        if rank <= last:
            raise Malformed(f"ranks must ascend; got {rank} after {last}")
        votes[rank] = reader.take(reader.number(_LENGTH_BYTES, "a length"), "a signature")
        last = rank
    return votes


def is_quorum(
    votes: Mapping[int, bytes],
    kind: MessageKind,
    height: int,
    view: int,
    digest: bytes,
    *,
    keys: DelegateKeys,
    quorum: int,
) -> bool:
    """Return whether the votes are a quorum for a block and all of their signatures are valid."""
    # The number is compared first, so that too few votes cost no verification.
    return len(votes) >= quorum and all(
        keys.verify(rank, statement(kind, rank, height, view, digest), signature)
        for rank, signature in votes.items()
    )
