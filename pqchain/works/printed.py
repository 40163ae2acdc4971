"""The numbers of a published work as printed: CSV files, digit for digit, into SI units.

A table has one of three layouts:

wide    one row per algorithm; the heading of a column ends in its unit (`sign_milliseconds`)
across  one row per algorithm, one column per value of a parameter, one quantity in all cells
long    one number per row, with columns name, quantity, value, unit
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import algorithms, results
from pqchain.costs import Costs, CostTable
from pqchain.errors import DataError
from pqchain.results import Contract
from pqchain.works.paper import Paper, PrintedTable

PUBLISHED = Contract.of(
    "published",
    ("str", "paper table algorithm printed_name implementation quantity"),
    ("float64", "value"),
    ("str", "unit note"),
)

_HEADINGS = {
    "_milliseconds": ("_seconds", "s", Decimal("1e-3")),
    "_seconds": ("_seconds", "s", Decimal(1)),
    "_cycles": ("_cycles", "cycles", Decimal(1)),
    "_bytes": ("_bytes", "B", Decimal(1)),
    "_percent": ("_percent", "%", Decimal(1)),
    "_megahertz": ("_megahertz", "MHz", Decimal(1)),
}
"""End of a heading in a wide table: what it becomes, the unit, and the factor to that unit."""

_UNITS = {
    "bytes": ("B", Decimal(1)),
    "min": ("s", Decimal(60)),
    "ms": ("s", Decimal("1e-3")),
    "us": ("s", Decimal("1e-6")),
}
"""Unit printed in a long table: the SI unit and the factor to it. Others stay as printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One published number."""

    paper: str
    table: str
    algorithm: str
    printed_name: str
    implementation: str
    quantity: str
    value: Decimal
    """In `unit`; exact, so that 97.644 ms is 0.097644 s."""
    rounding: Decimal
    """Half of the last printed digit, in `unit`; 0 for whole bytes, cycles and counts."""
    unit: str
    note: str


def cells(source: Paper) -> list[Cell]:
    """Return every published number of the work, exact. Raises DataError."""
    return [cell for name in source.tables for _, found in _records(source, name) for cell in found]


def published(source: Paper) -> pd.DataFrame:
    """Return every published number of the work, one per row; see `pqchain.papers.published`."""
    rows = [[getattr(cell, column) for column in PUBLISHED.columns] for cell in cells(source)]
    frame = pd.DataFrame(rows, columns=list(PUBLISHED.columns))
    frame["value"] = frame["value"].astype("float64")  # exact decimals until here
    return results.check(frame, PUBLISHED)


def table(source: Paper, name: str) -> pd.DataFrame:
    """Return one published table, tidy: times in seconds, sizes in bytes, else as printed.

    A wide table has a column per quantity; one laid out across has the parameter (`n`) and the
    quantity; a long one has quantity, printed, value and unit. `algorithm` is the registry's name
    and `printed_name` the paper's. attrs: caption, description, section, source, units (by
    column), errata. Raises UnknownPaper for an unknown table and DataError for a file that breaks
    its layout.
    """
    layout = source.layout(name)
    units: dict[str, str] = {}
    rows: list[dict[str, Any]] = []
    for texts, cells in _records(source, name):
        row: dict[str, Any] = dict(texts)
        if layout.layout == "long":
            row |= {"value": float(cells[0].value) if cells else float("nan")}
            row |= {"unit": cells[0].unit if cells else ""}
        else:
            row |= {cell.quantity: _number(cell) for cell in cells}
            units |= {cell.quantity: cell.unit for cell in cells}
        rows.append(row)
    frame = pd.DataFrame(rows)
    if "algorithm" in frame and not frame["algorithm"].any():
        frame = frame.drop(columns="algorithm")
    frame.attrs = {
        "caption": layout.caption,
        "description": layout.description,
        "section": layout.section,
        "source": f"{source.citation}, {name}",
        "units": units,
        "errata": [erratum.note for erratum in source.errata if erratum.table == name],
    }
    return frame


def implementations(source: Paper) -> set[str]:
    """Return whose numbers the work prints: "ref", "avx2", "cortex-m4", or "" if unsaid."""
    return {cell.implementation for cell in cells(source)}


def costs(source: Paper, implementation: str) -> CostTable:
    """Return the costs of each signature scheme that all of them are printed of; maybe none."""
    values: dict[str, dict[str, Decimal]] = {}
    for cell in cells(source):
        if cell.algorithm and cell.implementation in ("", implementation):
            values.setdefault(cell.algorithm, {}).setdefault(cell.quantity, cell.value)
    label = f"paper:{source.key}" + (f" ({implementation})" if implementation else "")
    rows = []
    for name, printed in values.items():
        algorithm = algorithms.get(name)
        times = [f"{operation}_seconds" for operation in algorithm.operations]
        if algorithm.kind != "signature" or not {"public_key_bytes", *times} <= set(printed):
            continue
        length = printed.get("signature_bytes")
        rows.append(
            Costs(
                algorithm=name,
                public_key_bytes=int(printed["public_key_bytes"]),
                signature_bytes=int(length or algorithm.signature_bytes),
                source=label + ("" if length else ", length of signatures from the registry"),
                **{time: float(printed[time]) for time in times},
            )
        )
    return CostTable(rows=tuple(rows), source=label)


def _records(source: Paper, name: str) -> Iterator[tuple[dict[str, Any], list[Cell]]]:
    """Yield the text fields and the numbers of each row of the tidy table."""
    layout = source.layout(name)
    path = source.folder / layout.file
    reasons = {(e.row, e.column): e.note for e in source.errata if e.table == name}
    for row in _rows(path):
        printed_name = row.pop("name")
        about = {
            "paper": source.key,
            "table": name,
            "algorithm": source.names.get(layout.algorithm or printed_name, ""),
            "printed_name": printed_name,
            "implementation": row.get("implementation", ""),
        }
        texts = {"algorithm": about["algorithm"], "printed_name": printed_name}
        notes = {column: reasons.get((printed_name, column), "") for column in row}
        if layout.layout == "long":
            unit, factor = _UNITS.get(row["unit"], (row["unit"], Decimal(1)))
            cell = _cell(row["value"], factor, unit, about, row["quantity"], notes["value"])
            extra = {"section": row["section"]} if "section" in row else {}
            text = {"quantity": row["quantity"], "printed": row["value"]} | extra
            yield texts | text, [] if cell is None else [cell]
        elif layout.layout == "across":
            for step, value in row.items():
                heading = f"{printed_name}, {layout.across} = {step}"
                about = about | {"printed_name": heading}
                unit = "1/s" if layout.quantity.endswith("_per_second") else "s"
                cell = _cell(value, Decimal(1), unit, about, layout.quantity, notes[step])
                yield texts | {layout.across: int(step)}, [] if cell is None else [cell]
        else:
            cells = []
            for column, value in row.items():
                quantity, unit, factor = _heading(column, layout)
                if quantity:
                    cell = _cell(value, factor, unit, about, quantity, notes[column])
                    cells += [] if cell is None else [cell]
                else:
                    texts[column] = value
            yield texts, cells


def _rows(path: Path) -> Iterator[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            headings, *rows = csv.reader(file)
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"cannot read {path}: {error}; restore the file") from error
    if "name" not in headings or len(set(headings)) != len(headings):
        raise DataError(f"{path} needs distinct headings with a 'name'; it has {headings}")
    for number, fields in enumerate(rows, start=2):
        if len(fields) != len(headings):
            raise DataError(
                f"{path}, line {number}: {len(fields)} fields, expected {len(headings)}: {headings}"
            )
        yield dict(zip(headings, fields, strict=True))


def _heading(column: str, layout: PrintedTable) -> tuple[str, str, Decimal]:
    """Return quantity, unit and factor of a column of a wide table; no quantity if it is text."""
    if column in layout.counts:
        return column, "", Decimal(1)
    for ending, (becomes, unit, factor) in _HEADINGS.items():
        if column.endswith(ending):
            return column.removesuffix(ending) + becomes, unit, factor
    return "", "", Decimal(1)


def _cell(
    printed: str, factor: Decimal, unit: str, about: dict[str, str], quantity: str, note: str
) -> Cell | None:
    """Parse a printed number ("x10.25" is 10.25); None for a dash or, in a long table, text."""
    try:
        value = Decimal(printed.removeprefix("x"))
    except InvalidOperation:
        if printed == "-" or not unit:
            return None
        raise DataError(
            f"{about['paper']}, {about['table']}, {about['printed_name']}: {quantity} is "
            f"{printed!r}; expected a number in {unit} or a dash"
        ) from None
    exponent = value.as_tuple().exponent
    is_exact = unit in ("B", "cycles", "") and value == value.to_integral_value()
    last_digit = Decimal(0) if is_exact else Decimal(1).scaleb(int(exponent))
    return Cell(
        **about,
        quantity=quantity,
        value=value * factor,
        rounding=last_digit / 2 * factor,
        unit=unit,
        note=note,
    )


def _number(cell: Cell) -> int | float:
    is_whole = cell.unit in ("B", "cycles", "") and cell.rounding == 0
    return int(cell.value) if is_whole else float(cell.value)
