"""Verification time per byte of witness, relative to that of Schnorr signatures.

Bitcoin limits the weight of a block and so the bytes of its witnesses. A scheme whose verification
takes more time per byte than Schnorr's makes the slowest block slower. All verifiers are timed in
the same rounds on one processor, so that a ratio compares times of the same moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pqchain import algorithms as registry
from pqchain import checks, crypto
from pqchain.bench import verification
from pqchain.bench.rounds import MESSAGE_BYTES
from pqchain.bench.timing import one_processor, with_bar
from pqchain.chain import p2mr
from pqchain.crypto.native_signers import ShrincsSigner
from pqchain.errors import UsageError
from pqchain.results import Contract, machine, statistics

WITNESS = Contract.of(
    "witness",
    ("str", "algorithm implementation cpu_flags"),
    ("float64", "witness_bytes verify_seconds byte_seconds byte_ratio low_ratio high_ratio"),
    ("float64", "block_seconds"),
    ("str", "status reason"),
)

BASELINE = "Schnorr-secp256k1"

ALGORITHMS = (
    "ML-DSA-44", "Falcon-512", "SLH-DSA-SHA2-128s", "SLH-DSA-SHA2-128f", "SHRINCS",
    "SHRINCS-stateless",
)  # fmt: skip
"""Signature schemes that are compared by default."""

DEPTH = 1
"""Depth of the leaf in the tree of scripts: one script for each of two schemes."""

BLOCK_BYTES = 4_000_000
"""Most bytes of witnesses in a block: its weight is at most 4,000,000, and a byte weighs 1."""


def witness_bytes(algorithm: str) -> int:
    """Return the longest witness of a Pay-to-Merkle-Root input with one signature, in bytes.

    For SHRINCS that of the first signature of a key, the shortest.
    """
    row = registry.get(algorithm)
    # SHRINCS verifies signatures of all lengths; the first of a key has the most time per byte.
    longest = row.signature_bytes if algorithm == "SHRINCS" else row.signature_max_bytes
    sizes = row.public_key_bytes, longest
    return sum(sizes) + p2mr.framing_bytes(row.name, *sizes, DEPTH)


def measure_witness(
    algorithms: Iterable[str] = ALGORITHMS, *, rounds: int = 15, progress: bool = False
) -> pd.DataFrame:
    """Measure the verification time per byte of witness of every implementation.

    Returns a frame, one row per scheme and implementation: algorithm, implementation, cpu_flags
    (processor instructions that it requires); witness_bytes (Pay-to-Merkle-Root, see
    `witness_bytes`); verify_seconds (slowest of several signatures, median over rounds),
    byte_seconds (verify_seconds / witness_bytes); byte_ratio (relative to Schnorr of libsecp256k1
    in the same round, median), low_ratio and high_ratio (95 % interval of that median; NaN
    below six rounds); block_seconds (witnesses of 4,000,000 bytes on one processor); status
    ("ok", "unsupported") and reason. Raises UsageError for values out of range and for a KEM, and
    UnknownAlgorithm.
    """
    checks.integer("rounds", rounds, least=2, most=1000)
    names = list(dict.fromkeys([BASELINE, *(registry.get(name).name for name in algorithms)]))
    if others := [name for name in names if registry.get(name).kind != "signature"]:
        raise UsageError(f"every algorithm must be a signature scheme; got {', '.join(others)}")
    pairs = [(name, other) for name in names for other in _implementations(name) or ("",)]
    reasons = {pair: _reason(*pair) for pair in pairs}
    timed = [pair for pair in pairs if not reasons[pair]]
    with one_processor():
        verifiers = {
            pair: _verifier(*pair)
            for pair in with_bar(timed, " by ".join, unit="verifier", show=progress)
        }
        seconds: dict[tuple[str, str], list[float]] = {pair: [] for pair in verifiers}
        for _ in with_bar(range(rounds), lambda _: "witness", unit="round", show=progress):
            for pair, verifier in verifiers.items():
                seconds[pair].append(verifier.round().slowest)
    baseline = next((seconds[pair] for pair in timed if pair[0] == BASELINE), None)
    if baseline is None:
        missing = f"{BASELINE} was not timed: {next(iter(reasons.values()))}"
        reasons = {pair: reason or missing for pair, reason in reasons.items()}
    frame = WITNESS.frame(_row(*pair, reasons[pair], seconds.get(pair), baseline) for pair in pairs)
    frame.attrs["provenance"] = {**machine.provenance(), "preset": f"{rounds} rounds"}
    return frame


def _implementations(algorithm: str) -> tuple[str, ...]:
    row = registry.get(algorithm)
    # The libraries of SLH-DSA have SHRINCS.
    return (registry.get("SLH-DSA-SHA2-128s") if row.family == "SHRINCS" else row).implementations


def _reason(algorithm: str, implementation: str) -> str:
    """Return why an implementation cannot be timed, or ""."""
    if not implementation:
        return f"{algorithm} is in the registry for its sizes and status only"
    if implementation == registry.GIVEN:
        return f"{registry.get(algorithm).source}; time of another machine, without its Schnorr"
    return crypto.unavailable_reason(implementation)


SHRINCS_KEYS = 4
"""Keys of SHRINCS that sign; a key of 256 leaves takes tens of milliseconds."""


def _verifier(algorithm: str, implementation: str) -> verification.TimedVerifier:
    if registry.get(algorithm).family != "SHRINCS":
        cases, _ = verification.signed_cases(algorithm)
        return verification.timed_signer(crypto.open_signer(algorithm, implementation), cases)
    signer = ShrincsSigner(implementation)
    # Each key signs once, so that no leaf is used twice.
    counter = 0 if algorithm == "SHRINCS" else None
    calls = []
    for number in range(SHRINCS_KEYS):
        public_key, secret_key = signer.generate_keypair(seed=bytes([number]) * 48)
        message = bytes([number]) * MESSAGE_BYTES
        signature = signer.sign(message, secret_key, counter=counter)
        calls.append(partial(signer.verify, message, signature, public_key))
    return verification.in_process(implementation, calls)


def _row(
    algorithm: str,
    implementation: str,
    reason: str,
    seconds: list[float] | None,
    baseline: list[float] | None,
) -> dict[str, Any]:
    size = witness_bytes(algorithm)
    flags = registry.implementation(implementation).cpu_flags if implementation else ()
    row: dict[str, Any] = {
        "algorithm": algorithm, "implementation": implementation, "cpu_flags": " ".join(flags),
        "witness_bytes": float(size), "status": "unsupported" if reason else "ok", "reason": reason,
    }  # fmt: skip
    if seconds is None or baseline is None:
        return row
    ratios = np.array(seconds) / size / (np.array(baseline) / witness_bytes(BASELINE))
    low, high = statistics.median_interval(ratios)
    verify_seconds = float(np.median(seconds))
    return row | {
        "verify_seconds": verify_seconds,
        "byte_seconds": verify_seconds / size,
        "byte_ratio": float(np.median(ratios)),
        "low_ratio": low,
        "high_ratio": high,
        "block_seconds": verify_seconds / size * BLOCK_BYTES,
    }
