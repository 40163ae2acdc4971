"""Wire format of channels: length-prefixed JSON messages, and raw chunks after them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from pqchain.errors import DataError
from pqchain.wire.session import Buffer

Message = dict[str, Any]

LONGEST_BYTES = 1 << 20
"""Maximum length of a message with its prefix; a longer announced length is a protocol error."""

_LENGTH_BYTES = 4


def pack(message: Message) -> bytes:
    """Return a message as compact JSON with its length as prefix (4 bytes, big-endian)."""
    text = json.dumps(message, separators=(",", ":")).encode()
    return len(text).to_bytes(_LENGTH_BYTES, "big") + text


class Reader:
    """Incremental parser of one channel: messages, and the chunks that some of them announce."""

    def __init__(self) -> None:
        self.offset = 0
        """Number of bytes of the channel parsed so far."""
        self.memory: memoryview | None = None
        """Unfilled memory of the current chunk, or None if the chunk is discarded."""
        self.left = 0
        """Number of bytes of the current chunk that have not arrived."""
        self.placed = False
        """Whether `memory` was registered with `Transport.place`."""
        self.is_answered = False
        """Whether a request was answered and the answer is the last on the channel."""
        self._head = bytearray()
        self._whole: memoryview | None = None
        """Memory passed to `expect`; `_aimed` is the part of it that is filled next."""
        self._aimed: memoryview | None = None
        self._full: Callable[[memoryview], object] | None = None

    def expect(
        self,
        count: int,
        memory: memoryview | None = None,
        *,
        full: Callable[[memoryview], object] | None = None,
    ) -> None:
        """Read the next `count` bytes as a chunk, into `memory`, or discard them if it is None.

        Memory shorter than the chunk is reused: it is passed to `full` each time that it is full.
        """
        self.left, self._whole, self._full = count, memory, full
        self._aim()

    def _aim(self) -> None:
        self.memory = self._aimed = None if self._whole is None else self._whole[: self.left]
        self.placed = False

    @property
    def partial_bytes(self) -> int:
        """Number of buffered bytes of an incomplete message."""
        return len(self._head)

    @property
    def free(self) -> int:
        """Number of bytes of the chunk that may arrive before the memory must be replaced."""
        return self.left if self.memory is None else len(self.memory)

    def forget(self) -> None:
        """Discard the rest of the chunk."""
        self.memory = self._whole = None

    def filled(self, count: int) -> int:
        """Count bytes that the transport wrote to `memory`; return their number.

        Raises DataError if there are more than fit.
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
        """Yield messages, and the length in bytes of each received piece of a chunk.

        After a message that announces a chunk, call `expect` before resuming the iteration. Raises
        DataError for malformed messages.
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
                # Check the length as soon as it is complete, so that a peer cannot announce a
                # message that would be buffered without end.
                length = int.from_bytes(self._head, "big")
                if not 0 < length <= LONGEST_BYTES - _LENGTH_BYTES:
                    raise DataError(f"a message of {length} bytes; the longest has {LONGEST_BYTES}")
            elif len(self._head) == wanted:
                text, self._head = bytes(self._head[_LENGTH_BYTES:]), bytearray()
                yield _parsed(text)


def _parsed(text: bytes) -> Message:
    try:
        message = json.loads(text)
    # RecursionError: deeply nested JSON from a peer must not crash the node.
    except (ValueError, RecursionError) as error:
        raise DataError(f"{text[:40]!r}... is no message: {error}") from error
    if not isinstance(message, dict):
        raise DataError(f"{text[:40]!r}... is no message but a {type(message).__name__}")
    return message
