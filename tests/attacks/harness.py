"""What an attack is, how it is tried, and what may come of it.

An attack makes inputs, as many as are asked for, from a seed; each is tried by itself. It may be
taken (`FINE`), refused with a reason (`REFUSED`), or leave something unfinished that the next try
takes up (`UNFINISHED`). All else is a defect of ours.
"""

from __future__ import annotations

import logging
import random
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pqchain.errors import PqchainError

STRANGER_MB = 64
"""The most memory that strangers' inputs may cost, over what the honest one does."""


class Outcome(Enum):
    FINE = "fine"
    """Taken, and what came of it is right."""
    REFUSED = "refused"
    """An error of ours says why."""
    UNFINISHED = "unfinished"
    """Not done, but nothing is lost: the same once more does it."""
    WRONG = "wrong answer"
    TRACEBACK = "traceback"
    HALF = "half a file"
    ORPHAN = "orphan"
    SLOW = "too slow"
    MEMORY = "too much memory"
    CRASH = "ended by a signal"
    DAMAGE = "foreign file changed"


ALLOWED = (Outcome.FINE, Outcome.REFUSED, Outcome.UNFINISHED)


class Slow(BaseException):
    """An input took too long."""


class Defect(Exception):
    """An input did what it may not."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Input:
    """One hostile thing."""

    what: str
    """How it came about, to make it again."""
    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One way to attack one surface."""

    surface: str
    name: str
    small: int
    """How many inputs `make test` tries."""
    large: int
    """How many `make attack` tries."""
    seconds: int = 20
    """An input that takes longer holds somebody up."""
    prepare: Callable[[Path], tuple[Inputs, Try]]
    """Makes the honest thing in an empty folder; returns what makes inputs and what tries one."""


Inputs = Callable[[random.Random, int], Iterator[Input]]
"""Makes about as many inputs as asked for."""

Try = Callable[[Any], "Outcome | Counter[Outcome]"]
"""Tries the data of one input, or of many at once whose outcomes it counts.

An error of ours may be raised and counts as REFUSED.
"""


@dataclass(slots=True)
class Tally:
    """What came of the inputs of one attack."""

    counts: Counter[Outcome] = field(default_factory=Counter)
    found: list[str] = field(default_factory=list)
    """The first inputs of which came what may not be."""
    memory_mb: float = 0

    @property
    def inputs(self) -> int:
        return sum(self.counts.values())

    @property
    def failed(self) -> int:
        return sum(count for outcome, count in self.counts.items() if outcome not in ALLOWED)


def run(attack: Attack, inputs: int, *, seed: int = 1, folder: Path | None = None) -> Tally:
    """Try that many inputs of an attack, in a folder of its own."""
    tally = Tally()
    with TemporaryDirectory(dir=folder or memory_folder()) as place:
        make, attempt = attack.prepare(Path(place))
        logging.disable(logging.WARNING)
        before = _peak_mb()
        for number, each in enumerate(make(random.Random(seed), inputs)):
            outcome, detail = _outcome(attempt, each.data, attack.seconds)
            many = outcome if isinstance(outcome, Counter) else Counter([outcome])
            tally.counts += many
            if not set(many) <= set(ALLOWED) and len(tally.found) < 20:
                tally.found.append(f"{', '.join(of.value for of in many)}: {each.what}: {detail}")
            if number == min(50, inputs // 10):
                before = _peak_mb()
        logging.disable(logging.NOTSET)
        tally.memory_mb = _peak_mb() - before
    if tally.memory_mb > STRANGER_MB:
        tally.counts[Outcome.MEMORY] += 1
        tally.found.append(f"memory grew by {tally.memory_mb:.0f} MB")
    return tally


def memory_folder() -> Path | None:
    """Return a folder in memory, where there is one: files are written by the hundred thousand."""
    place = Path("/dev/shm")
    return place if place.is_dir() else None


def _outcome(attempt: Try, data: Any, seconds: int) -> tuple[Outcome | Counter[Outcome], str]:
    try:
        with _limited(seconds):
            return attempt(data), ""
    except PqchainError as error:
        said = str(error)
        return (Outcome.REFUSED if said.strip() else Outcome.TRACEBACK), said
    except Slow:
        return Outcome.SLOW, f"more than {seconds} s"
    except Defect as defect:
        return defect.outcome, str(defect)
    except Exception as error:  # noqa: BLE001 - that any other error comes out is the finding
        return Outcome.TRACEBACK, f"{type(error).__name__}: {error}"


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Slow

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def _peak_mb() -> float:
    """Return the most memory that this process ever had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
