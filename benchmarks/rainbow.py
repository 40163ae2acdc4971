"""Compare pqchain's Rainbow with AVX2 with liboqs's portable code, alternating on one processor.

Exit code 1 unless, by the median of paired runs, it signs and verifies at least 10 times as fast.
"""

from __future__ import annotations

import argparse
import sys

from harness import median_seconds, pin, spread, table

from pqchain.crypto import native, unavailable_reason

NAME, AVX2, PORTABLE = "Rainbow-I-Classic", "rainbow/avx2", "liboqs-0.7.1/ref"
MIN_RATIO = 10


def operation_seconds(implementation: str, operation: str) -> float:
    """Return the median seconds of one operation."""
    return median_seconds(
        native.library(implementation), NAME, operation,
        warmup=3, samples=1000, minimum=10, limit_seconds=0.06, pool=2,
    )  # fmt: skip


def main() -> int:
    """Compare and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15, help="pairs of runs of each operation")
    arguments = parser.parse_args()
    for implementation in (AVX2, PORTABLE):
        if reason := unavailable_reason(implementation):
            sys.exit(reason)
    pin()
    rows, good = [], True
    for operation in ("sign", "verify"):
        pairs = [
            (operation_seconds(AVX2, operation), operation_seconds(PORTABLE, operation))
            for _ in range(arguments.pairs)
        ]
        avx2, portable = (spread(column)[1] for column in zip(*pairs, strict=True))
        low, middle, high = spread(slow / fast for fast, slow in pairs)
        good &= middle >= MIN_RATIO
        rows.append([
            operation, f"{avx2 * 1e6:.1f}", f"{portable * 1e6:.1f}",
            f"{low:.1f}", f"{middle:.1f}", f"{high:.1f}", f">= {MIN_RATIO}",
        ])  # fmt: skip
    head = [f"{NAME}, microseconds", "AVX2", "portable", "least", "median ratio", "greatest", ""]
    print(table(head, rows))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
