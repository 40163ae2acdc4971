"""What plots share beside the canvas: ticks, grids, names of levels, labels, legends."""

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
"""Labels of ticks in a unit, by its prefixes: `with_prefix("B")` writes 10 kB."""

brief = partial(SECONDS.text, digits=1)
"""Label of a tick in the unit of time that fits."""


def log_ticks(axes: Axes, which: Literal["x", "y"], label: Callable[[float], str]) -> None:
    """Put readable ticks on a log axis: every decade, and 2 and 5 where there are few decades."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axis.get_view_interval()
    narrow = low > 0 and high / low < 500
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=12))
    axis.set_minor_locator(LogLocator(subs=range(2, 10), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    axis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis=which, which="minor", length=0)


def grid(axes: Axes, axis: Literal["x", "y", "both"] = "both") -> None:
    """Draw the lines that only guide the eye."""
    axes.grid(visible=True, which="major", axis=axis, color=GRID)


def name_levels(axes: Axes, names: Sequence[str]) -> None:
    """Name the levels 0, 1, 2, ... of a plot of bars, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def beside(
    axes: Axes,
    text: str,
    point: tuple[float, float],
    offset: tuple[float, float] = (3, 0),
    *,
    size: float = 7,
    leftwards: bool = False,
) -> None:
    """Write a text beside a point; the offset, in points, says on which side, or `leftwards`."""
    side = "left" if offset[0] > 0 else "right" if leftwards or offset[0] < 0 else "center"
    look = props(textcoords="offset points", size=size, color=INK, va="center")
    axes.annotate(text, point, xytext=offset, ha=side, **look)


def legend_above(axes: Axes, columns: int, handles: Sequence[Any] | None = None) -> None:
    """Explain what was drawn above the plot, each label once."""
    once = _explained(axes, handles)
    size = float(mpl.font_manager.FontProperties(size=mpl.rcParams["legend.fontsize"]).get_size())
    once = {paper.legend_label(label, size): handle for label, handle in once.items()}
    columns = paper.columns_that_fit(list(once), size, columns)
    place = props(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns)
    axes.legend(once.values(), once, **place | edge(axes))


def legend_within(
    axes: Axes, place: str, *, columns: int = 1, handles: Sequence[Any] | None = None
) -> None:
    """Explain what was drawn inside the plot; above it where a column of a paper has no room."""
    if paper.narrow():
        legend_above(axes, max(columns, 3), handles)
        return
    once = _explained(axes, handles)
    axes.legend(once.values(), once, **props(fontsize=8, loc=place, ncols=columns))


def _explained(axes: Axes, handles: Sequence[Any] | None) -> dict[str, Any]:
    drawn = axes.get_legend_handles_labels()[0] if handles is None else handles
    return {str(each.get_label()): each for each in drawn}


def edge(axes: Axes, above: Transform | None = None) -> dict[str, Any]:
    """Return where a legend above a narrow plot begins: at the figure's edge."""
    if not paper.narrow():
        return {}
    figure = figure_of(axes)
    across = blended_transform_factory(figure.transFigure, above or axes.transAxes)
    return {"bbox_to_anchor": (0.0, 1.0), "bbox_transform": across}


def props(**named: Any) -> dict[str, Any]:
    """Gather what several artists, or a long call, are drawn with."""
    return named
