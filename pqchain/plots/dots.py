"""Dot plots: a row per scheme, colour by family, mark by operation, panels by another column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from pqchain.algorithms import ALGORITHMS, GIVEN, Algorithm
from pqchain.errors import DataError, UsageError
from pqchain.plots import paper
from pqchain.plots.canvas import (
    GRID,
    INK,
    MUTED,
    canvas,
    label_below,
    look,
    panel_title,
    panels,
    require,
)
from pqchain.plots.marks import (
    OPERATION_MARKS,
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

_SHIFT = {
    "generate_keypair": -0.26, "sign": 0.0, "encapsulate": 0.0, "verify": 0.26,
    "decapsulate": 0.26,
}  # fmt: skip
"""Vertical offset of an operation in the row of its algorithm; others are spread evenly."""

_DODGE = 0.05
"""Greatest vertical offset of a colour from the place of its operation, as a share of a row."""

_GIVEN_LABEL = " (as entered)"

_ROW_INCHES, _DENSE_INCHES, _PART_INCHES, _NUMBER_INCHES = 0.24, 0.17, 0.1, 0.125
"""Height of a row of dots, of one of many rows, and of each operation in a row, with numbers."""

MOST_PANELS = 6


def dots(
    frame: pd.DataFrame,
    *,
    value: str,
    label: str,
    ax: Axes | None,
    show: Callable[[float], str] = brief,
    marks: Mapping[str, str] = OPERATION_MARKS,
    whiskers: tuple[str, str] | None = None,
    origin: float | None = None,
    band: float = 1.0,
    hue: str | None = None,
    col: str | None = None,
    numbers: Callable[[float], str] | None = None,
    is_sorted: bool = False,
) -> Axes:
    """Draw a row of dots per value of `row`: colour by family, mark by operation.

    The frame has the columns algorithm and operation; defaults are the algorithm for row, "" for
    implementation and "ok" for status; rows with a false `clear` are grey and have no number.
    `label` is the label of the axis, `show` the format of its ticks. `origin` draws a reference
    line, with a band of the factor `band` around it. `hue` names a column that decides the colour,
    `col` one with a panel for each value; the axes of the first panel are returned. `numbers`
    writes each value, a column `text` other labels. Raises DataError, UsageError.
    """
    require(frame, "algorithm operation")
    known: dict[str, Any] = {"row": frame["algorithm"], "implementation": "", "status": "ok"}
    frame = frame.assign(**{name: frame.get(name, other) for name, other in known.items()})
    for column in filter(None, (hue, col)):
        require(frame, column)
    if "run" in frame and "base" not in frame and "run" not in (hue, col):
        frame["row"] = frame["row"] + ": " + frame["run"]
    reject_duplicates(frame, value, *filter(None, (hue, col)))
    is_given = frame["implementation"] == GIVEN
    frame["row"] = frame["row"].where(~is_given, frame["row"] + _GIVEN_LABEL)
    frame = frame.assign(colour=_colours(frame, hue))
    is_drawn = (frame["status"] == "ok") & np.isfinite(frame[value]) & (frame[value] > 0)
    drawn = frame[is_drawn]
    heights = _sorted(frame, drawn, value) if is_sorted else _by_family(frame)
    frame["shift"] = frame["operation"].map(_shifts(frame["operation"].unique()))
    frame["dodge"] = _dodges(frame, hue, col)
    parts = _parts(frame, col)
    count = frame["operation"].nunique()
    if count > 1 and (unknown := sorted({*frame["operation"]} - {*marks})):
        raise DataError(f"operation must be one of {', '.join(marks)}; got {unknown[0]!r}")
    has_texts = numbers is not None or "text" in frame
    row_inches = _DENSE_INCHES if len(heights) > 25 and count == 1 else _ROW_INCHES
    if count > 1:
        row_inches = 0.06 + (_NUMBER_INCHES if has_texts else _PART_INCHES) * count
    if frame["dodge"].any():
        row_inches *= 1.2
    # Labels of several lines need the room of their lines.
    line_count = max(row.count("\n") for row in heights) + 1
    row_inches = max(row_inches, 1.35 * line_count * paper.points() / 72)
    tall = 1.35 + row_inches * (max(heights.values()) + 1)
    down, across = (len(parts), 1) if paper.narrow() else (1, len(parts))
    with panels(down, across, tall * down) if ax is None else canvas(ax, tall) as grid_of_axes:
        all_axes = [grid_of_axes] if isinstance(grid_of_axes, Axes) else grid_of_axes
        for axes, (name, rows) in zip(all_axes, parts, strict=True):
            _draw(axes, rows, value=value, heights=heights, marks=marks, whiskers=whiskers)
            # Whiskers and lines reach to the left, where names above rows would cross them.
            is_free = paper.narrow() and whiskers is None and origin is None
            name_levels(
                axes, list(heights), list(heights.values()), top=0.3 if count > 1 else 0.0,
                is_above=is_free,
            )  # fmt: skip
            if count > 1 and not is_free:
                _separate(axes, list(heights.values()))
            if origin is not None:
                axes.axvline(origin, color=INK, linewidth=0.9, zorder=1)
                style = props(color=GRID, alpha=0.6, linewidth=0, zorder=0)
                axes.axvspan(origin / band, origin * band, **style)
            if name is not None:
                panel_title(axes, name)
            if axes is not all_axes[0] and down == 1:
                axes.tick_params(labelleft=False)
        _limits(all_axes, drawn, [value, *(whiskers or ())], origin)
        for axes, (_, rows) in zip(all_axes, parts, strict=True):
            if has_texts:
                _write(axes, rows[rows.index.isin(drawn.index)], value, heights, numbers, whiskers)
                enclose(axes, across)
            start = axes.get_xlim()[0]
            log_ticks(axes, "x", show)
            if origin is not None:
                axes.set_xlim(left=start)
            grid(axes, "x")
        ends = np.array([axes.get_xlim() for axes in all_axes])
        for axes in all_axes:
            axes.set_xlim(ends.min(), ends.max())
        label_below(all_axes, across, label)
        _legend(all_axes[0], frame, marks, hue)
    return all_axes[0]


def _parts(frame: pd.DataFrame, col: str | None) -> list[tuple[str | None, pd.DataFrame]]:
    if col is None:
        return [(None, frame)]
    parts: list[tuple[str | None, pd.DataFrame]] = [
        (words(str(name)), rows) for name, rows in frame.groupby(col, sort=False)
    ]
    if len(parts) > MOST_PANELS:
        raise UsageError(
            f"column {col!r} must have at most {MOST_PANELS} values for a panel each; got "
            f"{len(parts)}. Draw fewer rows."
        )
    return parts


def _shifts(operations: Iterable[str]) -> dict[str, float]:
    others = [name for name in operations if name not in _SHIFT]
    places = np.linspace(-0.2, 0.2, len(others)) if len(others) > 1 else [0.0] * len(others)
    return _SHIFT | dict(zip(others, map(float, places), strict=True))


def _dodges(frame: pd.DataFrame, hue: str | None, col: str | None) -> pd.Series[float]:
    """Return vertical offsets of the colours of one operation, whose marks may coincide."""
    keys = ["row", "operation", *([col] if col else [])]
    if hue is None or not frame.duplicated(keys).any():
        return pd.Series(0.0, index=frame.index)
    names = list(frame[hue].unique())
    places = np.linspace(-_DODGE, _DODGE, len(names)) if len(names) > 1 else [0.0]
    return frame[hue].map(dict(zip(names, map(float, places), strict=True)))


def _colours(frame: pd.DataFrame, hue: str | None) -> list[str]:
    if hue is None:
        colours = [mark_of(name).colour for name in frame["algorithm"]]
    else:
        order = {name: look(at)[0] for at, name in enumerate(dict.fromkeys(frame[hue]))}
        colours = [order[name] for name in frame[hue]]
    clear = frame.get("clear", pd.Series(True, index=frame.index))
    return [colour if is_clear else MUTED for colour, is_clear in zip(colours, clear, strict=True)]


def _draw(
    axes: Axes,
    frame: pd.DataFrame,
    *,
    value: str,
    heights: Mapping[str, float],
    marks: Mapping[str, str],
    whiskers: tuple[str, str] | None,
) -> None:
    axes.set_xscale("log")
    # With one operation the mark is the family's.
    several = frame["operation"].nunique() > 1
    fine = (frame["status"] == "ok") & np.isfinite(frame[value]) & (frame[value] > 0)
    drawn = frame[fine]
    for key, rows in drawn.groupby(["operation", "colour", "algorithm"], sort=False):
        operation, colour, algorithm = (str(part) for part in key)
        levels = rows["row"].map(heights) + rows["shift"] + rows["dodge"]
        if whiskers is not None and rows[whiskers[0]].notna().any():
            low, high = (rows[name] for name in whiskers)
            axes.hlines(levels, low, high, color=colour, linewidth=1.3, alpha=0.75, zorder=2)
        size = 5.0 if several and whiskers is not None else 6.0 if several else 7.0
        style = mark_of(algorithm).style(size) | props(color=colour)
        if several:
            style |= props(marker=marks[operation])
        style |= props(markerfacecolor=colour, linestyle="none", label=words(operation), zorder=3)
        if whiskers is not None:
            style |= props(markeredgecolor=colour)  # an outline would cut off short whiskers
        axes.plot(rows[value], levels, **style)
    # Rows without a dot stay: a missing row would hide that an algorithm was not measured.
    axes.spines["left"].set_visible(False)
    secondary = props(va="center", color=MUTED, style="italic", fontsize=paper.points())
    across = axes.get_yaxis_transform()
    for row in frame["row"][~frame["row"].isin(drawn["row"])].unique():
        axes.text(0.01, heights[row], "not measured here", transform=across, **secondary)


def _limits(
    all_axes: list[Axes],
    drawn: pd.DataFrame,
    columns: list[str],
    origin: float | None,
) -> None:
    ends = drawn[columns].to_numpy(float).ravel()
    values = [*ends[np.isfinite(ends) & (ends > 0)], *([] if origin is None else [origin])]
    if not values:
        return
    low, high = min(values), max(values)
    if origin is not None:
        low, high = min(low, origin / 1.1), max(high, origin * 1.1)
    spread = max((high / low) ** 0.04, 1.02)
    for axes in all_axes:
        axes.set_xlim(low / spread, high * spread)


def _separate(axes: Axes, levels: list[float]) -> None:
    """Draw a line between rows, whose marks are about as far apart as those within a row."""
    for before, after in pairwise(levels):
        axes.axhline((before + after) / 2, color=GRID, linewidth=0.6, zorder=0)


def _write(
    axes: Axes,
    drawn: pd.DataFrame,
    value: str,
    heights: Mapping[str, float],
    numbers: Callable[[float], str] | None,
    whiskers: tuple[str, str] | None,
) -> None:
    for row in drawn.to_dict("records"):
        if text := row["text"] if numbers is None else numbers(row[value]) * row.get("clear", True):
            level = heights[row["row"]] + row["shift"]
            right = row[value] if whiskers is None else np.fmax(row[whiskers[1]], row[value])
            annotate(axes, text, (float(right), level), (6, 0))


def reject_duplicates(frame: pd.DataFrame, value: str, *others: str) -> None:
    """Raise DataError for several runs in one row, whose dots would be indistinguishable."""
    fine = frame[(frame["status"] == "ok") & frame[value].notna()]
    keys = ["row", "implementation", "operation"]
    duplicates = fine[fine.duplicated([*keys, *(name for name in others if name not in keys)])]
    if not duplicates.empty:
        name, operation = duplicates[["row", "operation"]].iloc[0]
        raise DataError(
            "each row must have one value per implementation and operation; got two of "
            f"{operation} for {name}. Join runs with pqchain.bench.concat_runs, which names them."
        )


def labelled(row: Algorithm) -> str:
    """Return the label of a scheme, with a suffix if the user defined its numbers."""
    return f"{row.name}{_GIVEN_LABEL}" if row.given_seconds else row.name


def fastest(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the fastest implementation of each operation of a scheme in a run."""
    keys = ["algorithm", "operation", *(["run"] if "run" in frame else [])]
    times = frame["median_seconds"].where(frame["status"] == "ok")
    best = times.groupby([frame[name] for name in keys]).transform("min")
    rows: pd.DataFrame = frame[(times == best) | best.isna()]
    return rows


