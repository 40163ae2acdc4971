"""Plots of times: measured, relative to published ones or other runs, and gains of AVX2."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.algorithms import ALGORITHMS
from pqchain.errors import UsageError
from pqchain.figures import RATIO, SECONDS, Kind
from pqchain.plots import canvas, dots, marks
from pqchain.plots.marks import TIE, props
from pqchain.results.measurements import require_columns

_PAIR = ["algorithm", "operation"]

_CHANGE = 1.05
"""Least ratio that the axes of a history reach, so that noise is not enlarged."""

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
        operation=measured["quantity"].str.replace("_seconds", "", regex=False),
        row=measured["algorithm"] + variant.where(variant == "", " (" + variant + ")"),
        status=measured["verdict"],
    )
    label = "time measured here / published time, medians"
    notes = "line: equal times", marks.DEVIATION
    axes = dots.dots(frame, label, *notes, ax=ax, show=_factor, origin=1.0, order="value")
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
    # By the place of the library's AVX2 code among the implementations of the algorithm.
    codes = {name: row.implementations for name, row in ALGORITHMS.items()}
    pairs = zip(frame["algorithm"], frame["library"] + "/avx2", strict=True)
    places = [[*codes.get(name, ()), code].index(code) for name, code in pairs]
    rank = pd.Series(places, frame.index)
    frame = frame[rank == rank.groupby([frame[name] for name in _PAIR]).transform("min")]
    if frame.empty:
        raise UsageError(
            "measurements must have a /ref and an /avx2 row with status 'ok' of one algorithm; got "
            "none. Measure both implementations."
        )
    drawn = frame.assign(value=frame["speedup"], text=frame["speedup"].map(_times))
    label = "time of portable C / time with AVX2, medians"
    notes = "right of the line: AVX2 is faster", f"{marks.DEVIATION}s of both"
    axes = dots.dots(drawn, label, *notes, ax=ax, show=_factor, origin=1.0, order="value")
    names = frame["algorithm"] + ", " + frame["operation"].map(figures.humanize)
    gains = frame.set_index(names)["speedup"]
    canvas.headline(axes, marks.extremes("Gain of AVX2", gains, _times))
    return axes


def plot_operation(table: pd.DataFrame, operation: str, *, ax: Axes | None = None) -> Axes:
    """Draw the times of an operation with portable C and AVX2, published and ours, and the gain.

    Takes a printed frame; notes of the frame are below the axis. Raises DataError, and UsageError
    for an operation that the table does not have.
    """
    canvas.require(table, "algorithm variant quantity printed ours")
    rows = table[table["quantity"] == f"{operation}_seconds"]
    if rows.empty:
        known = table["quantity"][table["quantity"].str.endswith("_seconds")]
        expected = ", ".join(name.removesuffix("_seconds") for name in dict.fromkeys(known))
        raise UsageError(f"operation must be one of {expected}; got {operation!r}")
    medians = rows.groupby(["variant", "algorithm"], sort=False)["ours"].first()
    gains = medians["ref"] / medians["avx2"]
    code = rows["variant"].map({"ref": "portable C", "avx2": "AVX2"})
    here = rows["algorithm"].map(gains).map(_times).where(rows["variant"] == "avx2", "")
    frame = pd.concat(
        rows.assign(operation=code, side=side, value=rows[column], text=text)
        for side, column, text in (("published", "printed", ""), ("here", "ours", here))
    )
    notes = frame[["algorithm", "note"]].drop_duplicates() if "note" in frame else frame.iloc[:0]
    own = [f"{name} here: {note}" for name, note in notes.to_numpy() if note]
    label = f"time to {figures.humanize(operation)}, median"
    number = "number: portable C / AVX2 here"
    axes = dots.dots(frame, label, number, *own, ax=ax, hue="side", order="frame")
    what = f"Gain of AVX2 to {figures.humanize(operation)} here"
    canvas.headline(axes, marks.extremes(what, gains, _times))
    return axes


def plot_accelerator(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw Table 3 of the accelerator paper: published, cited, estimated and modelled times.

    Takes the printed frame `table3`; rows name the kind of number. Raises DataError, UsageError.
    """
    canvas.require(table, "algorithm implementation kind ours")
    frame = table.assign(
        row=table["implementation"] + " (" + table["kind"].astype(str) + ")",
        sign_seconds=table["ours"],
    ).sort_values("ours", kind="stable")
    style = props(label="time of a signature with a Cortex-M4", is_log=True, ax=ax)
    return dots.plot_values(frame, "sign_seconds", row="row", hue="algorithm", **style)


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


