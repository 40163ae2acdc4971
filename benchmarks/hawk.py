"""Compare pqchain's Hawk with Falcon on one processor; `make bench-peers` has its authors' code.

Exit code 1 unless, by the median of paired runs, Hawk-512 with AVX2 signs at least 3 times as fast
as Falcon-512 with AVX2 and takes at most 1.5 times as long to verify.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product

from harness import median_seconds, pin, spread, table

from pqchain.algorithms import OPERATIONS
from pqchain.crypto import native, unavailable_reason

FALCON = "liboqs-0.13/avx2"
PAIRED = {"Hawk-512": "Falcon-512", "Hawk-1024": "Falcon-1024"}


def operation_seconds(implementation: str, algorithm: str, operation: str) -> float:
    """Return the median seconds of one operation; for key generation the mean is longer."""
    return median_seconds(
        native.library(implementation), algorithm, operation,
        warmup=5, samples=2000, minimum=30, limit_seconds=0.1, pool=16,
    )  # fmt: skip


def main() -> int:
    """Compare and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=11, help="pairs of runs of each operation")
    arguments = parser.parse_args()
    for implementation in ("hawk/avx2", "hawk/ref", FALCON):
        if reason := unavailable_reason(implementation):
            sys.exit(reason)
    pin()
    rows, ratios = [], {}
    for algorithm, implementation in product(PAIRED, ("hawk/ref", "hawk/avx2")):
        for operation in OPERATIONS[:3]:
            pairs = [
                (
                    operation_seconds(implementation, algorithm, operation),
                    operation_seconds(FALCON, PAIRED[algorithm], operation),
                )
                for _ in range(arguments.pairs)
            ]
            low, middle, high = spread(hawk / falcon for hawk, falcon in pairs)
            hawk, falcon = (spread(column)[1] for column in zip(*pairs, strict=True))
            ratios[algorithm, implementation, operation] = middle
            rows.append([
                f"{algorithm} {implementation} {operation}",
                f"{hawk * 1e6:.1f}", f"{falcon * 1e6:.1f}",
                f"{middle:.3f}", f"{low:.3f}", f"{high:.3f}",
            ])  # fmt: skip
    head = ["microseconds", "pqchain", "Falcon, AVX2", "median ratio", "least", "greatest"]
    print(table(head, rows))
    sign, verify = (ratios["Hawk-512", "hawk/avx2", operation] for operation in ("sign", "verify"))
    good = sign <= 1 / 3 and verify <= 1.5
    print(
        f"Hawk-512 with AVX2 signs {1 / sign:.1f} times as fast as Falcon-512 (at least 3) "
        f"and verifies in {verify:.2f} of its time (at most 1.5): {'met' if good else 'missed'}"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
