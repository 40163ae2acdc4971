"""Compare pqchain's SLH-DSA with liboqs's SPHINCS+ on one processor: the same number of hashes.

Exit code 1 unless, by the median of paired runs, SLH-DSA-SHA2-128s signs and verifies in at most
0.8 of the time of liboqs 0.13's SPHINCS+ with AVX2 if pqchain has the SHA instructions or AVX2, and
in at most the time of liboqs's portable code without. Other load spoils the times.
"""

from __future__ import annotations

import argparse
import sys

from harness import median_seconds, pin, spread, table

from pqchain.crypto import native, unavailable_reason

RIVALS = {
    "slhdsa/sha-ni": ("liboqs-0.13/avx2", 0.8),
    "slhdsa/avx2": ("liboqs-0.13/avx2", 0.8),
    "slhdsa/ref": ("liboqs-0.13/ref", 1.0),
}
"""Implementation of liboqs, and the largest ratio of times for SLH-DSA-SHA2-128s."""

OPERATIONS = ("generate_keypair", "sign", "verify")


def operation_seconds(implementation: str, algorithm: str, operation: str) -> float:
    """Return the median seconds of one operation."""
    return median_seconds(
        native.library(implementation), algorithm, operation,
        warmup=1, samples=2000, minimum=2, limit_seconds=0.1, pool=1,
    )  # fmt: skip


def main() -> int:
    """Compare and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=11, help="pairs of runs of each operation")
    parser.add_argument(
        "--sets", default="128s,128f,192f,256f", help="parameter sets of SHA2, separated by commas"
    )
    arguments = parser.parse_args()
    pin()
    rows, good = [], True
    for implementation, (rival, most) in RIVALS.items():
        if reason := unavailable_reason(implementation):
            print(f"{implementation}: {reason}")
            continue
        for name in arguments.sets.split(","):
            ours, theirs = f"SLH-DSA-SHA2-{name}", f"SPHINCS+-SHA2-{name}-simple"
            for operation in OPERATIONS:
                pairs = [
                    (
                        operation_seconds(implementation, ours, operation),
                        operation_seconds(rival, theirs, operation),
                    )
                    for _ in range(arguments.pairs)
                ]
                low, middle, high = spread(our / their for our, their in pairs)
                our, their = (spread(column)[1] for column in zip(*pairs, strict=True))
                judged = name == "128s" and operation != "generate_keypair"
                good = good and (not judged or middle <= most)
                rows.append([
                    f"{implementation} {ours} {operation}", rival,
                    f"{our * 1e6:.1f}", f"{their * 1e6:.1f}",
                    f"{middle:.3f}", f"{low:.3f}", f"{high:.3f}", f"{most}" if judged else "",
                ])  # fmt: skip
    head = ["microseconds", "compared with", "pqchain", "liboqs", "median ratio", "least",
            "greatest", "at most"]  # fmt: skip
    print(table(head, rows))
    print(f"SLH-DSA-SHA2-128s signs and verifies within these ratios: {'yes' if good else 'no'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
