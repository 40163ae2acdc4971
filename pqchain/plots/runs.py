"""Plots of several runs: a comparison with the first one, and a history."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator
from matplotlib.transforms import ScaledTranslation

from pqchain import figures
from pqchain.errors import UsageError
from pqchain.figures import RATIO, SECONDS
from pqchain.plots import paper
from pqchain.plots.canvas import (
    INK,
    canvas,
    figure_of,
    headline,
    panel_title,
    panels,
    require,
    with_notes,
)
from pqchain.plots.dots import dots
from pqchain.plots.fields import TIE, TIE_PERCENT
from pqchain.plots.marks import (
    DASHES,
    DEVIATION,
    INTERVAL,
    grid,
    label_ends,
    log_ticks,
    mark_of,
    props,
    times,
)
from pqchain.plots.words import words

_CHANGE = 1.05
"""Ratio of two successive runs from which a point of a history is marked, if the intervals of
median and MAD are apart, too."""

_APART_POINTS = 9.0
"""Greatest distance of the marks of two lines of a history in one run."""

_times = partial(RATIO.text, digits=2)


def plot_compared(compared: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the time of each run relative to the first, with a row for each implementation.

    Takes a frame of `compare_runs`; several runs have a panel each. Whiskers are 95 % intervals; a
    comparison of single runs has none. The band, which narrow plots lack, holds ratios that are no
    difference, and only rows with a difference have a colour. Raises DataError, UsageError.
    """
    require(compared, "algorithm implementation operation base run ratio low high verdict")
    several = compared["run"].nunique() > 1
    base, run = compared["base"].iloc[0], compared["run"].iloc[0]
    judged = compared[compared["verdict"] != ""]
    undecided = (judged["verdict"] == "undecided").sum()
    label = f"time {'of each run' if several else run} / time {base}"
    notes = ["right of the line: slower"]
    if len(judged):
        # In a narrow plot the band would be hidden by its line.
        what = "changes below {} do" if paper.narrow() else "band: below {} does"
        notes += [f"{what.format(TIE_PERCENT)} not count", INTERVAL]
    if not compared["verdict"].isin(["", "slower", "faster"]).all():
        notes.append("grey: not significant")
    if undecided:
        notes.append(f"{undecided} of {len(judged)} need more runs")
    many = compared.groupby("algorithm")["implementation"].transform("nunique") > 1
    rows = compared["algorithm"].where(
        ~many, compared["algorithm"] + "\n" + compared["implementation"].map(words)
    )
    clear = compared["verdict"].isin(["slower", "faster"]) if len(judged) else True
    axes = dots(
        compared.assign(row=rows, clear=clear),
        value="ratio",
        label=with_notes(label, *notes),
        show=f"{figures.TIMES}{{:g}}".format,
        ax=ax,
        origin=1.0,
        band=TIE if len(judged) and not paper.narrow() else 1.0,
        whiskers=("low", "high"),
        numbers=_times,
        col="run" if several else None,
    )
    if len(judged):
        slower, faster = ((judged["verdict"] == word).sum() for word in ("slower", "faster"))
        if slower + faster:
            text = f"{slower + faster} of the {len(judged)} measured times differ significantly"
            headline(axes, f"{text}: {faster} faster, {slower} slower")
        else:
            sides = f"from {base}" if several else f"between {base} and {run}"
            text = f"None of the {len(judged)} measured times differs significantly"
            headline(axes, f"{text} {sides}")
    else:
        low, high = compared["ratio"].min(), compared["ratio"].max()
        headline(axes, f"Single runs, without a verdict: {_times(low)} to {_times(high)}")
    return axes


