"""What every plot stands on: colours, axes in our style, and rendering to bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Literal

import matplotlib as mpl
import pandas as pd
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pqchain.costs import require_columns
from pqchain.errors import UsageError
from pqchain.plots import paper, pgf

Format = Literal["svg", "png", "pdf", "pgf"]

INK = "#222222"
"""Text and outlines; the report maps it to the reader's colour of text."""

PAPER = "#ffffff"
"""What we draw on, where a marker must stand out from another."""

MUTED = "#8a8a8a"
"""Axes and asides."""

GRID = "#dcdcdc"
"""Lines that only guide the eye."""

LOOKS = (
    ("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#E69F00", "D"), ("#CC79A7", "v"),
    ("#56B4E9", "P"), (INK, "X"), (MUTED, "*"),
)  # fmt: skip
"""Colours and markers of what a plot tells apart, in order of appearance."""

_WIDTH_INCHES = 170 / 25.4


def require(frame: pd.DataFrame, columns: str) -> None:
    """Refuse a frame that lacks columns or has no rows; raises DataError, UsageError."""
    require_columns(frame, columns.split(), "this plot")
    if frame.empty:
        raise UsageError("there are no rows to draw; pass a frame that has some")


def look(index: int) -> tuple[str, str]:
    """Return colour and marker of what comes at that place."""
    return LOOKS[index % len(LOOKS)]


@contextmanager
def panels(rows: int, columns: int, height_inches: float) -> Iterator[list[Axes]]:
    """Give new axes of one figure in our style, row by row, for as long as we draw."""
    drawn_for = paper.current()
    settings = {} if drawn_for is None else drawn_for.settings
    with style.context(["pqchain.plots.pqchain", settings]):
        size = paper.size_of((_WIDTH_INCHES, height_inches))
        figure = Figure(figsize=size, layout="constrained")
        grid: list[Axes] = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes in grid:
            # Ticks are made when the figure is drawn, which is after this style has ended.
            small = settings.get("xtick.labelsize", 8)
            axes.tick_params(which="both", color=MUTED, labelcolor=INK, labelsize=small)
        yield grid
        paper.finish(figure)


@contextmanager
def canvas(ax: Axes | None, height_inches: float) -> Iterator[Axes]:
    """Give the caller's axes as they are, or new ones in our style for as long as we draw."""
    with nullcontext([ax]) if ax is not None else panels(1, 1, height_inches) as (axes,):
        yield axes


def figure_of(drawn: Figure | Axes) -> Figure:
    """Return the figure, or the one that the axes are of; raises UsageError if there is none."""
    owner = drawn if isinstance(drawn, Figure) else drawn.get_figure(root=True)
    if not isinstance(owner, Figure):
        raise UsageError("these axes belong to no figure; create them with Figure().subplots()")
    return owner


def figure_bytes(figure: Figure | Axes, file_format: Format) -> bytes:
    """Render to bytes that depend on the picture only: no date, no random identifiers.

    Fonts of a PDF are embedded as TrueType (Type 42). PGF needs a LaTeX, which measures its text,
    and holds nothing that pdfLaTeX refuses. Raises Unsupported if there is none.
    """
    if file_format == "pgf":
        return pgf.rendered(figure_of(figure))
    buffer = io.BytesIO()
    dated = {"svg": "Date Creator", "png": "Software", "pdf": "CreationDate Creator Producer"}
    undated: dict[str, Any] = dict.fromkeys(dated[file_format].split())
    settings = {"svg.hashsalt": "pqchain", "svg.fonttype": "path"}
    with mpl.rc_context(settings | paper.EMBEDDED):
        figure_of(figure).savefig(buffer, format=file_format, metadata=undated, dpi=220)
    return buffer.getvalue()
