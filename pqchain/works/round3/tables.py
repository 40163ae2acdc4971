"""The round-3 comparison's Table 1 as tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from pqchain.render import numbers
from pqchain.render.table import Column, Shown, Table
from pqchain.works.round3.table1 import HALVES, QUANTITIES, VARIANTS, VERSIONS
from pqchain.works.work import SPEED

DIFFERENCES = {
    "Classic-McEliece-348864": (
        "These columns are liboqs 0.13.0, the fourth round, whose portable code gains from AVX2 as "
        "the printed reference does. liboqs 0.7.1 has the third round of which the paper speaks, "
        "but its portable code works on 64 bits at once: there AVX2 gains little in decapsulation. "
        "Key generation restarts at random, so its median needs many samples."
    ),
    "NTRU-HPS-2048-509": (
        "The reference here is PQClean's portable code, which multiplies by Toom-Cook and "
        "Karatsuba and inverts by division steps. It is many times faster than the reference code "
        "that the paper timed, so AVX2 has less to gain; and key generation with AVX2 is faster "
        "here too, which moves every printed ratio to NTRU's key generation."
    ),
    "Rainbow-I-Classic": (
        "The submission's own code, which the paper timed, is in no library. The reference here is "
        "PQClean's portable code, 20 to 170 times slower than the printed reference. liboqs has no "
        "AVX2 code of Rainbow, so the AVX2 column is pqchain's: it signs and verifies, with the "
        "printed times in reach, and its gain over the reference is far above the printed one. Key "
        "generation is portable code in both columns."
    ),
    "Falcon-512": (
        "The printed 666 bytes are the padded form; unpadded signatures vary. Verification has "
        "hardly any AVX2 code, in the paper as here. liboqs 0.7.1 still has the second round's "
        "parameters of Falcon, with longer signatures and a wider bound."
    ),
}
"""Why our columns differ from the printed ones, by algorithm."""


def halves(table: pd.DataFrame) -> Iterator[Table]:
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
        yield Table(
            columns=[
                Column(name),
                Column("from"),
                *(Column(printed, VARIANTS[variant], True) for printed, variant in keys),
            ],
            rows=rows,
            row_headers=2,
            caption=f"Table 1 in its own layout, {name} half: bytes, times, cycles, and how many "
            "times faster AVX2 is, both medians of one run. An exclamation mark: the print errs.",
            source=("published", "measured", "registry"),
            notes=_remarks(table) if half == list(HALVES)[-1] else (),
            part=SPEED,
        )


def versions(checks: pd.DataFrame) -> Table:
    """Set the times of both versions of liboqs side by side."""
    columns = [
        Column("algorithm"),
        Column("operation", show=numbers.spoken),
        Column("variant"),
        *(
            Column(version, numeric=True, show=numbers.seconds, key=f"{which}_seconds")
            for which, version in zip(("main", "other"), VERSIONS, strict=True)
        ),
        *(
            Column("gain", numeric=True, show=_gain, key=f"{which}_speedup")
            for which in ("main", "other")
        ),
    ]
    caption = "Both versions of liboqs, for what both have, in one run."
    return Table.of(checks, columns, caption=caption, source=("measured",), part=SPEED)


def _remarks(table: pd.DataFrame) -> list[str]:
    records = table.to_dict("records")
    names = dict.fromkeys(row["algorithm"] for row in records)
    remarks = [f"{name}: {DIFFERENCES[name]}" for name in names if name in DIFFERENCES]
    for row in records:
        where = row["printed_name"]
        if row["quantity"].endswith("_seconds"):
            where = f"{where}, {VARIANTS[row['variant']]}"
        remarks += [f"{where}: {row['note']}"] if row["note"] else []
    return list(dict.fromkeys(remarks))


def _library(implementation: str, variant: str) -> str:
    """Name the library of a column, with its variant only if that is not the column's."""
    library, _, own = implementation.partition("/")
    return (library if own == variant else implementation) or numbers.MISSING


def _rows(quantity: str, cells: Sequence[Mapping[Any, Any]]) -> Iterator[list[Any]]:
    label = numbers.spoken(quantity.rpartition("_")[0])

    def row(title: str, column: str, show: Any) -> list[Any]:
        return [label, title, *(Shown(cell[column], show(cell[column])) for cell in cells)]

    if quantity.endswith("_bytes"):
        yield row("printed", "published", numbers.integer)
        yield [label, "here", *map(_size, cells)]
        return
    yield row("printed", "published", numbers.exact_seconds)
    yield [label, "here", *map(_time, cells)]
    yield row("printed cycles", "published_cycles", numbers.integer)
    yield row("here cycles", "here_cycles", numbers.integer)
    yield row("printed gain", "published_speedup", _gain)
    yield row("gain here", "here_speedup", _gain)


def _size(cell: Mapping[Any, Any]) -> Shown:
    """Show our size; "!" marks a known erratum of the print."""
    mark = {"equal": "", "erratum": " !", "different": " ?"}[cell["status"]]
    return Shown(cell["here"], numbers.integer(cell["here"]) + mark)


def _time(cell: Mapping[Any, Any]) -> Shown:
    fine = cell["status"] == "ok"
    return Shown(cell["here"], numbers.seconds(cell["here"]) if fine else str(cell["status"]))


def _gain(value: float) -> str:
    return "" if math.isnan(value) else numbers.ratio(value, 2)
