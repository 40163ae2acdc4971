"""Foundation of all plots: width, colours, axes, titles, legends, and rendering to bytes."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import style as sheets
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from pqchain.errors import Unsupported, UsageError
from pqchain.installation import check_version
from pqchain.render import palette
from pqchain.results.files import MADE_BY
from pqchain.results.measurements import require_columns

check_version(mpl)
_SHEET = Path(__file__).with_name("pqchain.mplstyle")

Format = Literal["svg", "png", "pdf", "pgf"]

WIDTHS = {"single": 3.5, "double": 7.16}
"""Inches of one column of a two-column page of IEEE, and of both."""

_PER_INCH = {"in": 1.0, "cm": 2.54, "mm": 25.4, "pt": 72.27}

LEAST_INCHES, MOST_INCHES = 2.5, 20.0

_SCREEN_INCHES = 170 / 25.4
_NARROW_INCHES = 5.0
_HIGHEST_INCHES = 8.0  # of a column of print, which leaves room for a caption

_EM = 0.54
"""Mean width of a character of DejaVu Sans, as a share of its size; measured on these plots."""

INK = palette.light("ink")
"""Text and outlines; pages map it to their text colour."""

PAPER = palette.light("paper")
"""The background; also the outline between overlapping markers."""

MUTED = palette.light("muted")
"""Axes and secondary text."""

GRID = palette.light("line")

_SERIES = ("indigo", "crimson", "teal", "violet", "slate", "ink", "olive", "muted")
_MARKERS = "osDv^PX*"

_PRINT_INCHES: ContextVar[float | None] = ContextVar("print_inches", default=None)


@contextmanager
def style(name: Literal["paper"] = "paper", *, width: float | str = "single") -> Iterator[None]:
    """Draw plots in this block for a paper: `with pq.plots.style("paper"): ...`.

    `width` is "single" (3.5 inches), "double" (7.16), inches, or a length such as "89mm". Figures
    have that width, text of 7 points in narrow ones and 8 in others, no title, and colours of
    different lightness. Axes of the caller keep their size. Raises UsageError.

    >>> import pqchain as pq
    >>> with pq.plots.style("paper", width="single"):
    ...     axes = pq.plots.plot_sizes(["Falcon-512", "ML-DSA-44"])
    >>> axes.figure.get_size_inches()[0].item()
    3.5
    """
    if name != "paper":
        raise UsageError(f"name must be 'paper'; got {name!r}")
    token = _PRINT_INCHES.set(inches(width))
    try:
        yield
    finally:
        _PRINT_INCHES.reset(token)


def inches(width: float | str) -> float:
    """Convert a width to inches. Raises UsageError."""
    text = str(width).strip().casefold()
    match = re.fullmatch(r"(\d+\.?\d*)\s*(in|cm|mm|pt)?", text)
    value = WIDTHS.get(text, float(match[1]) / _PER_INCH[match[2] or "in"] if match else 0.0)
    if not LEAST_INCHES <= value <= MOST_INCHES:
        raise UsageError(
            f"width must be single, double, or {LEAST_INCHES:g}in to {MOST_INCHES:g}in, also in "
            f"cm, mm or pt; got {width!r}"
        )
    return value


def in_print() -> bool:
    """Return whether the target is a paper, whose captions replace titles."""
    return _PRINT_INCHES.get() is not None


def narrow() -> bool:
    """Return whether the target is a column of a paper."""
    return figure_inches() < _NARROW_INCHES


def figure_inches() -> float:
    """Return the width of a new figure in inches."""
    return _PRINT_INCHES.get() or _SCREEN_INCHES


def points() -> float:
    """Return the size of text in points: 9 on screens, 8 or 7 in print."""
    return 7.0 if narrow() else 8.0 if in_print() else 9.0


def colour(name: str) -> str:
    """Return a colour of the palette for the target."""
    return palette.COLOURS[name][2 if in_print() else 0]


def look(index: int) -> tuple[str, str]:
    """Return the colour and marker of the series with this index, which is not a scheme."""
    at = index % len(_SERIES)
    return colour(_SERIES[at]), _MARKERS[at]


def fill(text: str, width_inches: float, size: float = 0.0) -> str:
    """Return a text in lines of about this width; lines do not break at hyphens."""
    width = max(8, int(72 * width_inches / (_EM * (size or points()))))
    lines = (textwrap.fill(line, width, break_on_hyphens=False) for line in text.split("\n"))
    return "\n".join(lines)


def require(frame: pd.DataFrame, columns: str) -> None:
    """Raise DataError for a frame without these columns, and UsageError for one without rows."""
    require_columns(frame, columns.split(), "this plot")
    if frame.empty:
        raise UsageError("the frame to plot must have at least one row; got none")


class Drawing(Figure):
    """A figure of pqchain; notebooks show it as SVG that follows light and dark pages."""

    caption = ""
    """What the figure shows, computed from its frame: the title, or in print text for a caption."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"image/svg+xml": screen_svg(self)}


