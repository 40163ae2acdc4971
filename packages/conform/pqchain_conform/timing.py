"""Verification times of all verifiers on one processor, and ratios to pqchain's verifier.

`clients` are the same verifiers for `pqchain.bench.gas`, which prices verifications.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack

import pandas as pd
from tqdm import tqdm

from pqchain import machine
from pqchain.bench.gas_units import CLIENTS, UNITS
from pqchain.bench.timing import median_and_mad, one_processor
from pqchain.bench.verification import Case
from pqchain.errors import CryptoFailure, Unsupported
from pqchain.results import Contract
from pqchain_conform import registry
from pqchain_conform.protocol import Adapter
from pqchain_conform.registry import VerifierSpec
from pqchain_conform.vector import ALGORITHMS, SignatureVector, Vector

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


def _honest(vectors: Sequence[Vector]) -> Iterator[SignatureVector]:
    """Yield a valid vector with an honest key and a short message for each signature algorithm."""
    signatures = [vector for vector in vectors if isinstance(vector, SignatureVector)]
    for algorithm in dict.fromkeys(vector.algorithm for vector in signatures):
        for vector in signatures:
            valid = vector.algorithm == algorithm and vector.expected == "valid"
            if valid and vector.key in HONEST and not vector.context and len(vector.message) < 64:
                yield vector
                break


def _times(
    verifiers: Sequence[VerifierSpec],
    vector: SignatureVector,
    *,
    rounds: int,
    repeat: int,
    progress: bool,
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


class TimedClient:
    """A verifier that `pqchain.bench.gas` times, an implementation of its protocol Client.

    With `only_anchors` it is asked only for verifications that chains price today.
    """

    def __init__(self, verifier: VerifierSpec, *, only_anchors: bool = False) -> None:
        self.name, self.version, self.jit = verifier.name, verifier.version, verifier.jit
        self._verifier = verifier
        self._algorithms = set(verifier.anchors)
        if not only_anchors:
            self._algorithms |= {name for name in ALGORITHMS if verifier.offers(name)}
        self._adapter: Adapter | None = None

    def supports(self, algorithm: str) -> bool:
        """Return whether to ask for an algorithm. Raises Unsupported if the client cannot run."""
        if reason := self._verifier.unavailable_reason():
            raise Unsupported(reason)
        return algorithm in self._algorithms

    def times(self, algorithm: str, case: Case, repeat: int) -> dict[str, list[float]] | None:
        """Return durations in seconds by part; None if the answer is "unsupported".

        Raises CryptoFailure if the client does not accept the signature.
        """
        self._adapter = self._adapter or self._verifier.adapter()
        answer = self._adapter.verify(
            algorithm, case.message, case.signature, case.public_key, repeat=repeat
        )
        if answer.verdict == "unsupported":
            return None
        if answer.verdict != "accept" or len(answer.nanoseconds) != repeat:
            raise CryptoFailure(
                f"{self.name} must accept a valid signature of {algorithm} {repeat} times; got "
                f"{answer.verdict!r} and {len(answer.nanoseconds)} times. {answer.reason} Run "
                "`pqchain conform run`."
            )
        durations = {"verify": answer.nanoseconds, **answer.parts}
        return {part: [value * 1e-9 for value in values] for part, values in durations.items()}

    def close(self) -> None:
        """End the process."""
        if self._adapter:
            self._adapter.close(grace_seconds=0.0)
            self._adapter = None


def clients(names: Iterable[str] | None = None) -> list[TimedClient]:
    """Return the named verifiers for `bench.gas`, and those that time the anchors of its units.

    None stands for those of data/gas/clients.toml. Raises UnknownName.
    """
    chosen = registry.select(CLIENTS if names is None else names)
    anchors = [name for unit in UNITS.values() for name in unit.anchor_verifiers]
    known = registry.verifiers()
    extra = [known[name] for name in dict.fromkeys(anchors) if name in known]
    return [
        *map(TimedClient, chosen),
        *(TimedClient(row, only_anchors=True) for row in extra if row not in chosen),
    ]
