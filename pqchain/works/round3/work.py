"""Round-3 comparison: Table 1 in its printed layout, with printed and measured numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from pqchain import algorithms, figures
from pqchain.figures import RATIO, SECONDS, Kind
from pqchain.render.table import Column, Shown, Table
from pqchain.works.readers import NumberReader, from_values
from pqchain.works.round3.table1 import HALVES, QUANTITIES, VARIANTS, cross_check, speedups, table1
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


def halves(table: pd.DataFrame) -> Iterator[Table]:
    """Yield both halves of Table 1 in printed order; the second has the notes on its numbers."""
    gains = table.assign(printed_gain=speedups(table, "printed"), our_gain=speedups(table, "ours"))
    for half, heading in HALVES.items():
        cells = {
            (row["printed_name"], row["variant"], row["quantity"]): row
            for row in gains[gains["table"] == half].to_dict("records")
        }
        names = dict.fromkeys(printed for printed, _, _ in cells)
        keys = [(printed, variant) for variant in VARIANTS for printed in names]
        present = {quantity for _, _, quantity in cells}
        quantities = [quantity for quantity in QUANTITIES if quantity in present]
        time = next(quantity for quantity in quantities if quantity.endswith("_seconds"))
        libraries = [_library(cells[(*key, time)]["implementation"], key[1]) for key in keys]
        rows: list[list[Any]] = [["library", "here", *libraries]]
        for quantity in quantities:
            cycles = f"{quantity.removesuffix('_seconds')}_cycles"
            in_cycles = [cells.get((*key, cycles), {}) for key in keys]
            rows += _rows(quantity, [cells[(*key, quantity)] for key in keys], in_cycles)
        across = (Column(printed, VARIANTS[variant], True) for printed, variant in keys)
        is_last = half == list(HALVES)[-1]
        yield Table(
            columns=[Column(heading), Column("from"), *across],
            rows=rows,
            row_headers=2,
            notes=_remarks(table) if is_last else (),
            caption=f"Table 1 in its own layout, {heading} half: bytes, times, cycles, and the "
            "gain of AVX2, both medians of one run. !: the printed size is of another version, by "
            "another definition, or wrong in print; the notes name it.",
            source=(Kind.PUBLISHED, Kind.MEASURED, Kind.REGISTRY),
        )


def _remarks(table: pd.DataFrame) -> list[str]:
    remarks = []
    for row in table[~table["quantity"].str.endswith("_cycles")].to_dict("records"):
        place = row["printed_name"]
        if row["quantity"].endswith("_seconds"):
            place = f"{place}, {VARIANTS[row['variant']]}"
        remarks += [f"{place}: {text}" for text in (row["note"], row["reason"]) if text]
    return list(dict.fromkeys(remarks))


def _library(implementation: str, variant: str) -> str:
    """Return a column's library, with the variant of its code if it differs from the column's."""
    library, _, suffix = implementation.partition("/")
    return (library if suffix == variant else implementation) or figures.MISSING


def _rows(
    quantity: str, cells: Sequence[Mapping[Any, Any]], cycles: Sequence[Mapping[Any, Any]]
) -> Iterator[list[Any]]:
    label = figures.humanize(quantity.rpartition("_")[0])

    def row(
        title: str, column: str, show: Callable[[float], str], source: Any = cells
    ) -> list[Any]:
        values = [cell.get(column, math.nan) for cell in source]
        return [label, title, *(Shown(value, show(value)) for value in values)]

    if quantity.endswith("_bytes"):
        yield row("printed", "printed", figures.integer)
        yield [label, "here", *map(_size, cells)]
        return
    yield row("printed", "printed", partial(SECONDS.text, exact=True))
    yield [label, "here", *map(_time, cells)]
    yield row("printed cycles", "printed", figures.integer, cycles)
    yield row("cycles here", "ours", figures.integer, cycles)
    yield row("printed gain", "printed_gain", _gain)
    yield row("gain here", "our_gain", _gain)


def _size(cell: Mapping[Any, Any]) -> Shown:
    """Format our size; "!" marks an explained and "?" an unexplained difference from the paper."""
    mark = {"equal": "", "different": " ?"}.get(cell["verdict"], " !")
    return Shown(cell["ours"], figures.integer(cell["ours"]) + mark)


def _time(cell: Mapping[Any, Any]) -> Shown:
    is_ok = cell["verdict"] == "ok"
    return Shown(cell["ours"], SECONDS.text(cell["ours"]) if is_ok else str(cell["verdict"]))


def _gain(value: float) -> str:
    return "" if math.isnan(value) else RATIO.text(value, 2)
