"""What nodes write on channels: small JSON messages with their length, and raw chunks between."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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
        self.is_answered = False
        """Whether a request was answered and the answer ends the channel."""
        self._head = bytearray()
        self._whole: memoryview | None = None
        """The memory that was given, and what of it the next bytes fill before it is full."""
        self._aimed: memoryview | None = None
        self._full: Callable[[memoryview], object] | None = None

    def expect(
        self,
        count: int,
        memory: memoryview | None = None,
        *,
        full: Callable[[memoryview], object] | None = None,
    ) -> None:
        """Take the next `count` bytes as a chunk: into that memory, or throw them away.

        Memory that is shorter than the chunk is used again and again, and handed to `full` each
        time that it is full.
        """
        self.left, self._whole, self._full = count, memory, full
        self._aim()

    def _aim(self) -> None:
        self.memory = self._aimed = None if self._whole is None else self._whole[: self.left]
        self.placed = False

    @property
    def partial_bytes(self) -> int:
        """How many bytes of a message have come that is not whole yet."""
        return len(self._head)

    @property
    def free(self) -> int:
        """How many bytes of the chunk may come before there must be other memory."""
        return self.left if self.memory is None else len(self.memory)

    def forget(self) -> None:
        """Throw away what is still to come of the chunk."""
        self.memory = self._whole = None

    def filled(self, count: int) -> int:
        """Note bytes of the chunk that the transport has put in their place; return how many.

        Raises DataError if there are more than there is room for.
        """
        if count > self.free:
            raise DataError(f"{count} bytes of a chunk that lacks {self.free}")
        self.offset += count
        self.left -= count
        if self.memory is not None:
            self.memory = self.memory[count:]
            if not self.memory and self._full is not None and self._aimed:
                self._full(self._aimed)
                self._aim()
        return count

    def feed(self, data: Buffer) -> Iterator[Message | int]:
        """Yield messages, and the number of bytes of each piece of a chunk.

        After a message that announces a chunk, `expect` must be called before going on. Raises
        DataError for what is no message.
        """
        view = memoryview(data)
        while view:
            if self.left:
                piece, view = view[: self.free], view[self.free :]
                if self.memory is not None:
                    self.memory[: len(piece)] = piece
                yield self.filled(len(piece))
                continue
            wanted = _LENGTH_BYTES
            if len(self._head) >= _LENGTH_BYTES:
                wanted += int.from_bytes(self._head[:_LENGTH_BYTES], "big")
            take = wanted - len(self._head)
            taken, view = view[:take], view[take:]
            self._head += taken
            self.offset += len(taken)
            if len(self._head) == _LENGTH_BYTES:
                length = int.from_bytes(self._head, "big")
                if not 0 < length <= LONGEST_BYTES - _LENGTH_BYTES:
                    raise DataError(f"a message of {length} bytes; the longest has {LONGEST_BYTES}")
            elif len(self._head) == wanted:
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