@contextmanager
def panels(
    rows: int, columns: int, height_inches: float, ax: Axes | None = None
) -> Iterator[list[Axes]]:
    """Yield the axes of a new figure, row by row, in pqchain's style; only `ax` if it is given."""
    if ax is not None:
        yield [ax]
        _name_log_scales(ax)
        return
    with sheets.context([str(_SHEET), {"font.size": points()}]):
        height = min(0.85 * height_inches, _HIGHEST_INCHES) if narrow() else height_inches
        figure = Drawing(figsize=(figure_inches(), height), layout="constrained")
        grid: list[Axes] = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axes in grid:
            # Matplotlib creates ticks when the figure is rendered, after this style has ended.
            axes.tick_params(which="both", color=MUTED, labelcolor=INK, labelsize=points())
        yield grid
        for axes in grid:
            _name_log_scales(axes)
        figure.set_figheight(height + _added_lines(figure) * 1.25 * points() / 72)


@contextmanager
def canvas(ax: Axes | None, height_inches: float) -> Iterator[Axes]:
    """Yield `ax` unchanged if given, or new axes in pqchain's style."""
    with panels(1, 1, height_inches, ax) as (axes,):
        yield axes


def _name_log_scales(axes: Axes) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log" and (text := axis.get_label_text()):
            axis.label.set_text(f"{text}, log scale")
    place = axes.get_subplotspec()
    rows = place.get_gridspec().nrows if place else 1
    room = 0.62 * figure_of(axes).get_figheight() / rows
    axes.yaxis.label.set_text(fill(axes.get_ylabel(), room))


def _added_lines(figure: Figure) -> int:
    """Return the lines of title, notes and legend beyond one each, which take no room of plots."""
    # Matplotlib 3.5 of the PYNQ image has no method that returns these texts.
    texts = (figure._suptitle, figure._supxlabel)  # type: ignore[attr-defined]
    lines: int = sum(text.get_text().count("\n") for text in texts if text is not None)
    for legend in figure.legends:
        entries = [text.get_text().count("\n") + 1 for text in legend.get_texts()]
        lines += sum(entries) // legend._ncols  # type: ignore[attr-defined]
        lines += legend.get_title().get_text().count("\n")
    return lines


def x_label(axes: Axes, label: str, *notes: str, is_shared: bool = False) -> None:
    """Label the x axis, and explain the marks below the figure in notes, those that are not "".

    A shared label is that of several panels side by side. In narrow figures it is above the notes,
    because a label wider than its axes would narrow them.
    """
    figure = figure_of(axes)
    note = "; ".join(filter(None, notes))
    if not isinstance(figure, Drawing):
        axes.set_xlabel("\n".join(filter(None, (label, note))))
        return
    width = 0.97 * figure_inches()
    if is_shared or narrow():
        note = f"{label}{', log scale' if axes.get_xscale() == 'log' else ''}\n{note}".strip()
    else:
        axes.set_xlabel(label)
    if note:
        figure.supxlabel(fill(note, width), x=0.01, ha="left", size=points())


def headline(axes: Axes, text: str) -> None:
    """Write what a plot shows, computed from its frame, as the title, which is left out in print.

    Called after `legend_above`, whose legend is below the title.
    """
    figure = figure_of(axes)
    if not isinstance(figure, Drawing):
        if not in_print():
            axes.set_title(text, loc="left")
        return
    figure.caption = text
    if in_print():
        return
    size = points() + 1.5
    title = fill(text, 0.9 * figure_inches(), size)  # bold text is wider
    if figure.legends:
        # Constrained layout would put both a title and a legend at the top.
        figure.legends[0].set_title(title, FontProperties(size=size, weight="bold"))
    else:
        figure.suptitle(title, x=0.01, ha="left", size=size, weight="bold", color=INK)


