"""Round-3 comparison: Table 1 in its printed layout, with printed and measured numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pqchain import algorithms
from pqchain.figures import Kind
from pqchain.works.readers import NumberReader, from_values
from pqchain.works.round3.table1 import cross_check, speedups, table1
from pqchain.works.work import Bench, Frames, Work

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
