"""Published tables as a `Table`, for the terminal and for the report."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pqchain.render import numbers
from pqchain.render.table import Column, Shown, Table


def published_table(frame: pd.DataFrame) -> Table:
    """Return a published table with its values in SI units, each with its unit.

    Takes a frame of `pqchain.works.papers.table`. Where a table has one number per row, its unit is
    shown with it, and text stands where there is no number.
    """
    units: dict[str, str] = frame.attrs.get("units", {})
    numeric = set(frame.select_dtypes("number").columns)
    one_value = "unit" in frame
    names = [str(name) for name in frame if not (one_value and name in ("unit", "printed"))]

    def shown(row: dict[Any, Any], name: str) -> Any:
        value = row[name]
        if name not in numeric:
            return value
        if not (one_value and name == "value"):
            return Shown(value, numbers.quantity(value, name, units.get(name, "")))
        text = numbers.quantity(value, str(row["quantity"]), str(row["unit"]))
        return Shown(value, str(row["printed"]) if text == numbers.MISSING else text)

    return Table(
        columns=[Column(name, numeric=name in numeric, key=name) for name in names],
        rows=[[shown(row, name) for name in names] for row in frame.to_dict("records")],
    )
