"""Plots of times: measured, beside published ones, what AVX2 gains, and what is modelled."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.costs import require_columns
from pqchain.errors import UsageError
from pqchain.figures import SECONDS
from pqchain.plots.canvas import LOOKS, MUTED, PAPER, canvas, look, require
from pqchain.plots.dots import dots, ranked
from pqchain.plots.marks import (
    beside,
    brief,
    grid,
    legend_above,
    legend_within,
    log_ticks,
    name_levels,
    props,
)

_BARS = (
    ("ref", "published", "reference, printed", "#0072B2"),
    ("ref", "here", "reference, here", "#0072B2"),
    ("avx2", "published", "AVX2, printed", "#D55E00"),
    ("avx2", "here", "AVX2, here", "#D55E00"),
)
"""Bars of an algorithm from the top: printed ones are hatched, ours are full."""

_KINDS = {
    "published": (MUTED, ""),
    "cited": ("#009E73", "xxx"),
    "estimated": ("#56B4E9", "///"),
    "modelled": ("#E69F00", "..."),
}
"""Colour and hatching of a kind of number."""


def plot_speed(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw median times per algorithm, with a whisker from the minimum to the 95th percentile.

    Takes a measurement frame. An algorithm of which nothing was measured keeps its row, which
    says so. Raises DataError, UsageError.
    """
    needed = "algorithm implementation operation median_seconds min_seconds p95_seconds status"
    require(measurements, needed)
    whiskers = ("min_seconds", "p95_seconds")
    label = "time of one operation (median; whisker: minimum to 95th percentile)"
    return dots(measurements, value="median_seconds", label=label, ax=ax, whiskers=whiskers)


