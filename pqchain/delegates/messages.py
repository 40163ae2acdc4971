"""Encoding and lengths of the messages between delegates.

All integers are unsigned and big-endian; there is one encoding of every message:

    length       4   of all that follows
    kind         1   see MessageKind
    sender       3   rank of the sender
    height       4
    view         2
    signed       2   length of the signature; 0: none
    body             32 bytes, the hash of a block (VOTE, COMMIT); a block (PROPOSAL, COPY);
                     for the other kinds, see MessageKind
    signature    n   a field of the length that the costs of the scheme state, zero-padded

So a vote is 48 bytes and its signature, and a block has a prefix of 16 bytes. The signed statement
is `SIGNED`, the header with length and signed set to 0, and the hash of the block. Falcon, the only
scheme with signatures of varying length, signs again until the signature fits, as its padded
format does; so all votes of a scheme have the same length. The model counts the same lengths:
both take them from `consensus.lengths`.

A quorum of votes is encoded as the number of votes (2), then for each vote, by ascending rank, the
rank (3), the length of the signature (2) and the signature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct

from pqchain.chain.encoding import Reader
from pqchain.consensus.lengths import HASH_BYTES as HASH_BYTES
from pqchain.consensus.lengths import MESSAGE_HEADER_BYTES, VOTE_BYTES
from pqchain.errors import Malformed

HEADER_BYTES = MESSAGE_HEADER_BYTES

MAX_VIEWS = 1 << 16
"""Number of views of a height that the view field can represent."""

SIGNED = b"pqchain vote 1\0"
"""Domain separator: prefix of every signed statement."""

# The sender has three bytes, for which struct has no integer format.
_HEADER = Struct(">IB3sIHH")
_LENGTH_BYTES = 4


class MessageKind(IntEnum):
    """Kinds of messages, with their numbers in the encoding."""

    PROPOSAL = 1
    """Block of a view, from its proposer or relayed by gossip."""
    COPY = 2
    """All-to-all: a delegate's copy of the block, which counts as its vote."""
    VOTE = 3
    COMMIT = 4
    STATUS = 5
    """Height of the sender and the latest view that it has requested or entered; empty body."""
    LOCK = 6
    """Hash of a block and the quorum of votes for it that the sender received."""
    DECIDED = 7
    """Final block and its quorum of votes."""
    HELLO = 8
    """Opens a channel and names the sender; empty body."""


BLOCK_KINDS = (MessageKind.PROPOSAL, MessageKind.COPY)
VOTE_KINDS = (MessageKind.VOTE, MessageKind.COMMIT)


@dataclass(frozen=True, slots=True)
class Message:
    """A decoded message."""

    kind: MessageKind
    sender: int
    height: int
    view: int
    body: bytes
    signature: bytes = b""

    def statement(self, digest: bytes) -> bytes:
        """Return the bytes to sign for this message; `digest` is the hash of its block."""
        return statement(self.kind, self.sender, self.height, self.view, digest)


def statement(kind: MessageKind, sender: int, height: int, view: int, digest: bytes) -> bytes:
    """Return the bytes to sign for a message about the block with hash `digest`."""
    return SIGNED + _HEADER.pack(0, kind, sender.to_bytes(3, "big"), height, view, 0) + digest


def encode(message: Message, *, field_bytes: int = 0) -> bytes:
    """Return the bytes of a message with a signature field of `field_bytes` bytes."""
    padding = bytes(field_bytes - len(message.signature))
    length = HEADER_BYTES - _LENGTH_BYTES + len(message.body) + field_bytes
    header = _HEADER.pack(
        length,
        message.kind,
        message.sender.to_bytes(3, "big"),
        message.height,
        message.view,
        len(message.signature),
    )
    return b"".join((header, message.body, message.signature, padding))


