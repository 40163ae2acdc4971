"""Published tables for people."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pqchain.render import numbers
from pqchain.render.table import Column, Shown, Table


def published_table(frame: pd.DataFrame) -> Table:
    """Show a frame of `pqchain.papers.table`, the printed name first; values carry their unit.

    Where a table has one number per row, its unit is shown with it, and text stands where there is
    no number.
    """
    single = "unit" in frame
    units: dict[str, str] = frame.attrs.get("units", {})
    left_out = {"unit", "printed"} if single else set()
    names = ["printed_name", *(str(name) for name in frame if name != "printed_name")]
    names = [name for name in names if name not in left_out]
    numeric = set(frame.select_dtypes("number").columns)

    def cell(record: dict[Any, Any], name: str) -> Any:
        value = record[name]
        if name not in numeric:
            return str(value)
        if single and name == "value":
            text = numbers.quantity(value, str(record["quantity"]), str(record["unit"]))
            return Shown(value, str(record["printed"]) if text == numbers.MISSING else text)
        return Shown(value, numbers.quantity(value, name, units.get(name, "")))

    caption = frame.attrs.get("caption") or frame.attrs.get("description", "")
    return Table(
        columns=[Column(_heading(name), numeric=name in numeric, key=name) for name in names],
        rows=[[cell(record, name) for name in names] for record in frame.to_dict("records")],
        caption=f"{caption} (section {frame.attrs.get('section', '')})",
        source=("published",),
    )


def _heading(name: str) -> str:
    for ending in ("_seconds", "_bytes", "_percent", "_megahertz"):
        name = name.removesuffix(ending)
    return {"printed_name": "printed as"}.get(name, numbers.spoken(name))
