"""What delegates say to each other, byte by byte, and how long it is without saying it.

All integers are unsigned and big-endian; there is one encoding of every message:

    length       4   of all that follows
    kind         1   see Kind
    sender       3   rank of who says it
    height       4
    view         2
    signed       2   length of the signature; 0: none
    body             32 bytes, the hash of a block (VOTE, COMMIT); a block (PROPOSAL, COPY);
                     what the other kinds carry
    signature    n   a field as long as the costs of the scheme state, filled up with zeros

So a vote is 48 bytes and its signature, and a block has 16 bytes before it. What is signed is
`SIGNED`, kind to view, and the body, for a block its hash. Schemes whose signatures vary in length,
Falcon alone, sign again until the signature fits, as Falcon's padded form does; so all votes of a
scheme have one length. This module loads no cryptography: the model takes its lengths from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from struct import Struct

from pqchain.errors import Malformed

HEADER_BYTES = 16
"""What every message has before its body."""

HASH_BYTES = 32
"""A block's name in votes."""

VOTE_BYTES = HEADER_BYTES + HASH_BYTES
"""A vote without its signature."""

MOST_VIEWS = 1 << 16
"""Views of a height that a message can tell apart."""

SIGNED = b"pqchain vote 1\0"
"""Stands before what is signed, so that a signature means nothing elsewhere."""

_HEADER = Struct(">IB3sIHH")
_LENGTH_BYTES = 4


class Kind(IntEnum):
    """What a message is."""

    PROPOSAL = 1
    """The block of a view, by its proposer, or passed on by gossip."""
    COPY = 2
    """All-to-all: a delegate's copy of the block, which stands for its vote."""
    VOTE = 3
    COMMIT = 4
    STATUS = 5
    """At which height and view somebody is; no body."""
    LOCK = 6
    """Hash of a block and the quorum of votes for it that its sender saw."""
    DECIDED = 7
    """A final block and the quorum that made it so."""
    HELLO = 8
    """Nothing but who sends it: opens a channel. No body."""


_BLOCKS = (Kind.PROPOSAL, Kind.COPY)
_BALLOTS = (Kind.VOTE, Kind.COMMIT)


@dataclass(frozen=True, slots=True)
class Message:
    """One message, read."""

    kind: Kind
    sender: int
    height: int
    view: int
    body: bytes
    signature: bytes = b""

    def statement(self, digest: bytes) -> bytes:
        """Return what is signed, given the hash that stands for the body."""
        return statement(self.kind, self.sender, self.height, self.view, digest)


def statement(kind: Kind, sender: int, height: int, view: int, digest: bytes) -> bytes:
    """Return what is signed."""
    return SIGNED + _HEADER.pack(0, kind, sender.to_bytes(3, "big"), height, view, 0) + digest


def message_bytes(body_bytes: int, *, field_bytes: int = 0) -> int:
    """Return the length of a message with a body of that length and a field for its signature."""
    return HEADER_BYTES + body_bytes + field_bytes


def encode(message: Message, *, field_bytes: int = 0) -> bytes:
    """Return the bytes of a message whose signature stands in a field of that length."""
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
    """Return the message that `encode` wrote with the same field; raises Malformed.

    Its body is not looked at, but for the length of a vote's.
    """
    if len(data) < HEADER_BYTES:
        raise Malformed(f"a message of {len(data)} bytes; expected at least {HEADER_BYTES}")
    length, number, sender, height, view, signed = _HEADER.unpack_from(data)
    if length != len(data) - _LENGTH_BYTES:
        raise Malformed(f"a message of {len(data) - _LENGTH_BYTES} bytes says it has {length}")
    if number not in _KINDS:
        raise Malformed(f"a message of kind {number}; expected one of {[*map(int, Kind)]}")
    if signed > field_bytes:
        raise Malformed(f"a signature of {signed} bytes in a field of {field_bytes}")
    end = len(data) - field_bytes
    if end < HEADER_BYTES or (number in _BALLOTS and end != VOTE_BYTES):
        raise Malformed(f"{end - HEADER_BYTES} bytes in the body of a message of kind {number}")
    signature = data[end : end + signed]
    if field_bytes > signed and data[end + signed :] != bytes(field_bytes - signed):
        raise Malformed("what follows a signature is not zero")
    body = data[HEADER_BYTES:end]
    return Message(_KINDS[number], int.from_bytes(sender, "big"), height, view, body, signature)


_KINDS = {int(kind): kind for kind in Kind}


def kind_of(data: bytes) -> Kind | None:
    """Return the kind of a message without reading it, or None if it has none."""
    return _KINDS.get(data[_LENGTH_BYTES]) if len(data) > _LENGTH_BYTES else None


class Frames:
    """Splits the bytes of a channel into messages."""

    def __init__(self, longest_bytes: int) -> None:
        self._longest = longest_bytes
        self._partial = bytearray()

    @property
    def partial_bytes(self) -> int:
        """Bytes of a message that is not complete yet."""
        return len(self._partial)

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """Return the messages that are complete now, each with a header and a known kind.

        Raises Malformed for a message that cannot be legal, and keeps nothing of it: the rest of
        the channel cannot be split any more.
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
            if not HEADER_BYTES <= end - at <= self._longest:
                raise Malformed(
                    f"a message of {end - at} bytes; expected {HEADER_BYTES} to {self._longest}"
                )
            if len(partial) - at > _LENGTH_BYTES and partial[at + _LENGTH_BYTES] not in _KINDS:
                raise Malformed(f"a message of kind {partial[at + _LENGTH_BYTES]}")
            if end > len(partial):
                break
            complete.append(bytes(partial[at:end]))
            at = end
        del partial[:at]
        return complete