def legend_above(axes: Axes, most: int, handles: Sequence[Any] | None = None) -> None:
    """Put a legend above the plot, each label once, in at most `most` columns that fit."""
    drawn = axes.get_legend_handles_labels()[0] if handles is None else handles
    entries = {str(handle.get_label()): handle for handle in drawn}
    figure, size = figure_of(axes), points()
    em, columns = size / 72, 1
    for count in range(2, min(most, len(entries)) + 1):
        longest = sum(max(part) for part in np.array_split([*map(len, entries)], count))
        if (_EM * longest + 4.6 * count) * em < figure.get_figwidth():
            columns = count
    handles, labels = list(entries.values()), list(entries)
    room: dict[str, Any] = {"handletextpad": 0.4, "columnspacing": 1.6, "borderaxespad": 0.3}
    room |= {"fontsize": size, "ncol": columns}
    # Matplotlib 3.5 of the PYNQ image has no legends outside of axes.
    if isinstance(figure, Drawing) and mpl.__version_info__ >= (3, 7):
        labels = [fill(label, figure_inches() - 5 * em) for label in labels]
        figure.legend(handles, labels, loc="outside upper left", alignment="left", **room)
    else:
        axes.legend(handles, labels, loc="lower left", bbox_to_anchor=(0, 1), **room)


def panel_title(axes: Axes, text: str) -> None:
    """Write what a panel of a figure shows above it."""
    axes.set_title(text, loc="left", size=points(), weight="normal", color=INK)


def figure_of(drawn: Figure | Axes) -> Figure:
    """Return a figure itself, or the figure of axes. Raises UsageError for axes without one."""
    # That of axes may be a subfigure, whose `figure` is the figure, as that of a figure itself is.
    owner = getattr(drawn.figure, "figure", None)
    if not isinstance(owner, Figure):
        raise UsageError("axes must belong to a figure. Create them with Figure().subplots().")
    return owner


def figure_bytes(figure: Figure | Axes, file_format: Format) -> bytes:
    """Render a figure reproducibly: the output has no date and no random identifiers.

    Fonts of a PDF are embedded as TrueType (Type 42). PGF needs XeLaTeX to measure its text;
    raises Unsupported without it.
    """
    if file_format == "pgf":
        return _pgf(figure_of(figure))
    return _saved(figure_of(figure), file_format, "path")


def screen_svg(figure: Figure | Axes) -> str:
    """Return SVG with texts in the font of the page, that follows light and dark pages."""
    svg = _saved(figure_of(figure), "svg", "none")
    return palette.standalone(re.sub(rb"'DejaVu Sans'[^;\"]*sans-serif", _FONTS, svg))


_FONTS = b"system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"


def _saved(figure: Figure, file_format: Format, svg_text: Literal["path", "none"]) -> bytes:
    buffer = io.BytesIO()
    # Metadata that would differ between two renderings of one figure are left out.
    dated = {"svg": "Date", "png": "", "pdf": "CreationDate Producer"}[file_format].split()
    mark = "Software" if file_format == "png" else "Creator"
    undated: dict[str, Any] = {**dict.fromkeys(dated), mark: MADE_BY}
    settings: dict[Any, Any] = {"svg.hashsalt": "pqchain", "svg.fonttype": svg_text}
    # TrueType, which publishers require; the default of matplotlib is Type 3.
    with mpl.rc_context(settings | {"pdf.fonttype": 42}):
        figure.savefig(buffer, format=file_format, metadata=undated, dpi=220)
    return buffer.getvalue()


def _pgf(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    try:
        with mpl.rc_context({"pgf.rcfonts": False}):
            figure.savefig(buffer, format="pgf")
    except (RuntimeError, OSError) as error:
        raise Unsupported(
            "PGF needs XeLaTeX to measure its text: install texlive-xetex and texlive-pictures, or "
            f"name a .pdf file ({error})"
        ) from error
    # LaTeX's own thin space, because few fonts have the narrow no-break space.
    return buffer.getvalue().replace("\N{NARROW NO-BREAK SPACE}".encode(), rb"\,")
