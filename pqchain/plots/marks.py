"""Parts that plots share: ticks, grids, names of levels, labels, legends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import matplotlib as mpl
import matplotlib.font_manager
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import Transform, blended_transform_factory

from pqchain import figures
from pqchain.figures import SECONDS
from pqchain.plots import paper
from pqchain.plots.canvas import GRID, INK, figure_of

with_prefix = partial(EngFormatter, sep=figures.NARROW_SPACE)
"""Tick labels with SI prefixes: `with_prefix("B")` writes 10 kB."""

brief = partial(SECONDS.text, digits=1)
"""Tick labels of times with SI prefixes."""


def log_ticks(axes: Axes, which: Literal["x", "y"], label: Callable[[float], str]) -> None:
    """Put ticks at the decades of a log axis, and also at 2 and 5 if it has few decades."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    # Fewer than three decades have too few labels with one per decade.
    narrow = low > 0 and high / low < 500
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=12))
    axis.set_minor_locator(LogLocator(subs=range(2, 10), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    axis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis=which, which="minor", length=0)


def grid(axes: Axes, axis: Literal["x", "y", "both"] = "both") -> None:
    """Draw grid lines."""
    axes.grid(visible=True, which="major", axis=axis, color=GRID)


def name_levels(axes: Axes, names: Sequence[str]) -> None:
    """Label the positions 0, 1, 2, ... of a horizontal bar plot, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def annotate(
    axes: Axes,
    text: str,
    point: tuple[float, float],
    offset: tuple[float, float] = (3, 0),
    *,
    size: float = 7,
    leftwards: bool = False,
) -> None:
    """Write a text next to a point, at an offset in points; `leftwards` aligns it to the right."""
    side = "left" if offset[0] > 0 else "right" if leftwards or offset[0] < 0 else "center"
    look = props(textcoords="offset points", size=size, color=INK, va="center")
    axes.annotate(text, point, xytext=offset, ha=side, **look)


def legend_above(axes: Axes, columns: int, handles: Sequence[Any] | None = None) -> None:
    """Put a legend above the plot, each label once."""
    entries = _entries(axes, handles)
    size = float(mpl.font_manager.FontProperties(size=mpl.rcParams["legend.fontsize"]).get_size())
    entries = {paper.legend_label(label, size): handle for label, handle in entries.items()}
    columns = paper.columns_that_fit(list(entries), size, columns)
    place = props(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns)
    axes.legend(entries.values(), entries, **place | edge(axes))


def legend_within(
    axes: Axes, place: str, *, columns: int = 1, handles: Sequence[Any] | None = None
) -> None:
    """Put a legend inside the plot, or above it in a narrow figure."""
    if paper.narrow():
        legend_above(axes, max(columns, 3), handles)
        return
    entries = _entries(axes, handles)
    axes.legend(entries.values(), entries, **props(fontsize=8, loc=place, ncols=columns))


def _entries(axes: Axes, handles: Sequence[Any] | None) -> dict[str, Any]:
    drawn = axes.get_legend_handles_labels()[0] if handles is None else handles
    return {str(handle.get_label()): handle for handle in drawn}


def edge(axes: Axes, above: Transform | None = None) -> dict[str, Any]:
    """Return legend arguments that align it with the edge of a narrow figure; {} for others."""
    if not paper.narrow():
        return {}
    figure = figure_of(axes)
    across = blended_transform_factory(figure.transFigure, above or axes.transAxes)
    return {"bbox_to_anchor": (0.0, 1.0), "bbox_transform": across}


def props(**named: Any) -> dict[str, Any]:
    """Return keyword arguments as a dictionary."""
    return named
