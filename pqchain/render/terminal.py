"""Terminals: tables and texts in columns, encodings, widths and broken pipes."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, TextIO
from unicodedata import east_asian_width

from pqchain import figures
from pqchain.errors import visible

if TYPE_CHECKING:
    from pqchain.render.column import Column

_GAP = "  "

_ASCII = str.maketrans(
    {"µ": "u", figures.TIMES: "x", figures.NARROW_SPACE: " ", figures.MISSING: "-", "…": "~"}
    | {"─": "-"}
)
"""Replacements of characters that a terminal without Unicode cannot show."""


def layout(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    width: int | None = None,
    *,
    merge: bool = False,
) -> str:
    """Return rows of texts as a table of at most `width` terminal columns; None for any width.

    If it is too wide, cells wrap between words, those of the widest columns first. If that is not
    enough, the table continues below with its other columns. With `merge`, equal first cells below
    each other are written once.
    """
    titles = [visible(column.title) for column in columns]
    groups = [visible(column.group) for column in columns]
    texts_of = list(zip(titles, *rows, strict=True))
    widths = [max(map(display_width, texts)) for texts in texts_of]
    words = ([word for text in texts for word in text.split(" ")] for texts in texts_of)
    least = [max(map(display_width, each)) for each in words]
    for group, members in groupby(range(len(columns)), groups.__getitem__):
        *_, last = span = list(members)
        widths[last] += max(0, display_width(group) - _total(widths[at] for at in span))
    while width is not None and _total(widths) > width:
        if wide := [at for at in range(len(columns)) if widths[at] > least[at]]:
            widths[max(wide, key=widths.__getitem__)] -= 1
            continue
        parts = _parts(columns, least, width)
        if len(parts) == 1:
            break
        return "\n\n".join(
            layout(
                [columns[at] for at in part],
                [[row[at] for at in part] for row in rows],
                width,
                merge=merge,
            )
            for part in parts
        )
    lines: list[str] = []
    if any(groups):
        spans = [list(span) for _, span in groupby(range(len(columns)), groups.__getitem__)]
        sums = [_total(widths[at] for at in span) for span in spans]
        heads = [groups[span[0]] for span in spans]
        lines += _lines(heads, sums, [False] * len(spans), is_bottom=True)
    numeric = [column.numeric for column in columns]
    # A title stands on the line above its figures, also where others are longer.
    lines += _lines(titles, widths, numeric, is_bottom=True)
    lines.append(_GAP.join("─" * width for width in widths))
    first = ""
    for row in rows:
        cells = ["" if merge and row[0] == first else row[0], *row[1:]]
        first = row[0]
        lines += _lines(cells, widths, numeric)
    return "\n".join(lines)


def _parts(columns: Sequence[Column], least: Sequence[int], width: int) -> list[list[int]]:
    """Return the columns of each part of a table; the first texts, which name a row, repeat."""
    heads = [0]
    for at in range(1, len(columns)):
        with_next = _total([*least[: at + 1], max(least[at + 1 :], default=width)])
        if columns[at].numeric or with_next > width:
            break
        heads.append(at)
    parts = [heads]
    for at in range(len(heads), len(columns)):
        longer = [*parts[-1], at]
        if len(longer) > len(heads) + 1 and _total(least[i] for i in longer) > width:
            parts.append(heads)
        parts[-1] = [*parts[-1], at]
    return parts


def _lines(
    cells: Sequence[str],
    widths: Sequence[int],
    numeric: Sequence[bool],
    *,
    is_bottom: bool = False,
) -> Iterator[str]:
    """Yield the lines of cells next to each other."""
    texts = list(map(_wrapped, cells, widths))
    height = max(map(len, texts))
    for at in range(height):
        line = []
        for lines, width, right in zip(texts, widths, numeric, strict=True):
            index = at - (height - len(lines)) * is_bottom
            text = lines[index] if 0 <= index < len(lines) else ""
            padding = " " * (width - display_width(text))
            line.append(padding * right + text + padding * (not right))
        yield _GAP.join(line).rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    """Return a text in lines of at most `width` terminal columns, broken at spaces only."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and display_width(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def wrapped(text: str, width: int) -> str:
    """Return a text with lines of at most `width` columns, broken between words.

    A continuation starts where the last text after two or more spaces does, so that columns stay
    columns.
    """
    lines = []
    for line in text.splitlines():
        indent = re.match(r"\s*(?:[-*] )?(?:\S+(?: \S+)*  +)*", line)
        hanging = " " * (len(indent[0]) if indent and len(indent[0]) < width // 2 else 0)
        lines += textwrap.wrap(
            line,
            max(width, 20),
            subsequent_indent=hanging,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines)


def _total(widths: Iterable[int]) -> int:
    listed = list(widths)
    return sum(listed) + len(_GAP) * (len(listed) - 1)


def display_width(text: str) -> int:
    """Return the width in terminal columns; wide characters, such as Korean, take two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def encodable(text: str, stream: TextIO) -> str:
    """Return a text that a stream can encode, with replacements of other characters."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return text


def print_stdout(text: str) -> None:
    """Write data to stdout; replace characters that its encoding lacks."""
    sys.stdout.write(f"{encodable(text, sys.stdout)}\n")


def print_json(value: Any) -> None:
    """Write a value as JSON to stdout."""
    # Escapes preserve all characters where stdout is not Unicode.
    escaped = not (sys.stdout.encoding or "utf-8").casefold().startswith("utf")
    text = json.dumps(value, indent=2, ensure_ascii=escaped, allow_nan=False, default=_json_type)
    print_stdout(visible(text))  # the escapes are those of JSON


def _json_type(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def print_stderr(text: str) -> None:
    """Write a message to stderr; if stderr is broken, drop the message."""
    text = visible(text)
    try:
        if (width := terminal_width(sys.stderr)) is not None:
            text = wrapped(text, width)
        sys.stderr.write(f"{encodable(text, sys.stderr)}\n")
        sys.stderr.flush()
    except OSError:
        redirect_to_devnull(sys.stderr)


def redirect_to_devnull(stream: TextIO) -> None:
    """Redirect a broken stream to /dev/null."""
    # Python flushes the stream at exit, and would report the error again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def is_interactive() -> bool:
    """Return whether stderr is a terminal, so that progress bars are shown."""
    return sys.stderr.isatty()


def terminal_width(stream: TextIO) -> int | None:
    """Return the columns of the terminal that a stream writes to; None for a file or a pipe."""
    return shutil.get_terminal_size().columns if stream.isatty() else None
