"""What a delegate keeps where a crash cannot take it: its blocks, its lock, what it voted for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pqchain.chain.state import State


@dataclass(frozen=True, slots=True)
class Lock:
    """A block that a delegate has seen a quorum for, or with one phase of votes voted for."""

    view: int
    digest: bytes
    data: bytes
    """The block."""
    proof: bytes = b""
    """The votes that were seen, as `certificates` writes them; empty where nobody asks."""


@dataclass(frozen=True, slots=True)
class Record:
    """What binds a delegate at one height, whatever happens to its memory."""

    height: int = 0
    voted: int = -1
    """The last view that it voted in."""
    committed: int = -1
    """The last view that it committed in."""
    lock: Lock | None = None


class Book(Protocol):
    """What a delegate keeps. When a call returns, what it was given survives a crash."""

    record: Record

    @property
    def state(self) -> State:
        """The chain so far."""

    def append(self, data: bytes, state: State, proof: bytes) -> None:
        """Keep a final block, the state after it, and the votes that made it final."""

    def keep(self, record: Record) -> None:
        """Keep what binds."""

    def final(self, height: int) -> tuple[bytes, bytes] | None:
        """Return the block that became final at a height, and its votes; None if none did."""


class MemoryBook:
    """A book for delegates that never crash."""

    def __init__(self, genesis: State) -> None:
        self.state = genesis
        self.record = Record()
        self._blocks: list[tuple[bytes, bytes]] = []

    def append(self, data: bytes, state: State, proof: bytes) -> None:
        """Keep a final block."""
        self._blocks.append((data, proof))
        self.state = state

    def keep(self, record: Record) -> None:
        """Keep what binds."""
        self.record = record

    def final(self, height: int) -> tuple[bytes, bytes] | None:
        """Return the block that became final at a height, and its votes."""
        return self._blocks[height] if 0 <= height < len(self._blocks) else None
