"""Measure our Rainbow with AVX2 beside liboqs's portable code, in turn on one processor.

Exit code 1 unless, by the median of paired runs, it signs and verifies at least 10 times as fast.
"""

from __future__ import annotations

import argparse
import sys

from harness import pin, spread, table

from pqchain.algorithms import OPERATIONS
from pqchain.bench.operations import MESSAGE_BYTES
from pqchain.crypto import native, unavailable_reason

NAME, OURS, PORTABLE = "Rainbow-I-Classic", "rainbow/avx2", "liboqs-0.7.1/ref"
WANTED = 10


def seconds(implementation: str, operation: str) -> float:
    """Return the median seconds of one run."""
    plan = native.Plan(
        operation=OPERATIONS.index(operation), warmup=3, samples=1000, minimum=10,
        limit_ns=60_000_000, pool=2, message_bytes=MESSAGE_BYTES, seed=1,
    )  # fmt: skip
    samples = native.library(implementation).measure(NAME, plan)[0][3:]
    return spread(samples)[1] * 1e-9


def main() -> int:
    """Compare and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15, help="pairs of runs of each operation")
    arguments = parser.parse_args()
    for implementation in (OURS, PORTABLE):
        if reason := unavailable_reason(implementation):
            sys.exit(reason)
    pin()
    rows, good = [], True
    for operation in ("sign", "verify"):
        pairs = [
            (seconds(OURS, operation), seconds(PORTABLE, operation)) for _ in range(arguments.pairs)
        ]
        ours, portable = (spread(column)[1] for column in zip(*pairs, strict=True))
        low, middle, high = spread(theirs / mine for mine, theirs in pairs)
        good &= middle >= WANTED
        rows.append([
            operation, f"{ours * 1e6:.1f}", f"{portable * 1e6:.1f}",
            f"{low:.1f}", f"{middle:.1f}", f"{high:.1f}", f">= {WANTED}",
        ])  # fmt: skip
    head = [f"{NAME}, microseconds", "ours", "portable", "least", "median gain", "greatest", ""]
    print(table(head, rows))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
