"""Conversion of tables and texts to LaTeX: booktabs, and only characters of pdfLaTeX."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from pqchain.errors import visible

if TYPE_CHECKING:
    from pqchain.render.column import Column

# Characters that pdfLaTeX rejects or reads as commands.
_TEX = {
    "\\": r"\textbackslash{}", "%": r"\%", "_": r"\_", "#": r"\#", "&": r"\&", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "$": r"\$",
    "<": r"\ensuremath{<}", ">": r"\ensuremath{>}", "|": r"\ensuremath{|}",
    "\N{NARROW NO-BREAK SPACE}": r"\,", "\N{NO-BREAK SPACE}": "~", "\N{EN DASH}": "--",
    "\N{EM DASH}": "---", "\N{MINUS SIGN}": r"\ensuremath{-}",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
    "\N{MULTIPLICATION SIGN}": r"\ensuremath{\times}", "\N{MICRO SIGN}": r"\ensuremath{\mu}",
    "\N{GREEK SMALL LETTER MU}": r"\ensuremath{\mu}", "\N{PLUS-MINUS SIGN}": r"\ensuremath{\pm}",
    "\N{ALMOST EQUAL TO}": r"\ensuremath{\approx}", "\N{SUPERSCRIPT TWO}": r"\ensuremath{^2}",
    "\N{RIGHTWARDS ARROW}": r"\ensuremath{\rightarrow}", "\N{DEGREE SIGN}": r"\ensuremath{^\circ}",
    "\N{LESS-THAN OR EQUAL TO}": r"\ensuremath{\le}", "\N{MIDDLE DOT}": r"\ensuremath{\cdot}",
    "\N{GREATER-THAN OR EQUAL TO}": r"\ensuremath{\ge}", "\N{LEFT DOUBLE QUOTATION MARK}": "``",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "''", "\N{LEFT SINGLE QUOTATION MARK}": "`",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'", "\N{SECTION SIGN}": r"\S{}",
    "\N{CHECK MARK}": r"\ensuremath{\surd}",
}  # fmt: skip


def escaped(text: str) -> str:
    r"""Escape a text for LaTeX and convert it to ASCII.

    Letters lose their accents; letters without an ASCII form, such as Korean, become "?".

    >>> print(escaped("Rainbow_I: 5 % of 3 µs"))
    Rainbow\_I: 5 \% of 3 \ensuremath{\mu}s
    """
    return "".join(_TEX.get(letter) or _plain(letter) for letter in visible(text))


def _plain(letter: str) -> str:
    if ord(letter) < 127:
        return letter
    base = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return base or "?"


def tabular(columns: Sequence[Column], cells: Sequence[Sequence[str]], about: Sequence[str]) -> str:
    """Return a table as a LaTeX tabular with booktabs; `about` becomes comments above it."""
    comments = [f"% {line}" for text in about for line in visible(text).splitlines()]
    kinds = "".join("r" if column.numeric else "l" for column in columns)
    head = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", *_headings(columns), r"\midrule"]
    comments.append(r"% needs \usepackage{booktabs}")
    return "\n".join([*comments, *head, *map(_row, cells), r"\bottomrule", r"\end{tabular}"])


def _headings(columns: Sequence[Column]) -> Iterator[str]:
    if any(column.group for column in columns):
        above, rules, at = [], [], 1
        for group, members in groupby(columns, key=lambda column: column.group):
            count = len(list(members))
            title = rf"\multicolumn{{{count}}}{{c}}{{{escaped(group)}}}"
            above.append(title if group else " &" * (count - 1))
            rules += [rf"\cmidrule(lr){{{at}-{at + count - 1}}}"] if group else []
            at += count
        yield f"{' & '.join(above)} \\\\"
        yield " ".join(rules)
    yield _row([column.title for column in columns])


def _row(cells: Sequence[str]) -> str:
    return f"{' & '.join(map(escaped, cells))} \\\\"
