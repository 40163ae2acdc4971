"""What a node has to do beside talking: tasks, one at a time, and where its time goes.

Reads no clock: whoever calls tells the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pqchain.errors import PqchainError
from pqchain.reencode.scenario import Scenario
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.node import Task
from pqchain.wire.session import Transport

PHASES = ("transfer", "decode", "encode", "io", "other")
"""What a node's time is spent on. Each moment counts once: for the transfer while chunks are
awaited, whatever else is done meanwhile, then for the task that runs, else as other."""

Tasks = Generator[Task, Any, None]
"""Tasks that follow each other. The outcome of each is sent back, or thrown if it is an error."""

_Rest = tuple[Tasks, Callable[[], bool]]


def _no_seconds() -> dict[str, float]:
    return dict.fromkeys(PHASES, 0.0)


@dataclass(slots=True, kw_only=True)
class Record:
    """What a node did, in seconds of the driver's clock."""

    noticed: float | None = None
    """When it took another for dead."""
    begun: float | None = None
    ended: float | None = None
    seconds: dict[str, float] = field(default_factory=_no_seconds)
    """Of each phase; they add up to the time from begun to ended."""
    work: dict[str, float] = field(default_factory=_no_seconds)
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


class Own:
    """What the parts of one node share: who it is, what it has, the time, and its line of tasks."""

    def __init__(
        self, index: int, scenario: Scenario, store: ChunkStore, transport: Transport
    ) -> None:
        self.index, self.scenario, self.store, self.transport = index, scenario, store, transport
        self.record = Record()
        self.now = 0.0
        self.running: Task | None = None
        self._began = 0.0
        self._line: deque[tuple[Task, _Rest]] = deque()
        self._rest: _Rest | None = None
        """What follows the task that runs."""

    def count(self, now: float, phase: str | None) -> None:
        """Go on to that time; what has passed was spent on that phase, or is not counted."""
        if phase is not None:
            self.record.seconds[phase] += now - self.now
        self.now = now

    def add(self, tasks: Tasks, *, wanted: Callable[[], bool] = lambda: True) -> None:
        """Put tasks to the line, each when the one before is done, while they are `wanted`."""
        self._go_on((tasks, wanted), None)

    def poll(self) -> Task | None:
        """Return the next task; there is one at a time."""
        if self.running is not None or not self._line:
            return None
        self.running, self._rest = self._line.popleft()
        # A chunk that is decoded while others come may be asked for, and come, after all.
        self.running.alone = self.scenario.overlap
        return self.running

    def started(self) -> None:
        """Note that the task from `poll` begins."""
        self._began = self.now

    def finished(self, outcome: Any) -> None:
        """Note that it has ended. Raises the error of a task that has nobody to take it."""
        task, self.running = self.running, None
        assert task is not None
        assert self._rest is not None
        self.record.work[task.kind] += self.now - self._began
        self._go_on(self._rest, outcome)

    def _go_on(self, rest: _Rest, outcome: Any) -> None:
        tasks, wanted = rest
        with suppress(StopIteration):
            if isinstance(outcome, PqchainError):
                self._line.append((tasks.throw(outcome), rest))
            elif wanted():
                self._line.append((tasks.send(outcome), rest))