def plot_ratio(comparison: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw measured time / published time per algorithm and operation, on a log axis around 1.

    Takes a comparison frame. Raises DataError, UsageError.
    """
    require(comparison, "algorithm implementation operation published_implementation ratio status")
    printed = comparison["published_implementation"]
    rows = comparison["algorithm"] + printed.where(printed == "", " (" + printed + ")")
    label = "measured here / published   (left of the line: faster here)"
    return _around_one(comparison.assign(row=rows), "ratio", label, ax)


def plot_compared(compared: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the time of each run over the first's, around 1, a row for each algorithm and run.

    Takes a frame of `pqchain.compare.runs`. Whiskers are the intervals of 95 %. Raises DataError,
    UsageError.
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


def plot_history(together: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw medians over runs, a line for each operation of each implementation.

    Takes a frame of `pqchain.compare.together`, whose column `run` is in order. Raises DataError,
    UsageError.
    """
    require(together, "run algorithm implementation operation median_seconds status")
    fine = together[together["status"] == "ok"]
    require(fine, "")
    runs = list(dict.fromkeys(together["run"]))
    with canvas(ax, 3.6) as axes:
        axes.set_yscale("log")
        names = ["algorithm", "implementation", "operation"]
        for index, (key, group) in enumerate(fine.groupby(names, sort=False)):
            colour, marker = look(index)
            line = props(color=colour, marker=marker, markersize=4, linewidth=1.1)
            line |= props(linestyle=("-", "--", ":", "-.")[index // len(LOOKS) % 4])
            name = f"{key[0]}, {figures.humanize(str(key[2]))} ({key[1]})"
            places = group["run"].map(runs.index)
            axes.plot(places, group["median_seconds"], label=name, **line)
        short = [re.sub(r"^(\d+-\d+-\d+)T([\d:]+).*", r"\1\n\2", run) for run in runs]
        axes.set_xticks(range(len(runs)), short)
        log_ticks(axes, "y", lambda value: SECONDS.text(value, 2))
        grid(axes)
        axes.set_ylabel("median time of one operation")
        legend_above(axes, 2)
    return axes


def plot_speedup(measurements: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how many times faster AVX2 is than portable C, per algorithm and operation.

    Takes a measurement frame; uses the rows whose implementation ends in /ref and /avx2, the same
    library in both, and of several the one that the registry names first. Raises DataError, and
    UsageError if no pair was measured.
    """
    frame = speedups(measurements)
    rank = ranked(frame.assign(implementation=frame["library"] + "/avx2"))["rank"]
    frame = frame[rank == rank.groupby([frame["algorithm"], frame["operation"]]).transform("min")]
    if frame.empty:
        lacking = "no algorithm here has both a /ref and an /avx2 row with status 'ok'"
        raise UsageError(f"{lacking}; measure both implementations")
    label = "time of portable C / time with AVX2   (right of the line: AVX2 is faster)"
    return _around_one(frame, "speedup", label, ax)


def _around_one(frame: pd.DataFrame, value: str, label: str, ax: Axes | None) -> Axes:
    show = f"{figures.TIMES}{{:g}}".format
    return dots(frame, value=value, label=label, show=show, ax=ax, origin=1.0)


def plot_operation(table: pd.DataFrame, operation: str, *, ax: Axes | None = None) -> Axes:
    """Draw one operation of every algorithm as bars: reference and AVX2, printed and ours.

    Takes a frame with the columns algorithm, variant, quantity, published, here and status. The
    axis is logarithmic and starts at a decade, so compare where bars end, not how long they are. A
    bar that is missing says why. Raises DataError, and UsageError if the table has no such
    operation.
    """
    require(table, "algorithm variant quantity published here status")
    rows = table[table["quantity"] == f"{operation}_seconds"]
    if rows.empty:
        known = table["quantity"][table["quantity"].str.endswith("_seconds")]
        expected = ", ".join(dict.fromkeys(known.str.removesuffix("_seconds")))
        raise UsageError(f"the table has no operation {operation!r}; expected one of {expected}")
    names = list(dict.fromkeys(rows["algorithm"]))
    values = rows[["published", "here"]].to_numpy()
    start = 10 ** np.floor(np.log10(np.nanmin(values[values > 0])) - 0.01)
    with canvas(ax, 0.8 + 0.62 * len(names)) as axes:
        axes.set_xscale("log")
        for index, (variant, side, label, colour) in enumerate(_BARS):
            fill, hatch = (colour, "") if side == "here" else (PAPER, "//////")
            bar = props(left=start, height=0.18, linewidth=0.8, label=label)
            bar |= props(color=fill, edgecolor=colour, hatch=hatch)
            for cell in rows[rows["variant"] == variant].to_dict("records"):
                level, value = names.index(cell["algorithm"]) + (index - 1.5) * 0.2, cell[side]
                if not np.isfinite(value):
                    axes.text(start * 1.1, level, cell["status"], va="center", color=MUTED, size=7)
                    continue
                axes.barh(level, value - start, **bar)
                beside(axes, SECONDS.text(value, 2), (value, level))
        axes.set_xlim(start, np.nanmax(values) * 3)
        name_levels(axes, names)
        log_ticks(axes, "x", brief)
        grid(axes, "x")
        axes.set_xlabel(f"{figures.humanize(operation)}: median here and as published (log scale)")
        legend_above(axes, 4)
    return axes


def plot_accelerator(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the rebuilt Table 3 of the accelerator: printed, estimated and modelled times.

    Takes a frame with the columns algorithm, row, kind and seconds; colour and hatching tell the
    kind of number. Raises DataError, UsageError.
    """
    require(table, "algorithm row kind seconds")
    shown = table.assign(place=range(len(table)), ms=table["seconds"] * 1e3)
    with canvas(ax, 0.9 + 0.24 * len(table)) as axes:
        for kind, (colour, hatch) in _KINDS.items():
            rows = shown[shown["kind"] == kind]
            style = props(color=colour, hatch=hatch, edgecolor=PAPER, label=kind)
            axes.barh(rows["place"], rows["ms"], height=0.7, **style)
        for point in zip(shown["ms"], shown["place"], strict=True):
            beside(axes, f"{point[0]:.1f}", point)
        axes.set_yticks(shown["place"], table["algorithm"] + "  " + table["row"])
        axes.invert_yaxis()
        axes.set_xlim(0, shown["ms"].max() * 1.12)
        axes.set_xlabel("time of one signature in milliseconds")
        legend_within(axes, "lower right")
    return axes


def speedups(measurements: pd.DataFrame) -> pd.DataFrame:
    """Pair /ref with /avx2 rows of one library.

    Columns: algorithm, operation, library, ref_seconds, avx2_seconds, speedup (ref / avx2).
    Only pairs of which both have status "ok". Raises DataError if columns are missing.
    """
    needed = ("algorithm", "implementation", "operation", "median_seconds", "status")
    require_columns(measurements, needed, "this plot")
    fine = measurements[measurements["status"] == "ok"]
    fine = fine.join(fine["implementation"].str.extract("^(?P<library>.*)/(?P<variant>.*)$"))
    timed = fine.set_index(["algorithm", "operation", "library"])
    ref, avx2 = (
        timed[timed["variant"] == variant]["median_seconds"].rename(f"{variant}_seconds")
        for variant in ("ref", "avx2")
    )
    paired = pd.concat([ref, avx2], axis=1, join="inner").reset_index()
    return paired.assign(speedup=paired["ref_seconds"] / paired["avx2_seconds"])
