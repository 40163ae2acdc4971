"""What a node has to do beside talking: tasks, one at a time, and where its time goes.

Knows neither chunks nor peers nor sockets, and reads no clock: whoever calls tells the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pqchain.errors import PqchainError

PHASES = ("transfer", "decode", "encode", "io", "other")
"""What a node's time is spent on. Each moment counts once: for the transfer while chunks are
awaited, whatever else is done meanwhile, then for the task that runs, else as other."""


@dataclass(slots=True, eq=False)
class Task:
    """Work that the driver does when it likes, where it likes: it blocks nothing."""

    kind: str
    size: int
    """Bytes that it works on, for the virtual clock."""
    run: Callable[[], Any]
    then: Callable[[Any, float], None]
    otherwise: Callable[[PqchainError, float], None] | None = None

    def outcome(self) -> Any:
        """Run it; return what it gives, or the PqchainError that it raised."""
        try:
            return self.run()
        except PqchainError as error:
            return error
        except OSError as error:
            return PqchainError(f"cannot read or write {error.filename}: {error.strerror}")


@dataclass(slots=True)
class Record:
    """What a node did, in seconds of the driver's clock."""

    noticed: float | None = None
    begun: float | None = None
    ended: float | None = None
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    received_bytes: int = 0
    wasted_bytes: int = 0
    work: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    """How long tasks of each kind ran, those that the transfer hid included."""
    arrivals: list[float] = field(default_factory=list)
    verified_blocks: int = 0
    early_sessions: int = 0


class Work:
    """The line of tasks and the book of time."""

    def __init__(self, record: Record) -> None:
        """Keep the book in that record."""
        self.running: Task | None = None
        self._record = record
        self._line: deque[Task] = deque()
        self._began = 0.0
        self._phase: str | None = None
        self._counted = 0.0

    def add(self, task: Task) -> None:
        """Put a task at the end of the line."""
        self._line.append(task)

    def poll(self) -> Task | None:
        """Return the next task; there is one at a time."""
        if self.running is not None or not self._line:
            return None
        self.running = self._line.popleft()
        return self.running

    def started(self, now: float) -> None:
        """Note that the task from `poll` begins."""
        self._began = now

    def finished(self, now: float) -> Task:
        """Note that it has ended, and return it."""
        task, self.running = self.running, None
        assert task is not None
        self._record.work[task.kind] += now - self._began
        return task

    def count(self, now: float) -> None:
        """Count the time since the last call for the phase that it was."""
        if self._phase is not None:
            self._record.seconds[self._phase] += now - self._counted
        self._counted = now

    def enter(self, phase: str | None) -> None:
        """Say what phase it is from here on; None is not counted."""
        self._phase = phase
