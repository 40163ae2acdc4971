"""Verification times of all verifiers on one processor, and ratios to pqchain's verifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pandas as pd
from tqdm import tqdm

from pqchain import machine
from pqchain.bench.timing import median_and_mad, one_processor
from pqchain.conform.protocol import Adapter
from pqchain.conform.registry import VerifierSpec
from pqchain.conform.vector import Vector
from pqchain.errors import Unsupported
from pqchain.results import Contract

BASELINE = "pqchain liboqs-0.13/avx2"
"""Name of the verifier by whose time the others are divided."""

HONEST = ("honest", "")
"""Kinds of keys in timed vectors; "" if the vector is from a file, which has no such field."""

TIMES = Contract.of(
    "conform-times",
    ("str", "implementation version algorithm"),
    ("Int64", "samples"),
    ("float64", "verify_seconds verify_mad_seconds ratio"),
)
"""A row for each verifier and algorithm: the median time of a verification, its median
absolute deviation, and the ratio to BASELINE (missing if BASELINE was not timed). Times include
decoding the public key."""


def measure(
    verifiers: Sequence[VerifierSpec],
    vectors: Sequence[Vector],
    *,
    rounds: int = 12,
    repeat: int = 20,
    progress: bool = False,
) -> pd.DataFrame:
    """Return a TIMES frame; all verifiers check one honest signature, interleaved on one processor.

    Each verifier makes `repeat` verifications in each of `rounds` rounds, after two warm-up rounds.
    """
    rows: list[dict[str, object]] = []
    with one_processor():
        for vector in _honest(vectors):
            rows += _times(verifiers, vector, rounds=rounds, repeat=repeat, progress=progress)
    frame = TIMES.frame(rows)
    frame.attrs["provenance"] = machine.provenance()
    return frame


def _honest(vectors: Sequence[Vector]) -> Iterator[Vector]:
    """Yield a valid vector with an honest key and a short message for each algorithm."""
    for algorithm in dict.fromkeys(vector.algorithm for vector in vectors):
        for vector in vectors:
            valid = vector.algorithm == algorithm and vector.expected == "valid"
            if valid and vector.key in HONEST and not vector.context and len(vector.message) < 64:
                yield vector
                break


def _times(
    verifiers: Sequence[VerifierSpec], vector: Vector, *, rounds: int, repeat: int, progress: bool
) -> list[dict[str, object]]:
    with ExitStack() as stack:
        adapters: dict[str, Adapter] = {}
        for verifier in verifiers:
            if not verifier.offers(vector.algorithm):
                continue
            try:
                adapter = stack.enter_context(verifier.adapter())
            except Unsupported:
                continue  # the summary of verdicts has the reason
            if adapter.ask(vector).verdict == "accept":
                adapters[verifier.name] = adapter
        samples: dict[str, list[int]] = {name: [] for name in adapters}
        for round_number in tqdm(range(rounds + 2), desc=vector.algorithm, disable=not progress):
            # Interleaved, so that changes of the machine's speed affect all verifiers alike.
            for name, adapter in list(adapters.items()):
                answer = adapter.ask(vector, repeat=repeat)
                if answer.verdict != "accept":
                    # Each further round could cost a timeout.
                    del adapters[name], samples[name]
                elif round_number >= 2:
                    samples[name] += answer.nanoseconds
    medians = {name: median_and_mad(values) for name, values in samples.items() if values}
    # All ratios are NaN if the baseline could not be timed.
    baseline, _ = medians.get(BASELINE, (float("nan"), 0.0))
    return [
        {
            "implementation": verifier.name,
            "version": verifier.version,
            "algorithm": vector.algorithm,
            "samples": len(samples[verifier.name]),
            "verify_seconds": median / 1e9,
            "verify_mad_seconds": mad / 1e9,
            "ratio": median / baseline,
        }
        for verifier in verifiers
        if verifier.name in medians
        for median, mad in [medians[verifier.name]]
    ]
