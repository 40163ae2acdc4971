"""Plots of a study: sensitivity, capacity, load."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from pqchain import figures
from pqchain.figures import Unit
from pqchain.plots import canvas, marks
from pqchain.plots.marks import props

_TESTS = {"none": "*", "near": "", "far": "\N{DAGGER}"}
_NOTES = ("*: capacity not tested by an observation", "\N{DAGGER}: a test more than 25 % off")


def plot_tornado(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the change of a figure when each input is halved or doubled, the largest on top.

    Takes a frame of `pqchain.study.tornado`. Raises DataError, UsageError.
    """
    canvas.require(frame, "algorithm output unit input input_value base low high")
    first = frame.iloc[0]
    base, levels = float(first["base"]), np.arange(len(frame))
    unit = Unit.of(str(first["output"]), str(first["unit"]))
    output = marks.quantity(str(first["output"]))
    doubled = canvas.look(1)[0]
    with canvas.canvas(ax, 1.2 + 0.3 * len(frame)) as axes:
        for column, label, style in (
            ("low", "input halved", props(color=canvas.look(0)[0])),
            ("high", "input doubled", props(color=canvas.PAPER, edgecolor=doubled, hatch="////")),
        ):
            difference = np.nan_to_num(frame[column].to_numpy(float) - base, posinf=0, neginf=0)
            axes.barh(levels, difference, left=base, height=0.62, label=label, **style)
        # Below the bars, because it would hide narrow ones.
        axes.axvline(base, color=canvas.INK, linewidth=0.9, zorder=0.9)
        names = [
            f"{marks.quantity(str(name))} ({Unit.of(str(name)).text(value)})"
            for name, value in zip(frame["input"], frame["input_value"], strict=True)
        ]
        marks.name_levels(axes, names)
        for row, pair in enumerate(frame[["low", "high"]].to_numpy(float)):
            for offset, end in ((-5, pair.min()), (5, pair.max())):
                if np.isfinite(end):
                    marks.annotate(axes, figures.significant(end), (float(end), row), (offset, 0))
        axes.margins(x=0.3 if canvas.narrow() else 0.15)
        shown = "transactions per second" if unit == "tx/s" else unit
        label = f"{output}{f' in {shown}' if shown else ''} with {first['algorithm']}"
        canvas.x_label(axes, label, f"line: {unit.text(base)}, with the values in brackets")
        marks.grid(axes, "x")
        canvas.legend_above(axes, 2)
        inputs = frame["input"].map(marks.quantity)
        ends = {"halved": "low", "doubled": "high"}
        parts = [frame.set_index(inputs + f" {how}")[end] for how, end in ends.items()]
        what = f"{output[0].upper()}{output[1:]} with {first['algorithm']}"
        canvas.headline(axes, marks.extremes(what, pd.concat(parts), unit.text))
    return axes


