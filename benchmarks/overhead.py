"""Compare our timed loop with liboqs's own speed program.

Both run on the same static library, alternating on one processor. The speed program prints mean
times, so means are compared; the ratio of each pair counts, and the median of the ratios decides.
Exit code 1 if a median ratio lies outside 0.95 to 1.05.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
from harness import build, pin, spread, table

from pqchain.algorithms import OPERATIONS
from pqchain.crypto import native

CELLS = (("Falcon-512", "sign"), ("Falcon-512", "verify"), ("ML-DSA-44", "verify"))
"""What is compared: short operations, where overhead would show."""

SPEED_MESSAGE_BYTES = 50
"""Length of the message that the speed program signs."""

SPEED_NAMES = {"generate_keypair": "keypair", "sign": "sign", "verify": "verify"}


def theirs(program: Path, algorithm: str, operation: str, seconds: int) -> float:
    """Return the mean seconds that liboqs's speed program reports."""
    text = subprocess.run(
        [str(program), "-d", str(seconds), algorithm], check=True, capture_output=True, text=True
    ).stdout
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if cells[0] == SPEED_NAMES[operation]:
            return float(cells[3]) * 1e-6
    raise ValueError(f"{program.name} printed no row {SPEED_NAMES[operation]!r}:\n{text}")


def ours(algorithm: str, operation: str, seconds: int) -> float:
    """Return the mean seconds of our timed loop."""
    plan = native.Plan(
        operation=OPERATIONS.index(operation), warmup=3, samples=1_000_000, minimum=10,
        limit_ns=seconds * 10**9, pool=1, message_bytes=SPEED_MESSAGE_BYTES, seed=1,
    )  # fmt: skip
    nanoseconds, _ = native.library("liboqs-0.13/avx2").measure(algorithm, plan)
    return float(np.mean(nanoseconds[3:])) * 1e-9


def main() -> int:
    """Compare and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=9, help="pairs of runs of each cell")
    parser.add_argument("--seconds", type=int, default=1, help="length of one run")
    arguments = parser.parse_args()
    program = build() / "speed_sig"
    pin()
    rows, good = [], True
    for algorithm, operation in CELLS:
        pairs = []
        for turn in range(arguments.pairs):
            # Which of the two goes first alternates, so that a drift of the machine cancels.
            first = turn % 2 == 0
            mine = ours(algorithm, operation, arguments.seconds) if first else 0.0
            other = theirs(program, algorithm, operation, arguments.seconds)
            mine = mine or ours(algorithm, operation, arguments.seconds)
            pairs.append((mine, other))
        low, middle, high = spread(mine / other for mine, other in pairs)
        good = good and 0.95 <= middle <= 1.05
        rows.append([
            f"{algorithm} {operation}",
            *(f"{spread(column)[1] * 1e6:.2f}" for column in zip(*pairs, strict=True)),
            f"{middle:.3f}", f"{low:.3f}", f"{high:.3f}",
        ])  # fmt: skip
    head = ["mean microseconds", "pqchain", "liboqs speed_sig", "median ratio", "least", "greatest"]
    print(table(head, rows))
    print("within 0.95 to 1.05" if good else "outside 0.95 to 1.05")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
