"""A plot of any column of a frame: a value with its interval for each row."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pqchain import figures
from pqchain.algorithms import ALGORITHMS
from pqchain.figures import Unit
from pqchain.plots import paper
from pqchain.plots.canvas import INK, PAPER, canvas, headline, look, require
from pqchain.plots.marks import (
    HATCHES,
    annotate,
    brief,
    enclose,
    grid,
    legend_above,
    log_ticks,
    mark_of,
    name_levels,
    props,
)
from pqchain.plots.words import words


def plot_values(
    frame: pd.DataFrame,
    value: str,
    *,
    row: str = "algorithm",
    hue: str | None = None,
    low: str | None = None,
    high: str | None = None,
    origin: float | None = None,
    is_log: bool = False,
    label: str = "",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw a column of a frame as dots: a row per value of the column `row`, with intervals.

    `low` and `high` name columns with the ends of the interval, `hue` one whose values have a
    colour and mark each; without it a column `algorithm` gives those of the families. `origin`
    draws a line and joins the dots with it; without intervals, `origin` and `is_log`, bars start
    at 0. The suffix of `value` states the unit of the numbers (`verify_seconds`), and its words are
    the label of the axis. Raises DataError, UsageError.
    """
    require(frame, " ".join(filter(None, (row, value, hue, low, high))))
    rows = list(dict.fromkeys(frame[row]))
    hues = [] if hue is None else list(dict.fromkeys(frame[hue]))
    unit = Unit.of(value)
    fine = frame[np.isfinite(frame[value].astype(float))]
    with canvas(ax, 1.25 + (0.16 + 0.18 * max(1, len(hues))) * len(rows)) as axes:
        if is_log:
            axes.set_xscale("log")
        if origin is not None:
            axes.axvline(origin, color=INK, linewidth=0.9, zorder=1)
        for cell in fine.to_dict("records"):
            at = hues.index(cell[hue]) if hues else 0
            level = rows.index(cell[row]) + (
                0.6 / len(hues) * (at - (len(hues) - 1) / 2) if hues else 0
            )
            style = _style(cell, hue, hues)
            ends = [float(cell[name]) for name in (low, high) if name]
            start = 0.0 if origin is None and not is_log else origin
            if len(ends) == 2:
                axes.hlines(level, ends[0], ends[1], color=style["color"], linewidth=1.6, zorder=2)
            elif start is not None and origin is None:
                hatch = HATCHES[_place(cell[hue], hues) % len(HATCHES)] if hue else ""
                bar = props(color=style["color"], edgecolor=PAPER, linewidth=0, hatch=hatch)
                height = 0.6 / max(1, len(hues))
                axes.barh(level, cell[value], height=height, label=style["label"], zorder=3, **bar)
            elif start is not None:
                axes.hlines(level, start, cell[value], color=style["color"], linewidth=2.4,
                            alpha=0.5, zorder=2)  # fmt: skip
            if ends or origin is not None or is_log:
                axes.plot([cell[value]], [level], zorder=3, **style)
            right = max([float(cell[value]), *ends])
            annotate(axes, _number(unit, cell[value]), (right, level), (6, 0))
        name_levels(axes, [words(str(name)) for name in rows], top=0.3 if hues else 0.0)
        axes.spines["left"].set_visible(False)
        left, right = axes.get_xlim()
        if is_log:
            enclose(axes)
            log_ticks(axes, "x", brief if unit == "s" else partial(_number, unit))
        else:
            axes.set_xlim(left if origin is not None or left < 0 else 0, right)
            enclose(axes)
            axes.xaxis.set_major_locator(MaxNLocator(4 if paper.narrow() else 6))
            axes.xaxis.set_major_formatter(lambda number, _: _number(unit, number))
        grid(axes, "x")
        axes.set_xlabel(label or figures.title(value))
        if hues:
            legend_above(axes, 3)
        most = fine.iloc[int(fine[value].astype(float).argmax())].to_dict()
        text = f"{figures.title(value)}: {_number(unit, most[value])} with {_name(most, row, hue)}"
        text += ", the most of those shown" if len(fine) > 1 else ""
        headline(axes, title or text[0].upper() + text[1:])
    return axes


def _number(unit: Unit, value: float) -> str:
    return figures.integer(value) if not unit and abs(value) >= 1000 else unit.text(float(value))


def _style(cell: Mapping[Any, Any], hue: str | None, hues: list[Any]) -> dict[str, Any]:
    name = str(cell[hue]) if hue else ""
    if name in ALGORITHMS:
        mark = mark_of(name)
        # The second set of a family is half filled; hollow marks are published values.
        half = props(fillstyle="left", markerfacecoloralt=PAPER, markeredgecolor=mark.colour)
        return (
            mark.style()
            | props(linestyle="none", label=name)
            | (half if _place(cell[hue], hues) else {})
        )
    if "algorithm" in cell and hue in (None, "algorithm"):
        return mark_of(str(cell["algorithm"])).style() | props(linestyle="none", label=name)
    colour, marker = look(hues.index(cell[hue]) if hue else 0)
    style = props(color=colour, marker=marker, markersize=6.5, markeredgecolor=PAPER)
    return style | props(linestyle="none", label=name)


def _place(hue: Any, hues: list[Any]) -> int:
    """Return the place of a value among those with the same mark, such as sets of a family."""
    return [other for other in hues if mark_of(str(other)) == mark_of(str(hue))].index(hue)


def _name(cell: Any, row: str, hue: str | None) -> str:
    return f"{cell[row]}, {cell[hue]}" if hue else str(cell[row])
