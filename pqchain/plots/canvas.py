"""Foundation of all plots: colours, axes in the style of pqchain, and rendering to bytes."""

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
"""Text and outlines; the report maps it to the text colour of the page."""

PAPER = "#ffffff"
"""The background; also the outline between overlapping markers."""

MUTED = "#8a8a8a"
"""Axes and secondary text."""

GRID = "#dcdcdc"

LOOKS = (
    ("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#E69F00", "D"), ("#CC79A7", "v"),
    ("#56B4E9", "P"), (INK, "X"), (MUTED, "*"),
)  # fmt: skip
"""Colours and markers of series, in order of appearance."""

_WIDTH_INCHES = 170 / 25.4


def require(frame: pd.DataFrame, columns: str) -> None:
    """Raise DataError for a frame without these columns, and UsageError for one without rows."""
    require_columns(frame, columns.split(), "this plot")
    if frame.empty:
        raise UsageError("the frame to draw must have rows; got no rows")


def look(index: int) -> tuple[str, str]:
    """Return colour and marker of a series by its index."""
    return LOOKS[index % len(LOOKS)]


@contextmanager
def panels(rows: int, columns: int, height_inches: float) -> Iterator[list[Axes]]:
    """Yield new axes of one figure row by row; our style applies within the block."""
    drawn_for = paper.current()
    settings = {} if drawn_for is None else drawn_for.settings
    with style.context(["pqchain.plots.pqchain", settings]):
        size = paper.size_of((_WIDTH_INCHES, height_inches))
        figure = Figure(figsize=size, layout="constrained")
        grid: list[Axes] = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes in grid:
            # Matplotlib creates ticks when the figure is rendered, after this style has ended.
            small = settings.get("xtick.labelsize", 8)
            axes.tick_params(which="both", color=MUTED, labelcolor=INK, labelsize=small)
        yield grid
        paper.finish(figure)


@contextmanager
def canvas(ax: Axes | None, height_inches: float) -> Iterator[Axes]:
    """Yield the caller's axes unchanged, or new ones; our style applies within the block."""
    with nullcontext([ax]) if ax is not None else panels(1, 1, height_inches) as (axes,):
        yield axes


def figure_of(drawn: Figure | Axes) -> Figure:
    """Return the figure, or the figure of the axes. Raises UsageError for axes without one."""
    owner = drawn if isinstance(drawn, Figure) else drawn.get_figure(root=True)
    if not isinstance(owner, Figure):
        raise UsageError("axes must belong to a figure. Create them with Figure().subplots().")
    return owner


def figure_bytes(figure: Figure | Axes, file_format: Format) -> bytes:
    """Render to bytes that are the same for the same figure: no date, no random identifiers.

    Fonts of a PDF are embedded as TrueType (Type 42). PGF has only characters of pdfLaTeX and needs
    a LaTeX to measure its text; raises Unsupported without one.
    """
    if file_format == "pgf":
        return pgf.rendered(figure_of(figure))
    buffer = io.BytesIO()
    # Metadata that would differ between two renderings of one figure.
    dated = {"svg": "Date Creator", "png": "Software", "pdf": "CreationDate Creator Producer"}
    undated: dict[str, Any] = dict.fromkeys(dated[file_format].split())
    settings = {"svg.hashsalt": "pqchain", "svg.fonttype": "path"}
    with mpl.rc_context(settings | paper.EMBEDDED):
        figure_of(figure).savefig(buffer, format=file_format, metadata=undated, dpi=220)
    return buffer.getvalue()
