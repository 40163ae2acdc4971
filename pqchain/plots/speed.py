"""Plots of times: measured, relative to published ones, gains of AVX2, and modelled."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.costs import require_columns
from pqchain.errors import UsageError
from pqchain.figures import SECONDS, Kind
from pqchain.plots.canvas import LOOKS, MUTED, PAPER, canvas, look, require
from pqchain.plots.dots import dots, ranked
from pqchain.plots.marks import (
    annotate,
    brief,
    grid,
    legend_above,
    legend_within,
    log_ticks,
    name_levels,
    props,
)

_BARS = (
    ("ref", "printed", "reference, printed", "#0072B2"),
    ("ref", "ours", "reference, here", "#0072B2"),
    ("avx2", "printed", "AVX2, printed", "#D55E00"),
    ("avx2", "ours", "AVX2, here", "#D55E00"),
)
"""Bars of an algorithm from the top: printed ones are hatched, ours are solid."""

_KINDS = {
    Kind.PUBLISHED: (MUTED, ""),
    Kind.CITED: ("#009E73", "xxx"),
    Kind.ESTIMATED: ("#56B4E9", "///"),
    Kind.MODELLED: ("#E69F00", "..."),
}


def plot_speed(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw median times per algorithm, with a whisker from the minimum to the 95th percentile.

    Takes a measurement frame; an algorithm without times has a note. Raises DataError, UsageError.
    """
    needed = "algorithm implementation operation median_seconds min_seconds p95_seconds status"
    require(measurements, needed)
    whiskers = ("min_seconds", "p95_seconds")
    label = "time of one operation (median; whisker: minimum to 95th percentile)"
    return dots(measurements, value="median_seconds", label=label, ax=ax, whiskers=whiskers)


