"""Noise of this machine: comparisons of runs of the same code ("A/A"), and detectable changes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
import pandas as pd

from pqchain import results
from pqchain.bench import comparing
from pqchain.bench.runs import KEY, concat_runs
from pqchain.bench.timing import timed, with_bar
from pqchain.bench.variation import MAX_MEDIAN_OVER_MIN as MAX_MEDIAN_OVER_MIN
from pqchain.bench.variation import median_over_min
from pqchain.checks import integer
from pqchain.errors import Unsupported
from pqchain.results.statistics import share_interval

T = TypeVar("T")

ALGORITHMS = ("Ed25519", "Falcon-512", "Falcon-1024", "ML-DSA-44", "ML-DSA-65")
"""Schemes of a run: fast ones, so that a run takes about two seconds."""

IMPLEMENTATIONS = ("cryptography/openssl", "liboqs-0.13/avx2", "liboqs-0.13/ref")

SIDE_RUNS = 8
"""Runs of each side of a comparison."""

SECONDS = 60
"""Default duration of `measure_noise`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Noise of a machine during a minute or longer."""

    seconds: float
    runs: int
    rows: int
    """Compared rows of a run: schemes and implementations."""
    side_runs: int
    """Runs of each side of an A/A comparison."""
    compared: int
    """Rows of all A/A comparisons of successive runs, which overlap."""
    differ: int
    """Rows of them that are called faster or slower, although the code is the same."""
    undecided: int
    deviation: float
    """Median over the rows of `comparing.deviation` of the runs."""
    largest_ratio: float
    """Largest ratio of two runs of a row."""
    median_over_min: float
    """Median over the runs of `variation.median_over_min`."""
    detectable_ratio: float
    """Ratio that `side_runs` runs of each side find in four of five comparisons."""
    runs_for_resolution: int
    """Runs of each side that find a ratio of `comparing.RESOLUTION` in four of five comparisons."""

    def text(self) -> str:
        """Return what the numbers mean for comparisons of versions, a line each."""
        low, high = share_interval(self.differ, self.compared)
        differ, needed = self.differ / self.compared, self.runs_for_resolution
        busy = f", above {MAX_MEDIAN_OVER_MIN:g}: times are not ranked"
        more = f"more than {comparing.MAX_RUNS} of each side: stop other programs"
        facts = {
            "called different": f"{differ:.1%} of {self.compared} rows ({low:.1%} to {high:.1%})",
            "undecided": f"{self.undecided / self.compared:.1%} of them",
            "spread of runs": f"{self.deviation:.1%}, at most {self.largest_ratio - 1:.1%}",
            "median/min": f"{self.median_over_min:.2f}"
            + busy * (self.median_over_min > MAX_MEDIAN_OVER_MIN),
            "detectable change": f"{self.detectable_ratio - 1:.1%} with {self.side_runs} runs of "
            f"each side, in {comparing.POWER:.0%} of comparisons",
            f"runs to find {comparing.RESOLUTION - 1:.0%}": f"{needed} of each side"
            if needed <= comparing.MAX_RUNS
            else more,
        }
        width = max(map(len, facts))
        title = (
            f"Same code compared with itself: {self.runs} runs of {self.rows} verifications in "
            f"{self.seconds:.0f} s, each run in its own process; {self.side_runs} runs of each "
            "side, alternating"
        )
        return "\n".join([title, *(f"  {name:<{width}}  {row}" for name, row in facts.items())])


def measure_noise(seconds: int = SECONDS, *, progress: bool = False) -> Noise:
    """Compare short runs of the same code for about `seconds` seconds (at most an hour).

    Each run is a process of its own. At least two sides of SIDE_RUNS runs are measured, however
    long they take. Raises Unsupported if this installation has none of the timed code.
    """
    integer("seconds", seconds, least=1, most=3600)
    timings = [timed(separate_run)]
    count = max(2 * SIDE_RUNS, int(seconds / timings[0][0]))
    turns = with_bar(list(range(1, count)), lambda _: "run", unit="run", show=progress)
    timings += [timed(separate_run) for _ in turns]
    return summarize([run for _, run in timings], sum(duration for duration, _ in timings))


def summarize(runs: Sequence[pd.DataFrame], seconds: float) -> Noise:
    """Return the noise of successive runs of the same code, at least SIDE_RUNS for each side."""
    windows = range(len(runs) - 2 * SIDE_RUNS + 1)
    compared = [compare_code(runs[start : start + 2 * SIDE_RUNS]) for start in windows]
    verdicts = pd.concat(frame["verdict"] for frame in compared)
    rows = len(compared[0])
    medians = concat_runs(list(runs)).groupby(KEY)["median_seconds"]
    deviation = float(medians.apply(comparing.deviation).median())
    return Noise(
        seconds=seconds,
        runs=len(runs),
        rows=rows,
        side_runs=SIDE_RUNS,
        compared=len(verdicts),
        differ=int(verdicts.isin((comparing.FASTER, comparing.SLOWER)).sum()),
        undecided=int((verdicts == comparing.UNDECIDED).sum()),
        deviation=deviation,
        largest_ratio=float((medians.max() / medians.min()).max()),
        median_over_min=float(np.median([median_over_min(run) for run in runs])),
        detectable_ratio=comparing.detectable_ratio(deviation, SIDE_RUNS, rows),
        runs_for_resolution=comparing.runs_needed(deviation, rows),
    )


def separate_run() -> pd.DataFrame:
    """Measure verifications in a process of its own; return those that ran here.

    Raises Unsupported if none did.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.csv"
        command = [
            sys.executable, "-m", "pqchain", "bench", "--algorithm", ",".join(ALGORITHMS),
            "--operation", "verify", "--implementation", ",".join(IMPLEMENTATIONS),
            "--preset", "quick", "--output", str(path),
        ]  # fmt: skip
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if not path.exists():
            last = (process.stderr.strip().splitlines() or ["no message"])[-1]
            raise Unsupported(f"`pqchain bench` failed: {last}. See `pqchain doctor`.")
        frame = results.load(path)
    measured = frame[frame["status"] == "ok"].reset_index(drop=True)
    if measured.empty:
        raise Unsupported(
            f"none of {', '.join(IMPLEMENTATIONS)} can be timed here. See `pqchain doctor`."
        )
    return measured


def alternate(runs: Sequence[T]) -> tuple[list[T], list[T]]:
    """Assign successive runs to two sides in the order A, B, B, A, which cancels a steady drift."""
    sides: tuple[list[T], list[T]] = ([], [])
    for number, run in enumerate(runs):
        sides[number % 4 in (1, 2)].append(run)
    return sides


def compare_code(runs: Sequence[pd.DataFrame], factor: float = 1.0) -> pd.DataFrame:
    """Compare successive runs of the same code, assigned to two sides by `alternate`.

    The times of the second side are multiplied by `factor`, as a change of the code would do.
    """
    first, second = alternate(runs)
    slower = [run.assign(median_seconds=run["median_seconds"] * factor) for run in second]
    return comparing.compare_runs({"A": first, "B": slower})
