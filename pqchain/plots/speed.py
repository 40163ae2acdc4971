"""Plots of times: measured, relative to published ones, gains of AVX2, and modelled."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from pqchain import figures
from pqchain.algorithms import ALGORITHMS
from pqchain.errors import UsageError
from pqchain.figures import RATIO, SECONDS, Kind
from pqchain.plots import canvas, dots, marks
from pqchain.plots.marks import props
from pqchain.results.measurements import require_columns

_PAIR = ["algorithm", "operation"]

_times = partial(RATIO.text, digits=2)

_factor = f"{figures.TIMES}{{:g}}".format


def plot_speed(
    measurements: pd.DataFrame, *, hue: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw median times per algorithm, with a whisker from the minimum to the 95th percentile.

    Takes a measurement frame; an algorithm without times has a note. Of several implementations
    the fastest of each operation is drawn, unless `hue` is "implementation". `hue` names the
    column that decides the colour, by default the family. Raises DataError, UsageError.
    """
    needed = "algorithm implementation operation median_seconds min_seconds p95_seconds status"
    canvas.require(measurements, f"{needed} {hue or ''}")
    frame, of_fastest = measurements, ""
    if hue != "implementation":
        frame = dots.fastest(frame)
        of_fastest = " of the fastest implementation" if len(frame) < len(measurements) else ""
    frame = frame.assign(
        value=frame["median_seconds"], low=frame["min_seconds"], high=frame["p95_seconds"]
    )
    label = f"time of an operation{of_fastest}, median"
    axes = dots.dots(frame, label, marks.SAMPLES, ax=ax, hue=hue)
    for operation in ("verify", "decapsulate", *frame["operation"]):
        rows = frame[(frame["operation"] == operation) & (frame["status"] == "ok")]
        if len(rows):
            break
    seconds = rows.set_index("algorithm")["value"]
    what = f"Time to {figures.humanize(operation)}"
    canvas.headline(axes, marks.extremes(what, seconds, partial(SECONDS.text, digits=2)))
    return axes


