"""What a node has to do beside talking: tasks, one at a time, and where its time goes.

Reads no clock: whoever calls tells the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pqchain.errors import PqchainError
from pqchain.reencode.scenario import Scenario
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.session import Task, Transport

PHASES = ("transfer", "decode", "encode", "io", "other")
"""What a node's time is spent on. Each moment counts once: for the transfer while chunks are
awaited, whatever else is done meanwhile, then for the task that runs, else as other."""


@dataclass(slots=True, eq=False)
class Item(Task):
    """A task and what its outcome means: both return the node's next step, or None."""

    then: Callable[[Any], Any]
    otherwise: Callable[[PqchainError], Any] | None = None
    """Without it an error ends the node's own work."""


def phase_seconds() -> dict[str, float]:
    """Return 0 seconds of every phase."""
    return dict.fromkeys(PHASES, 0.0)


@dataclass(slots=True, kw_only=True)
class Record:
    """What a node did, in seconds of the driver's clock."""

    noticed: float | None = None
    """When it took another for dead."""
    begun: float | None = None
    ended: float | None = None
    seconds: dict[str, float] = field(default_factory=phase_seconds)
    """Of each phase; they add up to the time from begun to ended."""
    work: dict[str, float] = field(default_factory=phase_seconds)
    """How long tasks of each kind ran, those that the transfer hid included."""
    received_bytes: int = 0
    wasted_bytes: int = 0
    arrivals: list[float] = field(default_factory=list)
    """When each chunk was complete, after the node's beginning."""
    verified_blocks: int = 0
    early_sessions: int = 0

    @property
    def wall_seconds(self) -> float:
        """All phases together."""
        return sum(self.seconds.values())


class Work:
    """The line of tasks and the book of time."""

    def __init__(self, record: Record) -> None:
        self.running: Item | None = None
        self._record = record
        self._line: deque[Item] = deque()
        self._began = 0.0
        self.phase: str | None = None
        """What phase it is from here on; None is not counted."""
        self._counted = 0.0

    def add(self, item: Item) -> None:
        """Put an item at the end of the line."""
        self._line.append(item)

    def poll(self) -> Item | None:
        """Return the next task; there is one at a time."""
        if self.running is not None or not self._line:
            return None
        self.running = self._line.popleft()
        return self.running

    def started(self, now: float) -> None:
        """Note that the task from `poll` begins."""
        self._began = now

    def finished(self, now: float) -> Item:
        """Note that it has ended, and return it."""
        item, self.running = self.running, None
        assert item is not None
        self._record.work[item.kind] += now - self._began
        return item

    def count(self, now: float) -> None:
        """Count the time since the last call for the phase that it was."""
        if self.phase is not None:
            self._record.seconds[self.phase] += now - self._counted
        self._counted = now


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """What the parts of one node have in common."""

    index: int
    scenario: Scenario
    store: ChunkStore
    transport: Transport
    record: Record
    work: Work