def plot_ratio(printed: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw measured time / published time per algorithm and operation, on a log axis around 1.

    Takes a printed frame, of which it draws the times of operations. Raises DataError, UsageError.
    """
    require(printed, "algorithm implementation variant quantity unit kind ratio verdict")
    is_time = (printed["unit"] == "s") & (printed["verdict"] != "")
    times = printed[is_time & (printed["kind"] == Kind.MEASURED)]
    require(times, "")
    variant = times["variant"]
    frame = times.assign(
        operation=times["quantity"].str.removesuffix("_seconds"),
        row=times["algorithm"] + variant.where(variant == "", " (" + variant + ")"),
        status=times["verdict"],
    )
    label = "measured here / published   (left of the line: faster here)"
    return _around_one(frame, "ratio", label, ax)


def plot_compared(compared: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the time of each run relative to the first, a row for each algorithm and run.

    Takes a frame of `compare_runs`. Whiskers are 95 % intervals; a comparison of single runs has
    none. Raises DataError, UsageError.
    """
    require(compared, "algorithm implementation operation base run ratio low high verdict")
    several = compared["run"].nunique() > 1
    rows = compared["algorithm"] + (": " + compared["run"] if several else "")
    base, run = compared["base"].iloc[0], compared["run"].iloc[0]
    label = f"time of {'each run' if several else run} / {base}   (right of the line: slower)"
    show = f"{figures.TIMES}{{:g}}".format
    frame = compared.assign(row=rows)
    return dots(
        frame, value="ratio", label=label, show=show, ax=ax, origin=1.0, whiskers=("low", "high")
    )


def plot_history(runs: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw median times over runs, a line for each operation of each implementation.

    Takes a frame of `concat_runs`, whose column `run` is sorted. Raises DataError, UsageError.
    """
    require(runs, "run algorithm implementation operation median_seconds status")
    fine = runs[runs["status"] == "ok"]
    require(fine, "")
    names = list(dict.fromkeys(runs["run"]))
    with canvas(ax, 3.6) as axes:
        axes.set_yscale("log")
        keys = ["algorithm", "implementation", "operation"]
        for index, (key, group) in enumerate(fine.groupby(keys, sort=False)):
            colour, marker = look(index)
            line = props(color=colour, marker=marker, markersize=4, linewidth=1.1)
            line |= props(linestyle=("-", "--", ":", "-.")[index // len(LOOKS) % 4])
            label = f"{key[0]}, {figures.humanize(str(key[2]))} ({key[1]})"
            places = group["run"].map(names.index)
            axes.plot(places, group["median_seconds"], label=label, **line)
        short = [re.sub(r"^(\d+-\d+-\d+)T([\d:]+).*", r"\1\n\2", name) for name in names]
        axes.set_xticks(range(len(names)), short)
        log_ticks(axes, "y", lambda value: SECONDS.text(value, 2))
        grid(axes)
        axes.set_ylabel("median time of one operation")
        legend_above(axes, 2)
    return axes


def plot_speedup(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how many times faster AVX2 is than portable C, per algorithm and operation.

    Takes a measurement frame and uses pairs of implementations /ref and /avx2 of one library; of
    several libraries the first in the registry. Raises DataError, and UsageError if no pair was
    measured.
    """
    frame = speedups(measurements)
    rank = ranked(frame.assign(implementation=frame["library"] + "/avx2"))["rank"]
    frame = frame[rank == rank.groupby([frame["algorithm"], frame["operation"]]).transform("min")]
    if frame.empty:
        raise UsageError(
            "measurements must have a /ref and an /avx2 row with status 'ok' of one algorithm; got "
            "none. Measure both implementations."
        )
    label = "time of portable C / time with AVX2   (right of the line: AVX2 is faster)"
    return _around_one(frame, "speedup", label, ax)


def _around_one(frame: pd.DataFrame, value: str, label: str, ax: Axes | None) -> Axes:
    show = f"{figures.TIMES}{{:g}}".format
    return dots(frame, value=value, label=label, show=show, ax=ax, origin=1.0)


def plot_operation(table: pd.DataFrame, operation: str, *, ax: Axes | None = None) -> Axes:
    """Draw the times of an operation as bars: reference and AVX2, published and ours.

    Takes a printed frame. The axis is logarithmic and starts at a decade, so the ends of bars are
    comparable and their lengths are not. A missing bar has its verdict as a label. Raises
    DataError, and UsageError for an operation that the table does not have.
    """
    require(table, "algorithm variant quantity printed ours verdict")
    rows = table[table["quantity"] == f"{operation}_seconds"]
    if rows.empty:
        known = table["quantity"][table["quantity"].str.endswith("_seconds")]
        expected = ", ".join(dict.fromkeys(known.str.removesuffix("_seconds")))
        raise UsageError(f"operation must be one of {expected}; got {operation!r}")
    names = list(dict.fromkeys(rows["algorithm"]))
    values = rows[["printed", "ours"]].to_numpy()
    start = 10 ** np.floor(np.log10(np.nanmin(values[values > 0])) - 0.01)
    with canvas(ax, 0.8 + 0.62 * len(names)) as axes:
        axes.set_xscale("log")
        for index, (variant, side, label, colour) in enumerate(_BARS):
            fill, hatch = (colour, "") if side == "ours" else (PAPER, "//////")
            bar = props(left=start, height=0.18, linewidth=0.8, label=label)
            bar |= props(color=fill, edgecolor=colour, hatch=hatch)
            for cell in rows[rows["variant"] == variant].to_dict("records"):
                level, value = names.index(cell["algorithm"]) + (index - 1.5) * 0.2, cell[side]
                if not np.isfinite(value):
                    axes.text(start * 1.1, level, cell["verdict"], va="center", color=MUTED, size=7)
                    continue
                axes.barh(level, value - start, **bar)
                annotate(axes, SECONDS.text(value, 2), (value, level))
        axes.set_xlim(start, np.nanmax(values) * 3)
        name_levels(axes, names)
        log_ticks(axes, "x", brief)
        grid(axes, "x")
        axes.set_xlabel(f"{figures.humanize(operation)}: median here and published (log scale)")
        legend_above(axes, 4)
    return axes


def plot_accelerator(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw Table 3 of the accelerator paper: published, estimated and modelled times.

    Takes the printed frame `table3`; colour shows the kind of number. Raises DataError, UsageError.
    """
    require(table, "algorithm implementation kind ours")
    table = table.assign(place=range(len(table)), ms=table["ours"] * 1e3)
    with canvas(ax, 0.9 + 0.24 * len(table)) as axes:
        for kind, (colour, hatch) in _KINDS.items():
            rows = table[table["kind"] == kind]
            style = props(color=colour, hatch=hatch, edgecolor=PAPER, label=str(kind))
            axes.barh(rows["place"], rows["ms"], height=0.7, **style)
        for point in zip(table["ms"], table["place"], strict=True):
            annotate(axes, f"{point[0]:.1f}", point)
        axes.set_yticks(table["place"], table["algorithm"] + "  " + table["implementation"])
        axes.invert_yaxis()
        axes.set_xlim(0, table["ms"].max() * 1.12)
        axes.set_xlabel("time of one signature in milliseconds")
        legend_within(axes, "lower right")
    return axes


def speedups(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return pairs of /ref and /avx2 rows of one library with status "ok". Raises DataError.

    A scheme with AVX2 code in a library without portable code, such as `rainbow/avx2`, has pairs of
    this code with the portable code of the other library, whose AVX2 build has none of its own.

    Columns: algorithm, operation, library, ref_seconds, avx2_seconds, speedup (ref / avx2).
    """
    needed = ("algorithm", "implementation", "operation", "median_seconds", "status")
    require_columns(measurements, needed, "this plot")
    fine = measurements[measurements["status"] == "ok"]
    fine = fine.join(fine["implementation"].str.extract("^(?P<library>.*)/(?P<variant>.*)$"))
    keys = ["algorithm", "operation", "library"]
    ref, avx2 = (
        fine[fine["variant"] == variant][[*keys, "median_seconds"]].rename(
            columns={"median_seconds": f"{variant}_seconds"}
        )
        for variant in ("ref", "avx2")
    )
    paired = ref.merge(avx2, on=keys)
    both = set(zip(ref["algorithm"], ref["library"], strict=True))
    places = zip(avx2["algorithm"], avx2["library"], strict=True)
    alone = avx2[[place not in both for place in places]]
    if len(alone):
        portable = ref.groupby(keys[:2], as_index=False)["ref_seconds"].min()
        own = alone.merge(portable, on=keys[:2])
        others = paired[~paired["algorithm"].isin(own["algorithm"])]
        paired = pd.concat([others, own[paired.columns]], ignore_index=True)
    return paired.assign(speedup=paired["ref_seconds"] / paired["avx2_seconds"])
