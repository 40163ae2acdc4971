"""Length-prefixed JSON messages, some followed by a raw chunk; placements and confirmations.

The node decides when to announce a placement, and what follows from complete confirmations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pqchain.errors import DataError
from pqchain.wire.session import Buffer

Message = dict[str, Any]

MAX_MESSAGE_BYTES = 1 << 20
"""Maximum length of a message with its prefix; a longer announced length is a protocol error."""

_LENGTH_BYTES = 4


def pack(message: Message) -> bytes:
    """Return a message as compact JSON with its length as prefix (4 bytes, big-endian)."""
    text = json.dumps(message, separators=(",", ":")).encode()
    return len(text).to_bytes(_LENGTH_BYTES, "big") + text


class MessageParser:
    """Incremental parser of one channel: messages, and the chunks that some of them announce."""

    def __init__(self) -> None:
        self.offset = 0
        """Number of bytes of the channel parsed so far."""
        self.memory: memoryview | None = None
        """Unfilled memory of the current chunk, or None if the chunk is discarded."""
        self.left = 0
        """Number of bytes of the current chunk that have not arrived."""
        self.registered = False
        """Whether `memory` was registered with `Transport.receive_into`."""
        self.is_answered = False
        """Whether the only request of the channel was answered."""
        self._head = bytearray()
        self._memory: memoryview | None = None
        """Memory passed to `expect`; `_target` is the part of it that is filled next."""
        self._target: memoryview | None = None
        self._full: Callable[[memoryview], object] | None = None

    def expect(
        self,
        count: int,
        memory: memoryview | None = None,
        *,
        full: Callable[[memoryview], object] | None = None,
    ) -> None:
        """Read the next `count` bytes as a chunk, into `memory`, or discard them if it is None.

        Memory shorter than the chunk is reused: `full` is called with it each time it is full.
        """
        self.left, self._memory, self._full = count, memory, full
        self._set_target()

    def _set_target(self) -> None:
        self.memory = self._target = None if self._memory is None else self._memory[: self.left]
        self.registered = False

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
        self.memory = self._memory = None

    def filled(self, count: int) -> int:
        """Count bytes written to `memory`; return `count`. Raises DataError if they do not fit."""
        if count > self.free:
            raise DataError(f"bytes of a chunk must be at most {self.free}; got {count}")
        self.offset += count
        self.left -= count
        if self.memory is not None:
            self.memory = self.memory[count:]
            if not self.memory and self._full is not None and self._target:
                self._full(self._target)
                self._set_target()
        return count

    def feed(self, data: Buffer) -> Iterator[Message | int]:
        """Parse data; yield messages, and the length in bytes of each received piece of a chunk.

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
            length = _LENGTH_BYTES
            if len(self._head) >= _LENGTH_BYTES:
                length += int.from_bytes(self._head[:_LENGTH_BYTES], "big")
            missing = length - len(self._head)
            piece, view = view[:missing], view[missing:]
            self._head += piece
            self.offset += len(piece)
            if len(self._head) == _LENGTH_BYTES:
                # Checked at once, so that no endless message is buffered.
                content_bytes = int.from_bytes(self._head, "big")
                if not 0 < content_bytes <= MAX_MESSAGE_BYTES - _LENGTH_BYTES:
                    raise DataError(
                        f"a message must have 1 to {MAX_MESSAGE_BYTES - _LENGTH_BYTES} bytes; got "
                        f"{content_bytes}"
                    )
            elif len(self._head) == length:
                text, self._head = bytes(self._head[_LENGTH_BYTES:]), bytearray()
                yield _parse(text)


def _parse(text: bytes) -> Message:
    try:
        message = json.loads(text)
    # RecursionError: deeply nested JSON from a peer must not crash the node.
    except (ValueError, RecursionError) as error:
        raise DataError(f"{text[:40]!r}... is not a message: {error}") from error
    if not isinstance(message, dict):
        raise DataError(f"{text[:40]!r}... is not a message but a {type(message).__name__}")
    return message


@dataclass(frozen=True, slots=True)
class Placement:
    """Assignment of the new code's chunks to nodes; all nodes follow the same placement."""

    epoch: int
    leader: int
    members: tuple[int, ...]

    @property
    def rank(self) -> tuple[int, int]:
        """Sort key of placements: the later epoch wins, then the lower index of the leader."""
        return self.epoch, -self.leader

    def agrees(self, other: Placement) -> bool:
        """Return whether both placements have the same epoch and members."""
        return (self.epoch, self.members) == (other.epoch, other.members)

    def plain(self) -> dict[str, Any]:
        """Return the placement as plain JSON."""
        return {"epoch": self.epoch, "leader": self.leader, "members": list(self.members)}


class Confirmations:
    """Digests of the manifests that each node has confirmed for each block."""

    def __init__(self) -> None:
        self._digests: dict[int, dict[str, str]] = {}
        """Digests of each node by block, in the order of their first confirmation."""

    def add(self, node: int, block: str, digest: str) -> None:
        """Record that a node has stored its chunk of a block under that manifest digest."""
        self._digests.setdefault(node, {})[block] = digest

    def of(self, node: int, *, start: int = 0) -> dict[str, str]:
        """Return the digests that a node has confirmed, by block hash, without the first ones."""
        return dict(islice(self._digests.get(node, {}).items(), start, None))

    def agree(self, node: int, others: Iterable[int], blocks: Iterable[str]) -> bool:
        """Return whether the node and all others have confirmed equal digests for all blocks."""
        own, *confirmed = [self._digests.get(member, {}) for member in (node, *others)]
        return all(
            block in own and all(digests.get(block) == own[block] for digests in confirmed)
            for block in blocks
        )
