"""Plots of a study: sensitivity, best schemes, capacity, load, migration."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

from pqchain import figures
from pqchain.plots import paper
from pqchain.plots.canvas import INK, MUTED, PAPER, canvas, look, require
from pqchain.plots.marks import (
    annotate,
    brief,
    grid,
    legend_above,
    legend_within,
    log_ticks,
    name_levels,
    props,
    with_prefix,
)

_LOSS = "#D55E00"
"""Colour of lost capacity; the more is lost, the stronger."""

_HATCHES = ("", "///", "...", "\\\\\\", "xx", "++", "oo", "**")
"""Hatching in addition to colour, so that fields differ in grey."""


def plot_tornado(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the change of a figure when each input is halved or doubled, the largest on top.

    Takes a frame of `pqchain.study.tornado`. Raises DataError, UsageError.
    """
    require(frame, "algorithm output unit input base low high")
    first = frame.iloc[0]
    base, levels = float(first["base"]), np.arange(len(frame))
    halved, doubled = look(0)[0], look(1)[0]
    with canvas(ax, 0.9 + 0.3 * len(frame)) as axes:
        for column, label, style in (
            ("low", "input halved", props(color=halved, edgecolor=halved)),
            ("high", "input doubled", props(color=PAPER, edgecolor=doubled, hatch="////")),
        ):
            change = np.nan_to_num(frame[column].to_numpy(float) - base, posinf=0, neginf=0)
            axes.barh(levels, change, left=base, height=0.62, label=label, **style)
        axes.axvline(base, color=INK, linewidth=0.8)
        axes.set_yticks(levels, [figures.humanize(name) for name in frame["input"]])
        axes.invert_yaxis()
        axes.margins(x=0.08)
        unit = f" ({first['unit']})" if first["unit"] else ""
        axes.set_xlabel(f"{figures.humanize(first['output'])}{unit}, {first['algorithm']}")
        axes.tick_params(axis="y", length=0)
        legend_within(axes, "lower right")
    return axes


