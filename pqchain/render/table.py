"""Tables that can be written as text, HTML, LaTeX and records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pqchain import algorithms
from pqchain.errors import visible
from pqchain.figures import SECONDS
from pqchain.render import html, latex, terminal
from pqchain.render.column import Column as Column
from pqchain.render.html import Markup, element

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Shown:
    """A cell with its own text or markup, instead of those that its column would give."""

    value: Any
    text: str
    html: Markup | None = None
    """The markup of a page; None for the text."""


# Tables of at least this many columns are set smaller on a page, so that all of them fit.
_WIDE = 9


def verdict(word: str) -> Shown:
    """Return a cell for a verdict, with a sign and a colour on a page."""
    return Shown(word, word, html.badge(word))


def ours(value: float, show: Callable[[float], str] = SECONDS.text) -> Shown:
    """Return a cell for a number measured on this machine, emphasised on a page."""
    return Shown(value, show(value), element("span", show(value), class_="here"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of values, with columns, caption, kinds of evidence and notes.

    HTML and LaTeX end with the cautions on named schemes, because pages and papers are read
    elsewhere; commands write them to stderr, once for all tables.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    """A value or `Shown` for each column."""
    caption: str = ""
    source: Sequence[str] = ()
    """Kinds of evidence, values of `figures.Kind`."""
    row_headers: int = 1
    """Number of leading cells that are row headers; with two, equal first cells are merged."""
    remarks: Sequence[str] = ()
    """A remark for each row, or ""."""
    notes: Sequence[str] = ()
    style: str = ""
    """A class of the style sheet."""

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame | Iterable[Mapping[Any, Any]],
        columns: Sequence[Column | str],
        *,
        remark: str = "",
        **more: Any,
    ) -> Table:
        """Make a table of the rows of a frame; `remark` names the column that holds remarks.

        A column given by its name has the title and format that follow from the name.
        """
        # Without an import of pandas, which a table of a light command must not load.
        source: Any = frame if hasattr(frame, "to_dict") else None
        records = list(frame if source is None else source.to_dict("records"))
        made = [Column.of(name, source) if isinstance(name, str) else name for name in columns]
        rows = [[row[column.name] for column in made] for row in records]
        if remark:
            more["remarks"] = [str(row[remark]) for row in records]
        return cls(columns=made, rows=rows, **more)

    def text(self, width: int | None = None) -> str:
        """Return the table as text, on a terminal of `width` columns with wrapped cells.

        Without a width a row is a line, however long, because a file or a pipe has no width.
        """
        cells = self._cells(_text)
        layout = terminal.layout(self.columns, cells, width, merge=self.row_headers > 1)
        pairs = zip(self.rows, self._remarks, strict=True)
        remarks = [f"{row[0]}: {remark}" for row, remark in pairs if remark]
        below = visible("\n".join(f"- {line}" for line in dict.fromkeys([*remarks, *self.notes])))
        label = f"[{', '.join(self.source)}]" if self.source else ""
        title = visible(" ".join(filter(None, (self.caption, label if self.caption else ""))))
        if width is not None:
            title, below = (terminal.wrapped(part, width) for part in (title, below))
        return "\n".join(part for part in (title, layout, below) if part)

    def latex(self) -> str:
        """Return the table in LaTeX with booktabs; caption, source and notes become comments."""
        source = f"{self.caption} [{', '.join(self.source)}]" if self.source else self.caption
        pairs = zip(self.rows, self._remarks, strict=True)
        remarks = [f"{_text(self.columns[0], row[0])}: {remark}" for row, remark in pairs if remark]
        below = [*self.notes, *self.cautions]
        about = [text for text in dict.fromkeys([source, *remarks, *below]) if text]
        return latex.tabular(self.columns, self._cells(_text), about)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as JSON values; missing values are None."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, map(_plain, row), strict=True)) for row in self.rows]

    def html(self) -> Markup:
        """Return the table as HTML, with its notes below."""
        written, previous = [], ""
        for row, remark in zip(self._cells(_markup), self._remarks, strict=True):
            is_repeated = self.row_headers > 1 and row[0] == previous
            previous = row[0]
            cells = [
                element(
                    "th" if index < self.row_headers else "td", "" if at_repeat else cell,
                    class_="number" if column.numeric else "",
                    scope="row" if index < self.row_headers else "",
                )
                for index, (column, cell) in enumerate(zip(self.columns, row, strict=True))
                for at_repeat in [is_repeated and index == 0]
            ]  # fmt: skip
            written.append(element("tr", *cells, class_="" if is_repeated else "first"))
            if remark:
                wide = element("td", remark, colspan=str(len(self.columns)))
                written.append(element("tr", wide, class_="remark"))
        title = element("caption", html.labels(*self.source), Markup(" "), self.caption)
        head = element("thead", *_heading_rows(self.columns))
        table = element("table", title, head, element("tbody", *written))
        # Focusable, so that a wide table can be scrolled with the keyboard.
        scroll = element(
            "div", table, class_="scroll", tabindex="0", role="region", aria_label=self.caption
        )
        classes = (self.style, "wide" * (len(self.columns) >= _WIDE))
        style = " ".join(filter(None, classes))
        styled = element("div", scroll, class_=style) if style else scroll
        notes = [*self.notes, *self.cautions]
        return html.join(styled, html.bullets(notes)) if notes else styled

    @property
    def cautions(self) -> list[str]:
        """A line for each known attack on a scheme that a cell or a heading names."""
        cells = (cell for row in self.rows for cell in row)
        values = (cell.value if isinstance(cell, Shown) else cell for cell in cells)
        headings = (text for column in self.columns for text in (column.title, column.group))
        return algorithms.cautions([*headings, *values])

    def _cells(self, show: Callable[[Column, Any], str]) -> list[list[str]]:
        return [[show(*pair) for pair in zip(self.columns, row, strict=True)] for row in self.rows]

    @property
    def _remarks(self) -> Sequence[str]:
        return self.remarks or [""] * len(self.rows)


def _text(column: Column, cell: Any) -> str:
    return visible(cell.text if isinstance(cell, Shown) else column.text(cell))


def _markup(column: Column, cell: Any) -> str:
    return cell.html or cell.text if isinstance(cell, Shown) else column.text(cell)


def _plain(cell: Any) -> Any:
    value = cell.value if isinstance(cell, Shown) else cell
    value = value.item() if hasattr(value, "item") else value
    # JSON has no NaN.
    return None if isinstance(value, float) and math.isnan(value) else value


def _heading_rows(columns: Sequence[Column]) -> Iterator[Markup]:
    has_groups = any(column.group for column in columns)
    if has_groups:
        spans = [(group, list(span)) for group, span in groupby(columns, lambda it: it.group)]
        cells = [
            element("th", group, scope="colgroup", colspan=str(len(span)), class_="group")
            if group
            else element("td", colspan=str(len(span)))
            for group, span in spans
        ]
        yield element("tr", *cells, class_="upper")
    titles = (
        element("th", column.title, scope="col", class_="number" if column.numeric else "")
        for column in columns
    )
    yield element("tr", *titles, class_="lower" if has_groups else "")