def plot_compared(compared: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the time of each run relative to the first, with a row for each implementation.

    Takes a frame of `compare_runs`; several runs have a colour each. Whiskers are 95 % intervals; a
    comparison of single runs has none. The band holds ratios that are no difference, and only rows
    with a difference have a colour. Raises DataError, UsageError.
    """
    columns = "algorithm implementation operation base run ratio low high verdict"
    canvas.require(compared, columns)
    several = compared["run"].nunique() > 1
    base, run = compared["base"].iloc[0], compared["run"].iloc[0]
    judged = compared[compared["verdict"] != ""]
    clear = compared["verdict"].isin(["slower", "faster"])
    undecided = (judged["verdict"] == "undecided").sum()
    notes = ["right of the line: slower"]
    if len(judged):
        notes += [f"band: below {marks.TIE_PERCENT} does not count", marks.INTERVAL]
        notes += ["grey: not significant"] if not clear.all() else []
        notes += [f"{undecided} of {len(judged)} need more runs"] if undecided else []
    many = compared.groupby("algorithm")["implementation"].transform("nunique") > 1
    rows = compared["algorithm"]
    frame = compared.assign(
        row=rows.where(~many, rows + "\n" + compared["implementation"]),
        value=compared["ratio"],
        text=compared["ratio"].map(_times),
        clear=clear if len(judged) else True,
    )
    label = f"time {'of each run' if several else run} / time {base}"
    hue = "run" if several else None
    axes = dots.dots(frame, label, *notes, ax=ax, show=_factor, origin=1.0, hue=hue)
    if len(judged):
        axes.axvspan(1 / TIE, TIE, color=canvas.GRID, alpha=0.6, linewidth=0, zorder=0)
    slower, faster = ((judged["verdict"] == word).sum() for word in ("slower", "faster"))
    text = f"{slower + faster or 'None'} of the {len(judged)} measured times differ significantly"
    text += f": {faster} faster, {slower} slower" if slower + faster else ""
    if not len(judged):
        low, high = _times(compared["ratio"].min()), _times(compared["ratio"].max())
        text = f"Single runs, without a verdict: {low} to {high}"
    canvas.headline(axes, text)
    return axes


def plot_history(runs: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw median times over runs, a panel for each operation and a line for each implementation.

    Takes a frame of `concat_runs`, whose column `run` is sorted. Times are relative to that in the
    first run. Whiskers are the MAD on both sides of the median. Several panels need no `ax`. Raises
    DataError, UsageError.
    """
    canvas.require(runs, "run algorithm implementation operation median_seconds status")
    fine = runs[runs["status"] == "ok"]
    canvas.require(fine, "")
    names = list(dict.fromkeys(runs["run"]))
    operations = list(dict.fromkeys(fine["operation"]))
    if ax is not None and len(operations) > 1:
        raise UsageError(
            f"ax must be left out for a history of {len(operations)} operations, which have a "
            "panel each. Draw the rows of one operation."
        )
    lines = list(dict.fromkeys(zip(fine["algorithm"], fine["implementation"], strict=True)))
    several = len({name for name, _ in lines}) < len(lines)
    tall = 0.8 + max(0.95, 0.17 * len(lines))
    with canvas.panels(len(operations), 1, 0.6 + tall * len(operations), ax) as all_axes:
        for axes, operation in zip(all_axes, operations, strict=True):
            axes.set_yscale("log")
            canvas.panel_title(axes, figures.humanize(operation))
            group = fine[fine["operation"] == operation]
            for at, (name, implementation) in enumerate(lines):
                is_line = (group["algorithm"] == name) & (group["implementation"] == implementation)
                if (rows := group[is_line]).empty:
                    continue
                # Relative, because changes of some percent are invisible on an axis of all times.
                first = float(rows["median_seconds"].iloc[0])
                medians = (rows["median_seconds"] / first).to_numpy()
                spread = rows.get("mad_seconds", 0 * rows["median_seconds"]).fillna(0) / first
                low, high = medians - spread, medians + spread
                # Apart, so that the whiskers of two lines do not cover each other.
                aside = 0.3 / len(lines) * (at - (len(lines) - 1) / 2)
                places = rows["run"].map(names.index).to_numpy() + aside
                mark = marks.mark_of(name)
                axes.vlines(places, low, high, color=mark.colour, linewidth=1.6, alpha=0.55)
                before = sum(other == name for other, _ in lines[:at])
                label = f"{name}, {implementation}" if several else name
                style = mark.style(4) | props(markeredgecolor=mark.colour, linewidth=1.4)
                style |= props(linestyle=marks.DASHES[before % len(marks.DASHES)], label=label)
                axes.plot(places, medians, **style)
            # Of an ISO date and time, the minutes suffice.
            short = [re.sub(r"^(\d+-\d+-\d+)T(\d+:\d+).*", r"\1\n\2", name) for name in names]
            axes.set_xticks(range(len(names)), short)
            axes.margins(x=0.1, y=0.2)
            axes.tick_params(labelbottom=axes is all_axes[-1])
        # Of equal height, as a reader compares panels, and so that noise is not enlarged.
        limits = np.array([axes.get_ylim() for axes in all_axes])
        notes = "ratio to the first run", marks.DEVIATION
        canvas.x_label(all_axes[-1], "runs in the order of time", *notes)
        by_run = fine.set_index(["run", "algorithm", "implementation", "operation"])
        last, start = (by_run["median_seconds"].loc[names[at]] for at in (-1, 0))
        ratios = (last / start).dropna()
        ratios.index = [", ".join((*key[:-1], figures.humanize(key[-1]))) for key in ratios.index]
        text = marks.extremes("Time of the last run / time of the first", ratios, _times)
        canvas.legend_above(all_axes[0], 2)
        canvas.headline(all_axes[0], text)
        for axes in all_axes:
            axes.set_ylim(min(limits.min(), 1 / _CHANGE), max(limits.max(), _CHANGE))
            marks.log_ticks(axes, "y", _factor)
            marks.grid(axes)
            axes.set_ylabel("ratio")
    return all_axes[0]
