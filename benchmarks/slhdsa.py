"""Compare pqchain's SLH-DSA with liboqs's SPHINCS+, the same number of hashes, and with two crates.

All run on one processor, in turn. Exit code 1 unless, by the median of paired runs,
SLH-DSA-SHA2-128s signs and verifies in at most 0.8 of the time of liboqs 0.13's SPHINCS+ with AVX2
if pqchain has the SHA instructions or AVX2, and in at most the time of liboqs's portable code
without. The crates slh-dsa and fips205, which use the SHA instructions if the processor has them,
are timed by the adapters of `pqchain conform build rust`; without these, the output says so. Other
load spoils the times.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from statistics import median

from harness import median_seconds, pin, spread, table

from pqchain.bench.rounds import MESSAGE_BYTES
from pqchain.crypto import native, open_signer, unavailable_reason
from pqchain.errors import Unsupported
from pqchain_conform import registry
from pqchain_conform.protocol import Adapter

RIVALS = {
    "slhdsa/sha-ni": ("liboqs-0.13/avx2", 0.8),
    "slhdsa/avx2": ("liboqs-0.13/avx2", 0.8),
    "slhdsa/ref": ("liboqs-0.13/ref", 1.0),
}
"""Implementation of liboqs, and the largest ratio of times for SLH-DSA-SHA2-128s."""

CRATES = ("slh-dsa (RustCrypto)", "fips205")

OPERATIONS = ("generate_keypair", "sign", "verify")


def operation_seconds(implementation: str, algorithm: str, operation: str) -> float:
    """Return the median seconds of one operation."""
    return median_seconds(
        native.library(implementation), algorithm, operation,
        warmup=1, samples=2000, minimum=2, limit_seconds=0.1, pool=1,
    )  # fmt: skip


def crate_seconds(adapter: Adapter, algorithm: str, operation: str) -> float:
    """Return the median seconds of one operation of a crate, without the decoding of the key."""
    signer = open_signer(algorithm)
    public_key, secret_key = signer.generate_keypair()
    message = bytes(MESSAGE_BYTES)
    if operation == "sign":
        answer = adapter.request("sign", algorithm, secret_key, message, b"", repeat=2)
        valid = signer.verify(message, answer.signature, public_key)
    else:
        signature = signer.sign(message, secret_key)
        answer = adapter.request(
            "verify", algorithm, public_key, message, b"", signature, repeat=50
        )
        valid = answer.verdict == "accept"
    if not valid:
        raise SystemExit(f"{adapter.command}: {operation} of {algorithm}: {answer.verdict}")
    decoding = answer.parts["decode_key"]
    return median(
        total - part for total, part in zip(answer.nanoseconds, decoding, strict=True)
    ) * 1e-9  # fmt: skip


def crates() -> dict[str, Adapter]:
    """Return the adapters of the crates that are built; print why others are missing."""
    adapters = {}
    for verifier in registry.select(CRATES):
        try:
            adapters[verifier.name] = verifier.adapter()
        except Unsupported as error:
            print(error)
    return adapters


Rival = tuple[str, float | None, Callable[[str], float]]
"""Name, largest ratio of times if one is required, and the seconds of an operation."""


def compare(
    implementation: str, algorithm: str, rivals: list[Rival], pairs: int
) -> tuple[list[list[str]], bool]:
    """Return the rows of the output, and whether all ratios are as small as required."""
    rows, good = [], True
    for operation in OPERATIONS:
        times: list[list[float]] = []
        timed = [rival for rival in rivals if operation != OPERATIONS[0] or rival is rivals[0]]
        for _ in range(pairs):
            ours = operation_seconds(implementation, algorithm, operation)
            times.append([ours, *(seconds(operation) for _, _, seconds in timed)])
        our = spread(row[0] for row in times)[1]
        for at, (name, most, _) in enumerate(timed, 1):
            low, middle, high = spread(row[0] / row[at] for row in times)
            judged = most is not None and operation != OPERATIONS[0]
            good = good and (most is None or not judged or middle <= most)
            rows.append([
                f"{implementation} {algorithm} {operation}", name, f"{our * 1e6:.1f}",
                f"{spread(row[at] for row in times)[1] * 1e6:.1f}",
                f"{middle:.3f}", f"{low:.3f}", f"{high:.3f}", f"{most}" if judged else "",
            ])  # fmt: skip
    return rows, good


def main() -> int:
    """Compare and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=11, help="pairs of runs of each operation")
    parser.add_argument(
        "--sets", default="128s,128f,192f,256f", help="parameter sets of SHA2, separated by commas"
    )
    arguments = parser.parse_args()
    adapters = crates()
    pin()
    rows, good = [], True
    for implementation, (liboqs, most) in RIVALS.items():
        if reason := unavailable_reason(implementation):
            print(f"{implementation}: {reason}")
            continue
        for name in arguments.sets.split(","):
            algorithm, theirs = f"SLH-DSA-SHA2-{name}", f"SPHINCS+-SHA2-{name}-simple"
            required = most if name == "128s" else None
            rivals: list[Rival] = [(liboqs, required, partial(operation_seconds, liboqs, theirs))]
            # The crates are compared with the fastest implementation only.
            if implementation == next(iter(RIVALS)):
                rivals += [
                    (crate, None, partial(crate_seconds, adapter, algorithm))
                    for crate, adapter in adapters.items()
                ]
            compared, within = compare(implementation, algorithm, rivals, arguments.pairs)
            rows += compared
            good = good and within
    for adapter in adapters.values():
        adapter.close()
    head = ["microseconds", "compared with", "pqchain", "other", "median ratio", "least",
            "greatest", "at most"]  # fmt: skip
    print(table(head, rows))
    print(f"SLH-DSA-SHA2-128s signs and verifies within these ratios: {'yes' if good else 'no'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
