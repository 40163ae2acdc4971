"""Attacks: generation of hostile inputs, their execution, and the permitted outcomes.

An attack generates the requested number of inputs from a seed, and each is tried separately. An
input may be accepted (`FINE`), rejected with a reason (`REFUSED`), or leave the operation
unfinished so that repeating it succeeds (`UNFINISHED`). Every other outcome is a defect of pqchain.
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

MAX_MEMORY_MB = 64
"""Maximum growth of memory by hostile inputs, compared with the honest one."""


class Outcome(Enum):
    FINE = "fine"
    """Accepted, and the result is right."""
    REFUSED = "refused"
    """A pqchain error gives the reason."""
    UNFINISHED = "unfinished"
    """Not completed, but no data is lost: repeating the operation succeeds."""
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
    """Raised if an input exceeds its time limit."""


class Defect(Exception):
    """Raised for an outcome that is not permitted."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Input:
    """One hostile input."""

    description: str
    """How it was generated, so that it can be reproduced."""
    data: Any


@dataclass(frozen=True, slots=True)
class Attack:
    """Attack on one surface."""

    surface: str
    name: str
    small: int
    """Number of inputs in `make test`."""
    large: int
    """Number of inputs in `make attack`."""
    prepare: Callable[..., tuple[Inputs, Try]]
    """Creates the honest data in an empty folder, its first argument; returns the generator of
    inputs, and the function that tries one.
    """
    arguments: tuple[Any, ...] = ()
    """Further arguments of `prepare`."""
    seconds: int = 20
    """Time limit of an input in seconds."""


Inputs = Callable[[random.Random, int], Iterator[Input]]
"""Generates about the requested number of inputs."""

Try = Callable[[Any], "Outcome | Counter[Outcome]"]
"""Tries the data of one input, or of several inputs whose outcomes it counts.

It may raise a pqchain error, which counts as REFUSED.
"""


@dataclass(slots=True)
class Tally:
    """Outcomes of the inputs of one attack."""

    counts: Counter[Outcome] = field(default_factory=Counter)
    defects: list[str] = field(default_factory=list)
    """Descriptions of the first inputs with an outcome that is not permitted."""
    memory_mb: float = 0

    @property
    def inputs(self) -> int:
        return sum(self.counts.values())

    @property
    def failed(self) -> int:
        return sum(count for outcome, count in self.counts.items() if outcome not in ALLOWED)


def run(attack: Attack, inputs: int, *, seed: int = 1, folder: Path | None = None) -> Tally:
    """Try that many inputs of an attack, in a temporary folder."""
    tally = Tally()
    with TemporaryDirectory(dir=folder or memory_folder()) as temporary:
        make, attempt = attack.prepare(Path(temporary), *attack.arguments)
        logging.disable(logging.WARNING)
        before = _peak_mb()
        for number, item in enumerate(make(random.Random(seed), inputs)):
            outcome, detail = _outcome(attempt, item.data, attack.seconds)
            outcomes = outcome if isinstance(outcome, Counter) else Counter([outcome])
            tally.counts += outcomes
            if not set(outcomes) <= set(ALLOWED) and len(tally.defects) < 20:
                tally.defects.append(
                    f"{', '.join(of.value for of in outcomes)}: {item.description}: {detail}"
                )
            if number == min(50, inputs // 10):
                before = _peak_mb()
        logging.disable(logging.NOTSET)
        tally.memory_mb = _peak_mb() - before
    if tally.memory_mb > MAX_MEMORY_MB:
        tally.counts[Outcome.MEMORY] += 1
        tally.defects.append(f"memory grew by {tally.memory_mb:.0f} MB")
    return tally


def memory_folder() -> Path | None:
    """Return a folder in memory if there is one, because attacks write 100,000 files."""
    folder = Path("/dev/shm")
    return folder if folder.is_dir() else None


def _outcome(attempt: Try, data: Any, seconds: int) -> tuple[Outcome | Counter[Outcome], str]:
    try:
        with _limited(seconds):
            return attempt(data), ""
    except PqchainError as error:
        message = str(error)
        return (Outcome.REFUSED if message.strip() else Outcome.TRACEBACK), message
    except Slow:
        return Outcome.SLOW, f"more than {seconds} s"
    except Defect as defect:
        return defect.outcome, str(defect)
    except Exception as error:  # noqa: BLE001 - every other error is a defect
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
    """Return the peak memory of this process in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
