"""The source papers as data: every published table as printed, with source and errata.

Each paper is a folder `data/papers/<key>` with `paper.toml` (what it is, its machine, its tables,
its errata) and one CSV file per table. The CSV files hold the print, digit for digit; this module
turns it into numbers in SI units. A table has one of three layouts:

wide    one row per algorithm; the heading of a column ends in its unit (`sign_milliseconds`)
across  one row per algorithm, one column per value of a parameter, one quantity in all cells
long    one number per row, with columns name, quantity, value, unit
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import algorithms, installation, results
from pqchain.costs import Costs, CostTable
from pqchain.errors import DataError, UnknownPaper
from pqchain.results import Contract

PUBLISHED = Contract.of(
    "published",
    ("str", "paper table algorithm printed_name implementation quantity"),
    ("float64", "value"),
    ("str", "unit note"),
)


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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
class Erratum:
    """One print that is wrong, or right only of another version than it says."""

    table: str
    row: str
    """Printed name of the row; empty for the caption."""
    column: str
    printed: str
    expected: str
    reason: str

    @property
    def note(self) -> str:
        """The erratum in one sentence."""
        return f"prints {self.printed}, expected {self.expected}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Where a published table is and how it is laid out."""

    file: str
    section: str
    caption: str
    description: str
    layout: str = "wide"
    counts: tuple[str, ...] = ()
    """Columns of a wide table that hold numbers without a unit."""
    across: str = ""
    quantity: str = ""
    """Of a table laid out across: the parameter in the heading, and the quantity in the cells."""
    algorithm: str = ""
    """Printed name that all rows of a long table are about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """What a source paper is. Empty where its text does not say."""

    key: str
    title: str
    """In English."""
    title_korean: str
    title_note: str
    authors: tuple[str, ...]
    venue: str
    year: str
    pages: str
    url: str
    doi: str
    place: int
    """Of its chapter in the report: what is reproduced most comes first."""
    scope: str
    """What is reproduced of it, and what is only shown."""
    machine: Mapping[str, str]
    """On what its numbers were made."""
    notes: tuple[str, ...]
    names: Mapping[str, str]
    """Printed name of an algorithm: its name in the registry."""
    tables: Mapping[str, Table]
    errata: tuple[Erratum, ...]

    @property
    def citation(self) -> str:
        """Authors, title and year in one line."""
        parts = (", ".join(self.authors), f'"{self.title}"', self.venue, self.year)
        return ", ".join(part for part in parts if part)


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


def data_folder() -> Path:
    """Return the folder of all papers. Raises DataError if it is missing."""
    return installation.data("papers")


def keys() -> list[str]:
    """Return the keys of all papers."""
    return sorted(path.parent.name for path in data_folder().glob("*/paper.toml"))


def document(key: str, file: str) -> dict[str, Any]:
    """Return a TOML file of a paper's folder, parsed. Raises UnknownPaper and DataError."""
    if key not in keys():
        raise UnknownPaper("paper", key, keys(), "`pqchain papers`.")
    path = data_folder() / key / file
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}; restore the file") from error


def paper(key: str) -> Paper:
    """Return what the paper is, its tables and its errata. Raises UnknownPaper and DataError."""
    fields = document(key, "paper.toml")
    try:
        return Paper(
            key=key,
            authors=tuple(fields.pop("authors")),
            notes=tuple(fields.pop("notes")),
            tables={
                name: Table(**table | {"counts": tuple(table.get("counts", ()))})
                for name, table in fields.pop("tables").items()
            },
            errata=tuple(Erratum(**erratum) for erratum in fields.pop("errata", ())),
            **fields,
        )
    except (KeyError, TypeError) as error:
        raise DataError(
            f"{data_folder() / key / 'paper.toml'} lacks a field or has an unknown one: {error}"
        ) from error


def tables(key: str) -> list[str]:
    """Return the names of the paper's tables, in printed order. Raises UnknownPaper."""
    return list(paper(key).tables)


def table(key: str, name: str) -> pd.DataFrame:
    """Return one published table, tidy: times in seconds, sizes in bytes, else as printed.

    A wide table has a column per quantity; one laid out across has the parameter (`n`) and the
    quantity; a long one has quantity, printed, value and unit. `algorithm` is the registry's name
    and `printed_name` the paper's. attrs: caption, description, section, source, units (by
    column), errata. Raises UnknownPaper for an unknown paper or table and DataError for a file
    that breaks its layout.
    """
    source = paper(key)
    layout = _layout(source, name)
    records = list(_records(source, name))
    units: dict[str, str] = {}
    rows: list[dict[str, Any]] = []
    for texts, cells in records:
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


def cells(key: str) -> list[Cell]:
    """Return every published number of the paper, exact. Raises UnknownPaper and DataError."""
    source = paper(key)
    return [cell for name in source.tables for _, found in _records(source, name) for cell in found]


