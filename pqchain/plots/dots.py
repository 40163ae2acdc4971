"""A line of dots per row: marker and colour by operation, filling by implementation."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from pqchain import figures
from pqchain.algorithms import ALGORITHMS, GIVEN, OPERATIONS, Algorithm
from pqchain.errors import DataError
from pqchain.plots import paper
from pqchain.plots.canvas import INK, LOOKS, MUTED, canvas, figure_of, require
from pqchain.plots.marks import brief, edge, grid, log_ticks, props

OPERATION_LOOK = dict(zip(OPERATIONS, LOOKS, strict=False))
"""Colour and marker of every operation."""

_SHIFT = {"generate_keypair": -0.25, "verify": 0.25, "decapsulate": 0.25}
"""Where an operation sits within the row of its algorithm, if not in the middle."""

_FILLINGS: tuple[Literal["full", "none", "left", "top", "right", "bottom"], ...] = (
    "full", "none", "left", "top", "right", "bottom",
)  # fmt: skip
"""Filling of an algorithm's first, second, ... implementation in the order of the registry."""

_GIVEN_LABEL = " (given)"

_ROW_INCHES, _LEGEND_INCHES = 0.25, 0.17

_LEGEND_LETTERS = 64
"""In a line of the legend; more would be cut off at the edge."""


def dots(
    frame: pd.DataFrame,
    *,
    value: str,
    label: str,
    show: Callable[[float], str] = brief,
    ax: Axes | None,
    whiskers: tuple[str, str] | None = None,
    origin: float | None = None,
    looks: dict[str, tuple[str, str]] | None = None,
) -> Axes:
    """Draw one line of dots per `row`: marker and colour by operation, filling by implementation.

    The frame has the columns algorithm and operation; row is the algorithm, implementation none
    and status "ok" unless it has these too. `label` names the axis and `show` its ticks. `origin`
    draws a reference line and a stem from it. Where operations have `looks` of their own, a line
    ties the dots of a row together.
    """
    require(frame, "algorithm operation")
    known: dict[str, Any] = {"row": frame["algorithm"], "implementation": "", "status": "ok"}
    frame = frame.assign(**{name: frame.get(name, other) for name, other in known.items()})
    if "run" in frame and "base" not in frame:
        frame["row"] = frame["row"] + ": " + frame["run"]
    refuse_twins(frame, value)
    given = frame["implementation"] == GIVEN
    frame["row"] = frame["row"].where(~given, frame["row"] + _GIVEN_LABEL)
    frame = ranked(frame)
    heights = _heights(dict(zip(frame["row"], frame["algorithm"], strict=True)))
    joined, looks = looks is not None, looks or OPERATION_LOOK
    drawn = frame[(frame["status"] == "ok") & np.isfinite(frame[value]) & (frame[value] > 0)]
    spare = 0 if paper.narrow() else 2  # lines of the legend that a figure has room for anyway
    tall = 1.0 + _ROW_INCHES * (max(heights.values()) + 1)
    tall += _LEGEND_INCHES * max(0, sum(map(_lines, _fillings(frame).values())) - spare)
    with canvas(ax, tall) as axes:
        axes.set_xscale("log")
        if origin is not None:
            axes.axvline(origin, color=INK, linewidth=0.8, zorder=1)
            ends = drawn[list(whiskers or ())].to_numpy().ravel()
            values = [*drawn[value], *ends[np.isfinite(ends)], origin]
            axes.set_xlim(min(*values, origin / 1.8) / 1.15, max(*values, origin * 1.8) * 1.15)
        if joined:
            for name, group in drawn.groupby("row"):
                ends = group[value].min(), group[value].max()
                axes.hlines(heights[str(name)], *ends, color=MUTED, linewidth=1.2, zorder=1)
        for key, group in drawn.groupby(["operation", "rank"]):
            operation, rank = str(key[0]), int(group["rank"].iloc[0])
            colour, marker = looks[operation]
            levels = group["row"].map(heights) + _SHIFT.get(operation, 0.0)
            faint = props(color=colour, alpha=0.55, zorder=2)
            if whiskers is not None:
                low, high = (group[name] for name in whiskers)
                axes.hlines(levels, low, high, linewidth=1.0, **faint)
            if origin is not None:
                axes.hlines(levels, origin, group[value], linewidth=0.8, **faint)
            style = _marker(marker, colour, rank) | props(zorder=3, markersize=4.6)
            axes.plot(group[value], levels, label=figures.humanize(operation), **style)
        # The first row on top; one without a dot says that it was not measured.
        axes.set_yticks(list(heights.values()), list(heights))
        axes.set_ylim(max(heights.values()) + 0.7, -0.7)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        aside = props(va="center", color=MUTED, style="italic", fontsize=7.5)
        across = axes.get_yaxis_transform()
        for row in frame["row"][~frame["row"].isin(drawn["row"])].unique():
            axes.text(0.01, heights[row], "not measured here", transform=across, **aside)
        log_ticks(axes, "x", show)
        grid(axes, "x")
        axes.set_xlabel(label)
        _legend(axes, looks, frame)
    return axes