def plot_history(runs: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw median times over runs, a panel for each operation and a line for each implementation.

    Takes a frame of `concat_runs`, whose column `run` is sorted; a column `commit` is written below
    the runs. Times are relative to that in the first run, which is in brackets. Whiskers are the
    MAD on both sides of the median; a ring marks a change of more than 5 % between successive runs
    whose whiskers are apart. Several panels need no `ax`. Raises DataError, UsageError.
    """
    require(runs, "run algorithm implementation operation median_seconds status")
    fine = runs[runs["status"] == "ok"]
    require(fine, "")
    names = list(dict.fromkeys(runs["run"]))
    operations = list(dict.fromkeys(fine["operation"]))
    if ax is not None and len(operations) > 1:
        raise UsageError(
            f"ax must be left out for a history of {len(operations)} operations, which have a "
            "panel each. Draw the rows of one operation."
        )
    lines = list(dict.fromkeys(zip(fine["algorithm"], fine["implementation"], strict=True)))
    several = len({name for name, _ in lines}) < len(lines)
    order = {line: [other for name, other in lines if name == line[0]] for line in lines}
    changes: list[tuple[float, str]] = []
    tall = 0.45 + max(0.95, 0.17 * len(lines))
    with (
        panels(len(operations), 1, 0.6 + tall * len(operations)) if ax is None else canvas(ax, tall)
    ) as drawn:
        all_axes = [drawn] if isinstance(drawn, Axes) else drawn
        # The lines of a run take at most half of the distance to the next one.
        across = 0.6 * 72 * float(figure_of(all_axes[0]).get_size_inches()[0])
        points = min(_APART_POINTS, 0.5 * across / len(names) / len(lines))
        all_ends = []
        for axes, operation in zip(all_axes, operations, strict=True):
            axes.set_yscale("log")
            panel_title(axes, words(operation))
            ends = []
            group = fine[fine["operation"] == operation]
            for (name, implementation), rows in group.groupby(
                ["algorithm", "implementation"], sort=False
            ):
                at = lines.index((str(name), str(implementation)))
                mark = mark_of(str(name))
                places = rows["run"].map(names.index).to_numpy()
                count = len(axes.lines)
                # Relative, because changes of some percent are invisible on an axis of all times.
                first = float(rows["median_seconds"].iloc[0])
                medians = (rows["median_seconds"] / first).to_numpy()
                spread = rows.get("mad_seconds", 0 * rows["median_seconds"]).fillna(0).to_numpy()
                spread = spread / first
                low, high = medians - spread, medians + spread
                look = props(color=mark.colour, linewidth=1.6, alpha=0.55)
                whiskers = axes.vlines(places, low, high, **look)
                line = str(name), str(implementation)
                dash = DASHES[order[line].index(line[1]) % len(DASHES)]
                label = f"{name}, {words(str(implementation))}" if several else str(name)
                style = mark.style(4) | props(linestyle=dash, linewidth=1.4, label=label)
                style |= props(markeredgecolor=mark.colour)
                axes.plot(places, medians, **style)
                runs_of = rows["run"].tolist()
                changes += _changes(axes, places, medians, low, high, (label, operation, runs_of))
                # Apart, so that the whiskers of two lines do not cover each other; afterwards, so
                # that the limits of the axes are those of the data.
                inches = points / 72 * (at - (len(lines) - 1) / 2)
                moved = ScaledTranslation(inches, 0, figure_of(axes).dpi_scale_trans)
                for artist in (whiskers, *axes.lines[count:]):
                    artist.set_transform(axes.transData + moved)
                end = float(places[-1]), float(medians[-1])
                ends.append((f"{label} ({SECONDS.text(first, 2)})", end, inches))
            all_ends.append(ends)
            axes.set_xticks(range(len(names)), _run_names(runs, names))
            axes.margins(x=0.1, y=0.2)
            if axes is not all_axes[-1]:
                axes.tick_params(labelbottom=False)
        # Of equal height, as a reader compares panels, and so that noise is not enlarged.
        limits = np.array([axes.get_ylim() for axes in all_axes])
        for axes, ends in zip(all_axes, all_ends, strict=True):
            axes.set_ylim(min(limits.min(), 1 / _CHANGE), max(limits.max(), _CHANGE))
            log_ticks(axes, "y", f"{figures.TIMES}{{:g}}".format)
            if np.divide(*axes.get_ylim()[::-1]) > 5:
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))  # panels are low
            grid(axes)
            axes.set_ylabel("ratio")
            # From the moved ends of the lines.
            low, high = axes.get_xlim()
            of_inch = (high - low) / (axes.get_position().width * figure_of(axes).get_figwidth())
            moved_ends = [(name, (x + of_inch * inches, y)) for name, (x, y), inches in ends]
            label_ends(axes, moved_ends, gap=5, between=0.5)
        ring = f"ring: change from the run before above 5{figures.NARROW_SPACE}%, whiskers apart"
        all_axes[-1].set_xlabel(with_notes(
            "runs in the order of time", "ratio to the first run, whose time is in brackets",
            DEVIATION,
            "lines are moved apart sideways" if len(lines) > 1 else "", ring if changes else "",
        ))  # fmt: skip
        if changes:
            _, text = max(changes, key=lambda change: abs(np.log(change[0])))
            headline(all_axes[0], f"{text}, the greatest change with whiskers apart")
        else:
            text = f"No time changed by more than 5{figures.NARROW_SPACE}% with whiskers apart"
            headline(all_axes[0], f"{text} in {len(names)} runs")
    return all_axes[0]


def _changes(
    axes: Axes, places: Any, medians: Any, low: Any, high: Any, names: tuple[str, str, list[str]]
) -> list[tuple[float, str]]:
    """Ring the points that differ from the one before; return their ratios and descriptions.

    `names` are the label of the line, the operation, and the runs.
    """
    label, operation, runs = names
    found = []
    for at in range(1, len(medians)):
        ratio = medians[at] / medians[at - 1]
        apart = low[at] > high[at - 1] or high[at] < low[at - 1]
        if apart and max(ratio, 1 / ratio) > _CHANGE:
            ring = props(marker="o", markersize=7.5, markerfacecolor="none", markeredgecolor=INK)
            axes.plot([places[at]], [medians[at]], linestyle="none", markeredgewidth=1.1, **ring)
            what = words(operation).replace("key pair", "a key pair")
            by = f"{abs(100 * (ratio - 1)):.0f}{figures.NARROW_SPACE}%"
            how = f"fell by {by}" if ratio < 1 else f"rose by {by}"
            if ratio >= 2:
                how = f"rose to {times(ratio)} its value"
            text = f"From {runs[at - 1]} to {runs[at]}, the median time of {label} to {what} {how}"
            found.append((float(ratio), text))
    return found


def _run_names(runs: pd.DataFrame, names: list[str]) -> list[str]:
    short = [re.sub(r"^(\d+-\d+-\d+)T(\d+:\d+).*", r"\1\n\2", name) for name in names]
    if "commit" not in runs:
        return short
    commits = runs.groupby("run")["commit"].first()
    return [f"{text}\n{commits[name][:7]}" for name, text in zip(names, short, strict=True)]
