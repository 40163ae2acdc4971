"""Tables and texts for a terminal: wrapped between words, and coloured for people."""

# The only module that imports rich.
from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pqchain.escapes import visible
from pqchain.figures import NARROW_SPACE
from pqchain.render.html import VERDICTS

if TYPE_CHECKING:
    from rich.align import VerticalAlignMethod
    from rich.console import JustifyMethod

    from pqchain.render.table import Column

GAP = 2
"""Spaces between two columns."""

_TIGHT = "\ue000"
"""Stands for a space at which no line breaks; rich would break at a narrow space."""

_STYLES = {"good": "green", "bad": "red", "mixed": "yellow", "open": ""}

_WARNING = re.compile(r"^(! |Warning)")


def layout(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    row_headers: int = 1,
    colour: bool = False,
) -> str:
    """Return rows of texts as a table of at most `width` terminal columns.

    Cells wrap between words. A table that is still too wide continues below with its remaining
    columns; the first `row_headers` columns are repeated there, and the texts after them that
    identify a row. Only the words of a row header and one more column exceed the width, where it is
    too small for both.
    """
    titles = list(map(visible, _titles(columns, width)))
    texts = [[_tight(text) for text in row] for row in rows]
    cells = list(zip(titles, *texts, strict=True))
    groups = [visible(column.group) for column in columns]
    least = [max(map(_longest_word, [*cells[at], groups[at]])) for at in range(len(columns))]
    most = [max(map(_longest_line, [*cells[at], groups[at]])) for at in range(len(columns))]
    heads = _heads(columns, least, most, row_headers, width)
    return "\n\n".join(
        _rendered(
            columns, [_grouped(columns, titles, part), *texts],
            dict(zip(part, _widths(part, least, most, width), strict=True)), colour,
        )
        for part in _parts(least, heads, width)
    )  # fmt: skip


def wrapped(text: str, width: int, *, colour: bool = False) -> str:
    """Return a text with lines of at most `width` columns, broken between words.

    A continuation starts where the last text after two or more spaces does, so that columns stay
    columns. With `colour`, warnings are yellow.
    """
    lines = []
    for line in text.splitlines():
        indent = re.match(r"\s*(?:[-*] )?(?:\S+(?: \S+)*  +)*", line)
        hanging = " " * (len(indent[0]) if indent and len(indent[0]) < width // 2 else 0)
        parts = textwrap.wrap(
            line, max(width, 20), subsequent_indent=hanging, break_long_words=False,
            break_on_hyphens=False,
        ) or [""]  # fmt: skip
        if colour and _WARNING.match(line):
            parts = [f"\x1b[33m{part}\x1b[0m" for part in parts]
        lines += parts
    return "\n".join(lines)


def _titles(columns: Sequence[Column], width: int) -> list[str]:
    """Return the title of each column, in several lines if the columns are many."""
    # A name breaks after hyphens only where columns as wide as it would not fit.
    return [
        at_hyphens(column.title, max(12, width // len(columns) - GAP))
        if len(columns) * (len(column.title) + GAP) > width
        else column.title
        for column in columns
    ]


def _grouped(columns: Sequence[Column], titles: Sequence[str], part: Sequence[int]) -> list[str]:
    """Return the headings of a part of the table: titles, under their group where one begins."""
    headings, before = list(titles), ""
    for at in part:
        group = visible(columns[at].group)
        if group and group != before:
            headings[at] = f"{group}\n{titles[at]}"
        before = group
    return headings


def _heads(
    columns: Sequence[Column],
    least: Sequence[int],
    most: Sequence[int],
    row_headers: int,
    width: int,
) -> list[int]:
    """Return the columns that each part repeats: row headers, and short texts that follow them.

    They identify a row. They take up to two thirds of the width, and leave room for a word of each
    other column.
    """
    heads = list(range(min(row_headers, len(columns))))
    for at in range(len(heads), len(columns)):
        taken = sum(most[i] + GAP for i in [*heads, at])
        room = max(least[at + 1 :], default=width)
        if columns[at].numeric or taken > width * 2 // 3 or taken + room > width:
            break
        heads.append(at)
    return heads


def at_hyphens(name: str, width: int) -> str:
    """Return a name in lines of at most `width` letters, broken after hyphens only."""
    lines = [""]
    for part in re.findall(r"[^-]+-*|-+", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _longest_word(text: str) -> int:
    return max((_cells(word) for word in text.split()), default=0)


def _longest_line(text: str) -> int:
    return max(map(_cells, text.split("\n")), default=0)


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _parts(least: Sequence[int], heads: list[int], width: int) -> list[list[int]]:
    """Return the columns of each part of a table, so that the longest words fit."""
    parts = [heads]
    taken = first = sum(least[at] + GAP for at in heads)
    for at in range(len(heads), len(least)):
        if len(parts[-1]) > len(heads) and taken + least[at] > width:
            parts.append(heads)
            taken = first
        parts[-1] = [*parts[-1], at]
        taken += least[at] + GAP
    return parts


def _widths(
    part: Sequence[int], least: Sequence[int], most: Sequence[int], width: int
) -> list[int]:
    """Return the widths of columns: what is left after the longest words goes to all in turn."""
    widths = {at: least[at] for at in part}
    left = width - sum(widths.values()) - GAP * (len(part) - 1)
    while left > 0 and (short := [at for at in part if widths[at] < most[at]]):
        for at in short[:left]:
            widths[at] += 1
        left -= len(short)
    return list(widths.values())


def _rendered(
    columns: Sequence[Column],
    cells: Sequence[Sequence[str]],
    widths: dict[int, int],
    colour: bool,
) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def grid(vertical: VerticalAlignMethod) -> Table:
        table = Table(
            box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=False, show_edge=False
        )
        for at, width in widths.items():
            justify: JustifyMethod = "right" if columns[at].numeric else "left"
            table.add_column(justify=justify, width=width, overflow="fold", vertical=vertical)
        return table

    # A title stands on the line above its figures, also where its neighbours have a group.
    head, body = grid("bottom"), grid("top")
    head.add_row(*(Text(cells[0][at], style="bold") for at in widths))
    body.add_row(*("─" * width for width in widths.values()))
    for row in cells[1:]:
        body.add_row(*(Text(row[at], style=_style(row[at])) for at in widths))
    stream = io.StringIO()
    console = Console(
        file=stream, width=sum(widths.values()) + GAP * len(widths), force_terminal=colour,
        legacy_windows=False, color_system="standard" if colour else None,
        force_jupyter=False,  # in a notebook, rich would display the table and leave the file empty
    )  # fmt: skip
    console.print(head, body, sep="")
    return "\n".join(_stripped(stream.getvalue().replace(_TIGHT, NARROW_SPACE)))


def _stripped(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if bare := line.rstrip():
            yield bare


def _tight(text: str) -> str:
    return text.replace(NARROW_SPACE, _TIGHT).replace("\N{NO-BREAK SPACE}", _TIGHT)


def _style(text: str) -> str:
    """Return the style of a cell: colours of verdicts and statuses."""
    tone, _ = VERDICTS.get(text, ("open", ""))
    return _STYLES.get(tone, "")
