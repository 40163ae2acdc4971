"""Published papers by key: their citations, their tables as printed, and their costs.

`data/papers/<key>` has a CSV file per table, digit for digit; values are converted to SI units
here. A table has one of three layouts:

wide    one row per algorithm; the heading of a column ends in its unit (`sign_milliseconds`)
across  one row per algorithm, one column per value of a parameter, one quantity in all cells
long    one number per row, with columns name, quantity, value, unit

Functions take the key of a work or its `Paper`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import algorithms, installation, results
from pqchain.costs import Costs, CostTable
from pqchain.errors import DataError, UnknownPaper
from pqchain.installation import MAX_TABLE_BYTES, read_bytes
from pqchain.results import Contract
from pqchain.works.paper import Paper, PrintedTable, read

PUBLISHED = Contract.of(
    "published",
    ("str", "paper table algorithm printed_name implementation quantity"),
    ("float64", "value"),
    ("str", "unit note other_code"),
)

# By unit as printed, the SI unit and the factor to it: the endings of the headings of wide tables,
# and the units of long tables. Other units stay as printed.
_HEADINGS = {
    "milliseconds": ("seconds", "s", "1e-3"),
    "seconds": ("seconds", "s", "1"),
    "cycles": ("cycles", "cycles", "1"),
    "bytes": ("bytes", "B", "1"),
    "percent": ("percent", "%", "1"),
    "megahertz": ("megahertz", "MHz", "1"),
}
_UNITS = {"bytes": ("B", "1"), "min": ("s", "60"), "ms": ("s", "1e-3"), "us": ("s", "1e-6")}

# The quantity of a printed number, its SI unit, and the factor to that unit.
_Meaning = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A published number."""

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
    """The erratum, or ""."""
    other_code: str = ""
    """The origin of the operation's code here, if it is not the work's."""


def operation_of(quantity: str) -> str:
    """Return "sign" for "sign_seconds" or "sign_cycles", and other quantities unchanged."""
    return quantity.removesuffix("_seconds").removesuffix("_cycles")


def keys() -> list[str]:
    """Return the keys of all papers. Raises DataError if the data are missing."""
    return sorted(path.parent.name for path in installation.data("papers").glob("*/paper.toml"))


def paper(work: str | Paper) -> Paper:
    """Return a paper by its key. Raises UnknownPaper and DataError."""
    if isinstance(work, Paper):
        return work
    key = work.casefold() if isinstance(work, str) else work
    if key not in keys():
        raise UnknownPaper("paper", work, keys(), "`pqchain papers`.")
    return read(installation.data("papers") / key)


def tables(work: str | Paper) -> list[str]:
    """Return the names of the paper's tables, in printed order. Raises UnknownPaper."""
    return list(paper(work).tables)


def table(work: str | Paper, name: str) -> pd.DataFrame:
    """Return a published table in tidy form: times in seconds, sizes in bytes, else as printed.

    A wide table has a column per quantity, layout "across" the parameter (`n`) and the quantity, a
    long table quantity, printed, value and unit. `algorithm` is the registry's name and
    `printed_name` the paper's. attrs: caption, description, section, source, units (by column),
    errata. Raises UnknownPaper for an unknown paper or table and DataError for a file
    that breaks its layout.
    """
    source = paper(work)
    layout = source.layout(name)
    units: dict[str, str] = {}
    rows: list[dict[str, Any]] = []
    for texts, parsed in _records(source, name):
        if layout.layout == "long":
            value, unit = (parsed[0].value, parsed[0].unit) if parsed else ("nan", "")
            rows.append(texts | {"value": float(value), "unit": unit})
        else:
            # Numbers without rounding are bytes, cycles and counts, which stay integers.
            numbers = {
                cell.quantity: float(cell.value) if cell.rounding else int(cell.value)
                for cell in parsed
            }
            rows.append(texts | numbers)
            units |= {cell.quantity: cell.unit for cell in parsed}
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


def cells(work: str | Paper) -> list[Cell]:
    """Return every printed number of a paper, exactly. Raises UnknownPaper and DataError."""
    source = paper(work)
    return [cell for name in source.tables for _, row in _records(source, name) for cell in row]


def published(work: str | Paper | None = None) -> pd.DataFrame:
    """Return every printed number of one paper, or of all papers, as rows of a frame.

    Columns: paper, table, algorithm (canonical name or ""), printed_name, implementation ("ref",
    "avx2", "cortex-m4" or ""), quantity, value, unit (B, s, 1/s, cycles, %, MHz or as printed),
    note (the erratum or ""), other_code (the origin of the code here, if it is not the work's). For
    layout "across" the printed name ends in the parameter ("Falcon 512, n = 1"). Raises
    UnknownPaper and DataError.
    """
    works = keys() if work is None else [work]
    rows = [
        [getattr(cell, column) for column in PUBLISHED.columns]
        for key in works
        for cell in cells(key)
    ]
    frame = pd.DataFrame(rows, columns=list(PUBLISHED.columns))
    frame["value"] = frame["value"].astype("float64")  # exact decimals until here
    return results.check(frame, PUBLISHED)


