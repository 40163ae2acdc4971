"""Plots of a study: sensitivity, capacity, load."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.figures import Unit
from pqchain.plots import canvas, dots, marks
from pqchain.plots.marks import props

_TESTS = {"none": "*", "near": "", "far": "\N{DAGGER}"}
_NOTES = ("*: capacity not tested by an observation", "\N{DAGGER}: a test more than 25 % off")


def plot_tornado(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the change of a figure when each input is halved or doubled, the largest on top.

    Takes a frame of `pqchain.study.tornado`. Raises DataError, UsageError.
    """
    canvas.require(frame, "algorithm output unit input input_value base low high")
    first, output = frame.iloc[0], marks.quantity(str(frame["output"].iloc[0]))
    base, unit = float(first["base"]), Unit.of(str(first["output"]), str(first["unit"]))
    inputs = frame["input"].map(marks.quantity)
    values = [
        f" ({Unit.of(str(name)).text(value)})"
        for name, value in zip(frame["input"], frame["input_value"], strict=True)
    ]
    renamed = frame.drop(columns=["low", "high"]).assign(algorithm="", row=inputs + values)
    ends = pd.concat(
        renamed.assign(
            operation=f"input {how}", value=frame[end], text=frame[end].map(figures.significant)
        )
        for how, end in {"halved": "low", "doubled": "high"}.items()
    )
    shown = "transactions per second" if unit == "tx/s" else unit
    label = f"{output}{f' in {shown}' if shown else ''} with {first['algorithm']}"
    axes = dots.dots(
        ends, label, f"line: {unit.text(base)}, with the values in brackets", ax=ax,
        hue="operation", origin=base if np.isfinite(base) else None, is_log=False, order="frame",
        show=figures.significant,
    )  # fmt: skip
    names = ends["input"].map(marks.quantity) + ends["operation"].str.removeprefix("input")
    what = f"{output[0].upper()}{output[1:]} with {first['algorithm']}"
    canvas.headline(axes, marks.extremes(what, ends.set_index(names)["value"], unit.text))
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
    schemes, value, is_new = frame["algorithm"], frame["value"].astype(float), frame["is_new"]
    base = float(value[~is_new].max())
    change = "  (" + (100 * (value / base - 1)).map(partial(marks.change, decimals=0)) + ")"
    limit = pd.Series([limits.get(name, "") for name in schemes], frame.index)
    bound = list(dict.fromkeys(filter(None, limit)))
    is_wide = frame["low"] < frame["high"]
    drawn = frame.assign(
        row=schemes + is_new.map({True: "", False: " (today)"}),
        operation="capacity",
        text=value.map(figures.significant) + change.where(is_new & (base > 0), ""),
        low=frame["low"].where(is_wide),
        high=frame["high"].where(is_wide),
        limit="limit: " + limit,
    )
    axes = dots.dots(
        drawn,
        label or "transactions per second in full blocks",
        f"limit of all: {bound[0]}" if len(bound) == 1 else "",
        f"dotted: today, {today}" if base > 0 else "",
        "whisker: 90 % of the draws" if is_wide.any() else "",
        ax=ax, hue="limit" if len(bound) > 1 else None, is_log=False, order="frame",
        show=figures.significant,
    )  # fmt: skip
    if base > 0:
        axes.axvline(base, color=canvas.MUTED, linewidth=0.9, linestyle=":")
    what = label or "Transactions per second"
    text = marks.extremes(what, value.set_axis(schemes), figures.significant)
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
    lines = marks.dashes(dict.fromkeys(frame["algorithm"]))
    ends = frame.groupby("algorithm", sort=False).last()
    # In the order of the walls, so that the legend is read like the plot.
    walls = (ends["arrivals_per_second"] / ends["load"]).sort_values(kind="stable")
    with canvas.canvas(ax, 4.2) as axes:
        axes.set(xscale="log", yscale="log")
        for name, wall in walls.items():
            group, colour = frame[frame["algorithm"] == name], marks.mark_of(str(name)).colour
            style = props(color=colour, linestyle=lines[str(name)], linewidth=1.5, label=str(name))
            axes.plot(group["arrivals_per_second"], group["latency_seconds"], **style)
            axes.axvline(wall, color=colour, linewidth=0.9, linestyle=":", zorder=1)
        marks.log_ticks(axes, "y", marks.brief)
        marks.log_ticks(axes, "x", "{:g}".format)
        canvas.x_label(axes, "arriving transactions per second", "dotted: capacity with the scheme")
        axes.set_ylabel("mean latency of a transaction, modelled")
        marks.grid(axes)
        canvas.legend_above(axes, 5)
        text = marks.extremes("Transactions per second", walls, figures.significant)
        canvas.headline(axes, text)
    return axes
