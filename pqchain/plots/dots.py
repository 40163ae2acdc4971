"""Dot plots: a row per scheme or other text, a dot per number, with its interval and label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pqchain import figures
from pqchain.algorithms import ALGORITHMS, GIVEN, Algorithm
from pqchain.errors import DataError
from pqchain.figures import Unit
from pqchain.plots import canvas, marks
from pqchain.plots.marks import props

_SHIFTS = {"generate_keypair": -0.26, "verify": 0.26, "decapsulate": 0.26}
"""Vertical offsets of operations in the row of their algorithm; others have none."""

Order = Literal["registry", "value", "frame"]

_DODGE = 0.05
"""Greatest vertical offset of a colour from the place of its operation, as a share of a row."""

_OTHER_MARKS = "osD^vPX"
"""Marks of the values of `operation` that are not operations, such as numbers of threads."""

_GIVEN_LABEL = " (as entered)"


def dots(
    frame: pd.DataFrame,
    label: str,
    *notes: str,
    ax: Axes | None,
    show: Callable[[float], str] = marks.brief,
    origin: float | None = None,
    hue: str | None = None,
    order: Order = "registry",
    is_log: bool = True,
    is_level: bool = False,
) -> Axes:
    """Draw a row of dots per algorithm: colour by family, mark by operation.

    Draws the columns algorithm, operation and value, if present with whiskers from low to high and
    with labels from text. A column row has other names of rows, implementation tells two builds
    from a duplicate; rows with a status other than "ok" have no dot, and those with a false clear
    are grey. `label` and `notes` explain the axis, `show` formats its ticks, `origin` places a
    reference line, `hue` names the column of colours, `order` is that of the rows, and `is_level`
    puts all dots of a row on one level. Raises DataError, UsageError.
    """
    canvas.require(frame, f"algorithm operation value {hue or ''}")
    known: dict[str, Any] = {"row": frame["algorithm"], "implementation": "", "status": "ok"}
    known |= {"text": "", "low": np.nan, "high": np.nan, "clear": True}
    frame = frame.assign(**{name: frame.get(name, other) for name, other in known.items()})
    if "run" in frame and "base" not in frame and hue != "run":
        frame["row"] = frame["row"] + ": " + frame["run"]
    reject_duplicates(frame, "value", *filter(None, (hue,)))
    is_given = frame["implementation"] == GIVEN
    frame["row"] = frame["row"].where(~is_given, frame["row"] + _GIVEN_LABEL)
    value = frame["value"].astype(float)
    is_shown = np.isfinite(value) & ((value > 0) | (not is_log))
    frame["value"] = value.where((frame["status"] == "ok") & is_shown)
    heights = _heights(frame, order)
    frame["level"] = frame["row"].map(heights)
    if not is_level:
        frame["level"] += _shifts(frame) + _dodges(frame, hue)
    frame["colour"] = _colours(frame, hue)
    operation_marks = _marks(frame)
    lines = max(row.count("\n") for row in heights) + 1
    of_mark = 0.16 if frame["text"].any() else 0.12  # room for numbers one above the other
    levels = 1 if is_level else len(operation_marks)
    row_inches = max(0.24, 0.06 + of_mark * levels, 0.018 * canvas.points() * lines)
    if len(heights) > 25 and levels == 1:
        row_inches = 0.17
    with canvas.canvas(ax, 1.3 + row_inches * (max(heights.values()) + 1)) as axes:
        axes.set_xscale("log" if is_log else "linear")
        _draw(axes, frame, operation_marks)
        is_empty = frame.groupby("row")["value"].transform("count") == 0
        for row in frame["row"][is_empty].unique():
            # Rows without a dot stay: a missing row would hide that nothing was measured.
            note = props(va="center", style="italic", size=canvas.points(), color=canvas.MUTED)
            place = axes.get_yaxis_transform()
            axes.text(0.01, heights[row], "not measured here", transform=place, **note)
        marks.name_levels(axes, list(heights), list(heights.values()))
        axes.spines["left"].set_visible(False)
        if origin is not None:
            axes.axvline(origin, color=canvas.INK, linewidth=0.9, zorder=1)
        if is_log:
            marks.log_ticks(axes, "x", show)
        else:
            if origin is None:
                axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
            axes.xaxis.set_major_locator(MaxNLocator(4 if canvas.narrow() else 6))
            axes.xaxis.set_major_formatter(lambda at, _: show(at))
        marks.grid(axes, "x")
        canvas.x_label(axes, label, *notes)
        _legend(axes, frame, operation_marks, hue)
    return axes


def _draw(axes: Axes, frame: pd.DataFrame, operation_marks: Mapping[str, str]) -> None:
    has_whiskers = bool(frame["low"].notna().any())
    several = len(operation_marks) > 1
    for row in frame[frame["value"].notna()].to_dict("records"):
        style = marks.mark_of(row["algorithm"]).style(6.0 - has_whiskers if several else 7.0)
        style |= props(color=row["colour"], markerfacecolor=row["colour"])
        style |= props(label=figures.humanize(row["operation"]))
        if several or not row["algorithm"]:
            # With one operation the mark is the family's.
            style |= props(marker=operation_marks[row["operation"]])
        if has_whiskers:
            style |= props(markeredgecolor=row["colour"])  # an outline would cut short whiskers
        level, value, ends = row["level"], row["value"], (row["low"], row["high"])
        if np.isfinite(ends).all():
            line = props(linewidth=1.5, alpha=0.75, zorder=2)
            axes.hlines(level, *ends, color=style["color"], **line)
        axes.plot([value], [level], **(props(linestyle="none", zorder=3) | style))
        if row["text"] and row["clear"]:
            marks.annotate(axes, row["text"], (float(np.fmax(value, ends[1])), level))


def _marks(frame: pd.DataFrame) -> dict[str, str]:
    """Return the mark of each value of `operation`; all or none of them are operations."""
    names = list(dict.fromkeys(frame["operation"]))
    if not set(names) & set(marks.OPERATION_MARKS):
        return dict(zip(names, _OTHER_MARKS * len(names), strict=False))
    if unknown := sorted(set(names) - set(marks.OPERATION_MARKS)):
        expected = ", ".join(marks.OPERATION_MARKS)
        raise DataError(f"operation must be one of {expected}; got {unknown[0]!r}")
    return {name: mark for name, mark in marks.OPERATION_MARKS.items() if name in names}


def _shifts(frame: pd.DataFrame) -> pd.Series[float]:
    names = list(dict.fromkeys(frame["operation"]))
    if set(names) & set(marks.OPERATION_MARKS):
        return frame["operation"].map(_SHIFTS).fillna(0.0)
    end = 0.2 if len(names) < 3 else 0.36
    places = np.linspace(-end, end, len(names)) if len(names) > 1 else [0.0]
    return frame["operation"].map(dict(zip(names, places, strict=True)))


def _dodges(frame: pd.DataFrame, hue: str | None) -> pd.Series[float]:
    """Return vertical offsets of the colours of one operation, whose marks may coincide."""
    if hue is None or not frame.duplicated(["row", "operation"]).any():
        return pd.Series(0.0, index=frame.index)
    names = list(frame[hue].unique())
    places = np.linspace(-_DODGE, _DODGE, len(names))
    return frame[hue].map(dict(zip(names, places, strict=True)))


def _colours(frame: pd.DataFrame, hue: str | None) -> list[str]:
    if hue is None:
        colours = [marks.mark_of(name).colour for name in frame["algorithm"]]
    else:
        order = {name: canvas.look(at)[0] for at, name in enumerate(dict.fromkeys(frame[hue]))}
        colours = [order[name] for name in frame[hue]]
    pairs = zip(colours, frame["clear"], strict=True)
    return [colour if is_clear else canvas.MUTED for colour, is_clear in pairs]


def _heights(frame: pd.DataFrame, order: Order) -> dict[str, float]:
    """Return the vertical position of each row, with gaps unless the order is the frame's.

    There is a gap between families, or if sorted by value between classical schemes and others.
    """
    rows = dict(zip(frame["row"], frame["algorithm"], strict=True))
    if order == "frame":
        return {row: float(at) for at, row in enumerate(rows)}
    is_sorted = order == "value"
    place = {name: index for index, name in enumerate(ALGORITHMS)}
    middle = frame.groupby("row")["value"].median()
    heights: dict[str, float] = {}
    height, before = 0.0, None

    def key(row: str) -> tuple[bool, float]:
        if not is_sorted:
            return False, place.get(rows[row], len(place))
        return marks.mark_of(rows[row]).post_quantum, float(np.nan_to_num(middle[row], nan=1e99))

    for row in sorted(rows, key=key):
        algorithm = ALGORITHMS.get(rows[row])
        is_new = algorithm is None or algorithm.family_facts.post_quantum
        family = algorithm.family if algorithm and is_new and not is_sorted else ""
        if before is not None:
            height += 1.0 if (is_new, family) == before else 1.4
        heights[row], before = height, (is_new, family)
    return heights


def _legend(
    axes: Axes, frame: pd.DataFrame, operation_marks: Mapping[str, str], hue: str | None
) -> None:
    handles = []
    if hue is not None and hue != "operation":
        handles += [
            Line2D([], [], color=canvas.look(at)[0], linewidth=4, label=str(name))
            for at, name in enumerate(dict.fromkeys(frame[hue]))
        ]
    # Operations of signatures and KEMs share marks.
    by_mark: dict[str, list[str]] = {}
    for name, mark in operation_marks.items() if len(operation_marks) > 1 else ():
        by_mark.setdefault(mark, []).append(figures.humanize(name))
    style = props(linestyle="none", markersize=5.5)
    for at, (mark, names) in enumerate(by_mark.items()):
        colour = canvas.look(at)[0] if hue == "operation" else canvas.INK
        handles.append(Line2D([], [], marker=mark, label=" or ".join(names), color=colour, **style))
    if handles:
        canvas.legend_above(axes, len(handles), handles)


def reject_duplicates(frame: pd.DataFrame, value: str, *others: str) -> None:
    """Raise DataError for several runs in one row, whose dots would be indistinguishable."""
    fine = frame[(frame["status"] == "ok") & frame[value].notna()]
    keys = dict.fromkeys(["row", "implementation", "operation", *others])
    duplicates = fine[fine.duplicated(list(keys))]
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
    ax: Axes | None = None,
) -> Axes:
    """Draw a column of a frame as dots: a row per value of the column `row`, with intervals.

    `low` and `high` name columns with the ends of the interval, `hue` one whose values have a mark
    each; schemes have the colours of the families. `origin` draws a line. The suffix of `value`
    states the unit of the numbers (`verify_seconds`), and its words are the label of the axis.
    Raises DataError, UsageError.
    """
    canvas.require(frame, " ".join(filter(None, (row, value, hue, low, high))))
    number = partial(_number, Unit.of(value))
    scheme = hue if hue and set(frame[hue]) <= set(ALGORITHMS) else "" if hue else "algorithm"
    drawn = frame.drop(columns="run", errors="ignore").assign(
        row=frame[row].astype(str).map(figures.humanize),
        algorithm=frame.get(scheme, ""),
        operation=frame[hue].astype(str) if hue else value,
        value=frame[value],
        text=frame[value].astype(float).map(number),
        low=frame[low] if low else np.nan,
        high=frame[high] if high else np.nan,
    )
    what, is_plain = marks.quantity(value), scheme not in frame
    axes = dots(
        drawn, label or what, ax=ax, origin=origin, is_log=is_log, order="frame",
        show=marks.brief if is_log and Unit.of(value) == "s" else number,
        hue="operation" if is_plain else None,
    )  # fmt: skip
    names = frame[row].astype(str) + (", " + frame[hue].astype(str) if hue else "")
    shown = frame.set_index(names)[value].astype(float)
    canvas.headline(axes, marks.extremes(what[0].upper() + what[1:], shown, number))
    return axes


def _number(unit: Unit, value: float) -> str:
    text = figures.integer(value) if not unit and abs(value) >= 1000 else unit.text(float(value))
    return text.replace("-", "\N{MINUS SIGN}")