def plot_plane(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the scheme with the highest capacity for each pair of factors of two inputs.

    Takes a frame of `plane`. No transaction fits in empty cells. Raises DataError, UsageError.
    """
    require(frame, "across upwards across_factor upwards_factor winner capacity_per_second")
    names = [name for name in frame["winner"].unique() if name]
    looks = [(look(at)[0], _HATCHES[at % len(_HATCHES)]) for at in range(len(names))]
    codes = frame["winner"].map({name: code for code, name in enumerate(names, start=1)}).fillna(0)
    factors = ["upwards_factor", "across_factor"]
    fields = codes.groupby([frame[name] for name in factors]).last().unstack(fill_value=0)
    upwards: list[float] = fields.index.tolist()
    across: list[Any] = fields.columns.tolist()
    with canvas(ax, 0.9 + 0.34 * len(upwards)) as axes:
        corners = np.arange(len(across) + 1), np.arange(len(upwards) + 1)
        colour_map = ListedColormap([PAPER, *(colour for colour, _ in looks)])
        edges = props(edgecolors=PAPER, linewidth=0.8, vmin=-0.5, vmax=len(names) + 0.5)
        axes.pcolormesh(*corners, fields, cmap=colour_map, **edges)
        for code, (_, hatch) in enumerate(looks, start=1):
            style = props(facecolor="none", edgecolor=PAPER, hatch=hatch, linewidth=0)
            for up, right in np.argwhere(fields == code) if hatch else ():
                axes.fill_between([right, right + 1], up, up + 1, **style)
        axes.set_xticks(corners[0][:-1] + 0.5, map(figures.factor, across))
        axes.set_yticks(corners[1][:-1] + 0.5, map(figures.factor, upwards))
        # A ring marks the unchanged study.
        if 1.0 in upwards and 1.0 in across:
            ring = props(marker="o", color=PAPER, markeredgecolor=INK, markersize=7)
            axes.plot(across.index(1.0) + 0.5, upwards.index(1.0) + 0.5, **ring)
        axes.tick_params(length=0)
        axes.set_xlabel(f"{figures.humanize(frame['across'].iloc[0])}   (ring: the study as it is)")
        axes.set_ylabel(figures.humanize(frame["upwards"].iloc[0]))
        handles = [
            Patch(facecolor=colour, hatch=hatch, edgecolor=PAPER, label=name)
            for name, (colour, hatch) in zip(names, looks, strict=True)
        ]
        if paper.narrow():
            legend_above(axes, 4, handles)
        else:
            above = props(loc="lower center", bbox_to_anchor=(0.5, 1.0))
            above |= props(ncols=min(4, len(names) or 1))
            axes.legend(handles=handles, fontsize=8, labelcolor=INK, frameon=False, **above)
        axes.spines[:].set_color(MUTED)
    return axes


def plot_capacity(
    frame: pd.DataFrame, limits: Mapping[str, str], *, ax: Axes | None = None
) -> Axes:
    """Draw the capacity of each scheme, with its interval and the limit that binds.

    Takes a study's rows of one figure, and limits by scheme. Raises DataError, UsageError.
    """
    require(frame, "algorithm value low high")
    value = frame["value"].to_numpy(float)
    with canvas(ax, 0.8 + 0.36 * len(frame)) as axes:
        errors = np.abs(np.vstack([value - frame["low"], frame["high"] - value]))
        style = props(color=look(0)[0], height=0.62, ecolor=INK, capsize=2.5)
        axes.barh(np.arange(len(frame)), value, xerr=np.nan_to_num(errors), **style)
        name_levels(axes, frame["algorithm"].tolist())
        axes.margins(x=0.18)
        ends = np.nan_to_num(frame["high"].to_numpy(float)).clip(min=0)
        for level, (algorithm, end) in enumerate(zip(frame["algorithm"], ends, strict=True)):
            annotate(axes, limits.get(algorithm, ""), (float(end), level), (5, 0))
        axes.set_xlabel("transactions per second in full blocks; labels: the limit")
        grid(axes, "x")
    return axes


def plot_cost_on_chains(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw a matrix of the share of its capacity that each chain loses with each scheme.

    Takes a frame of `pqchain.study.cost_on_chains`; chains that lose most are at the bottom, and
    an asterisk marks those whose plan no observation tests. Raises DataError, UsageError.
    """
    require(frame, "title algorithm lost_share calibrated")
    schemes = list(dict.fromkeys(frame["algorithm"]))
    by_chain = frame.groupby("title", sort=False)["lost_share"].mean().sort_values(kind="stable")
    titles = list(by_chain.index)
    with canvas(ax, 0.9 + (0.38 if paper.narrow() else 0.27) * len(titles)) as axes:
        for row in frame.to_dict("records"):
            x, y = schemes.index(row["algorithm"]), titles.index(row["title"])
            # Translucent, so that the text is readable on light and on dark pages.
            strength = 0.8 * min(max(row["lost_share"], 0.0), 1.0)
            style = props(color=_LOSS, alpha=strength, linewidth=0)
            axes.fill_between([x - 0.48, x + 0.48], y - 0.46, y + 0.46, **style)
            text = figures.percent(100 * row["lost_share"], 0, sign=False)
            axes.text(x, y, text, ha="center", va="center", size=paper.scaled(8), color=INK)
        tested = dict(zip(frame["title"], frame["calibrated"], strict=True))
        axes.set(xlim=(-0.5, len(schemes) - 0.5), ylim=(len(titles) - 0.5, -0.5))
        scheme_width, title_width = (7, 16) if paper.narrow() else (11, 40)
        # As texts and not as tick labels, of which a narrow figure would leave out some.
        for x, name in enumerate(schemes):
            style = props(ha="center", va="bottom", size=paper.scaled(8), color=INK)
            axes.text(x, -0.55, _at_hyphens(name, scheme_width), **style)
        axes.set_xticks([])
        marked = (
            f"{title}{'' if tested[title] else figures.NARROW_SPACE + '*'}" for title in titles
        )
        axes.set_yticks(range(len(titles)), [textwrap.fill(name, title_width) for name in marked])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        note = "capacity that is lost with the key in each transaction"
        axes.set_xlabel(note if all(tested.values()) else f"{note}; *: uncalibrated")
    return axes


def _at_hyphens(name: str, width: int) -> str:
    """Return a name in lines of at most `width` letters, broken after hyphens only."""
    lines = [""]
    for part in re.findall(r"[^-]+-?", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def plot_load(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw latency over the arrival rate, a line for each scheme; both axes are logarithmic.

    Takes a frame of the contract "study-load". Raises DataError, UsageError.
    """
    require(frame, "algorithm arrivals_per_second latency_seconds")
    with canvas(ax, 3.4) as axes:
        for index, (algorithm, group) in enumerate(frame.groupby("algorithm", sort=False)):
            colour, marker = look(index)
            style = props(color=colour, marker=marker, markersize=4, linewidth=1.1)
            points = group["arrivals_per_second"], group["latency_seconds"]
            axes.plot(*points, label=algorithm, **style)
        axes.set(xscale="log", yscale="log")
        log_ticks(axes, "x", "{:g}".format)
        log_ticks(axes, "y", brief)
        axes.set_xlabel("arrivals per second, up to 98 % of each scheme's capacity")
        axes.set_ylabel("mean latency, queue included")
        legend_within(axes, "upper left", columns=2)
        grid(axes)
    return axes


def plot_migration(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the shares of accounts that moved and that wait by day, and the chain's growth.

    Takes a frame of the contract "study-migration". Raises DataError, UsageError.
    """
    require(frame, "day moved_share waiting_share growth_bytes_per_day")
    with canvas(ax, 3.0) as axes:
        for index, (column, label) in enumerate(
            {"moved_share": "moved", "waiting_share": "requested, waiting for room"}.items()
        ):
            axes.plot(frame["day"], 100 * frame[column], color=look(index)[0], label=label)
        axes.set(xlabel="days", ylabel="percent of the accounts", ylim=(0, 103))
        growth = axes.twinx()
        style = props(color=look(2)[0], linestyle="--", label="growth of the chain")
        growth.plot(frame["day"], frame["growth_bytes_per_day"], **style)
        growth.set_ylim(bottom=0)
        growth.yaxis.set_major_formatter(with_prefix("B"))
        growth.set_ylabel("growth per day")
        growth.tick_params(color=MUTED, labelcolor=INK, labelsize=paper.scaled(8))
        handles = [line for part in (axes, growth) for line in part.get_legend_handles_labels()[0]]
        legend_within(axes, "center right", handles=handles)
        grid(axes)
    return axes