def plot_ratio(printed: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw measured time / published time per algorithm and operation, on a log axis around 1.

    Takes a printed frame, of which it draws the times of operations. Whiskers are the deviation of
    the measured times. Raises DataError, UsageError.
    """
    columns = "algorithm implementation variant quantity printed unit kind ours deviation ratio"
    canvas.require(printed, f"{columns} verdict")
    is_time = (printed["unit"] == "s") & (printed["verdict"] != "")
    measured = printed[is_time & (printed["kind"] == Kind.MEASURED)]
    canvas.require(measured, "")
    variant, deviation = measured["variant"], measured["deviation"].fillna(0)
    frame = measured.assign(
        value=measured["ratio"],
        low=(measured["ours"] - deviation) / measured["printed"],
        high=(measured["ours"] + deviation) / measured["printed"],
        operation=measured["quantity"].str.removesuffix("_seconds"),
        row=measured["algorithm"] + variant.where(variant == "", " (" + variant + ")"),
        status=measured["verdict"],
    )
    label = "time measured here / published time, medians"
    axes = dots.dots(
        frame,
        label,
        "line: equal times",
        marks.DEVIATION,
        ax=ax,
        show=_factor,
        origin=1.0,
        is_sorted=True,
    )
    ratios = frame.loc[frame["status"] == "ok", "ratio"].dropna()
    if len(ratios):
        count = f"{(ratios < 1).sum()} of {len(ratios)} times measured here"
        text = f"{count} are shorter than published; the median ratio is {_times(ratios.median())}"
        canvas.headline(axes, text)
    return axes


def plot_speedup(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how many times faster AVX2 is than portable C, per algorithm and operation.

    Takes a measurement frame and uses pairs of implementations /ref and /avx2 of one library; of
    several libraries the first in the registry. Whiskers are the ratios if both times deviate from
    their medians by the MAD, in opposite directions. Raises DataError, and UsageError if no pair
    was measured.
    """
    frame = speedups(measurements)
    rank = frame.apply(_rank, axis=1, result_type="reduce")
    frame = frame[rank == rank.groupby([frame[name] for name in _PAIR]).transform("min")]
    if frame.empty:
        raise UsageError(
            "measurements must have a /ref and an /avx2 row with status 'ok' of one algorithm; got "
            "none. Measure both implementations."
        )
    drawn = frame.assign(value=frame["speedup"], text=frame["speedup"].map(_times))
    label = "time of portable C / time with AVX2, medians"
    notes = "right of the line: AVX2 is faster", f"{marks.DEVIATION}s of both"
    axes = dots.dots(drawn, label, *notes, ax=ax, show=_factor, origin=1.0, is_sorted=True)
    names = frame["algorithm"] + ", " + frame["operation"].map(figures.humanize)
    gains = frame.set_index(names)["speedup"]
    canvas.headline(axes, marks.extremes("Gain of AVX2", gains, _times))
    return axes


def _rank(row: Any) -> int:
    """Return the place of a library's AVX2 code among the implementations of an algorithm."""
    known = ALGORITHMS[row["algorithm"]].implementations if row["algorithm"] in ALGORITHMS else ()
    name = f"{row['library']}/avx2"
    return known.index(name) if name in known else len(known)


def plot_operation(table: pd.DataFrame, operation: str, *, ax: Axes | None = None) -> Axes:
    """Draw the times of an operation with portable C and AVX2, published and ours, and the gain.

    Takes a printed frame. Hollow: published; filled: ours. A missing time has its verdict as a
    label; notes of the frame are below the axis. Raises DataError, and UsageError for an operation
    that the table does not have.
    """
    canvas.require(table, "algorithm variant quantity printed ours verdict")
    rows = table[table["quantity"] == f"{operation}_seconds"]
    if rows.empty:
        known = table["quantity"][table["quantity"].str.endswith("_seconds")]
        expected = ", ".join(dict.fromkeys(known.str.removesuffix("_seconds")))
        raise UsageError(f"operation must be one of {expected}; got {operation!r}")
    names = list(dict.fromkeys(rows["algorithm"]))
    gains = pd.DataFrame(index=names, columns=["printed", "ours"], dtype=float)
    with canvas.canvas(ax, 1.3 + 0.42 * len(names)) as axes:
        axes.set_xscale("log")
        for level, name in enumerate(names):
            cells = rows[rows["algorithm"] == name]
            for side, offset in (("printed", -0.2), ("ours", 0.2)):
                medians = cells.groupby("variant")[side].first().reindex(["ref", "avx2"])
                gains.loc[name, side] = medians["ref"] / medians["avx2"]
                _dumbbell(axes, level + offset, medians, name, is_ours=side == "ours")
            if len(missing := cells[~np.isfinite(cells["ours"])]):
                reasons = missing["verdict"]
                if len(missing) < len(cells):
                    reasons = missing["variant"] + ": " + reasons
                text = ", ".join(dict.fromkeys(reasons))
                note = props(va="center", size=canvas.points(), color=canvas.MUTED)
                axes.text(0.01, level + 0.2, text, transform=axes.get_yaxis_transform(), **note)
        marks.name_levels(axes, names)
        marks.log_ticks(axes, "x", marks.brief)
        marks.grid(axes, "x")
        noted = rows[rows["note"] != ""] if "note" in rows else rows.iloc[:0]
        notes = dict(zip(noted["algorithm"], noted["note"], strict=True))
        canvas.x_label(
            axes,
            f"time to {figures.humanize(operation)}, median",
            "number: portable C / AVX2",
            *(f"{name} here: {note}" for name, note in notes.items()),
        )
        style = props(color=canvas.INK, linestyle="none", markersize=6)
        handles = [
            Line2D([], [], marker=mark, markerfacecolor=fill, label=f"{code}, {side}", **style)
            for fill, side in ((canvas.PAPER, "published"), (canvas.INK, "here"))
            for mark, code in (("s", "portable C"), ("o", "AVX2"))
        ]
        canvas.legend_above(axes, 4, handles)
        what = f"Gain of AVX2 to {figures.humanize(operation)} here"
        canvas.headline(axes, marks.extremes(what, gains["ours"], _times))
    return axes


def _dumbbell(axes: Axes, level: float, medians: Any, name: str, *, is_ours: bool) -> None:
    """Draw portable C and AVX2 on one level, joined by a line with the gain."""
    mark = marks.mark_of(name)
    axes.hlines(level, medians.min(), medians.max(), color=mark.colour, linewidth=1.4, zorder=1)
    for variant, marker in (("ref", "s"), ("avx2", "o")):
        style = mark.style(6, is_published=not is_ours) | props(marker=marker)
        label = f"{variant}, {'here' if is_ours else 'published'}"
        is_last = medians.notna().all() and variant == medians.idxmax()
        text = _times(medians["ref"] / medians["avx2"]) if is_last else ""
        dots.point(axes, level, medians[variant], (np.nan, np.nan), text, **style, label=label)


def plot_accelerator(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw Table 3 of the accelerator paper: published, cited, estimated and modelled times.

    Takes the printed frame `table3`; rows name the kind of number. Raises DataError, UsageError.
    """
    canvas.require(table, "algorithm implementation kind ours")
    frame = table.assign(
        row=table["implementation"] + " (" + table["kind"].astype(str) + ")",
        sign_seconds=table["ours"],
    ).sort_values("ours", kind="stable")
    style = props(row="row", hue="algorithm", is_log=True, ax=ax)
    label = "time of a signature with a Cortex-M4"
    return dots.plot_values(frame, "sign_seconds", label=label, **style)


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
    keys = [*_PAIR, "library"]
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
        portable = ref.sort_values("ref_seconds").drop_duplicates(_PAIR)
        own = alone.merge(portable.drop(columns="library"), on=_PAIR)
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
