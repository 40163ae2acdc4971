"""Plots of times: measured, relative to published ones, gains of AVX2, and modelled."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from pqchain import figures
from pqchain.errors import UsageError
from pqchain.figures import RATIO, SECONDS, Kind
from pqchain.measurements import require_columns
from pqchain.plots import paper
from pqchain.plots.canvas import INK, MUTED, PAPER, canvas, headline, require, with_notes
from pqchain.plots.dots import dots, fastest, ranked
from pqchain.plots.marks import (
    DEVIATION,
    SAMPLES,
    annotate,
    as_printed,
    brief,
    enclose,
    grid,
    legend_above,
    log_ticks,
    mark_of,
    name_levels,
    props,
    times,
)
from pqchain.plots.words import without_library, words

_KIND_MARKS = {Kind.PUBLISHED: "o", Kind.CITED: "s", Kind.ESTIMATED: "D", Kind.MODELLED: "X"}

_VERBS = {"verify": "verifies", "decapsulate": "decapsulates", "sign": "signs"}

_times = partial(RATIO.text, digits=2)

_factor = f"{figures.TIMES}{{:g}}".format

_AS_PUBLISHED = 1.25
"""Ratio of two gains up to which one confirms the other."""


def plot_speed(
    measurements: pd.DataFrame,
    *,
    hue: str | None = None,
    col: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw median times per algorithm, with a whisker from the minimum to the 95th percentile.

    Takes a measurement frame; an algorithm without times has a note. Of several implementations
    the fastest of each operation is drawn, unless `hue` or `col` is "implementation". `hue` names
    the column that decides the colour, by default the family; `col` the one with a panel for each
    value, of which the axes of the first are returned. Raises DataError, UsageError.
    """
    needed = "algorithm implementation operation median_seconds min_seconds p95_seconds status"
    require(measurements, " ".join(filter(None, (needed, hue, col))))
    frame, of_several = measurements, ""
    if "implementation" not in (hue, col):
        frame = fastest(frame)
        if len(frame) < len(measurements):
            of_several = " of the fastest implementation"
    text, note, of_library = "", "", ""
    if (by := hue or col) and (contrast := _contrast(frame, by)):
        if by == "implementation":
            library, names = without_library(list(frame[by]))
            frame = frame.assign(implementation=names)
            of_library = f" with {library}" if library else ""
            contrast = _contrast(frame, by) or contrast
        slow, fast, ratios = contrast
        greatest: Any = ratios.idxmax()
        algorithm, operation = greatest
        text = (
            f"{words(slow)} takes up to {times(ratios.max())} as long as {words(fast)}{of_library}"
        )
        text = f"{text[0].upper()}{text[1:]} ({algorithm}, {words(operation)})"
        if by == hue:
            frame = _with_ratios(frame, ratios)
            note = f"number: {words(slow)} / {words(fast)}"
    label = with_notes(f"time of an operation{of_several}{of_library}, median", SAMPLES, note)
    whiskers = ("min_seconds", "p95_seconds")
    axes = dots(
        frame, value="median_seconds", label=label, ax=ax, whiskers=whiskers, hue=hue, col=col
    )
    if text := text or _fastest_and_slowest(frame):
        headline(axes, text)
    return axes


_PAIR = ["algorithm", "operation"]


def _contrast(frame: pd.DataFrame, by: str) -> tuple[str, str, pd.Series] | None:
    """Return the slower and the faster of two values of a column, and the ratios of their times."""
    names = list(dict.fromkeys(frame[by]))
    if len(names) != 2 or by in _PAIR:
        return None
    medians = frame[frame["status"] == "ok"].pivot_table("median_seconds", _PAIR, by)
    if not set(names) <= set(medians):
        return None
    ratios = (medians[names[1]] / medians[names[0]]).dropna()
    if len(ratios) < 2:
        return None
    if ratios.median() < 1:
        return names[0], names[1], 1 / ratios
    return names[1], names[0], ratios


def _with_ratios(frame: pd.DataFrame, ratios: pd.Series) -> pd.DataFrame:
    """Add a column `text` with each ratio, in the row of the greater of its two times."""
    greatest = frame.groupby(_PAIR)["median_seconds"].transform("max")
    texts = [
        _times(ratios[key]) if key in ratios.index and is_last else ""
        for *pair, is_last in zip(
            frame["algorithm"], frame["operation"], frame["median_seconds"] == greatest, strict=True
        )
        for key in [tuple(pair)]
    ]
    return frame.assign(text=texts)


