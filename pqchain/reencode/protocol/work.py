"""Task queue of a node, and measurement of the time of its phases.

No clock is read here; callers pass the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pqchain.errors import PqchainError
from pqchain.reencode.scenario import ReplayScenario
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.node import Task
from pqchain.wire.session import Transport

PHASES = ("transfer", "decode", "encode", "io", "other")
"""Phases of a node's time.

Each moment counts once: as transfer while chunks are awaited, whatever else runs meanwhile; else as
the phase of the running task; else as other.
"""

Tasks = Generator[Task, Any, None]
"""Generator of tasks, which receives the result of each task, or the error as an exception."""

_Continuation = tuple[Tasks, Callable[[], bool]]


@dataclass(slots=True, kw_only=True)
class Record:
    """Measurements of one node, in seconds of the driver's clock."""

    noticed: float | None = None
    """Time at which the node first considered another node dead."""
    begun: float | None = None
    ended: float | None = None
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    """Seconds of each phase; their sum is the time from `begun` to `ended`."""
    work: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    """Total duration of the tasks of each kind, including tasks that run during the transfer."""
    received_bytes: int = 0
    wasted_bytes: int = 0
    arrivals: list[float] = field(default_factory=list)
    """Arrival time of each complete chunk, relative to `begun`."""
    verified_blocks: int = 0
    early_sessions: int = 0

    @property
    def wall_seconds(self) -> float:
        """Sum of all phases in seconds."""
        return sum(self.seconds.values())


class NodeContext:
    """State that the parts of one node share: identity, store, time and task queue."""

    def __init__(
        self, index: int, scenario: ReplayScenario, store: ChunkStore, transport: Transport
    ) -> None:
        self.index, self.scenario, self.store, self.transport = index, scenario, store, transport
        self.record = Record()
        self.now = 0.0
        self.running: Task | None = None
        self.began = 0.0
        # Each task with its generator, and the condition under which the generator continues.
        self._queue: deque[tuple[Task, _Continuation]] = deque()
        self._continuation: _Continuation | None = None

    def count(self, now: float, phase: str | None) -> None:
        """Advance to `now`; add the time passed to `phase` unless it is None."""
        if phase is not None:
            self.record.seconds[phase] += now - self.now
        self.now = now

    def add(self, tasks: Tasks, *, wanted: Callable[[], bool] = lambda: True) -> None:
        """Queue the tasks of a generator, one after the other, while `wanted` returns True."""
        self._continue((tasks, wanted), None)

    def poll(self) -> Task | None:
        """Return the next task, or None; at most one task runs at a time."""
        if self.running is not None or not self._queue:
            return None
        self.running, self._continuation = self._queue.popleft()
        return self.running

    def finished(self, outcome: Any) -> None:
        """Record the end of the task. Raises its error if the generator does not handle it."""
        task, self.running = self.running, None
        assert task is not None
        assert self._continuation is not None
        self.record.work[task.kind] += self.now - self.began
        self._continue(self._continuation, outcome)

    def _continue(self, continuation: _Continuation, outcome: Any) -> None:
        tasks, wanted = continuation
        with suppress(StopIteration):
            if isinstance(outcome, PqchainError):
                self._queue.append((tasks.throw(outcome), continuation))
            elif wanted():
                self._queue.append((tasks.send(outcome), continuation))
