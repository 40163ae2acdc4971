"""Rates, proof sizes and verification times of provers that aggregate signatures.

Those in data/provers are published and not measured here, which the source of every figure that
depends on them says. `pqchain bench --proofs` measured those of data/measurements.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from pqchain import installation
from pqchain.errors import DataError, UsageError

CITED = "cited, not measured here"
"""Remark of every figure that depends on a published prover."""

MEASURED = "measured by `pqchain bench --proofs`"
"""Remark of every figure that depends on a measured prover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prover:
    """Performance of one prover on one machine."""

    name: str
    title: str
    algorithm: str
    """The scheme that it aggregates, by its name in the registry if one has the same sizes."""
    rates: tuple[tuple[float, float], ...]
    """(cores, signatures per second) by cores, 0 for an unknown number; empty without a published
    rate."""
    proofs: tuple[tuple[float, float], ...]
    """(signatures, bytes of the proof) by signatures."""
    merge_seconds: float | None
    """Time to merge two proofs; None if not published."""
    verifications: tuple[tuple[float, float], ...]
    """(signatures, seconds) to verify a proof, by signatures; empty if not published."""
    signature_bytes: float | None
    """Length of a signature of the instance that it was measured with; None if not published."""
    memory_bytes: float | None
    machine: str
    commit: str
    date: str
    source: str
    note: str
    evidence: str = CITED
    """Whether the values are published or measured: `CITED` or `MEASURED`."""

    def rate_per_second(self, cores: float) -> float:
        """Return the signatures aggregated per second, interpolated between published cores.

        Beyond the published range it is the nearest value. Raises UsageError without a rate.
        """
        if not self.rates:
            raise UsageError(
                f"prover must have a published rate; got {self.name} ({self.source}). Use another, "
                "such as leanmultisig."
            )
        known, rates = zip(*self.rates, strict=True)
        return float(np.interp(cores, known, rates))

    def proof_bytes(self, signatures: float) -> float:
        """Return the bytes of a proof of this many signatures, interpolated in the same way."""
        known, sizes = zip(*self.proofs, strict=True)
        return float(np.interp(signatures, known, sizes))

    def verify_seconds(self, signatures: float) -> float:
        """Return the time to verify a proof of this many signatures; NaN if not published.

        One published time holds for every number. Several are interpolated, and outside their range
        the time is proportional to the number, as it nearly is within the range.
        """
        if not self.verifications:
            return math.nan
        known, seconds = zip(*self.verifications, strict=True)
        nearest = min(max(signatures, known[0]), known[-1])
        scale = signatures / nearest if len(known) > 1 else 1.0
        return scale * float(np.interp(nearest, known, seconds))


def read(path: Path) -> Prover:
    """Read a prover from a TOML file. Raises DataError."""
    # Measurements that the source does not publish are None.
    facts: dict[str, Any] = dict.fromkeys(_MEASURED) | {"verifications": []}
    facts |= {"name": path.stem, **installation.read_toml(path)}
    if set(facts) != _FIELDS:
        wrong = ", ".join(sorted(set(facts) ^ _FIELDS))
        raise DataError(f"{path} must have the fields of data/provers; missing or unknown: {wrong}")
    try:
        for key in _PAIRS:
            facts[key] = tuple(sorted(_pair(*pair) for pair in facts[key]))
        for key in _MEASURED:
            facts[key] = facts[key] if facts[key] is None else _pair(facts[key], 0)[0]
    except (TypeError, ValueError, OverflowError) as error:
        message = f"{path}: {key} must have its form in data/provers; got {facts[key]!r} ({error})"
        raise DataError(message) from error
    for key in _FIELDS - {*_PAIRS, *_MEASURED}:
        if not isinstance(facts[key], str):
            raise DataError(f"{path}: {key} must be a string; got {facts[key]!r}")
    if not facts["proofs"]:
        raise DataError(f"{path}: proofs must have at least one [signatures, bytes]; got none")
    return Prover(**facts)


_FIELDS = {declared.name for declared in fields(Prover)} - {"evidence"}
_PAIRS = ("rates", "proofs", "verifications")
_MEASURED = ("merge_seconds", "signature_bytes", "memory_bytes")


def _pair(first: float, second: float) -> tuple[float, float]:
    pair = float(first), float(second)
    if not all(math.isfinite(value) and value >= 0 for value in pair):
        raise ValueError("expected finite numbers of at least 0")
    return pair


def read_measured(path: Path) -> Prover:
    """Return the prover of a file that `pqchain bench --proofs SIZES --output FILE.csv` wrote.

    The rate is that of the largest proof of signatures, the time of merging that of the two largest
    proofs that were merged in a pair. Raises DataError.
    """
    # Without pandas: a plan is read before anything is computed.
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["status"] == "ok"]
    provenance = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["provenance"]
    try:
        ordered = sorted(rows, key=lambda row: int(row["signatures"]))
        proven = [row for row in ordered if row["children"] == "0"]
        pairs = [row for row in ordered if row["children"] == "2"]
        largest = proven[-1]
        count, seconds = int(largest["signatures"]), float(largest["prove_seconds"])
        return Prover(
            name="py-lean-pq",
            title=f"py-lean-pq {largest['version']}: leanXMSS signatures into one proof",
            algorithm=largest["algorithm"],
            rates=((float(largest["cores"]), count / seconds),),
            proofs=tuple((float(row["signatures"]), float(row["proof_bytes"])) for row in proven),
            merge_seconds=float(pairs[-1]["prove_seconds"]) if pairs else None,
            verifications=((float(count), float(largest["verify_seconds"])),),
            signature_bytes=float(largest["signature_bytes"]),
            memory_bytes=max(float(row["peak_bytes"]) for row in ordered),
            machine=f"{provenance['cpu_model']}, {largest['cores']} processors",
            commit=f"py-lean-pq {largest['version']}",
            date=provenance["date"][:10],
            source="pqchain bench --proofs",
            note=f"load average {provenance['load_average']:.1f}",
            evidence=MEASURED,
        )
    except (IndexError, KeyError, ValueError) as error:
        raise DataError(f"{path} must have a proof of signatures: {error!r}") from error


def _provers() -> dict[str, Prover]:
    published = sorted(installation.data("provers").glob("*.toml"))
    measured = sorted((installation.data("papers").parent / "measurements").glob("*/proofs.csv"))
    return {path.stem: read(path) for path in published} | {
        prover.name: prover for prover in map(read_measured, measured)
    }


PROVERS: Mapping[str, Prover] = _provers()