def plot_capacity(
    frame: pd.DataFrame,
    limits: Mapping[str, str],
    *,
    baseline: str = "",
    label: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the capacity of each scheme with its interval, the limit that binds, and the loss.

    Takes a study's rows of one figure, and limits by scheme; `label` names another figure.
    `baseline` is the scheme of today, by default the first classical one of the frame; others have
    the difference from it in percent. The colour is the limit's, or the family's if one limit binds
    all, which is named once. Raises DataError, UsageError.
    """
    canvas.require(frame, "algorithm value low high")
    names = frame["algorithm"].tolist()
    today = baseline or next((it for it in names if not marks.mark_of(it).post_quantum), "")
    # Today's scheme first, then the greatest.
    frame = frame.assign(is_new=frame["algorithm"] != today)
    frame = frame.sort_values(["is_new", "value"], ascending=[True, False], kind="stable")
    names, value = frame["algorithm"].tolist(), frame["value"].to_numpy(float)
    base = dict(zip(names, value, strict=True)).get(today, np.nan)
    bound = list(dict.fromkeys(limits[name] for name in names if limits.get(name)))
    with canvas.canvas(ax, 1.25 + 0.36 * len(frame)) as axes:
        for level, (name, row) in enumerate(zip(names, frame.to_dict("records"), strict=True)):
            place = bound.index(limits[name]) if limits.get(name) in bound else 0
            mark, hatch = marks.mark_of(name), marks.HATCHES[place % len(marks.HATCHES)]
            several = len(bound) > 1
            bar = props(color=canvas.look(place)[0] if several else mark.colour, hatch=hatch)
            bar |= props(height=0.6, edgecolor=canvas.PAPER, linewidth=0)
            axes.barh(level, row["value"], alpha=0.45 if several and name == today else 1, **bar)
            if row["low"] < row["high"]:
                errors = [[row["value"] - row["low"]], [row["high"] - row["value"]]]
                whisker = props(fmt="none", ecolor=canvas.INK, elinewidth=1.1, capsize=3)
                axes.errorbar(row["value"], level, xerr=errors, **whisker)
            if not np.isfinite(row["value"]):
                continue
            text = figures.significant(row["value"])
            if base > 0 and name != today:
                text += f"  ({marks.change(100 * (row['value'] / base - 1), 0)})"
            # Right of the line of today's value, which would cross the numbers.
            right = np.nanmax([0.0, row["value"], row["high"], base])
            marks.annotate(axes, text, (float(right), level), (7, 0))
        marks.name_levels(axes, [f"{it} (today)" if it == today else it for it in names])
        if base > 0:
            axes.axvline(base, color=canvas.MUTED, linewidth=0.9, linestyle=":")
        canvas.x_label(
            axes,
            label or "transactions per second in full blocks",
            f"limit of all: {bound[0]}" if len(bound) == 1 else "",
            f"dotted: today, {today}" if base > 0 else "",
            "whisker: 90 % of the draws" if (frame["low"] < frame["high"]).any() else "",
        )
        marks.grid(axes, "x")
        style = props(edgecolor=canvas.PAPER)
        looks = zip(bound, map(canvas.look, range(len(bound))), marks.HATCHES, strict=False)
        handles = [
            Patch(facecolor=colour, hatch=hatch, label=f"limit: {it}", **style)
            for it, (colour, _), hatch in (looks if len(bound) > 1 else ())
        ]
        if handles:
            canvas.legend_above(axes, 3, handles)
        shown = pd.Series(dict(zip(names, value, strict=True)))
        text = marks.extremes(label or "Transactions per second", shown, figures.significant)
        chain = str(frame["study"].iloc[0]).partition(":")[0] if "study" in frame else ""
        canvas.headline(axes, f"{chain}: {text}" if chain else text)
    return axes


def plot_cost_on_chains(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw a matrix of the share of its capacity that each chain loses with each scheme.

    Takes a frame of `pqchain.study.cost_on_chains`; chains that lose most are at the bottom, and
    marks tell whose capacity no observation tests, or where a test is off by more than 25 %. Ranges
    are over the observed mix of transactions. Raises DataError, UsageError.
    """
    canvas.require(frame, "title algorithm lost_share lost_low lost_high test")
    schemes = list(dict.fromkeys(frame["algorithm"]))
    by_chain = frame.groupby("title", sort=False)["lost_share"].mean().sort_values(kind="stable")
    titles = list(by_chain.index)
    has_range = bool(frame["lost_low"].notna().any())
    with canvas.canvas(
        ax, 1.3 + 1.4 * canvas.narrow() + (0.42 if has_range else 0.29) * len(titles)
    ) as axes:
        for row in frame.to_dict("records"):
            x, y = schemes.index(row["algorithm"]), titles.index(row["title"])
            # Translucent, so that the text has a contrast of 4.5 on light and on dark pages.
            strength = 0.52 * min(max(row["lost_share"], 0.0), 1.0)
            style = props(color=canvas.colour("vermilion"), alpha=strength, linewidth=0)
            axes.fill_between([x - 0.48, x + 0.48], y - 0.46, y + 0.46, **style)
            text = figures.percent(100 * row["lost_share"], 0, sign=False)
            ends = [f"{100 * row[end]:.0f}" for end in ("lost_low", "lost_high")]
            # NaN differs from itself.
            if row["lost_low"] == row["lost_low"] and ends[0] != ends[1]:
                text += "\n" + "\N{EN DASH}".join(ends)
            place = props(ha="center", va="center", size=canvas.points(), color=canvas.INK)
            axes.text(x, y, text, **place)
        signs = dict(zip(frame["title"], frame["test"].map(_TESTS), strict=True))
        axes.set(xlim=(-0.5, len(schemes) - 0.5), ylim=(len(titles) - 0.5, -0.5))
        axes.xaxis.tick_top()
        width = 40 if canvas.narrow() else 11
        axes.set_xticks(range(len(schemes)), [textwrap.fill(name, width) for name in schemes])
        axes.tick_params(axis="x", labelrotation=90 if canvas.narrow() else 0)
        marked = [f"{it}{figures.NARROW_SPACE}{signs[it]}".strip() for it in titles]
        shown = [canvas.fill(it, 1.2) if canvas.narrow() else it for it in marked]
        axes.set_yticks(range(len(titles)), shown)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        notes = [text for text in _NOTES if text[0] in signs.values()]
        notes += ["second line: over the observed mix of transactions"] * has_range
        canvas.x_label(axes, "share of today's capacity lost", *notes)
        canvas.headline(axes, "Capacity lost with the key in each transaction")
    return axes


def plot_load(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw latency over the arrival rate, a line for each scheme; both axes are logarithmic.

    Takes a frame of the contract "study-load"; dotted walls are at each scheme's capacity. Raises
    DataError, UsageError.
    """
    canvas.require(frame, "algorithm arrivals_per_second load latency_seconds")
    lines, walls = marks.dashes(dict.fromkeys(frame["algorithm"])), []
    with canvas.canvas(ax, 4.2) as axes:
        axes.set(xscale="log", yscale="log")
        for algorithm, group in frame.groupby("algorithm", sort=False):
            colour = marks.mark_of(str(algorithm)).colour
            rates, latencies = group["arrivals_per_second"], group["latency_seconds"]
            style = props(color=colour, linestyle=lines[str(algorithm)], linewidth=1.5)
            axes.plot(rates, latencies, label=str(algorithm), **style)
            wall = float(rates.iloc[-1] / group["load"].iloc[-1])
            walls.append((wall, str(algorithm)))
            axes.axvline(wall, color=colour, linewidth=0.9, linestyle=":", zorder=1)
        marks.log_ticks(axes, "y", marks.brief)
        marks.log_ticks(axes, "x", "{:g}".format)
        canvas.x_label(axes, "arriving transactions per second", "dotted: capacity with the scheme")
        axes.set_ylabel("mean latency of a transaction, modelled")
        marks.grid(axes)
        shown = pd.Series({name: wall for wall, name in walls})
        text = marks.extremes("Transactions per second", shown, figures.significant)
        # In the order of the walls, so that the legend is read like the plot.
        order = {name: place for place, (_, name) in enumerate(sorted(walls))}
        drawn = [line for line in axes.get_lines() if line.get_label() in order]
        drawn.sort(key=lambda line: order[str(line.get_label())])
        canvas.legend_above(axes, 5, drawn)
        canvas.headline(axes, text)
    return axes