def ranked(frame: pd.DataFrame) -> pd.DataFrame:
    """Add a column `rank`: the index of an implementation in the list of its algorithm."""
    others = list(dict.fromkeys(frame["implementation"]))

    def rank(algorithm: str, implementation: str) -> int:
        known = ALGORITHMS[algorithm].implementations if algorithm in ALGORITHMS else ()
        return (known if implementation in known else others).index(implementation)

    pairs = zip(frame["algorithm"], frame["implementation"], strict=True)
    return frame.assign(rank=[rank(*pair) for pair in pairs])


def _by_family(frame: pd.DataFrame) -> dict[str, float]:
    """Return the vertical position of each row, in registry order with gaps between families."""
    rows = dict(zip(frame["row"], frame["algorithm"], strict=True))
    order = {name: index for index, name in enumerate(ALGORITHMS)}
    heights: dict[str, float] = {}
    height, previous = 0.0, None
    for row, algorithm in sorted(rows.items(), key=lambda pair: order.get(pair[1], len(order))):
        known = ALGORITHMS[algorithm].family_facts if algorithm in ALGORITHMS else None
        family = "" if known is None else known.name if known.post_quantum else "classical"
        if previous is not None:
            height += 1.0 if family == previous else 1.4
        heights[row], previous = height, family
    return heights


