"""Compare pqchain's Hawk with Falcon and with the code of Hawk's authors, on one processor.

Exit code 1 unless, by the median of paired runs, Hawk-512 with AVX2 signs at least 3 times as fast
as Falcon-512 with AVX2 and takes at most 1.5 times as long to verify. The authors' code was
measured on another day on a server of the same kind, so ratios to it are approximate and not
tested.
"""

from __future__ import annotations

import argparse
import sys

from harness import median_seconds, pin, spread, table

from pqchain.algorithms import OPERATIONS
from pqchain.crypto import native, unavailable_reason

FALCON = "liboqs-0.13/avx2"
PAIRED = {"Hawk-512": "Falcon-512", "Hawk-1024": "Falcon-1024"}

AUTHORS = {
    ("Hawk-512", "hawk/ref"): (5.4e-3, 146e-6, 143e-6),
    ("Hawk-512", "hawk/avx2"): (2.96e-3, 30e-6, 38e-6),
    ("Hawk-1024", "hawk/ref"): (26e-3, 321e-6, 309e-6),
    ("Hawk-1024", "hawk/avx2"): (16.9e-3, 81e-6, 83e-6),
}
"""Seconds of key generation, signing and verification by the authors' code of 2023 (hawk-sign/dev,
commit ac3a98c), portable and AVX2."""


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
    for (algorithm, implementation), times in AUTHORS.items():
        for operation, authors in zip(OPERATIONS[:3], times, strict=True):
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
                f"{authors * 1e6:.1f}", f"{hawk / authors:.2f}",
            ])  # fmt: skip
    head = [
        "microseconds", "pqchain", "Falcon, AVX2", "median ratio", "least", "greatest",
        "authors' C", "pqchain / authors",
    ]  # fmt: skip
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
