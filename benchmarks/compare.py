"""Rates of wrong and of missed differences of `pqchain compare` on this machine.

Each trial alternates separate runs of the same code, three of each side, and adds as many as the
comparison asks for. Two verdicts are counted for every row: of the runs as they are ("A/A"), and
with the medians of one side multiplied by 1.05, which is a true change of 5 %: a change of the code
multiplies a run's median, and its noise, by the same factor.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator

import pandas as pd
from harness import table

from pqchain.bench import noise
from pqchain.bench.comparing import FASTER, SAME, SLOWER, UNDECIDED
from pqchain.bench.variation import median_over_min
from pqchain.results.statistics import share_interval

CHANGES = {"same code": 1.0, "5 % slower": 1.05}

FIRST_RUNS, MOST_RUNS = 3, 12
"""Runs of each side at the start of a trial, and at most."""

MOST_DIFFER, LEAST_FOUND = 0.07, 0.8
"""Accepted rates of the same code called different, and of the change called slower."""


@contextlib.contextmanager
def load(processors: int) -> Iterator[None]:
    """Keep a number of processors busy by a hashing process each."""
    code = "import hashlib\nwhile True: hashlib.sha256(bytes(1 << 20)).digest()"
    children = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(processors)]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def trial() -> tuple[dict[str, pd.DataFrame], list[pd.DataFrame]]:
    """Return the final comparison by change, and all runs that were made for them."""
    runs: list[pd.DataFrame] = []
    final = {}
    for name, factor in CHANGES.items():
        wanted = FIRST_RUNS
        while True:
            runs += [noise.separate_run() for _ in range(2 * wanted - len(runs))]
            final[name] = noise.compare_code(runs[: 2 * wanted], factor)
            more = int(final[name]["more_runs"].max())
            if not more or wanted == MOST_RUNS:
                break
            wanted = min(MOST_RUNS, wanted + more)
    return final, runs


def main() -> None:
    """Run trials until enough rows are counted; print rates, each with its 95 % interval."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400, help="rows of each kind (default: 400)")
    parser.add_argument("--busy", action="store_true", help="load every processor meanwhile")
    arguments = parser.parse_args()
    verdicts: dict[str, Counter[str]] = {name: Counter() for name in CHANGES}
    sides: dict[str, list[int]] = {name: [] for name in CHANGES}
    ratios: list[float] = []
    start = time.monotonic()
    processors = (os.cpu_count() or 1) if arguments.busy else 0
    with load(processors):
        while verdicts["same code"].total() < arguments.rows:
            final, runs = trial()
            for name, compared in final.items():
                verdicts[name].update(compared["verdict"])
                sides[name].append(int(compared["runs"].max()))
            ratios += map(median_over_min, runs)
            # A busy machine may need hours, so the counts so far are of use.
            print(
                *(f"{name}: {dict(counts)}" for name, counts in verdicts.items()), file=sys.stderr
            )
    minutes = (time.monotonic() - start) / 60
    print(
        f"{'Loaded' if arguments.busy else 'Unloaded by this program'}: load average "
        f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors, median/min of verifications "
        f"{statistics.median(ratios):.2f}; {len(ratios)} runs of {noise.ALGORITHMS} in "
        f"{minutes:.0f} minutes. Intervals take rows as independent."
    )
    rows = []
    for name, counts in verdicts.items():
        total = counts.total()
        cells = [_rate(counts[verdict], total) for verdict in (FASTER, SLOWER, SAME, UNDECIDED)]
        rows.append([name, str(total), *cells, f"{statistics.median(sides[name]):g}"])
    print(table(["code", "rows", "faster", "slower", SAME, UNDECIDED, "runs a side"], rows))
    same, slower = verdicts["same code"], verdicts["5 % slower"]
    differ = (same[FASTER] + same[SLOWER]) / same.total()
    detected = slower[SLOWER] / slower.total()
    print(f"Same code called different: {differ:.1%} (at most {MOST_DIFFER:.0%} accepted).")
    print(f"Change of 5 % found: {detected:.1%} (at least {LEAST_FOUND:.0%} accepted).")
    if differ > MOST_DIFFER or detected < LEAST_FOUND:
        sys.exit(1)


def _rate(count: int, total: int) -> str:
    low, high = share_interval(count, total)
    return f"{count / total:.1%} ({low:.1%} to {high:.1%})"


if __name__ == "__main__":
    main()