def _sorted(frame: pd.DataFrame, drawn: pd.DataFrame, value: str) -> dict[str, float]:
    """Return the vertical position of each row, classical schemes first, then by value."""
    middle = drawn.groupby("row")[value].median()
    rows = dict(zip(frame["row"], frame["algorithm"], strict=True))
    order = sorted(rows, key=lambda row: (mark_of(rows[row]).post_quantum, middle.get(row, np.inf)))
    heights: dict[str, float] = {}
    height = 0.0
    for before, row in zip([None, *order], order, strict=False):
        if before is not None:
            same = mark_of(rows[before]).post_quantum == mark_of(rows[row]).post_quantum
            height += 1.0 if same else 1.4
        heights[row] = height
    return heights


def _legend(axes: Axes, frame: pd.DataFrame, marks: Mapping[str, str], hue: str | None) -> None:
    present = [name for name in marks if name in set(frame["operation"])]
    style = props(linestyle="none", markeredgecolor=INK, markerfacecolor=INK, markersize=5.5)
    # Operations of signatures and KEMs share marks.
    by_mark: dict[str, list[str]] = {}
    for name in present if len(present) > 1 else []:
        by_mark.setdefault(marks[name], []).append(words(name))
    handles = [
        Line2D([], [], marker=marker, label=" or ".join(names), color=INK, **style)
        for marker, names in by_mark.items()
    ]
    if hue is not None and hue != "operation":
        colours = [
            Line2D([], [], color=look(at)[0], linewidth=4, label=words(str(name)))
            for at, name in enumerate(dict.fromkeys(frame[hue]))
        ]
        handles = [*colours, *handles]
    if handles:
        legend_above(axes, len(handles), handles)