def _fastest_and_slowest(frame: pd.DataFrame) -> str:
    for operation, verb in _VERBS.items():
        rows = frame[(frame["operation"] == operation) & (frame["status"] == "ok")]
        rows = rows.sort_values("median_seconds").drop_duplicates("algorithm")
        if len(rows) > 1:
            (first, last), (least, most) = rows.iloc[[0, -1]][
                ["algorithm", "median_seconds"]
            ].T.values
            by = words(str(rows["implementation"].iloc[0]))
            return (
                f"{first} {verb} fastest of those shown, in {SECONDS.text(least, 2)} with {by}; "
                f"{last} slowest, in {SECONDS.text(most, 2)}"
            )
    return ""


def plot_ratio(printed: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw measured time / published time per algorithm and operation, on a log axis around 1.

    Takes a printed frame, of which it draws the times of operations. Whiskers are the deviation of
    the measured times. Raises DataError, UsageError.
    """
    columns = "algorithm implementation variant quantity printed unit kind ours deviation ratio"
    require(printed, f"{columns} verdict")
    is_time = (printed["unit"] == "s") & (printed["verdict"] != "")
    measured = printed[is_time & (printed["kind"] == Kind.MEASURED)]
    require(measured, "")
    variant, deviation = measured["variant"], measured["deviation"].fillna(0)
    frame = measured.assign(
        low=(measured["ours"] - deviation) / measured["printed"],
        high=(measured["ours"] + deviation) / measured["printed"],
        operation=measured["quantity"].str.replace("_seconds", "", regex=False),
        row=measured["algorithm"] + variant.where(variant == "", " (" + variant + ")"),
        status=measured["verdict"],
    )
    label = with_notes(
        "time measured here / published time, medians",
        "line: equal times",
        DEVIATION,
    )
    axes = dots(
        frame, value="ratio", label=label, show=_factor, ax=ax, origin=1.0, is_sorted=True,
        whiskers=("low", "high"),
    )  # fmt: skip
    ratios = frame.loc[frame["status"] == "ok", "ratio"].dropna()
    if len(ratios):
        shorter = int((ratios < 1).sum())
        count = f"All {shorter}" if shorter == len(ratios) > 1 else f"{shorter} of {len(ratios)}"
        text = f"{count} times measured here are shorter than the published ones; "
        headline(axes, f"{text}the median ratio is {figures.significant(ratios.median(), 2)}")
    return axes


def plot_speedup(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how many times faster AVX2 is than portable C, per algorithm and operation.

    Takes a measurement frame and uses pairs of implementations /ref and /avx2 of one library; of
    several libraries the first in the registry. Whiskers are the ratios if both times deviate from
    their medians by the MAD, in opposite directions. Raises DataError, and UsageError if no pair
    was measured.
    """
    frame = speedups(measurements)
    rank = ranked(frame.assign(implementation=frame["library"] + "/avx2"))["rank"]
    frame = frame[rank == rank.groupby([frame["algorithm"], frame["operation"]]).transform("min")]
    if frame.empty:
        raise UsageError(
            "measurements must have a /ref and an /avx2 row with status 'ok' of one algorithm; got "
            "none. Measure both implementations."
        )
    label = with_notes(
        "time of portable C / time with AVX2, medians",
        "right of the line: AVX2 is faster",
        f"{DEVIATION}s of both",
    )
    axes = dots(
        frame, value="speedup", label=label, show=_factor, ax=ax, origin=1.0, numbers=_times,
        whiskers=("low", "high"), is_sorted=True,
    )  # fmt: skip
    best = frame.iloc[int(frame["speedup"].argmax())]
    headline(
        axes,
        f"In the median of {len(frame)} ratios, AVX2 is {times(frame['speedup'].median())} as fast "
        f"as portable C, at most {times(best['speedup'])} ({best['algorithm']}, "
        f"{words(best['operation'])})",
    )
    return axes


def plot_operation(table: pd.DataFrame, operation: str, *, ax: Axes | None = None) -> Axes:
    """Draw the times of an operation with portable C and AVX2, published and ours, and the gain.

    Takes a printed frame. Hollow: published; filled: ours. A missing time has its verdict as a
    label; notes of the frame are below the axis. Raises DataError, and UsageError for an operation
    that the table does not have.
    """
    require(table, "algorithm variant quantity printed ours verdict")
    rows = table[table["quantity"] == f"{operation}_seconds"]
    if rows.empty:
        known = table["quantity"][table["quantity"].str.endswith("_seconds")]
        expected = ", ".join(dict.fromkeys(known.str.replace("_seconds", "", regex=False)))
        raise UsageError(f"operation must be one of {expected}; got {operation!r}")
    names = list(dict.fromkeys(rows["algorithm"]))
    gains: dict[str, list[tuple[str, float]]] = {"printed": [], "ours": []}
    # Nearer to each other below a name than to the next name.
    apart, row_inches = (0.15, 0.55) if paper.narrow() else (0.22, 0.42)
    with canvas(ax, 1.2 + row_inches * len(names)) as axes:
        axes.set_xscale("log")
        for level, name in enumerate(names):
            lacking = rows[(rows["algorithm"] == name) & ~np.isfinite(rows["ours"])]
            if lacking.empty:
                continue
            reasons = lacking["variant"] + ": " + lacking["verdict"]
            if len(lacking) == (rows["algorithm"] == name).sum():
                reasons = lacking["verdict"].drop_duplicates()
            place = props(transform=axes.get_yaxis_transform(), va="center", color=MUTED)
            axes.text(0.01, level + apart, ", ".join(reasons), size=paper.points(), **place)
        for level, name in enumerate(names):
            for side, offset in (("printed", -apart), ("ours", apart)):
                medians = rows[rows["algorithm"] == name].groupby("variant")[side].first()
                if gain := _dumbbell(axes, level + offset, medians, name, side == "ours"):
                    gains[side].append((name, gain))
        name_levels(axes, names, top=apart + 0.08)
        enclose(axes)
        log_ticks(axes, "x", brief)
        grid(axes, "x")
        axes.set_xlabel(with_notes(
            f"time to {words(operation)}, median", "number: portable C / AVX2",
            *(f"{name} here: {note}" for name, note in _notes(rows).items()),
        ))  # fmt: skip
        point = props(color=INK, markeredgecolor=INK, linestyle="none", markersize=6)
        legend_above(axes, 4, [
            Line2D([], [], marker=marker, markerfacecolor=fill, label=label, **point)
            for marker, fill, label in (
                ("s", PAPER, "portable C, published"), ("o", PAPER, "AVX2, published"),
                ("s", INK, "portable C, here"), ("o", INK, "AVX2, here"),
            )
        ])  # fmt: skip
        headline(axes, _gained(dict(gains["printed"]), dict(gains["ours"])))
    return axes


def _notes(rows: pd.DataFrame) -> dict[str, str]:
    """Return the notes of schemes in a printed frame."""
    noted = rows[rows["note"] != ""] if "note" in rows else rows.iloc[:0]
    return dict(zip(noted["algorithm"], noted["note"], strict=True))


def _gained(printed: dict[str, float], ours: dict[str, float]) -> str:
    """Return whether AVX2 gains as much here as published."""
    if not ours:
        return ""
    apart = {name: max(ours[name] / gain, gain / ours[name])
             for name, gain in printed.items() if name in ours}  # fmt: skip
    far = [name for name, ratio in apart.items() if ratio > _AS_PUBLISHED]
    if len(far) > 1 or len(apart) < 3:
        best = max(ours, key=ours.__getitem__)
        text = f"Of the schemes shown, AVX2 gains most for {best}: {times(ours[best])} here"
        return text + (f", {times(printed[best])} published" if best in printed else "")
    within = max(ratio for name, ratio in apart.items() if name not in far) - 1
    text = f"AVX2 gains as much here as published, within {100 * within:.0f}"
    text += f"{figures.NARROW_SPACE}%"
    for name in far:
        text += f", except for {name}: {times(ours[name])} here, {times(printed[name])} published"
    return text


def _dumbbell(axes: Axes, level: float, medians: Any, name: str, is_ours: bool) -> float | None:
    """Draw portable C and AVX2 on one level; return the gain if both are known."""
    mark = mark_of(name)
    values = [float(medians.get(variant, np.nan)) for variant in ("ref", "avx2")]
    style = mark.style(6, is_published=not is_ours) | props(linestyle="none", zorder=3)
    if all(np.isfinite(value) for value in values):
        axes.hlines(level, min(values), max(values), color=mark.colour, linewidth=1.4, zorder=1)
        annotate(axes, _times(values[0] / values[1]), (max(values), level), (7, 0))
    for value, marker, variant in zip(values, "so", ("ref", "avx2"), strict=True):
        if np.isfinite(value):
            side = "here" if is_ours else "published"
            axes.plot(
                [value], [level], **(style | props(marker=marker, label=f"{variant}, {side}"))
            )
    return values[0] / values[1] if all(np.isfinite(value) for value in values) else None


def plot_accelerator(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw Table 3 of the accelerator paper: published, cited, estimated and modelled times.

    Takes the printed frame `table3`; marks show the kind of number, and the times of the first
    parameter set are written on the left, others on the right. Raises DataError, UsageError.
    """
    require(table, "algorithm implementation kind ours")
    names = list(dict.fromkeys(table["algorithm"]))
    rows = list(table.groupby("implementation")["ours"].min().sort_values(kind="stable").index)
    with canvas(ax, 1.3 + 0.24 * len(rows)) as axes:
        axes.set_xscale("log")
        for level, row in enumerate(rows):
            cells = table[table["implementation"] == row]
            colour = mark_of(str(cells["algorithm"].iloc[0])).colour
            line = props(color=colour, linewidth=1.0, alpha=0.5, zorder=1)
            axes.hlines(level, cells["ours"].min(), cells["ours"].max(), **line)
            for cell in cells.to_dict("records"):
                is_published = cell["kind"] in (Kind.PUBLISHED, Kind.CITED)
                style = mark_of(cell["algorithm"]).style(is_published=is_published)
                style |= props(marker=_KIND_MARKS[cell["kind"]], label=cell["kind"])
                style |= props(linestyle="none", zorder=3)
                axes.plot([cell["ours"]], [level], **style)
                side = -7 if cell["algorithm"] == names[0] and len(names) > 1 else 7
                annotate(axes, SECONDS.text(cell["ours"]), (cell["ours"], level), (side, 0))
        name_levels(axes, list(map(words, rows)), top=0.2)
        enclose(axes)
        axes.set_xlim(left=0.85 * axes.get_xlim()[0])  # the first number starts near the axis
        log_ticks(axes, "x", brief)
        grid(axes, "x")
        sides = f"left: {names[0]}; right: {', '.join(names[1:])}" if len(names) > 1 else names[0]
        axes.set_xlabel(with_notes("time of a signature with a Cortex-M4", sides))
        legend_above(axes, 4)
        headline(axes, _accelerated(table))
    return axes


def _accelerated(table: pd.DataFrame) -> str:
    name = table["algorithm"].iloc[0]
    first = table[table["algorithm"] == name]
    printed = first[first["kind"] == Kind.PUBLISHED]["ours"]
    if len(printed) < 2:
        best = first.loc[first["ours"].idxmin()]
        return f"The fastest design shown signs with {name} in {SECONDS.text(best['ours'])}"
    return (
        f"As published, the engine signs with {name} in {SECONDS.text(printed.min())}, "
        f"{as_printed(printed.max(), printed.min())} as fast as software alone"
    )


def speedups(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return pairs of /ref and /avx2 rows of one library with status "ok". Raises DataError.

    A scheme with AVX2 code in a library without portable code, such as `rainbow/avx2`, has pairs of
    this code with the portable code of the other library, whose AVX2 build has none of its own.

    Columns: algorithm, operation, library, ref_seconds, avx2_seconds, speedup (ref / avx2), low and
    high (the speedup if both times deviate by their MAD, in opposite directions; NaN without one).
    """
    needed = ("algorithm", "implementation", "operation", "median_seconds", "status")
    require_columns(measurements, needed, "this plot")
    fine = measurements[measurements["status"] == "ok"]
    fine = fine.assign(mad_seconds=fine.get("mad_seconds", np.nan))
    fine = fine.join(fine["implementation"].str.extract("^(?P<library>.*)/(?P<variant>.*)$"))
    keys = ["algorithm", "operation", "library"]
    ref, avx2 = (
        fine[fine["variant"] == variant][[*keys, "median_seconds", "mad_seconds"]].rename(
            columns={"median_seconds": f"{variant}_seconds", "mad_seconds": f"{variant}_mad"}
        )
        for variant in ("ref", "avx2")
    )
    paired = ref.merge(avx2, on=keys)
    both = set(zip(ref["algorithm"], ref["library"], strict=True))
    places = zip(avx2["algorithm"], avx2["library"], strict=True)
    alone = avx2[[place not in both for place in places]]
    if len(alone):
        portable = ref.sort_values("ref_seconds").drop_duplicates(keys[:2])
        own = alone.merge(portable.drop(columns="library"), on=keys[:2])
        others = paired[~paired["algorithm"].isin(own["algorithm"])]
        paired = pd.concat([others, own[paired.columns]], ignore_index=True)
    low, high = (
        (paired["ref_seconds"] + side * paired["ref_mad"])
        / (paired["avx2_seconds"] - side * paired["avx2_mad"])
        for side in (-1, 1)
    )
    ratio = paired["ref_seconds"] / paired["avx2_seconds"]
    paired = paired.drop(columns=["ref_mad", "avx2_mad"])
    return paired.assign(speedup=ratio, low=low, high=high)
