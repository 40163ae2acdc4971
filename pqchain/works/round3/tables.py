"""The round-3 comparison's Table 1 for people: on a terminal and in the report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from pqchain.render import html, numbers
from pqchain.render.html import Column, Markup
from pqchain.works.round3.work import DIFFERENCES, HALVES, QUANTITIES, VARIANTS, VERSIONS


def text(table: pd.DataFrame, checks: pd.DataFrame) -> str:
    """Lay both halves out for a terminal, in the order of print, and the cross-check below."""
    parts = []
    for half, name in HALVES.items():
        head, rows = _grid(table[table["table"] == half], name)
        labels = [row[0] for row in rows]
        shown = [
            ["" if index and labels[index - 1] == row[0] else row[0], *row[1:]]
            for index, row in enumerate(rows)
        ]
        parts.append(numbers.text_table(head, shown, right=range(2, len(head))))
    if len(checks):
        parts.append(numbers.text_table(*_check_rows(checks), right=range(3, 7)))
    return "\n\n".join([*parts, "\n".join(f"- {row}" for row in _remarks(table))])


def markup(table: pd.DataFrame, checks: pd.DataFrame) -> list[Markup]:
    """Write both halves and the cross-check for the report, and why ours differs."""
    written = []
    for half, name in HALVES.items():
        head, rows = _grid(table[table["table"] == half], name)
        pairs = [title.split(" ") for title in head[2:]]
        shown = [Column(name), Column("from")]
        shown += [Column(title, VARIANTS[variant], True) for title, variant in pairs]
        caption = (
            f"Table 1 in its own layout, {name} half: bytes, times, cycles, and how many times "
            "faster AVX2 is, both medians of one run. An exclamation mark: the print errs."
        )
        source = ("published", "measured", "registry")
        written.append(html.table(shown, rows, caption=caption, source=source, row_headers=2))
    if len(checks):
        head, rows = _check_rows(checks)
        shown = [Column(title, numeric=index > 2) for index, title in enumerate(head)]
        caption = "Both versions of liboqs, for what both have, in one run."
        written.append(html.table(shown, rows, caption=caption, source=("measured",)))
    written.append(html.element("p", "Why ours differs from the print:"))
    return [*written, html.bullets(_remarks(table))]


def _check_rows(checks: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of the cross-check."""
    head = ["algorithm", "operation", "variant", *VERSIONS]
    rows = [
        [
            row["algorithm"], html.spoken(row["operation"]), row["variant"],
            numbers.seconds(row["main_seconds"]), numbers.seconds(row["other_seconds"]),
            _gain(row["main_speedup"]), _gain(row["other_speedup"]),
        ]
        for row in checks.to_dict("records")
    ]  # fmt: skip
    return [*head, "gain", "gain"], rows


def _remarks(table: pd.DataFrame) -> list[str]:
    """Say why columns differ, the notes of single cells after the reasons of ours."""
    said: dict[str, None] = {}
    for row in table.to_dict("records"):
        name = row["algorithm"]
        if name in DIFFERENCES:
            said[f"{name}: {DIFFERENCES[name]}"] = None
    for row in table.to_dict("records"):
        if row["note"]:
            where = row["printed_name"]
            if row["quantity"].endswith("_seconds"):
                where = f"{where}, {VARIANTS[row['variant']]}"
            said[f"{where}: {row['note']}"] = None
    return list(said)


def _grid(half: pd.DataFrame, corner: str) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of one half."""
    names = list(dict.fromkeys(half["printed_name"]))
    keys = [(name, variant) for variant in VARIANTS for name in names]
    cells = {
        (row["printed_name"], row["variant"], row["quantity"]): row
        for row in half.to_dict("records")
    }
    quantities = [name for name in QUANTITIES if name in set(half["quantity"])]
    made_by = [cells[(*key, quantities[0])]["implementation"] for key in keys]
    rows = [["made by", "here", *(_library(*pair) for pair in zip(made_by, keys, strict=True))]]
    for quantity in quantities:
        column = [cells[(*key, quantity)] for key in keys]
        rows += _rows(quantity, column)
    return [corner, "", *(f"{name} {variant}" for name, variant in keys)], rows


def _library(implementation: str, key: tuple[str, str]) -> str:
    """Name the library of a column, with its variant only if that is not the column's."""
    library, _, variant = implementation.partition("/")
    return (library if variant == key[1] else implementation) or numbers.MISSING


def _rows(quantity: str, cells: Sequence[Mapping[Any, Any]]) -> Iterator[list[str]]:
    """Yield the rows of one size or operation."""
    label = html.spoken(quantity.rpartition("_")[0])
    if quantity.endswith("_bytes"):
        yield [label, "printed", *(numbers.integer(cell["published"]) for cell in cells)]
        yield [label, "here", *(_size(cell) for cell in cells)]
        return
    yield [label, "printed", *(numbers.exact_seconds(cell["published"]) for cell in cells)]
    yield [label, "here", *(_time(cell) for cell in cells)]
    yield [label, "printed cycles", *(numbers.integer(cell["published_cycles"]) for cell in cells)]
    yield [label, "here cycles", *(numbers.integer(cell["here_cycles"]) for cell in cells)]
    for side, title in (("published", "printed gain"), ("here", "gain here")):
        yield [label, title, *(_gain(cell[f"{side}_speedup"]) for cell in cells)]


def _size(cell: Mapping[Any, Any]) -> str:
    """Show our size; "!" marks a known erratum of the print."""
    mark = {"equal": "", "erratum": " !", "different": " ?"}[cell["status"]]
    return numbers.integer(cell["here"]) + mark


def _time(cell: Mapping[Any, Any]) -> str:
    """Show our time, or why there is none."""
    return numbers.seconds(cell["here"]) if cell["status"] == "ok" else str(cell["status"])


def _gain(value: float) -> str:
    """Show a speed-up; the reference columns have none."""
    return "" if math.isnan(value) else numbers.ratio(value, 2)