def costs(work: str | Paper, implementation: str | None = None) -> CostTable:
    """Return the printed costs of each signature scheme whose times are all printed.

    Sizes are as printed: 666 bytes for Falcon-512 in two papers, which is its padded form. Where
    only a maximum is printed, the size is the registry's mean, and the row states it. Of several
    implementations the default is AVX2. Raises UnknownPaper, and DataError if the paper prints no
    complete costs.

    >>> costs("pqdpol")["Falcon-512"].verify_seconds
    7.5e-05
    """
    source = paper(work)
    offered = _implementations(source)
    # Models of a chain ask for the fastest code that the paper timed.
    if implementation is None:
        implementation = "avx2" if "avx2" in offered else ""
    complete = _costs(source, implementation)
    if not len(complete):
        raise DataError(
            f"paper {source.key!r} must print a public key and the times of key generation, "
            f"signing and verification for implementation {implementation!r} (it has "
            f"{sorted(offered)}); papers with costs: {', '.join(with_costs())}"
        )
    return complete


def with_costs() -> tuple[str, ...]:
    """Return the keys of the papers that print complete costs of at least one implementation."""
    return tuple(
        source.key
        for source in map(paper, keys())
        if any(len(_costs(source, name)) for name in _implementations(source))
    )


def _implementations(source: Paper) -> set[str]:
    return {cell.implementation for cell in cells(source)}


def _costs(source: Paper, implementation: str) -> CostTable:
    values: dict[str, dict[str, Decimal]] = {}
    for cell in cells(source):
        if cell.algorithm and cell.implementation in ("", implementation):
            # The first table has all digits; later ones may round.
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
    """Yield the tidy rows of a table: their texts and their numbers."""
    layout = source.layout(name)
    notes = {(e.row, e.column): e.note for e in source.errata if e.table == name}
    for row in _rows(source.folder / layout.file):
        printed_name = row.pop("name")
        algorithm = source.names.get(layout.algorithm or printed_name, "")
        variant = row.get("implementation", "")
        for texts, numbers in _tidy(row, layout):
            step = f", {layout.across} = {texts[layout.across]}" if layout.across else ""
            cells = []
            for column, (quantity, unit, factor) in numbers.items():
                place = f"{source.key}, {name}, {printed_name}{step}: {quantity}"
                value = _value(row[column], unit, place)
                if value is None:
                    continue
                cells.append(
                    Cell(
                        paper=source.key,
                        table=name,
                        algorithm=algorithm,
                        printed_name=printed_name + step,
                        implementation=variant,
                        quantity=quantity,
                        value=value * Decimal(factor),
                        rounding=_rounding(value, unit) * Decimal(factor),
                        unit=unit,
                        note=notes.get((printed_name, column), ""),
                        other_code=source.code_origin(algorithm, variant, operation_of(quantity)),
                    )
                )
            yield {"algorithm": algorithm, "printed_name": printed_name} | texts, cells


def _tidy(
    row: dict[str, str], layout: PrintedTable
) -> Iterator[tuple[dict[str, Any], dict[str, _Meaning]]]:
    """Split a printed row into tidy rows: their texts, and the meanings of their number columns."""
    if layout.layout == "long":
        texts = {"quantity": row["quantity"], "printed": row["value"]}
        texts |= {"section": row["section"]} if "section" in row else {}
        yield texts, {"value": (row["quantity"], *_UNITS.get(row["unit"], (row["unit"], "1")))}
    elif layout.layout == "across":
        unit = "1/s" if layout.quantity.endswith("_per_second") else "s"
        for step in row:
            yield {layout.across: int(step)}, {step: (layout.quantity, unit, "1")}
    else:
        meanings = {column: _meaning(column, layout) for column in row}
        numbers = {column: meaning for column, meaning in meanings.items() if meaning}
        yield {column: text for column, text in row.items() if column not in numbers}, numbers


def _rows(path: Path) -> Iterator[dict[str, str]]:
    try:
        text = read_bytes(path, MAX_TABLE_BYTES).decode()
        headings, *rows = csv.reader(io.StringIO(text, newline=""))
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"cannot read {path}: {error}; restore the file") from error
    if "name" not in headings or len(set(headings)) != len(headings):
        raise DataError(f"{path} must have distinct headings, one of them 'name'; got {headings}")
    # Line 1 holds the headings.
    for number, fields in enumerate(rows, start=2):
        if len(fields) != len(headings):
            raise DataError(
                f"{path}, line {number} must have {len(headings)} fields, {headings}; got "
                f"{len(fields)}"
            )
        yield dict(zip(headings, fields, strict=True))


def _meaning(column: str, layout: PrintedTable) -> _Meaning | None:
    if column in layout.counts:
        return column, "", "1"
    base, _, ending = column.rpartition("_")
    if ending not in _HEADINGS:
        return None
    becomes, unit, factor = _HEADINGS[ending]
    return f"{base}_{becomes}", unit, factor


def _value(printed: str, unit: str, place: str) -> Decimal | None:
    """Parse a printed number ("x10.25" is 10.25); return None for a dash or unitless text."""
    try:
        value = Decimal(printed.removeprefix("x"))
    except InvalidOperation:
        value = Decimal("NaN")
    if value.is_finite():
        return value
    # A number without a unit may be a text in a long table.
    if printed == "-" or not unit:
        return None
    raise DataError(f"{place} must be a number in {unit} or a dash; got {printed!r}")


def _rounding(value: Decimal, unit: str) -> Decimal:
    """Return half of the last digit of a measured value; counts have no rounding error."""
    is_exact = unit in ("B", "cycles", "") and value == value.to_integral_value()
    return Decimal(0) if is_exact else Decimal(1).scaleb(int(value.as_tuple().exponent)) / 2
