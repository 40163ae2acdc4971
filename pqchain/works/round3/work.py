"""Round-3 comparison: Table 1 in its printed layout, printed and measured, and speed-ups by AVX2.

Fourteen implementations: four KEMs and three signature schemes, each as reference and AVX2 code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pqchain import algorithms
from pqchain.figures import Kind
from pqchain.results import Contract
from pqchain.works import papers, readers
from pqchain.works.printed import PRINTED, compare, next_to, registry_size
from pqchain.works.readers import NumberReader, from_values
from pqchain.works.work import Bench, Frames, Work

CROSS_CHECK = Contract.of(
    "cross-check",
    ("str", "algorithm operation variant"),
    ("float64", "main_seconds other_seconds main_speedup other_speedup"),
)

HALVES = {"table1-kem": "KEM", "table1-signature": "signature"}
"""The two halves of the table, and the kind of their schemes."""

VERSIONS = ("liboqs-0.13", "liboqs-0.7.1")
"""The library of most columns, and the older version with which it is compared."""

# Words of a hard problem in data/algorithms/families.toml, by the printed class of schemes.
_PROBLEMS = {
    "Code-based": r"\bcodes\b",
    "Lattice-based": r"\bLWE\b|\bLWR\b|\blattices\b",
    "Multivariate": r"^multivariate\b",
}


class Round3(Work):
    """A comparison of fourteen implementations, and of two versions of liboqs."""

    key = "round3"

    def compute(self, bench: Bench) -> Frames:
        """Return the frames `table1` and `cross-check`; none without measurements."""
        if bench.measurements is None:
            return {}
        return {
            "table1": table1(bench.measurements),
            "cross-check": cross_check(bench.measurements),
        }

    def readers(self, frames: Frames) -> Iterable[NumberReader]:
        """Yield a reader of the numbers of candidates, counted in the registry."""
        counts = {(name, "candidate_count"): count for name, count in self._candidates().items()}
        yield from_values(Kind.REGISTRY, counts)

    def _candidates(self) -> dict[str, int]:
        schemes = [algorithms.get(name) for name in self.algorithms()]
        kems = [scheme for scheme in schemes if scheme.kind == "kem"]
        problems = [scheme.family_facts.problem for scheme in schemes]
        counts = {
            f"{name} candidates": sum(1 for text in problems if re.search(pattern, text))
            for name, pattern in _PROBLEMS.items()
        }
        return {
            **counts,
            "Candidates": len(schemes),
            "KEM candidates": len(kems),
            "KEM candidates beside McEliece": sum("McEliece" not in kem.name for kem in kems),
            "Signature candidates": len(schemes) - len(kems),
        }

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return ratios: least and greatest gain by AVX2 of each algorithm, and by operation."""
        if not frames:
            return {}
        table = frames["table1"]
        gains = table.assign(gain=speedups(table, "ours")).dropna(subset=["gain"])
        facts: dict[str, float] = {}
        for name, rows in gains.groupby("printed_name"):
            # Least and greatest gain need all three operations.
            if len(rows) == 3:
                by_quantity = rows.set_index("quantity")["gain"]
                named = {"least": by_quantity.min(), "most": by_quantity.max(), **by_quantity}
                facts |= {f"{name} {fact}": gain for fact, gain in named.items()}
        return {f"{fact.removesuffix('_seconds')}_ratio": gain for fact, gain in facts.items()}


def table1(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return the sizes, times and cycles of Table 1 in a frame of the contract PRINTED.

    A size is that of the implementation in the column, because liboqs 0.7.1 and 0.13 have different
    versions of some schemes. Raises DataError if the frame breaks its contract.
    """
    paper, published_frame = papers.paper("round3"), papers.published("round3")
    printed = compare(paper, published_frame, measurements=measurements)
    chosen = readers.chosen(measurements)
    rows: list[Mapping[Any, Any]] = []
    pairs = zip(published_frame.to_dict("records"), printed.to_dict("records"), strict=True)
    for published, row in pairs:
        if published["table"] not in HALVES:
            continue
        measured = chosen(published["algorithm"], published["implementation"])
        # The size of the implementation that was measured, not of the scheme's current version.
        if published["quantity"].endswith("_bytes") and measured:
            implementation = next(iter(measured.values()))["implementation"]
            size = registry_size(published, implementation)
            rows.append(next_to(published, Kind.REGISTRY, **size))
        else:
            rows.append(row)
    frame = PRINTED.frame(rows)
    frame.attrs["provenance"] = measurements.attrs.get("provenance", {})
    return frame


def speedups(table: pd.DataFrame, column: str) -> pd.Series[float]:
    """Return the speed-up by AVX2 (reference time / AVX2 time) of AVX2 rows; NaN of other rows.

    `column` is "printed" or "ours", both sides of one machine.
    """
    keys = ["algorithm", "quantity"]
    reference = table[table["variant"] == "ref"].set_index(keys)[column]
    slower = reference.reindex(pd.MultiIndex.from_frame(table[keys])).to_numpy()
    is_gain = (table["variant"] == "avx2") & table["quantity"].str.endswith("_seconds")
    gains: pd.Series[float] = (slower / table[column]).where(is_gain)
    return gains


def cross_check(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return the times of liboqs 0.13.0 and 0.7.1 for the operations that both versions have.

    Columns: algorithm, operation, variant, main_seconds (liboqs 0.13.0), other_seconds (0.7.1),
    main_speedup and other_speedup (of AVX2; NaN in rows of the reference). Empty if 0.7.1 was not
    measured.
    """
    fine = measurements[measurements["status"] == "ok"]
    # Two columns also if nothing was measured.
    split = fine["implementation"].str.extract("(.*)/(.*)")
    keys = [fine["algorithm"], fine["operation"], split[1], split[0]]
    seconds = dict(zip(zip(*keys, strict=True), fine["median_seconds"], strict=True))
    rows = []
    for (*case, variant, library), main in seconds.items():
        other = seconds.get((*case, variant, VERSIONS[1]))
        # One row for each operation that both versions have.
        if library != VERSIONS[0] or other is None:
            continue
        gains = [math.nan, math.nan]
        if variant == "avx2":
            reference = [seconds.get((*case, "ref", version), math.nan) for version in VERSIONS]
            gains = [reference[0] / main, reference[1] / other]
        rows.append([*case, variant, main, other, *gains])
    return CROSS_CHECK.frame(rows)
