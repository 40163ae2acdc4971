"""Tables, figures and findings of a work's report chapter, read from the work's `chapter.toml`.

A table without a frame is built by the work's code, which takes its texts, and maybe its columns,
from the file. A name that the file misspells is an error: no entry is dropped silently.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Formatter
from typing import Any

import pandas as pd

from pqchain import plots
from pqchain.errors import DataError, UnknownName
from pqchain.figures import MISSING, Kind, Unit, humanize, shortened
from pqchain.installation import read_toml
from pqchain.render.plot import Plot
from pqchain.render.table import Column, Shown, Table

# Formats of texts that a column may name.
_FORMATS: dict[str, Callable[[Any], str]] = {"humanize": humanize, "shortened": shortened}


@dataclass(frozen=True, slots=True)
class ReportFinding:
    """A sentence of the report about a result."""

    text: str
    place: str
    """The anchor of the section of the report that shows it."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """The content of `chapter.toml`."""

    file: Path
    tables: Mapping[str, Mapping[str, Any]]
    figures: Sequence[Mapping[str, Any]]
    findings: Sequence[Mapping[str, str]]


def read(folder: Path) -> Chapter:
    """Return the chapter in a work's folder; empty without `chapter.toml`. Raises DataError."""
    file = folder / "chapter.toml"
    fields = read_toml(file) if file.is_file() else {}
    parts = [fields.pop(name, {}) for name in ("tables", "figures", "findings")]
    if fields:
        raise DataError(
            f"{file} must have only tables, figures and findings; got {', '.join(fields)}"
        )
    return Chapter(file, *parts)


def tables(
    entries: Iterable[Mapping[str, Any]],
    frames: Mapping[str, pd.DataFrame],
    names: Iterable[str] = (),
) -> Iterator[Table]:
    """Yield the tables of those entries whose frame was computed and has rows.

    `names` are those of all frames that the work can compute. Raises UnknownName for another.
    """
    for entry in entries:
        if "frame" in entry and len(frame := _frame(entry["frame"], frames, names)):
            yield table(entry, frame)


def _frame(name: str, frames: Mapping[str, Any], names: Iterable[str]) -> Any:
    # A misspelt frame looks like one that this run did not compute, and would vanish silently.
    if name not in (known := {*names, *frames}):
        raise UnknownName("frame", name, sorted(known), "frame_names of the work.")
    return frames.get(name, ())


def table(entry: Mapping[str, Any], rows: Any, **changes: Any) -> Table:
    """Return a table of a frame or of records; `changes` override the fields of the entry."""
    columns = [
        fields if isinstance(fields, str) else column(**fields) for fields in entry["columns"]
    ]
    texts = {name: value for name, value in entry.items() if name not in ("frame", "columns")}
    return Table.of(rows, columns, **texts | changes)


def column(
    title: str, *, show: str = "", scale: float = 1, blank: str | None = None, **fields: Any
) -> Column:
    """Return a table column; without `show`, numbers are formatted according to their unit.

    `show` is a format string or a name of `_FORMATS`; values are multiplied by `scale`; `blank`
    replaces a missing value. Raises UnknownName.
    """
    if show and "{" not in show and show not in _FORMATS:
        raise UnknownName("text format", show, _FORMATS)
    plain = Column(title, **fields)
    write = (show.format if "{" in show else _FORMATS[show]) if show else plain.text

    def text(value: Any) -> str:
        # NaN is the only value that is not equal to itself.
        if blank is not None and (value == "" or value != value):
            return blank
        return write(value if scale == 1 else value * scale)

    return replace(plain, show=text)


def figures(
    entries: Iterable[Mapping[str, Any]], frames: Mapping[str, Any], names: Iterable[str] = ()
) -> Iterator[Plot]:
    """Yield the figures whose frame has results. Raises UnknownName for unknown plots or frames."""
    for entry in map(dict, entries):
        frame, draw = _frame(entry.pop("frame"), frames, names), plots.find(entry.pop("plot"))
        options = entry.pop("options", {})
        # A plot without a measured row would be an empty frame of axes.
        if not len(frame) or ("status" in frame and not (frame["status"] == "ok").any()):
            continue
        yield Plot(axes=draw(frame, **options), **entry)


def findings(
    chapter: Chapter, key: str, facts: Mapping[str, Any], names: Collection[str]
) -> Iterator[ReportFinding]:
    """Yield the findings whose facts this run computed; `names` are all facts a run can compute.

    Raises DataError for a fact that is not among the names, whether or not it was computed.
    """
    if unknown := sorted(set(facts) - set(names)):
        raise DataError(f"facts of {key} must be in its fact_names; got {unknown}. Add them.")
    for entry in chapter.findings:
        fields = {field for _, field, _, _ in Formatter().parse(entry["text"]) if field is not None}
        # Checked against all possible facts, so that a quick run reports misspelt names too.
        if unknown := sorted(fields - set(names)):
            raise DataError(
                f"{chapter.file}: the finding {entry['text'][:40]!r}... must name facts of "
                f"{sorted(names)}; got {unknown}"
            )
        # Not every run has every fact: quick presets leave experiments out.
        if fields <= set(facts):
            yield ReportFinding(entry["text"].format(**facts), f"{key}-{slug(entry['part'])}")


def slug(title: str) -> str:
    """Return the HTML anchor of a chapter's section, given the section's title."""
    return "-".join("".join(filter(str.isalnum, word)) for word in title.casefold().split())


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
