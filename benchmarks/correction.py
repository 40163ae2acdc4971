"""Measure the cost of the correction of the AVX2 verifier.

The corrected and the uncorrected build of liboqs 0.13.0 alternate in verifying honest signatures on
one processor. Exit code 1 if a median ratio exceeds 1.1.
"""

from __future__ import annotations

import argparse
import sys

from harness import build, median_seconds, pin, spread, table

from pqchain.crypto import native

ALGORITHMS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87", "Dilithium2", "Dilithium3", "Dilithium5")


def verify_seconds(library: native.Library, algorithm: str) -> float:
    """Return the median seconds of one verification."""
    return median_seconds(
        library, algorithm, "verify", warmup=10, samples=3000, minimum=100, limit_seconds=0.2,
        pool=16,
    )  # fmt: skip


def main() -> int:
    """Compare and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15, help="pairs of runs of each algorithm")
    arguments = parser.parse_args()
    uncorrected = native.load(build() / "liboqs-0.13-avx2-uncorrected" / "lib" / "liboqs.so")
    corrected = native.library("liboqs-0.13/avx2")
    pin()
    rows, good = [], True
    for algorithm in ALGORITHMS:
        pairs = [
            (verify_seconds(corrected, algorithm), verify_seconds(uncorrected, algorithm))
            for _ in range(arguments.pairs)
        ]
        low, middle, high = spread(new / old for new, old in pairs)
        good = good and middle <= 1.1
        rows.append([
            algorithm,
            *(f"{spread(column)[1] * 1e6:.2f}" for column in zip(*pairs, strict=True)),
            f"{middle:.3f}", f"{low:.3f}", f"{high:.3f}",
        ])  # fmt: skip
    head = ["verify, microseconds", "corrected", "uncorrected", "median ratio", "least", "greatest"]
    print(table(head, rows))
    print("at most 1.1" if good else "above 1.1")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
