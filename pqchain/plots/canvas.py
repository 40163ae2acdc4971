"""Foundation of all plots: colours, axes in the style of pqchain, and rendering to bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import pandas as pd
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pqchain.errors import UsageError
from pqchain.installation import check_version
from pqchain.measurements import require_columns
from pqchain.plots import paper, pgf
from pqchain.render import palette
from pqchain.results.files import MADE_BY

check_version(mpl)
_STYLE = Path(__file__).with_name("pqchain.mplstyle")

Format = Literal["svg", "png", "pdf", "pgf"]

INK = palette.light("ink")
"""Text and outlines; pages map it to their text colour."""

PAPER = palette.light("paper")
"""The background; also the outline between overlapping markers."""

MUTED = palette.light("muted")
"""Axes and secondary text."""

GRID = palette.light("line")

LOOKS = tuple(
    (palette.light(name), marker)
    for name, marker in zip(
        ("indigo", "crimson", "teal", "violet", "slate", "ink", "olive", "muted"), "osDv^PX*",
        strict=True,
    )
)  # fmt: skip
"""Colours and markers of series that are not schemes, in order of appearance."""

_WIDTH_INCHES = 170 / 25.4


def require(frame: pd.DataFrame, columns: str) -> None:
    """Raise DataError for a frame without these columns, and UsageError for one without rows."""
    require_columns(frame, columns.split(), "this plot")
    if frame.empty:
        raise UsageError("the frame to plot must have at least one row; got none")


def look(index: int) -> tuple[str, str]:
    """Return the colour and marker of the series with this index."""
    return LOOKS[index % len(LOOKS)]


class Drawing(Figure):
    """A figure of pqchain; notebooks show it as SVG that follows light and dark pages."""

    caption = ""
    """What the figure shows, computed from its frame: the title, or in print text for a caption."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"image/svg+xml": screen_svg(self)}


@contextmanager
def panels(rows: int, columns: int, height_inches: float) -> Iterator[list[Axes]]:
    """Yield the axes of a new figure, row by row; pqchain's style applies within the block."""
    drawn_for = paper.current()
    settings = {} if drawn_for is None else drawn_for.settings
    with style.context([str(_STYLE), settings]):
        size = paper.size_of((_WIDTH_INCHES, height_inches))
        figure = Drawing(figsize=size, layout="constrained")
        grid: list[Axes] = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes in grid:
            # Matplotlib creates ticks when the figure is rendered, after this style has ended.
            axes.tick_params(which="both", color=MUTED, labelcolor=INK, labelsize=paper.points())
        yield grid
        for axes in grid:
            _name_log_scales(axes)
        paper.finish(figure)


@contextmanager
def canvas(ax: Axes | None, height_inches: float) -> Iterator[Axes]:
    """Yield `ax` unchanged if given, or new axes in pqchain's style."""
    with nullcontext([ax]) if ax is not None else panels(1, 1, height_inches) as (axes,):
        yield axes
        if ax is not None:
            _name_log_scales(ax)


def _name_log_scales(axes: Axes) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log" and (text := axis.get_label_text()):
            axis.label.set_text(_on_log_scale(text))


def _on_log_scale(label: str) -> str:
    """Return the label of an axis with the words "log scale" in its first line."""
    first, *notes = label.split("\n")
    return "\n".join([f"{first}, log scale", *notes])


def with_notes(label: str, *notes: str) -> str:
    """Return the label of an axis and below it the explanations of marks that are not empty."""
    width, _ = paper.size_of((_WIDTH_INCHES, 0.0))
    below = "; ".join(filter(None, notes))
    if not paper.narrow():
        below = paper.balanced(below, 0.75 * width, paper.points())
    return "\n".join(filter(None, [label, below]))


def figure_of(drawn: Figure | Axes) -> Figure:
    """Return a figure itself, or the figure of axes. Raises UsageError for axes without one."""
    # That of axes may be a subfigure, whose `figure` is the figure, as that of a figure itself is.
    owner = getattr(drawn.figure, "figure", None)
    if not isinstance(owner, Figure):
        raise UsageError("axes must belong to a figure. Create them with Figure().subplots().")
    return owner


def headline(axes: Axes, text: str) -> None:
    """Write what a plot shows, computed from its frame, as the title of the figure.

    In print it is left to the caption. Axes of the caller get the title of axes.
    """
    figure = figure_of(axes)
    if isinstance(figure, Drawing):
        figure.caption = text
    if paper.in_print():
        return
    if not isinstance(figure, Drawing):
        axes.set_title(text, loc="left")
        return
    size = paper.points() + 1.5
    # Bold text is wider than the plain text that is measured here.
    text = paper.shortened(text) if paper.narrow() else text
    title = paper.balanced(text, 0.86 * figure.get_size_inches()[0], size)
    paper.add_lines(figure, title.count("\n"))
    figure.suptitle(title, x=0.01, ha="left", size=size, weight="bold", color=INK)


def label_below(all_axes: Sequence[Axes], across: int, label: str) -> None:
    """Write the label of a logarithmic x axis once below panels, `across` of them in a row."""
    if across == 1:
        all_axes[-1].set_xlabel(label)
    else:
        figure_of(all_axes[0]).supxlabel(_on_log_scale(label), size=paper.points())


def panel_title(axes: Axes, text: str) -> None:
    """Write what a panel of a figure shows above it."""
    axes.set_title(text, loc="left", size=paper.points(), weight="normal", color=INK)


def figure_bytes(figure: Figure | Axes, file_format: Format) -> bytes:
    """Render a figure reproducibly: the output has no date and no random identifiers.

    Fonts of a PDF are embedded as TrueType (Type 42). PGF has only characters of pdfLaTeX and needs
    a LaTeX to measure its text; raises Unsupported without one.
    """
    if file_format == "pgf":
        return f"% {MADE_BY}\n".encode() + pgf.rendered(figure_of(figure))
    return _saved(figure_of(figure), file_format, "path")


def screen_svg(figure: Figure | Axes, *, inline: bool = False) -> str:
    """Return SVG with texts in the font of the page, that follows light and dark pages.

    `inline` leaves out the colours, for a page that has the style sheet of `palette`.
    """
    svg = _saved(figure_of(figure), "svg", "none")
    svg = re.sub(rb"'DejaVu Sans'[^;\"]*sans-serif", _FONTS, svg)
    return palette.themed(svg) if inline else palette.standalone(svg)


_FONTS = b"system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"


def _saved(figure: Figure, file_format: Format, svg_text: Literal["path", "none"]) -> bytes:
    buffer = io.BytesIO()
    # Metadata that would differ between two renderings of one figure are left out.
    dated = {"svg": "Date", "png": "", "pdf": "CreationDate Producer"}[file_format].split()
    mark = "Software" if file_format == "png" else "Creator"
    undated: dict[str, Any] = {**dict.fromkeys(dated), mark: MADE_BY}
    settings = {"svg.hashsalt": "pqchain", "svg.fonttype": svg_text}
    with mpl.rc_context(settings | paper.EMBEDDED):
        figure.savefig(buffer, format=file_format, metadata=undated, dpi=220)
    return buffer.getvalue()
