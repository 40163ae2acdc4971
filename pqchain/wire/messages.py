"""What nodes write on channels: small JSON messages with their length, and raw chunks between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pqchain.errors import DataError
from pqchain.wire.session import Buffer

Message = dict[str, Any]

LONGEST_BYTES = 1 << 20
"""No message is longer; whoever announces one is cut off."""

_LENGTH_BYTES = 4


def pack(message: Message) -> bytes:
    """Return the bytes of a message."""
    text = json.dumps(message, separators=(",", ":")).encode()
    return len(text).to_bytes(_LENGTH_BYTES, "big") + text


class Reader:
    """Takes a channel apart into messages and the chunks that some of them announce."""

    def __init__(self) -> None:
        self.offset = 0
        """How many bytes of the channel were taken."""
        self.memory: memoryview | None = None
        """Where the chunk that comes belongs, or None if it is thrown away."""
        self.left = 0
        """How many bytes of that chunk are still to come."""
        self.placed = False
        """Whether the transport was told where that chunk belongs."""
        self._head = bytearray()

    def expect(self, count: int, memory: memoryview | None = None) -> None:
        """Take the next `count` bytes as a chunk: into that memory, or throw them away."""
        self.left, self.memory, self.placed = count, memory, False

    def forget(self) -> None:
        """Throw away what is still to come of the chunk."""
        self.memory = None

    def filled(self, count: int) -> int:
        """Note bytes of the chunk that the transport has put in their place; return how many.

        Raises DataError if there are more than the chunk has left.
        """
        if count > self.left:
            raise DataError(f"{count} bytes of a chunk that lacks {self.left}")
        self.offset += count
        self.left -= count
        if self.memory is not None:
            self.memory = self.memory[count:]
        return count

    def feed(self, data: Buffer) -> Iterator[Message | int]:
        """Yield messages, and the number of bytes of each piece of a chunk.

        After a message that announces a chunk, `expect` must be called before going on. Raises
        DataError for what is no message.
        """
        view = memoryview(data)
        while view:
            if self.left:
                piece, view = view[: self.left], view[self.left :]
                if self.memory is not None:
                    self.memory[: len(piece)] = piece
                yield self.filled(len(piece))
                continue
            wanted = _LENGTH_BYTES
            if len(self._head) >= _LENGTH_BYTES:
                wanted += int.from_bytes(self._head[:_LENGTH_BYTES], "big")
            if wanted > LONGEST_BYTES:
                raise DataError(f"a message of {wanted} bytes; the longest has {LONGEST_BYTES}")
            take = wanted - len(self._head)
            taken, view = view[:take], view[take:]
            self._head += taken
            self.offset += len(taken)
            if len(self._head) == wanted > _LENGTH_BYTES:
                text, self._head = bytes(self._head[_LENGTH_BYTES:]), bytearray()
                yield _parsed(text)


def _parsed(text: bytes) -> Message:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{text[:40]!r}... is no message: {error}") from error
    if not isinstance(message, dict):
        raise DataError(f"{text[:40]!r}... is no message but a {type(message).__name__}")
    return message
