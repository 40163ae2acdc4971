"""Interface between a driver and a sans-I/O node, which receives events and returns tasks.

A node has no sockets, threads or clock of its own. It sends through a `session.Transport`; a driver
passes it events and the current time. Re-encoding nodes and consensus delegates implement this
interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pqchain.errors import PqchainError
from pqchain.wire.session import Event


@dataclass(slots=True, eq=False)
class Task:
    """Long-running work that the driver may execute on another thread, at a time of its choice."""

    kind: str
    size: int
    """Number of bytes processed; a modelled clock derives the duration from it."""
    run: Callable[[], Any]
    times: int = 1
    """Number of times that the work is done, by a node that is slow on purpose."""

    def outcome(self) -> Any:
        """Run the task; return its result, or a PqchainError if it raised that or an OSError."""
        # Not raised: tasks run on worker threads, and the node decides what an error means.
        try:
            return self.run()
        except PqchainError as error:
            return error
        except OSError as error:
            return PqchainError(f"cannot read or write {error.filename}: {error.strerror}")


class Node(Protocol):
    """State machine that a driver runs.

    The driver calls `poll` for a task after every other call that may create one. Times are seconds
    of the driver's clock.
    """

    @property
    def connected(self) -> bool:
        """Whether sessions to all peers are open."""

    @property
    def begun(self) -> bool:
        """Whether the node has begun its own work."""

    @property
    def done(self) -> bool:
        """Whether the node's own work has ended, successfully or not."""

    @property
    def error(self) -> PqchainError | None:
        """The error that ended the node's own work, or None."""

    @property
    def progress(self) -> int:
        """Amount of work done, in a unit that the node defines."""

    def start(self, now: float) -> None:
        """Dial all peers and start to process events."""

    def begin(self, now: float) -> None:
        """Begin the node's work; called if `Job.begin` is set, once all nodes are connected."""

    def handle(self, event: Event, now: float) -> None:
        """Handle a transport event."""

    def timer(self) -> float | None:
        """Return the time at which `handle_timer` must be called, or None."""

    def handle_timer(self, now: float) -> None:
        """Handle the timers that have expired at `now`."""

    def poll(self, now: float) -> Task | None:
        """Return the next task, which starts now, or None; at most one task runs at a time."""

    def finished(self, outcome: Any, now: float) -> None:
        """Handle the result of the task, which is a PqchainError if the task failed."""

    def report(self) -> Mapping[str, Any]:
        """Return the node's report as plain JSON; times are seconds of the driver's clock."""