def decode(data: bytes, *, field_bytes: int = 0) -> Message:
    """Decode a message; raise Malformed if it is not a valid encoding.

    `field_bytes` must be that of `encode`. The body is not validated, except for a vote's length.
    """
    if len(data) < HEADER_BYTES:
        raise Malformed(f"a message must have at least {HEADER_BYTES} bytes; got {len(data)}")
    length, number, sender, height, view, signed = _HEADER.unpack_from(data)
    if length != len(data) - _LENGTH_BYTES:
        raise Malformed(f"the length field must be {len(data) - _LENGTH_BYTES}; got {length}")
    if number not in _KINDS:
        raise Malformed(f"the kind must be one of {[*map(int, MessageKind)]}; got {number}")
    if signed > field_bytes:
        raise Malformed(f"the signature must have at most {field_bytes} bytes; got {signed}")
    end = len(data) - field_bytes
    if end < HEADER_BYTES or (number in VOTE_KINDS and end != VOTE_BYTES):
        raise Malformed(f"kind {number} must not have a body of {end - HEADER_BYTES} bytes")
    signature = data[end : end + signed]
    # Free padding would allow several encodings of one message.
    if field_bytes > signed and data[end + signed :] != bytes(field_bytes - signed):
        raise Malformed("the padding of a signature must be zero")
    body = data[HEADER_BYTES:end]
    return Message(_KINDS[number], int.from_bytes(sender, "big"), height, view, body, signature)


_KINDS = {int(kind): kind for kind in MessageKind}


def kind_of(data: bytes) -> MessageKind | None:
    """Return the kind of a message from its header, or None if it is unknown."""
    return _KINDS.get(data[_LENGTH_BYTES]) if len(data) > _LENGTH_BYTES else None


class Frames:
    """Parser that splits the byte stream of a channel into messages."""

    def __init__(self, longest_bytes: int) -> None:
        self._longest = longest_bytes
        self._partial = bytearray()

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """Add received bytes; return the messages that are complete now, each of a known kind.

        Raises Malformed for an invalid length or kind, and drops the buffer: without message
        boundaries the rest of the channel cannot be split.
        """
        try:
            return self._split(data)
        except Malformed:
            self._partial.clear()
            raise

    def _split(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        partial = self._partial
        partial += data
        complete: list[bytes] = []
        at = 0
        while len(partial) - at >= _LENGTH_BYTES:
            end = at + _LENGTH_BYTES + int.from_bytes(partial[at : at + _LENGTH_BYTES], "big")
            # Length and kind are checked before the message is complete, so that at most one legal
            # message is buffered.
            if not HEADER_BYTES <= end - at <= self._longest:
                raise Malformed(
                    f"a message must have {HEADER_BYTES} to {self._longest} bytes; got {end - at}"
                )
            if len(partial) - at > _LENGTH_BYTES and partial[at + _LENGTH_BYTES] not in _KINDS:
                raise Malformed(f"a message has the unknown kind {partial[at + _LENGTH_BYTES]}")
            if end > len(partial):
                break
            complete.append(bytes(partial[at:end]))
            at = end
        del partial[:at]
        return complete


def encode_votes(votes: Mapping[int, bytes]) -> bytes:
    """Return the encoding of votes, which are given as signatures by rank."""
    parts = [len(votes).to_bytes(2, "big")]
    for rank, signature in sorted(votes.items()):
        parts += (rank.to_bytes(3, "big"), len(signature).to_bytes(2, "big"), signature)
    return b"".join(parts)


def decode_votes(reader: Reader) -> dict[int, bytes]:
    """Decode votes; raise Malformed for an invalid encoding or ranks that do not ascend."""
    votes: dict[int, bytes] = {}
    last = -1
    for _ in range(reader.number(2, "a count of votes")):
        rank = reader.number(3, "a rank")
        # Ascending ranks rule out duplicate votes and give each quorum one encoding.
        if rank <= last:
            raise Malformed(f"ranks must ascend; got {rank} after {last}")
        votes[rank] = reader.take(reader.number(2, "a length"), "a signature")
        last = rank
    return votes


def encode_decided(rank: int, height: int, block: bytes, proof: bytes) -> bytes:
    """Return a DECIDED message; `proof` is the view (2 bytes) and the encoded votes."""
    view, votes = int.from_bytes(proof[:2], "big"), proof[2:]
    body = len(votes).to_bytes(_LENGTH_BYTES, "big") + votes + block
    return encode(Message(MessageKind.DECIDED, rank, height, view, body))


def decode_decided(body: bytes) -> tuple[bytes, dict[int, bytes], bytes]:
    """Return encoded votes, votes and block of a DECIDED message. Raises Malformed."""
    reader = Reader(body)
    encoded = reader.length_prefixed("a quorum")
    quorum = Reader(encoded)
    votes = decode_votes(quorum)
    quorum.end("quorum")
    return encoded, votes, reader.take(reader.remaining, "a block")
