"""Measure the verification of 1000 signatures together, compared with one by one.

For each scheme and implementation: time of `pq_verify_batch` over the sum of single verifications
by `pq_measure` in the same library, with as many keys as signatures and with 8 keys, on one and two
threads. Cases alternate in rounds of one process. Exit code 1 if a median on one thread exceeds its
limit. Needs idle processors.

    python benchmarks/blocks.py [SCHEME]...
"""

from __future__ import annotations

import sys
from statistics import median

from harness import seconds, spread, table

from pqchain.crypto import native, obstacle, open_signer
from pqchain.crypto.abi import TimingPlan

ROUNDS = 21
SIGNATURES, KNOWN_KEYS, MESSAGE_BYTES = 1000, 8, 250

LIMITS: dict[tuple[str, str], tuple[float | None, float | None]] = {
    ("ML-DSA-44", "pqcp/avx2"): (0.85, 0.5),
    ("ML-DSA-44", "pqcp/avx512"): (0.7, 0.5),
    ("ML-DSA-65", "pqcp/avx2"): (0.85, 0.5),
    ("ML-DSA-65", "pqcp/avx512"): (0.7, 0.5),
    ("Falcon-512", "fn-dsa/avx2"): (0.88, 0.88),
    ("SLH-DSA-SHA2-128s", "slhdsa/sha-ni"): (None, None),
    ("SLH-DSA-SHA2-128s", "slhdsa/avx2"): (None, None),
    ("SLH-DSA-SHA2-128s", "slhdsa/avx512"): (0.7, 0.7),
    ("SLH-DSA-SHAKE-128s", "slhdsa/avx2"): (None, None),
    ("SLH-DSA-SHAKE-128s", "slhdsa/avx512"): (None, None),
}
"""Greatest ratios with distinct and with known keys, by scheme and implementation."""

SLOW = ("SLH-DSA",)
"""Schemes that sign slowly: the block repeats 128 signatures, and 128 of its keys are distinct."""


def columns(name: str, keys: int) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Return messages, signatures and public keys of a block."""
    signer = open_signer(name)
    made = 128 if name.startswith(SLOW) else SIGNATURES
    pairs = [signer.generate_keypair() for _ in range(min(keys, made))]
    messages = [i.to_bytes(MESSAGE_BYTES, "big") for i in range(made)]
    signatures = [signer.sign(m, pairs[i % len(pairs)][1]) for i, m in enumerate(messages)]
    rows = [(messages[i], signatures[i], pairs[i % len(pairs)][0]) for i in range(made)]
    repeated = [rows[i % made] for i in range(SIGNATURES)]
    return tuple(map(list, zip(*repeated, strict=True)))


def main(names: list[str]) -> int:
    """Measure and print; return the exit code."""
    cases = [case for case in LIMITS if not obstacle(case[1]) and case[0] in (names or case)]
    rows, failed = [], False
    for name in dict.fromkeys(name for name, _ in cases):
        blocks = {"distinct": columns(name, SIGNATURES), "known": columns(name, KNOWN_KEYS)}
        for case in (case for case in cases if case[0] == name):
            signer, library = open_signer(*case), native.library(case[1])
            pool = 4 if name.startswith(SLOW) else 64
            plan = TimingPlan(
                operation=2, warmup=pool, samples=SIGNATURES // 4, pool=pool,
                message_bytes=MESSAGE_BYTES, seed=1,
            )  # fmt: skip
            loops = {
                (keys, threads): native.plain_loop(signer, *block, threads=threads)
                for keys, block in blocks.items()
                for threads in (1, 2)
            }
            ratios: dict[tuple[str, int], list[float]] = {key: [] for key in loops}
            singles = []
            for _ in range(ROUNDS):
                nanoseconds, _cycles = library.measure(name, plan)
                singles.append(sum(nanoseconds[pool:]) * 1e-9 / len(nanoseconds[pool:]))
                for key, loop in loops.items():
                    assert loop is not None
                    ratios[key].append(seconds(loop) / SIGNATURES / singles[-1])
            for (keys, threads), values in ratios.items():
                limit = LIMITS[case][keys == "known"] if threads == 1 else None
                shown = [f"{value:.3f}" for value in spread(values)]
                bound = f"<= {limit}" if limit else ""
                each = f"{1e6 * median(singles):.1f}"
                rows.append([f"{name}, {case[1]}, {keys} keys, {threads}", each, *shown, bound])
                failed |= bool(limit and spread(values)[1] > limit)
    head = f"{SIGNATURES} signatures; implementation, keys, threads"
    columns_ = [head, "single us", "least", "median", "greatest", "limit"]
    sys.stdout.write(table(columns_, rows) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
