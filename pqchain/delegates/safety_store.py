"""Durable state of a delegate: its blocks, its votes and its lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pqchain.chain.state import State


@dataclass(frozen=True, slots=True)
class Lock:
    """Lock on a block for which a quorum voted or, with one phase of votes, the delegate itself."""

    view: int
    digest: bytes
    data: bytes
    """The encoded block."""
    proof: bytes = b""
    """The quorum as encoded by `certificates`; empty where it is not needed."""


@dataclass(frozen=True, slots=True)
class SafetyRecord:
    """Votes and lock of a delegate at one height, which must survive crashes."""

    height: int = 0
    voted: int = -1
    """Last view that it voted in; -1: none."""
    committed: int = -1
    """Last view that it committed in; -1: none."""
    lock: Lock | None = None


class SafetyStore(Protocol):
    """Storage of a delegate; each call returns once its data survives a crash."""

    record: SafetyRecord

    @property
    def state(self) -> State:
        """State after the last final block."""

    def append(self, data: bytes, state: State, proof: bytes) -> None:
        """Store a final block, the state after it, and its quorum of votes."""

    def save(self, record: SafetyRecord) -> None:
        """Store the votes and the lock of a height."""

    def final(self, height: int) -> tuple[bytes, bytes] | None:
        """Return the final block at a height and its quorum, or None if there is none."""


class MemoryStore:
    """Storage in memory, for delegates that never crash."""

    def __init__(self, genesis: State) -> None:
        self.state = genesis
        self.record = SafetyRecord()
        self._blocks: list[tuple[bytes, bytes]] = []

    def append(self, data: bytes, state: State, proof: bytes) -> None:
        """Store a final block."""
        self._blocks.append((data, proof))
        self.state = state

    def save(self, record: SafetyRecord) -> None:
        """Store the votes and the lock of a height."""
        self.record = record

    def final(self, height: int) -> tuple[bytes, bytes] | None:
        """Return the final block at a height and its quorum, or None if there is none."""
        return self._blocks[height] if 0 <= height < len(self._blocks) else None
