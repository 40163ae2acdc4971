"""Dot plots: a row per algorithm, marker and colour by operation, filling by implementation."""

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
"""Colour and marker by operation."""

_SHIFT = {"generate_keypair": -0.25, "verify": 0.25, "decapsulate": 0.25}
"""Vertical offset of an operation in the row of its algorithm; default 0."""

_FILLINGS: tuple[Literal["full", "none", "left", "top", "right", "bottom"], ...] = (
    "full", "none", "left", "top", "right", "bottom",
)  # fmt: skip
"""Filling by rank of an implementation in the order of the registry."""

_GIVEN_LABEL = " (given)"

_ROW_INCHES, _LEGEND_INCHES = 0.25, 0.17

_LEGEND_LETTERS = 64  # characters in a line of the legend; longer lines are cut off at the edge


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
    """Draw a line of dots per `row`: marker and colour by operation, filling by implementation.

    The frame has the columns algorithm and operation; defaults are the algorithm for row, "" for
    implementation and "ok" for status. `label` is that of the axis and `show` the format of its
    ticks. `origin` draws a reference line and a stem from it. With `looks`, colours and markers of
    operations, a line connects the dots of a row.
    """
    require(frame, "algorithm operation")
    known: dict[str, Any] = {"row": frame["algorithm"], "implementation": "", "status": "ok"}
    frame = frame.assign(**{name: frame.get(name, other) for name, other in known.items()})
    if "run" in frame and "base" not in frame:
        frame["row"] = frame["row"] + ": " + frame["run"]
    reject_duplicates(frame, value)
    is_given = frame["implementation"] == GIVEN
    frame["row"] = frame["row"].where(~is_given, frame["row"] + _GIVEN_LABEL)
    frame = ranked(frame)
    heights = _heights(dict(zip(frame["row"], frame["algorithm"], strict=True)))
    is_connected, looks = looks is not None, looks or OPERATION_LOOK
    drawn = frame[(frame["status"] == "ok") & np.isfinite(frame[value]) & (frame[value] > 0)]
    spare = 0 if paper.narrow() else 2  # lines of the legend within the height of any figure
    tall = 1.0 + _ROW_INCHES * (max(heights.values()) + 1)
    tall += _LEGEND_INCHES * max(0, sum(map(_line_count, _fillings(frame).values())) - spare)
    with canvas(ax, tall) as axes:
        axes.set_xscale("log")
        if origin is not None:
            axes.axvline(origin, color=INK, linewidth=0.8, zorder=1)
            ends = drawn[list(whiskers or ())].to_numpy().ravel()
            values = [*drawn[value], *ends[np.isfinite(ends)], origin]
            axes.set_xlim(min(*values, origin / 1.8) / 1.15, max(*values, origin * 1.8) * 1.15)
        if is_connected:
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
        # Rows without a dot stay: a missing row would hide that an algorithm was not measured.
        axes.set_yticks(list(heights.values()), list(heights))
        axes.set_ylim(max(heights.values()) + 0.7, -0.7)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        secondary = props(va="center", color=MUTED, style="italic", fontsize=7.5)
        across = axes.get_yaxis_transform()
        for row in frame["row"][~frame["row"].isin(drawn["row"])].unique():
            axes.text(0.01, heights[row], "not measured here", transform=across, **secondary)
        log_ticks(axes, "x", show)
        grid(axes, "x")
        axes.set_xlabel(label)
        _legend(axes, looks, frame)
    return axes


def reject_duplicates(frame: pd.DataFrame, value: str) -> None:
    """Raise DataError for several runs in one row, whose dots would be indistinguishable."""
    fine = frame[(frame["status"] == "ok") & frame[value].notna()]
    duplicates = fine[fine.duplicated(["row", "implementation", "operation"])]
    if not duplicates.empty:
        name, operation = duplicates[["row", "operation"]].iloc[0]
        raise DataError(
            "each row must have one value per implementation and operation; got two of "
            f"{operation} for {name}. Join runs with pqchain.bench.concat_runs, which names them."
        )


def labelled(row: Algorithm) -> str:
    """Return the label of a scheme, with a suffix if its numbers are the user's."""
    return f"{row.name}{_GIVEN_LABEL}" if row.given_seconds else row.name


def ranked(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the rank of each implementation among those of its algorithm."""
    others = list(dict.fromkeys(frame["implementation"]))

    def rank(algorithm: str, implementation: str) -> int:
        known = ALGORITHMS[algorithm].implementations if algorithm in ALGORITHMS else ()
        return (known if implementation in known else others).index(implementation)

    pairs = zip(frame["algorithm"], frame["implementation"], strict=True)
    return frame.assign(rank=[rank(*pair) for pair in pairs])


def _heights(rows: dict[str, str]) -> dict[str, float]:
    """Return positions of rows in the order of the registry, with gaps between families."""
    order = {name: index for index, name in enumerate(ALGORITHMS)}
    heights: dict[str, float] = {}
    height, previous = 0.0, None
    for row, algorithm in sorted(rows.items(), key=lambda pair: order.get(pair[1], len(order))):
        known = ALGORITHMS[algorithm].family_facts if algorithm in ALGORITHMS else None
        family = "" if known is None else known.name if known.post_quantum else "classical"
        if previous is not None:
            height += 1.0 if family == previous else 1.45
        heights[row], previous = height, family
    return heights


def _marker(marker: str, colour: str, rank: int) -> dict[str, Any]:
    style = props(linestyle="none", marker=marker, color=colour)
    return style | props(fillstyle=_FILLINGS[rank % len(_FILLINGS)], markerfacecoloralt="none")


def _legend(axes: Axes, looks: dict[str, tuple[str, str]], frame: pd.DataFrame) -> None:
    handles = [
        Line2D([], [], linestyle="none", color=colour, marker=marker, label=figures.humanize(name))
        for name, (colour, marker) in looks.items()
        if name in set(frame["operation"])
    ]
    fillings = [
        Line2D([], [], label=names, **_marker("o", MUTED, rank))
        for rank, names in _fillings(frame).items()
    ]
    # From the plot upwards: one line for the operations, then one for each filling.
    rows = [[line] for line in reversed(fillings)] if len(fillings) > 1 else []
    rows += [handles] if len(handles) > 1 else []
    above, inches = axes.transAxes, figure_of(axes).dpi_scale_trans
    space = props(borderpad=0.1, borderaxespad=0.2, handletextpad=0.3, columnspacing=1.4)
    place = props(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
    for row in rows:
        labels = [str(line.get_label()) for line in row]
        ncols = paper.columns_that_fit(labels, 7.0, len(row))
        position = place | props(bbox_transform=above) | edge(axes, above)
        legend = Legend(axes, row, labels, ncols=ncols, **position, **space)
        axes.add_artist(legend)
        # A legend clipped to the axes is ignored by the layout, and this one is above them.
        legend.set_clip_on(False)
        line_count = max(map(_line_count, labels)) * -(-len(row) // ncols)
        above = above + ScaledTranslation(0, line_count * _LEGEND_INCHES, inches)


def _fillings(frame: pd.DataFrame) -> dict[int, str]:
    letters = _LEGEND_LETTERS // 2 if paper.narrow() else _LEGEND_LETTERS
    return {
        int(str(rank)): textwrap.fill(", ".join(group.unique()), letters, break_on_hyphens=False)
        for rank, group in frame[frame["implementation"] != ""].groupby("rank")["implementation"]
    }


def _line_count(label: str) -> int:
    return label.count("\n") + 1
