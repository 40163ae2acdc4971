"""Rates, proof sizes and verification times of provers that aggregate signatures.

Those in data/provers are published and not measured here, which the source of every figure that
depends on them says. `pqchain bench --proofs` measured those of data/measurements. A file is read
when its prover is asked for.
"""

from __future__ import annotations

import csv
import json
import math
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from pqchain import installation
from pqchain.checks import Ge, declared
from pqchain.errors import DataError, UsageError

BLS, BLS_SCHEME = "bls", "BLS12-381"
"""The aggregation that is measured here, and its scheme in the registry."""

CORES = 16
"""Number of prover cores, unless the prover's source has another."""

CITED = "cited, not measured here"
"""Remark of every figure that depends on a published prover."""

MEASURED = "measured by `pqchain bench --proofs`"
"""Remark of every figure that depends on a measured prover."""

_MEASURED_NAME = "py-lean-pq"

Amount = Annotated[float, Ge(0)]
Pairs = tuple[tuple[Amount, Amount], ...]


@declared
class Prover:
    """Performance of one prover on one machine."""

    name: str
    title: str
    algorithm: str
    """The scheme that it aggregates, by its name in the registry if one has the same sizes."""
    rates: Pairs
    """(cores, signatures per second) by cores, 0 for an unknown number; empty without a published
    rate."""
    proofs: Pairs
    """(signatures, bytes of the proof) by signatures."""
    merge_seconds: Amount | None = None
    """Time to merge two proofs; None if not published."""
    verifications: Pairs = ()
    """(signatures, seconds) to verify a proof, by signatures; empty if not published."""
    signature_bytes: Amount | None = None
    """Length of a signature of the instance that it was measured with; None if not published."""
    memory_bytes: Amount | None = None
    machine: str
    commit: str
    date: str
    source: str
    note: str
    evidence: str = CITED
    """Whether the values are published or measured: `CITED` or `MEASURED`."""

    def rate_per_second(self, cores: float = CORES) -> float:
        """Return the signatures aggregated per second, interpolated between published cores.

        Beyond the published range it is the nearest value; infinite if none is published.
        """
        if not self.rates:
            return math.inf
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

    def counted_seconds(self, signatures: float) -> float:
        """Return the time to verify a proof; 0 if not published."""
        seconds = self.verify_seconds(signatures)
        return 0.0 if math.isnan(seconds) else seconds


@cache
def _files() -> dict[str, Path]:
    measured = sorted((installation.data("provers").parent / "measurements").glob("*/proofs.csv"))
    published = sorted(installation.data("provers").glob("*.toml"))
    return {path.stem: path for path in published} | {
        name: measured[-1] for name in [_MEASURED_NAME] if measured
    }


def names() -> tuple[str, ...]:
    """Return the names of the provers, without reading their files."""
    return tuple(_files())


@cache
def prover(name: str) -> Prover:
    """Return a prover. Raises DataError for a damaged file."""
    path = _files()[name]
    return read_measured(path) if path.suffix == ".csv" else read(path)


def prover_of(aggregation: str) -> Prover | None:
    """Return the prover of a way to aggregate; None if it has none."""
    return prover(aggregation) if aggregation in _files() else None


def read(path: Path) -> Prover:
    """Read a prover from a TOML file. Raises DataError."""
    facts = {"name": path.stem, **installation.read_toml(path)}
    try:
        for key in ("rates", "proofs", "verifications"):
            if key in facts:
                facts[key] = tuple(sorted(tuple(map(float, pair)) for pair in facts[key]))
        made = Prover(**facts)
    except (UsageError, TypeError, ValueError) as error:
        raise DataError(f"{path} must have the fields of data/provers: {error}") from error
    if not made.proofs:
        raise DataError(f"{path}: proofs must have at least one [signatures, bytes]; got none")
    return made


def read_measured(path: Path) -> Prover:
    """Return the prover of a file that `pqchain bench --proofs SIZES --output FILE.csv` wrote.

    The rate is that of the largest proof of signatures, the time of merging that of the two largest
    proofs that were merged in a pair. Raises DataError.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [row for row in csv.DictReader(lines) if row["status"] == "ok"]
        text = path.with_suffix(".json").read_text(encoding="utf-8")
        provenance = json.loads(text)["provenance"]
        ordered = sorted(rows, key=lambda row: int(row["signatures"]))
        proven = [row for row in ordered if row["children"] == "0"]
        pairs = [row for row in ordered if row["children"] == "2"]
        largest = proven[-1]
        count, seconds = int(largest["signatures"]), float(largest["prove_seconds"])
        values: dict[str, Any] = {
            "name": _MEASURED_NAME,
            "title": f"py-lean-pq {largest['version']}: leanXMSS signatures into one proof",
            "algorithm": largest["algorithm"],
            "rates": ((float(largest["cores"]), count / seconds),),
            "proofs": tuple((float(r["signatures"]), float(r["proof_bytes"])) for r in proven),
            "merge_seconds": float(pairs[-1]["prove_seconds"]) if pairs else None,
            "verifications": ((float(count), float(largest["verify_seconds"])),),
            "signature_bytes": float(largest["signature_bytes"]),
            "memory_bytes": max(float(row["peak_bytes"]) for row in ordered),
            "machine": f"{provenance['cpu_model']}, {largest['cores']} processors",
            "commit": f"py-lean-pq {largest['version']}",
            "date": provenance["date"][:10],
            "source": "pqchain bench --proofs",
            "note": f"load average {provenance['load_average']:.1f}",
            "evidence": MEASURED,
        }
        return Prover(**values)
    except (OSError, LookupError, TypeError, ValueError, UsageError) as error:
        raise DataError(f"{path} must have a proof of signatures: {error!r}") from error
