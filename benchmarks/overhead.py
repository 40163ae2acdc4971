"""Compare pqchain's timed loop with liboqs's speed program.

Both call the same shared library, alternating on one processor. The speed program prints mean
times, so means are compared; the ratio of each steady pair counts, and their median decides.
It takes about a minute, at most `--limit` seconds after the build, and reports each pair on stderr.
Exit code 1 if a median ratio lies outside 0.95 to 1.05.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from harness import build, pin, spread, table

from pqchain.algorithms import OPERATIONS
from pqchain.crypto import native

CASES = (("Falcon-512", "sign"), ("Falcon-512", "verify"), ("ML-DSA-44", "verify"))
"""Compared operations: short ones, in which overhead has the largest share."""

STEADY = 0.05
"""Greatest relative difference of the timed loop before and after the program."""

SPEED_MESSAGE_BYTES = 50
"""Length of the message that the speed program signs."""

SPEED_NAMES = {"generate_keypair": "keypair", "sign": "sign", "verify": "verify"}


def speed_program_seconds(program: Path, algorithm: str, operation: str, seconds: int) -> float:
    """Return the mean seconds that liboqs's speed program reports."""
    # The program is linked by library name; this makes it load the same file as pqchain.
    environment = {**os.environ, "LD_PRELOAD": str(native.library("liboqs-0.13/avx2").path)}
    text = subprocess.run(
        [str(program), "-d", str(seconds), algorithm],
        check=True, capture_output=True, text=True, env=environment,
    ).stdout  # fmt: skip
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if cells[0] == SPEED_NAMES[operation]:
            return float(cells[3]) * 1e-6
    raise ValueError(f"{program.name} printed no row {SPEED_NAMES[operation]!r}:\n{text}")


def timed_loop_seconds(algorithm: str, operation: str, seconds: float) -> float:
    """Return the mean seconds of our timed loop."""
    plan = native.TimingPlan(
        operation=OPERATIONS.index(operation), warmup=3, samples=1_000_000, minimum=10,
        limit_ns=int(seconds * 1e9), pool=1, message_bytes=SPEED_MESSAGE_BYTES, seed=1,
    )  # fmt: skip
    nanoseconds, _ = native.library("liboqs-0.13/avx2").measure(algorithm, plan)
    return float(np.mean(nanoseconds[3:])) * 1e-9


def main() -> int:
    """Compare and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs of each case")
    parser.add_argument("--seconds", type=int, default=1, help="length of one run")
    parser.add_argument("--limit", type=float, default=150, help="seconds of all runs together")
    arguments = parser.parse_args()
    print("building liboqs's speed program: minutes, the first time", file=sys.stderr, flush=True)
    program = build() / "speed_sig"
    pin()
    rows, good, begin = [], True, time.monotonic()
    for number, (algorithm, operation) in enumerate(CASES, start=1):
        pairs, attempts = [], 0
        # Each case has its share of the limit, so that the last one is measured as well.
        end = begin + arguments.limit * number / len(CASES)
        while len(pairs) < arguments.pairs and (not attempts or time.monotonic() < end):
            attempts += 1
            state = f"{algorithm} {operation}: {len(pairs)} of {arguments.pairs} steady pairs"
            print(f"{state}, attempt {attempts}", file=sys.stderr, flush=True)
            before = timed_loop_seconds(algorithm, operation, arguments.seconds / 2)
            other = speed_program_seconds(program, algorithm, operation, arguments.seconds)
            after = timed_loop_seconds(algorithm, operation, arguments.seconds / 2)
            # If the two halves disagree, the speed of the machine changed in between.
            if abs(before / after - 1) < STEADY:
                pairs.append(((before + after) / 2, other))
        if not pairs:
            print("the speed of this machine varies too much. Run this on an idle machine.")
            return 1
        low, middle, high = spread(loop / program for loop, program in pairs)
        good = good and 0.95 <= middle <= 1.05
        rows.append([
            f"{algorithm} {operation}",
            *(f"{spread(column)[1] * 1e6:.2f}" for column in zip(*pairs, strict=True)),
            f"{middle:.3f}", f"{low:.3f}", f"{high:.3f}", f"{len(pairs)} of {attempts}",
        ])  # fmt: skip
    head = [
        "mean microseconds",
        "pqchain",
        "liboqs speed_sig",
        "median ratio",
        "least",
        "greatest",
        "steady",
    ]
    print(table(head, rows))
    print("within 0.95 to 1.05" if good else "outside 0.95 to 1.05")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
