"""Tables and sentences of notebooks, with the formats of pages and commands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from string import Formatter
from typing import TYPE_CHECKING, Any

from pqchain import figures
from pqchain.errors import UsageError, markdown, visible
from pqchain.figures import Figure, Unit
from pqchain.render.html import Markup, element, join
from pqchain.render.table import Column, Table

if TYPE_CHECKING:
    import pandas as pd

# Notebooks have no style sheet of their own; the colours are those of the page around the table.
# Short words stay whole, so a table of many columns scrolls in a narrow window.
_STYLE = Markup(
    "<style>.pqchain{overflow-x:auto}.pqchain th,.pqchain td{text-align:left;vertical-align:top;"
    "white-space:normal;min-width:5.5em;max-width:26em}"
    ".pqchain .number{text-align:right;white-space:nowrap;min-width:0}"
    ".pqchain caption{text-align:left;font-weight:600}.pqchain .note{font-size:smaller;opacity:.8}"
    "</style>"
)

_TEXT_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class Output:
    """Something that a notebook displays: HTML or Markdown, and text elsewhere."""

    text: str
    data: Mapping[str, str] = field(repr=False)
    """The forms by media type."""
    metadata: Mapping[str, Any] = field(repr=False, default_factory=dict)

    def __str__(self) -> str:
        return self.text

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        return {"text/plain": self.text, **self.data}, dict(self.metadata)


def show(
    frame: pd.DataFrame | Table, columns: Sequence[str | Column] = (), *, caption: str = ""
) -> Output:
    """Return a frame as a table, with units, wrapped texts, and the machine of its measurements.

    `columns` selects and orders columns; without it all are shown. A named index becomes the first
    columns. The suffix of a column's name states its unit (`verify_seconds`, `share_percent`).
    A table of pqchain, such as that of `study.text.main_table`, is shown as it is. Raises
    UsageError for a column that the frame lacks.
    """
    if isinstance(frame, Table):
        return _output(frame, "")
    rows = frame.reset_index() if any(frame.index.names) else frame
    made = [_column(name, rows[name]) for name in rows.columns]
    rows = rows.set_axis([column.key for column in made], axis="columns")
    known = {column.key: column for column in made}
    chosen = [known.get(name, name) if isinstance(name, str) else name for name in columns or known]
    names = [column.key if isinstance(column, Column) else column for column in chosen]
    if missing := [name for name in names if name not in known]:
        raise UsageError(
            f"the frame has no column {', '.join(map(repr, missing))}; its columns are "
            f"{', '.join(known)}"
        )
    for name, column in known.items():
        if not column.numeric:
            rows[name] = rows[name].astype(object).where(rows[name].notna(), "")
    note = measured_on(frame.attrs.get("provenance") or {})
    return _output(Table.of(rows, chosen, caption=caption), note)


def _output(table: Table, note: str) -> Output:
    below = element("p", note, class_="note") if note else Markup("")
    text = "\n".join(filter(None, [table.text(_TEXT_COLUMNS), visible(note)]))
    page = join(_STYLE, element("div", table.html(), below, class_="pqchain"))
    return Output(text, {"text/html": page})


def _column(name: Any, values: pd.Series[Any]) -> Column:
    # Columns of a pivot table are tuples of a quantity and of values of other columns.
    first, *rest = name if isinstance(name, tuple) else (name,)
    key = " ".join(str(part) for part in (first, *rest) if part != "")
    # A column of numbers may also hold texts, such as the values of a published table.
    is_numeric = any(map(_is_number, values))
    heading, unit = figures.title(str(first)), Unit.of(str(first))
    if any(part != "" for part in rest):
        lower = " ".join(str(part) for part in rest)
        # Printed numbers keep their digits.
        exact = "printed" in rest
        return Column(lower, group=heading, numeric=is_numeric, key=key, unit=unit, exact=exact)
    return Column(heading, numeric=is_numeric, key=key, unit=unit, exact=heading == "printed")


def measured_on(provenance: Mapping[str, Any]) -> str:
    """Return the machine, preset and load of a measurement in one line, or "" if none is known."""
    if not provenance.get("cpu_model"):
        return ""
    parts = [f"measured on {provenance['cpu_model']}"]
    if preset := provenance.get("preset"):
        parts.append(f"preset {preset}")
    load = provenance.get("load_average")
    if load is not None:
        parts.append(f"load {load:.1f} on {provenance.get('cpu_count', '?')} processors")
    return ", ".join(parts)


def sentence(
    template: str, facts: Mapping[str, Any] | None = None, /, **values: str | float | Figure
) -> Output:
    """Return a sentence whose numbers and names are computed.

    The fields of the template are values, or `facts` such as those of a work. The suffix of a
    field's name states its unit, as for columns: `{sign_seconds}` with 0.00024 is "240 µs";
    `{share:.1f} %` gives a format instead. The template and the texts of the values are kept in
    the output's metadata, where a test compares them with the tables of the notebook. A sentence
    with a fact that the run did not compute only says which. Raises UsageError if the template
    names a value that is missing, or a value is not used or not finite.
    """
    parts = [part for part in Formatter().parse(template) if part[1] is not None]
    known = {**(facts or {}), **values}
    used = {str(name) for _, name, _, _ in parts}
    missing, unused = sorted(used - set(known)), sorted(set(values) - used)
    if missing and facts is not None and not unused:
        return _sentence(f"Not computed in this run: {', '.join(missing)}.", {}, facts=True)
    if missing or unused:
        raise UsageError(
            f"the sentence {template!r} and its values differ in {', '.join(missing + unused)}; "
            "give each field of the sentence one value"
        )
    texts = {
        str(name): _value(str(name), known[str(name)], spec or "") for _, name, spec, _ in parts
    }
    plain = "".join(
        text.replace("{", "{{").replace("}", "}}") + (f"{{{name}}}" if name is not None else "")
        for text, name, _, _ in Formatter().parse(template)
    )
    return _sentence(plain, texts, facts=facts is not None)


def _sentence(template: str, texts: Mapping[str, str], *, facts: bool) -> Output:
    text = template.format(**texts)
    marked = template.format(**{name: markdown(value) for name, value in texts.items()})
    about = {"sentence": {"template": template, "values": dict(texts), "facts": facts}}
    return Output(visible(text), {"text/markdown": marked}, about)


def _value(name: str, value: str | float | Figure, spec: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Figure):
        return value.text()
    if not _is_number(value):
        raise UsageError(
            f"the value {name} of a sentence is {value!r}; expected text or a finite number"
        )
    return format(value, spec) if spec else Unit.of(name).text(float(value))


def _is_number(value: Any) -> bool:
    # bool is a subclass of int; NaN stands for a missing value.
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
