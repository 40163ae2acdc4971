"""Tables and figures of works: as printed, and what `tables.toml` and `figures.toml` say to show.

A table is headed by its name. One that names no frame is made by code, which takes its words, and
maybe its columns, from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import plots
from pqchain.errors import UnknownName
from pqchain.figures import MISSING, Unit, humanize, shortened
from pqchain.installation import read_toml
from pqchain.render.plot import Plot
from pqchain.render.table import Column, Shown, Table

_SHOWS: dict[str, Callable[[Any], str]] = {"humanize": humanize, "shortened": shortened}
"""Formats of texts that a column may name."""

_PLOTS = {name.removeprefix("plot_"): name for name in plots.__all__ if name[:5] == "plot_"}


def words(folder: Path) -> dict[str, Any]:
    """Return what `tables.toml` says, by the name of the table; nothing if there is none."""
    file = folder / "tables.toml"
    return read_toml(file) if file.is_file() else {}


def tables(said: Mapping[str, Any], frames: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables that only show a frame, if it is there and has rows."""
    for each in said.values():
        if "frame" in each and len(frames.get(each["frame"], ())):
            yield table(each, frames[each["frame"]])


def table(said: Mapping[str, Any], rows: Any, **more: Any) -> Table:
    """Make a table of a frame, or of records; `more` goes before what is said."""
    columns = [column(**each) for each in said["columns"]]
    rest = {name: value for name, value in said.items() if name not in ("frame", "columns")}
    return Table.of(rows, columns, **rest | more)


def column(
    title: str, *, show: str = "", scale: float = 1, blank: str | None = None, **more: Any
) -> Column:
    """Make a column; without `show`, numbers have the format of their unit.

    `show` is a format string or a name of `_SHOWS`; values are multiplied by `scale`; `blank`
    replaces a missing value. Raises UnknownName.
    """
    if show and "{" not in show and show not in _SHOWS:
        raise UnknownName("text format", show, _SHOWS)
    plain = Column(title, **more)
    write = (show.format if "{" in show else _SHOWS[show]) if show else plain.text

    def text(value: Any) -> str:
        if blank is not None and (value == "" or value != value):
            return blank
        return write(value if scale == 1 else value * scale)

    return replace(plain, show=text)


def figures(file: Path, frames: Mapping[str, Any]) -> Iterator[Plot]:
    """Yield the figures of a file, if their frame is there and a row of it ran.

    Raises UnknownName for an unknown plot.
    """
    for row in read_toml(file)["figures"] if file.is_file() else ():
        frame, name = frames.get(row.pop("frame"), ()), row.pop("plot")
        if not len(frame) or ("status" in frame and not (frame["status"] == "ok").any()):
            continue
        if name not in _PLOTS:
            raise UnknownName("plot", name, _PLOTS, "pqchain.plots.")
        axes = getattr(plots, _PLOTS[name])(frame, **row.pop("options", {}))
        yield Plot(axes=axes, **row)


def published_table(frame: pd.DataFrame) -> Table:
    """Show a frame of `pqchain.papers.table`, the printed name first; values carry their unit.

    Where a table has one number per row, its unit is shown with it, and text stands where there is
    no number.
    """
    numeric = set(frame.select_dtypes("number").columns)
    about = frame.attrs
    if "unit" in frame:
        values = pd.Series(map(_value, frame.to_dict("records")), index=frame.index)
        frame = frame.assign(value=values).drop(columns=["unit", "printed"])
    columns = []
    for name in map(str, ["printed_name", *frame.columns.drop("printed_name")]):
        unit = about.get("units", {}).get(name, "")
        numbers: dict[str, Any] = {"numeric": True, "unit": unit, "exact": True}
        columns.append(Column(_heading(name), key=name, **numbers if name in numeric else {}))
    caption = about.get("caption") or about.get("description", "")
    caption = f"{caption} (section {about.get('section', '')})"
    return Table.of(frame, columns, caption=caption, source=("published",))


def _value(row: Mapping[Any, Any]) -> Shown:
    text = Unit.of(row["quantity"], row["unit"]).text(row["value"], exact=True)
    return Shown(row["value"], row["printed"] if text == MISSING else text)


def _heading(name: str) -> str:
    for ending in ("_seconds", "_bytes", "_percent", "_megahertz"):
        name = name.removesuffix(ending)
    return {"printed_name": "printed as"}.get(name, humanize(name))