def published(key: str | None = None) -> pd.DataFrame:
    """Return every published number of one paper, or of all, one per row.

    Columns: paper, table, algorithm (canonical name or ""), printed_name, implementation ("ref",
    "avx2", "cortex-m4" or ""), quantity, value, unit (B, s, 1/s, cycles, %, MHz or as printed),
    note (the erratum or ""). Where a table goes across a parameter, the printed name ends in it
    ("Falcon 512, n = 1"). Raises UnknownPaper and DataError.
    """
    columns = list(PUBLISHED.columns)
    rows = [
        [getattr(cell, column) for column in columns]
        for name in (keys() if key is None else [key])
        for cell in cells(name)
    ]
    frame = pd.DataFrame(rows, columns=columns)
    frame["value"] = frame["value"].astype("float64")
    return results.check(frame, PUBLISHED)


def costs(key: str, implementation: str | None = None) -> CostTable:
    """Return the costs that the paper prints, of each signature scheme it prints all times of.

    Sizes are as printed: 666 bytes for Falcon-512 in two papers, which is its padded form. A
    paper that prints a maximum only gets the registry's mean, and the row says so. Of a paper with
    several implementations the AVX2 one is taken unless `implementation` names another. Raises
    UnknownPaper, and DataError if the paper prints no complete costs.

    >>> costs("pqdpol")["Falcon-512"].verify_seconds
    7.5e-05
    """
    offered = {cell.implementation for cell in cells(key)}
    if implementation is None:
        implementation = "avx2" if "avx2" in offered else ""
    rows = _complete(key, implementation)
    if not rows:
        raise DataError(
            f"paper {key!r} prints no public key with times of key generation, signing and "
            f"verification together for implementation {implementation!r} (it has "
            f"{sorted(offered)}); papers with costs: {', '.join(with_costs())}"
        )
    return CostTable(rows=tuple(rows), source=_label(key, implementation))


def with_costs() -> tuple[str, ...]:
    """Return the keys of the papers that print costs, by whatever implementation."""
    return tuple(
        key for key in keys()
        if any(_complete(key, each) for each in {cell.implementation for cell in cells(key)})
    )  # fmt: skip


def _label(key: str, implementation: str) -> str:
    """Return where costs come from, for provenance."""
    return f"paper:{key} ({implementation})" if implementation else f"paper:{key}"


def _complete(key: str, implementation: str) -> list[Costs]:
    """Return the costs of each signature scheme that all of them are printed of."""
    printed: dict[str, dict[str, Decimal]] = {}
    for cell in cells(key):
        if cell.algorithm and cell.implementation in ("", implementation):
            printed.setdefault(cell.algorithm, {}).setdefault(cell.quantity, cell.value)
    rows = []
    for name, numbers in printed.items():
        algorithm = algorithms.get(name)
        needed = ("public_key_bytes", *(f"{step}_seconds" for step in algorithm.operations))
        if algorithm.kind != "signature" or any(quantity not in numbers for quantity in needed):
            continue
        has_signature = "signature_bytes" in numbers
        rows.append(
            Costs(
                algorithm=name,
                public_key_bytes=int(numbers["public_key_bytes"]),
                signature_bytes=int(numbers.get("signature_bytes", algorithm.signature_bytes)),
                generate_keypair_seconds=float(numbers["generate_keypair_seconds"]),
                sign_seconds=float(numbers["sign_seconds"]),
                verify_seconds=float(numbers["verify_seconds"]),
                source=_label(key, implementation)
                + ("" if has_signature else ", length of signatures from the registry"),
            )
        )
    return rows


def _layout(source: Paper, name: str) -> Table:
    """Return the description of a table."""
    if name not in source.tables:
        see = f"`pqchain papers {source.key}`."
        raise UnknownPaper(f"table of {source.key}", name, source.tables, see)
    return source.tables[name]


def _records(source: Paper, name: str) -> Iterator[tuple[dict[str, Any], list[Cell]]]:
    """Yield the text fields and the numbers of each row of the tidy table."""
    layout = _layout(source, name)
    path = data_folder() / source.key / layout.file
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
            numbers = []
            for column, value in row.items():
                quantity, unit, factor = _heading(column, layout)
                if quantity:
                    cell = _cell(value, factor, unit, about, quantity, notes[column])
                    numbers += [] if cell is None else [cell]
                else:
                    texts[column] = value
            yield texts, numbers


def _rows(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file; each must have as many fields as there are headings."""
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


def _heading(column: str, layout: Table) -> tuple[str, str, Decimal]:
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
    """Return whole bytes, cycles and counts as int, all else as float."""
    is_whole = cell.unit in ("B", "cycles", "") and cell.rounding == 0
    return int(cell.value) if is_whole else float(cell.value)