def refuse_twins(frame: pd.DataFrame, value: str) -> None:
    """Refuse two machines in one row, which nobody could tell apart. Raises DataError."""
    fine = frame[(frame["status"] == "ok") & frame[value].notna()]
    twins = fine[fine.duplicated(["row", "implementation", "operation"])]
    if not twins.empty:
        name, *_ = twins[["row", "operation"]].iloc[0]
        raise DataError(
            f"{name} occurs twice with one implementation and operation, so that two runs would be "
            "drawn alike; join runs by pqchain.bench.concat_runs, which names them"
        )


def labelled(row: Algorithm) -> str:
    """Return a scheme's name, which says so if its numbers are the user's."""
    return f"{row.name}{_GIVEN_LABEL}" if row.given_seconds else row.name


def ranked(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the place of each implementation among those that its algorithm has."""
    others = list(dict.fromkeys(frame["implementation"]))

    def rank(algorithm: str, implementation: str) -> int:
        known = ALGORITHMS[algorithm].implementations if algorithm in ALGORITHMS else ()
        return (known if implementation in known else others).index(implementation)

    pairs = zip(frame["algorithm"], frame["implementation"], strict=True)
    return frame.assign(rank=[rank(*pair) for pair in pairs])


def _heights(rows: dict[str, str]) -> dict[str, float]:
    """Place rows from the top in the registry's order, with more air between families."""
    order = {name: index for index, name in enumerate(ALGORITHMS)}
    heights: dict[str, float] = {}
    height, previous = 0.0, None
    for row, algorithm in sorted(rows.items(), key=lambda pair: order.get(pair[1], len(order))):
        facts = ALGORITHMS[algorithm].family_facts if algorithm in ALGORITHMS else None
        family = "" if facts is None else facts.name if facts.post_quantum else "classical"
        if previous is not None:
            height += 1.0 if family == previous else 1.45
        heights[row], previous = height, family
    return heights


def _marker(marker: str, colour: str, rank: int) -> dict[str, Any]:
    style = props(linestyle="none", marker=marker, color=colour)
    return style | props(fillstyle=_FILLINGS[rank % len(_FILLINGS)], markerfacecoloralt="none")


def _legend(axes: Axes, looks: dict[str, tuple[str, str]], frame: pd.DataFrame) -> None:
    """Explain markers, and fillings where more than one is in use, above the plot."""
    handles = [
        Line2D([], [], linestyle="none", color=colour, marker=marker, label=figures.humanize(name))
        for name, (colour, marker) in looks.items()
        if name in set(frame["operation"])
    ]
    fillings = [
        Line2D([], [], label=names, **_marker("o", MUTED, rank))
        for rank, names in _fillings(frame).items()
    ]
    # Upwards from the plot: one line of operations, above it one for each filling.
    rows = [[line] for line in reversed(fillings)] if len(fillings) > 1 else []
    rows += [handles] if len(handles) > 1 else []
    above, inches = axes.transAxes, figure_of(axes).dpi_scale_trans
    space = props(borderpad=0.1, borderaxespad=0.2, handletextpad=0.3, columnspacing=1.4)
    place = props(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
    for row in rows:
        labels = [str(line.get_label()) for line in row]
        ncols = paper.columns_that_fit(labels, 7.0, len(row))
        where = place | props(bbox_transform=above) | edge(axes, above)
        legend = Legend(axes, row, labels, ncols=ncols, **where, **space)
        axes.add_artist(legend)
        # Clipped to the axes it would be left out of the layout, being above them.
        legend.set_clip_on(False)
        lines = max(map(_lines, labels)) * -(-len(row) // ncols)
        above = above + ScaledTranslation(0, lines * _LEGEND_INCHES, inches)


def _fillings(frame: pd.DataFrame) -> dict[int, str]:
    """Return the implementations that each filling stands for, broken into lines."""
    letters = _LEGEND_LETTERS // 2 if paper.narrow() else _LEGEND_LETTERS
    return {
        int(str(rank)): textwrap.fill(", ".join(group.unique()), letters, break_on_hyphens=False)
        for rank, group in frame[frame["implementation"] != ""].groupby("rank")["implementation"]
    }


def _lines(label: str) -> int:
    return label.count("\n") + 1
