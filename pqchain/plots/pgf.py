"""PGF for LaTeX: figures whose text has the font of the paper."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter

from pqchain.errors import PqchainError, Unsupported
from pqchain.render.latex import escaped

SYSTEMS = ("pdflatex", "lualatex", "xelatex")
"""LaTeX programs that can measure text, in order of preference."""


def tex(text: str) -> str:
    r"""Return a text for LaTeX; parts between dollars are mathematics already.

    >>> print(tex("$2^{10}$ nodes, 5 %"))
    $2^{10}$ nodes, 5 \%
    """
    parts = text.split("$")
    if len(parts) % 2 == 0:  # a single dollar is a character
        parts = [text]
    plain = list(map(escaped, parts[::2]))
    joined = [plain[0]]
    for formula, after in zip(parts[1::2], plain[1:], strict=True):
        joined += [f"${formula}$", after]
    return "".join(joined)


def rendered(figure: Figure) -> bytes:
    """Return the figure as PGF. Raises Unsupported without a LaTeX."""
    system = next(filter(shutil.which, SYSTEMS), None)
    if system is None:
        raise Unsupported(
            "PGF needs a LaTeX to measure its text, and none of "
            f"{', '.join(SYSTEMS)} is on PATH: install texlive-latex-recommended and "
            "texlive-pictures, or name a .pdf file"
        )
    settings: dict[Any, Any] = {"pgf.texsystem": system, "pgf.rcfonts": False, "pgf.preamble": ""}
    buffer = io.BytesIO()
    with mpl.rc_context(settings), _as_tex(figure):
        try:
            figure.savefig(buffer, format="pgf")
        except (RuntimeError, OSError) as error:
            raise PqchainError(f"{system} rejected a text of the plot: {error}") from error
    return buffer.getvalue()


@contextmanager
def _as_tex(figure: Figure) -> Iterator[None]:
    figure.draw_without_rendering()
    axes = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    ticks = {id(label) for axis in axes for label in axis.get_ticklabels(which="both")}
    formatters = [(axis, axis.get_major_formatter()) for axis in axes]
    texts = [
        (text, text.get_text())
        for text in figure.findobj(Text)
        if isinstance(text, Text) and id(text) not in ticks
    ]
    try:
        for axis, formatter in formatters:
            written = (label.get_text() for label in axis.get_majorticklabels())
            labels = dict(zip(axis.get_majorticklocs(), written, strict=False))
            axis.set_major_formatter(FuncFormatter(_formatter(labels, formatter)))
        for text, old in texts:
            text.set_text(tex(old))
        yield
    finally:
        for text, old in texts:
            text.set_text(old)
        for axis, formatter in formatters:
            axis.set_major_formatter(formatter)


def _formatter(labels: dict[float, str], formatter: Any) -> Any:
    return lambda value, place: tex(labels.get(value, "") or str(formatter(value, place)))
