"""What a driver runs: events and the time go in, messages and tasks come out.

A node has no sockets, threads or clock of its own. It is given a `session.Transport`, and a driver
tells it what happens and when. Re-encoding nodes and consensus delegates are two kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pqchain.errors import PqchainError
from pqchain.wire.session import Event, Timed


@dataclass(slots=True, eq=False)
class Task:
    """Work that the driver does when it likes, where it likes: it blocks nothing."""

    kind: str
    size: int
    """Bytes that it works on, for a modelled clock."""
    run: Callable[[], Any]
    alone: bool = False
    """Whether it works where bytes may come meanwhile: on a modelled clock it is done at once."""

    def outcome(self) -> Any:
        """Run it; return what it gives, or the PqchainError that it raised."""
        try:
            return self.run()
        except PqchainError as error:
            return error
        except OSError as error:
            return PqchainError(f"cannot read or write {error.filename}: {error.strerror}")


class Node(Timed, Protocol):
    """What a driver runs. It calls `poll` for a task after every other call that may give one."""

    @property
    def connected(self) -> bool:
        """Whether sessions to all peers are open."""

    @property
    def begun(self) -> bool:
        """Whether its own work has begun."""

    @property
    def done(self) -> bool:
        """Whether its own work is over, well or not."""

    @property
    def error(self) -> PqchainError | None:
        """Why its own work could not be done."""

    @property
    def progress(self) -> int:
        """How much has been done, in a unit of the node's own."""

    def start(self, now: float) -> None:
        """Dial the others and begin to listen."""

    def begin(self, now: float) -> None:
        """Begin the work of a job that waits until all are connected."""

    def handle(self, event: Event, now: float) -> None:
        """Take in what the transport tells."""

    def poll(self) -> Task | None:
        """Return the next task, or None; the next one comes when this one has finished."""

    def started(self, now: float) -> None:
        """Note that the task from `poll` begins."""

    def finished(self, outcome: Any, now: float) -> None:
        """Take the outcome of the task, which is a PqchainError if it failed."""

    def report(self) -> Mapping[str, Any]:
        """Return what the node did, as plain JSON; times are the driver's."""
