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
        self._head = bytearray()
        self._into: memoryview | None = None
        self._left = 0

    def expect(self, count: int, into: memoryview | None = None) -> None:
        """Take the next `count` bytes as a chunk: into that memory, or throw them away."""
        self._left, self._into = count, into

    def forget(self) -> None:
        """Throw away what is still to come of the chunk."""
        self._into = None

    def feed(self, data: Buffer) -> Iterator[Message | int]:
        """Yield messages, and the number of bytes of each piece of a chunk.

        After a message that announces a chunk, `expect` must be called before going on. Raises
        DataError for what is no message.
        """
        view = memoryview(data)
        while view:
            if self._left:
                piece, view = view[: self._left], view[self._left :]
                if self._into is not None:
                    self._into[: len(piece)] = piece
                    self._into = self._into[len(piece) :]
                self._left -= len(piece)
                yield len(piece)
                continue
            wanted = _LENGTH_BYTES
            if len(self._head) >= _LENGTH_BYTES:
                wanted += int.from_bytes(self._head[:_LENGTH_BYTES], "big")
            if wanted > LONGEST_BYTES:
                raise DataError(f"a message of {wanted} bytes; the longest has {LONGEST_BYTES}")
            take = wanted - len(self._head)
            self._head += view[:take]
            view = view[take:]
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
