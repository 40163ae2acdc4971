"""Plots of several runs: a comparison with the first one, and a history."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.errors import UsageError
from pqchain.figures import RATIO
from pqchain.plots import canvas, dots, marks
from pqchain.plots.marks import TIE, props

_CHANGE = 1.05
"""Least ratio that the axes of a history reach, so that noise is not enlarged."""

_times = partial(RATIO.text, digits=2)

_factor = f"{figures.TIMES}{{:g}}".format


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

    Takes a frame of `concat_runs`, whose column `run` is sorted; a column `commit` is written below
    the runs. Times are relative to that in the first run. Whiskers are the
    MAD on both sides of the median. Several panels need no `ax`. Raises DataError, UsageError.
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
    with (
        canvas.panels(len(operations), 1, 0.6 + tall * len(operations))
        if ax is None
        else canvas.canvas(ax, tall)
    ) as drawn:
        all_axes = [drawn] if isinstance(drawn, Axes) else drawn
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
            axes.set_xticks(range(len(names)), _run_names(runs, names))
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


def _run_names(runs: pd.DataFrame, names: list[str]) -> list[str]:
    short = [re.sub(r"^(\d+-\d+-\d+)T(\d+:\d+).*", r"\1\n\2", name) for name in names]
    if "commit" not in runs:
        return short
    commits = runs.groupby("run")["commit"].first()
    return [f"{text}\n{commits[name][:7]}" for name, text in zip(names, short, strict=True)]
