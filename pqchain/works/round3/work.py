"""The round-3 comparison: Table 1 in its own layout, printed and measured here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from pqchain import figures
from pqchain.algorithms import OPERATIONS
from pqchain.figures import RATIO, SECONDS
from pqchain.render.plot import Plot
from pqchain.render.table import Column, Shown, Table
from pqchain.works.round3.table1 import HALVES, QUANTITIES, VARIANTS, cross_check, table1
from pqchain.works.work import Bench, Frames, Work


class Round3(Work):
    """Fourteen implementations beside each other, and two versions of liboqs."""

    key = "round3"

    def compute(self, bench: Bench) -> Frames:
        """Return `table1` and `cross-check`; nothing without a clock."""
        if bench.measurements is None:
            return {}
        return {
            "table1": table1(bench.measurements),
            "cross-check": cross_check(bench.measurements),
        }

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return what AVX2 gains: the least and the greatest of each algorithm's operations."""
        if not frames:
            return {}
        table = frames["table1"]
        gains = table.dropna(subset=["here_speedup"])
        facts: dict[str, Any] = {}
        for name, rows in gains.groupby("printed_name"):
            speedups = rows.set_index("quantity")["here_speedup"]
            if len(speedups) == 3:
                facts[str(name)] = {
                    "least": figures.significant(speedups.min(), 2),
                    "most": figures.significant(speedups.max(), 2),
                    **speedups.map(lambda gain: figures.significant(gain, 2)).to_dict(),
                }
        return facts

    def tables(self, frames: Frames) -> Iterable[Table]:
        """Show both halves of Table 1, and the cross-check if there is one."""
        if frames:
            yield from halves(frames["table1"], self.words)
        yield from super().tables(frames)

    def figures(self, frames: Frames) -> Iterable[Plot]:
        """Draw each operation of Table 1, and its sizes."""
        if not frames:
            return ()
        table = frames["table1"]
        rows: dict[str, Any] = {
            name: table[table["quantity"] == f"{name}_seconds"] for name in OPERATIONS
        }
        return super().figures(rows | {"algorithms": table["algorithm"].drop_duplicates()})


def halves(table: pd.DataFrame, words: Mapping[str, Any]) -> Iterator[Table]:
    """Yield both halves in the order of print; the last one says why ours differs."""
    for half, name in HALVES.items():
        cells = {
            (row["printed_name"], row["variant"], row["quantity"]): row
            for row in table[table["table"] == half].to_dict("records")
        }
        names = dict.fromkeys(printed for printed, _, _ in cells)
        keys = [(printed, variant) for variant in VARIANTS for printed in names]
        quantities = [each for each in QUANTITIES if any(each == key[2] for key in cells)]
        made_by = [_library(cells[(*key, quantities[0])]["implementation"], key[1]) for key in keys]
        rows: list[list[Any]] = [["made by", "here", *made_by]]
        for quantity in quantities:
            rows += _rows(quantity, [cells[(*key, quantity)] for key in keys])
        across = (Column(printed, VARIANTS[variant], True) for printed, variant in keys)
        said = words["half"]
        yield Table(
            columns=[Column(name), Column("from"), *across],
            rows=rows,
            row_headers=2,
            notes=_remarks(table, words["differences"]) if half == list(HALVES)[-1] else (),
            **said | {"caption": said["caption"].format(half=name)},
        )


def _remarks(table: pd.DataFrame, differences: Mapping[str, str]) -> list[str]:
    records = table.to_dict("records")
    names = dict.fromkeys(row["algorithm"] for row in records)
    remarks = [f"{name}: {differences[name]}" for name in names if name in differences]
    for row in records:
        where = row["printed_name"]
        if row["quantity"].endswith("_seconds"):
            where = f"{where}, {VARIANTS[row['variant']]}"
        remarks += [f"{where}: {row['note']}"] if row["note"] else []
    return list(dict.fromkeys(remarks))


def _library(implementation: str, variant: str) -> str:
    """Name the library of a column, with its variant only if that is not the column's."""
    library, _, own = implementation.partition("/")
    return (library if own == variant else implementation) or figures.MISSING


def _rows(quantity: str, cells: Sequence[Mapping[Any, Any]]) -> Iterator[list[Any]]:
    label = figures.humanize(quantity.rpartition("_")[0])

    def row(title: str, column: str, show: Any) -> list[Any]:
        return [label, title, *(Shown(cell[column], show(cell[column])) for cell in cells)]

    if quantity.endswith("_bytes"):
        yield row("printed", "published", figures.integer)
        yield [label, "here", *map(_size, cells)]
        return
    yield row("printed", "published", partial(SECONDS.text, exact=True))
    yield [label, "here", *map(_time, cells)]
    yield row("printed cycles", "published_cycles", figures.integer)
    yield row("here cycles", "here_cycles", figures.integer)
    yield row("printed gain", "published_speedup", _gain)
    yield row("gain here", "here_speedup", _gain)


def _size(cell: Mapping[Any, Any]) -> Shown:
    """Show our size; "!" marks one that differs from the print and is explained."""
    mark = {"equal": "", "different": " ?"}.get(cell["status"], " !")
    return Shown(cell["here"], figures.integer(cell["here"]) + mark)


def _time(cell: Mapping[Any, Any]) -> Shown:
    fine = cell["status"] == "ok"
    return Shown(cell["here"], SECONDS.text(cell["here"]) if fine else str(cell["status"]))


def _gain(value: float) -> str:
    return "" if math.isnan(value) else RATIO.text(value, 2)
