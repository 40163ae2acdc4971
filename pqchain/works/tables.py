"""Tables of a work: a published table as printed, and the verdicts on its statements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pqchain.figures import MISSING, Kind, Unit, humanize
from pqchain.render.table import Column, Shown, Table, verdict
from pqchain.works.paper import Paper
from pqchain.works.verdicts import FAILS, HOLDS


def claim_table(claims: pd.DataFrame) -> Table:
    """Return a table of a frame of `Work.claims`, a row per statement and kind of number.

    Below each statement are its interpretation, its sentence as printed and, if it does not hold,
    the readings of this sentence that hold by the same kind of numbers.
    """
    rows, remarks = [], []
    for _, group in claims.groupby(["paper", "claim_id"], sort=False):
        first = group.iloc[0]
        for row in group.to_dict("records"):
            # Several parts of a check may have the same evidence.
            evidence = [*dict.fromkeys(row["evidence"].split("; "))]
            evidence += [f"setting: {row['setting']}"] if row["setting"] else []
            cells = [verdict(row["verdict"]), row["source"], "; ".join(evidence)]
            rows.append([first["statement"], *cells])
            remarks.append("")
        quote = f"\u201c{first['quote']}\u201d" if first["quote"] else "Of ours, not of the source."
        reading = f"Read as: {first['reading']}." if first["reading"] else ""
        failing = set(group.loc[group["verdict"] == FAILS, "source"])
        same = claims[claims["source"].isin(failing) & (claims["sentence"] == first["sentence"])]
        same = same[(same["verdict"] == HOLDS) & (same["paper"] == first["paper"])]
        holding = dict.fromkeys(map(_reading, same.to_dict("records")))
        others = "Readings that hold: " + (" ".join(holding) or "none.") if failing else ""
        remarks[-1] = " ".join(filter(None, (first["section"], quote, reading, others)))
    return Table(
        columns=[*map(Column, ("statement", "verdict", "numbers", "evidence"))],
        rows=rows,
        remarks=remarks,
        caption="Verdicts on statements.",
        row_headers=2,
        source=[kind for kind in Kind if kind in set(claims["source"])],
        style="claims",
    )


def _reading(row: Mapping[Any, Any]) -> str:
    return f"{row['statement']}" + f" ({row['reading']})" * bool(row["reading"])


def published_table(frame: pd.DataFrame) -> Table:
    """Return a table of a frame of `papers.table`: printed names first, values with units.

    In a table with one number per row the printed text replaces a missing number.
    """
    numeric = set(frame.select_dtypes("number").columns)
    attributes = frame.attrs
    if "unit" in frame:
        values = pd.Series(map(_value, frame.to_dict("records")), index=frame.index)
        frame = frame.assign(value=values).drop(columns=["unit", "printed"])
    columns = []
    for name in map(str, ["printed_name", *frame.columns.drop("printed_name")]):
        unit = attributes.get("units", {}).get(name, "")
        numbers: dict[str, Any] = {"numeric": True, "unit": unit, "exact": True}
        columns.append(Column(_heading(name), key=name, **numbers if name in numeric else {}))
    caption = attributes.get("caption") or attributes.get("description", "")
    caption = f"{caption} (section {attributes.get('section', '')})"
    return Table.of(frame, columns, caption=caption, source=(Kind.PUBLISHED,))


def _value(row: Mapping[Any, Any]) -> Shown:
    text = Unit.of(row["quantity"], row["unit"]).text(row["value"], exact=True)
    return Shown(row["value"], row["printed"] if text == MISSING else text)


def _heading(name: str) -> str:
    for suffix in ("_seconds", "_bytes", "_percent", "_megahertz"):
        name = name.removesuffix(suffix)
    return {"printed_name": "printed as"}.get(name, humanize(name))


def description(paper: Paper) -> Table:
    """Return a table of the facts of a paper, its tables, errata and notes."""
    facts = [("title", paper.title), ("", paper.title_korean), ("", paper.title_note)]
    facts += [("authors", ", ".join(paper.authors)), ("venue", paper.venue), ("year", paper.year)]
    facts += paper.machine.items()
    facts += [(name, layout.description) for name, layout in paper.tables.items()]
    facts += [("erratum", f"{erratum.place}: {erratum.note}") for erratum in paper.errata]
    facts += [("note", note) for note in paper.notes]
    rows = [[name, text] for name, text in facts if text]
    return Table(columns=[Column("fact"), Column("text")], rows=rows)
