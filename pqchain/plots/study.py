"""Plots of a study: sensitivity, best schemes, capacity, load, migration."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from pqchain import figures
from pqchain.algorithms import ALGORITHMS
from pqchain.figures import BYTES, Unit
from pqchain.plots import paper
from pqchain.plots.canvas import (
    INK,
    MUTED,
    PAPER,
    canvas,
    headline,
    look,
    panels,
    require,
    with_notes,
)
from pqchain.plots.labels import name_walls
from pqchain.plots.marks import (
    HATCHES,
    annotate,
    brief,
    chain_of,
    change,
    dashes,
    enclose,
    grid,
    legend_above,
    log_ticks,
    mark_of,
    name_levels,
    props,
    times,
    with_prefix,
)
from pqchain.plots.words import words
from pqchain.render import palette
from pqchain.render.terminal import at_hyphens

_LOSS = palette.light("vermilion")
"""Colour of lost capacity; the more is lost, the stronger."""


def plot_tornado(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the change of a figure when each input is halved or doubled, the largest on top.

    Takes a frame of `pqchain.study.tornado`. Raises DataError, UsageError.
    """
    require(frame, "algorithm output unit input input_value base low high")
    first = frame.iloc[0]
    base, levels = float(first["base"]), np.arange(len(frame))
    unit = Unit.of(str(first["output"]), str(first["unit"]))
    output, algorithm = words(str(first["output"])), str(first["algorithm"])
    halved, doubled = look(0)[0], look(1)[0]
    with canvas(ax, 1.2 + 0.3 * len(frame)) as axes:
        for column, label, style in (
            ("low", "input halved", props(color=halved, edgecolor=halved)),
            ("high", "input doubled", props(color=PAPER, edgecolor=doubled, hatch="////")),
        ):
            difference = np.nan_to_num(frame[column].to_numpy(float) - base, posinf=0, neginf=0)
            axes.barh(levels, difference, left=base, height=0.62, label=label, **style)
        axes.axvline(base, color=INK, linewidth=0.9, zorder=0.9)  # it would hide narrow bars
        axes.margins(x=0.08)
        values = [
            Unit.of(str(name)).text(value)
            for name, value in zip(frame["input"], frame["input_value"], strict=True)
        ]
        space = "\n" if paper.narrow() else " "
        names = [
            f"{words(name)}{space}({value})"
            for name, value in zip(frame["input"], values, strict=True)
        ]
        name_levels(axes, names, is_above=False)
        for row, pair in enumerate(frame[["low", "high"]].to_numpy(float)):
            for offset, end in ((-5, pair.min()), (5, pair.max())):
                if np.isfinite(end):
                    annotate(axes, figures.significant(end), (float(end), row), (offset, 0))
        enclose(axes)
        shown = {"tx/s": " in transactions per second"}.get(unit, f" in {unit}" if unit else "")
        axes.set_xlabel(with_notes(
            f"{output}{shown} with {algorithm}",
            f"line: {unit.text(base)}, with the values in brackets",
        ))  # fmt: skip
        grid(axes, "x")
        legend_above(axes, 2)
        ends = frame.iloc[0][["low", "high"]].dropna().astype(float)
        if len(ends) and base:
            end = max(ends, key=lambda value: abs(value - base))
            side = "halved" if end == ends.get("low", np.nan) else "doubled"
            text = (
                f"Of the inputs shown, the {words(str(first['input']))} changes the {output} most: "
            )
            text += f"{side}, {unit.text(end)} instead of {unit.text(base)}"
            headline(axes, text)
    return axes


def plot_capacity(
    frame: pd.DataFrame,
    limits: Mapping[str, str],
    *,
    baseline: str = "",
    before: Mapping[str, float] | None = None,
    label: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the capacity of each scheme with its interval, the limit that binds, and the loss.

    Takes a study's rows of one figure, and limits by scheme; `label` names another figure.
    `baseline` is the scheme of today, by default the first classical one of the frame; others have
    the difference from it in percent. The colour is the limit's, or the family's if one limit binds
    all, which is named once. `before` has values that are drawn as hollow bars. Raises DataError,
    UsageError.
    """
    require(frame, "algorithm value low high")
    names = frame["algorithm"].tolist()
    today = baseline or next((name for name in names if not mark_of(name).post_quantum), "")
    # Today's scheme first, then the greatest.
    frame = frame.assign(is_new=frame["algorithm"] != today)
    frame = frame.sort_values(["is_new", "value"], ascending=[True, False], kind="stable")
    names, value = frame["algorithm"].tolist(), frame["value"].to_numpy(float)
    base = dict(zip(names, value, strict=True)).get(today, np.nan)
    chain = chain_of(frame)
    bound = list(dict.fromkeys(limits[name] for name in names if limits.get(name)))
    with canvas(ax, 1.25 + 0.36 * len(frame)) as axes:
        for level, (name, size) in enumerate(zip(names, value, strict=True)):
            place = bound.index(limits[name]) if limits.get(name) in bound else 0
            colour, hatch = look(place)[0], HATCHES[place % len(HATCHES)]
            if len(bound) < 2:
                colour = mark_of(name).colour
            bar = props(color=colour, height=0.6, edgecolor=PAPER, hatch=hatch, linewidth=0)
            alpha = 1.0 if mark_of(name).post_quantum or len(bound) < 2 else 0.45
            axes.barh(level, size, alpha=alpha, **bar)
            if before and np.isfinite(before.get(name, np.nan)):
                outline = props(facecolor="none", edgecolor=INK, linewidth=1.1, height=0.8)
                axes.barh(level, before[name], label="at the start", **outline)
        errors = np.abs(np.vstack([value - frame["low"], frame["high"] - value]))
        errors = np.where(errors.sum(axis=0) > 0, np.nan_to_num(errors), np.nan)
        whisker = props(fmt="none", ecolor=INK, elinewidth=1.1, capsize=3)
        if np.isfinite(errors).any():
            axes.errorbar(value, np.arange(len(names)), xerr=errors, **whisker)
        name_levels(axes, [f"{name} (today)" if name == today else name for name in names])
        starts = [(before or {}).get(name, 0.0) for name in names]
        ends = np.fmax(np.nan_to_num(frame["high"].to_numpy(float)), np.nan_to_num(value))
        for level, (name, end, start) in enumerate(zip(names, ends, starts, strict=True)):
            text = figures.significant(value[level]) if np.isfinite(value[level]) else ""
            if base > 0 and name != today and np.isfinite(value[level]):
                text += f"  ({change(100 * (value[level] / base - 1), 0)})"
            # Right of the line of today's value, which would cross the numbers.
            right = float(np.fmax(np.fmax(max(end, 0), np.nan_to_num(start)), base))
            annotate(axes, text, (right, level), (7, 0))
        if base > 0:
            axes.axvline(base, color=MUTED, linewidth=0.9, linestyle=":")
        enclose(axes)
        varies = (frame["low"] < frame["high"]).any()
        axes.set_xlabel(with_notes(
            label or "transactions per second in full blocks",
            f"limit of all: {bound[0]}" if len(bound) == 1 else "",
            f"dotted: today, {today}" if base > 0 else "",
            "whisker: 90 % of the draws" if varies else "",
        ))  # fmt: skip
        grid(axes, "x")
        handles: list[Any] = [
            Patch(facecolor=look(at)[0], hatch=HATCHES[at], edgecolor=PAPER, label=f"limit: {name}")
            for at, name in enumerate(bound)
        ]
        handles = handles if len(bound) > 1 else []
        if before:
            handles.append(Patch(facecolor="none", edgecolor=INK, label="at the start"))
        if handles:
            legend_above(axes, 3, handles)
        text = _most(names, value, label) if label else _kept(names, value, today, base)
        headline(axes, f"{chain}: {text}" if chain and text else text)
    return axes


def _kept(names: list[str], value: Any, today: str, base: float) -> str:
    new = {
        name: size
        for name, size in zip(names, value, strict=True)
        # A mix of schemes is a row without an entry.
        if name in ALGORITHMS and mark_of(name).post_quantum and np.isfinite(size)
    }
    if not new:
        return ""
    best = max(new, key=lambda name: new[name])
    if base > 0:
        kept = figures.percent(100 * new[best] / base, 0, sign=False)
        kind = "" if set(new) | {today} == set(names) else "single "
        most = f", the most of the {kind}post-quantum schemes shown" if len(new) > 1 else ""
        return f"{best} keeps {kept} of today's capacity{most}"
    return f"{best} carries most of those shown, {figures.significant(new[best])} transactions/s"


def _most(names: list[str], value: Any, label: str) -> str:
    known = [(size, name) for name, size in zip(names, value, strict=True) if np.isfinite(size)]
    if not known:
        return ""
    size, name = max(known)
    most = ", the most of those shown" if len(known) > 1 else ""
    return f"{label}: {figures.significant(size)} with {name}{most}"


def plot_cost_on_chains(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw a matrix of the share of its capacity that each chain loses with each scheme.

    Takes a frame of `pqchain.study.cost_on_chains`; chains that lose most are at the bottom, and
    an asterisk marks those whose plan no observation tests. Raises DataError, UsageError.
    """
    require(frame, "title algorithm lost_share calibrated")
    schemes = list(dict.fromkeys(frame["algorithm"]))
    by_chain = frame.groupby("title", sort=False)["lost_share"].mean().sort_values(kind="stable")
    titles = list(by_chain.index)
    with canvas(ax, 1.3 + (0.38 if paper.narrow() else 0.29) * len(titles)) as axes:
        for row in frame.to_dict("records"):
            x, y = schemes.index(row["algorithm"]), titles.index(row["title"])
            # Translucent, so that the text has a contrast of 4.5 on light and on dark pages.
            strength = 0.52 * min(max(row["lost_share"], 0.0), 1.0)
            style = props(color=_LOSS, alpha=strength, linewidth=0)
            axes.fill_between([x - 0.48, x + 0.48], y - 0.46, y + 0.46, **style)
            text = figures.percent(100 * row["lost_share"], 0, sign=False)
            axes.text(x, y, text, ha="center", va="center", size=paper.points(), color=INK)
        tested = dict(zip(frame["title"], frame["calibrated"], strict=True))
        axes.set(xlim=(-0.5, len(schemes) - 0.5), ylim=(len(titles) - 0.5, -0.5))
        scheme_width, title_width = (40, 16) if paper.narrow() else (11, 40)
        # As texts and not as tick labels, of which a narrow figure would leave out some.
        for x, name in enumerate(schemes):
            style = props(ha="center", va="bottom", size=paper.points(), color=INK)
            if paper.narrow():
                style |= props(rotation=90)
            axes.text(x, -0.55, at_hyphens(name, scheme_width), **style)
        axes.set_xticks([])
        # Without additions in parentheses where rows have room for two lines.
        shown = [title.partition(" (")[0] if paper.narrow() else title for title in titles]
        marked = (
            f"{name}{'' if tested[title] else figures.NARROW_SPACE + '*'}"
            for name, title in zip(shown, titles, strict=True)
        )
        axes.set_yticks(range(len(titles)), [textwrap.fill(name, title_width) for name in marked])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel(with_notes(
            "share of today's capacity lost",
            "" if all(tested.values()) else "*: model not tested by an observation",
        ))  # fmt: skip
        headline(axes, _losses(frame))
    return axes


def _losses(frame: pd.DataFrame) -> str:
    new = frame[
        [name not in ALGORITHMS or mark_of(name).post_quantum for name in frame["algorithm"]]
    ]
    if new.empty:
        return ""
    middle = 100 * new.groupby("algorithm")["lost_share"].median().sort_values()
    share = figures.percent(middle.iloc[0], 0, sign=False)
    least = "costs least of the schemes shown" if len(middle) > 1 else "costs"
    return f"{middle.index[0]} {least}: {share} of today's capacity, in the median of the rows"


def plot_load(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw latency over the arrival rate, a line for each scheme; both axes are logarithmic.

    Takes a frame of the contract "study-load". A column `load`, the arrivals as a share of the
    capacity, places a wall at each scheme's capacity. A column `study`, the title of its plan, is
    the start of the title. Raises DataError, UsageError.
    """
    require(frame, "algorithm arrivals_per_second latency_seconds")
    lines, ends = dashes(dict.fromkeys(frame["algorithm"])), []
    with canvas(ax, 4.2) as axes:
        axes.set(xscale="log", yscale="log")
        for algorithm, group in frame.groupby("algorithm", sort=False):
            mark = mark_of(str(algorithm))
            rates, latencies = group["arrivals_per_second"], group["latency_seconds"]
            style = props(color=mark.colour, linestyle=lines[str(algorithm)], linewidth=1.5)
            axes.plot(rates, latencies, label=algorithm, **style)
            wall = rates.iloc[-1] / (group["load"].iloc[-1] if "load" in frame else 1.0)
            ends.append((float(wall), float(latencies.iloc[-1]), str(algorithm)))
        log_ticks(axes, "y", brief)
        log_ticks(axes, "x", "{:g}".format)
        wall = "dotted: capacity with the scheme" if "load" in frame else ""
        axes.set_xlabel(with_notes("arriving transactions per second", wall))
        axes.set_ylabel("mean latency of a transaction, modelled")
        grid(axes)
        least, most = min(ends), max(ends)
        text = f"{most[2]} carries {figures.significant(most[0])} transactions per second"
        if len(ends) > 1:
            ratio = times(most[0] / least[0])
            text += f", the most of the schemes shown and {ratio} as many as {least[2]}"
        headline(axes, ": ".join(filter(None, [chain_of(frame), text])))
        name_walls(axes, ends)
    return axes


def plot_migration(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the shares of accounts that moved and that wait by day, and below the chain's growth.

    Takes a frame of the contract "study-migration"; columns `study` and `algorithm`, the title of a
    plan and the new scheme, are the start of the title, and a column `item` has another word for
    accounts, such as outputs. With `ax` only the shares are drawn; the axes of the shares are
    returned. Raises DataError, UsageError.
    """
    require(frame, "day moved_share waiting_share carried_per_second wanted_per_second")
    require(frame, "growth_bytes_per_day")
    events = _events(frame)
    items = str(frame["item"].iloc[0]) if "item" in frame else "accounts"
    with panels(2, 1, 4.4) if ax is None else canvas(ax, 3.0) as drawn:
        shares, *others = [drawn] if isinstance(drawn, Axes) else drawn
        moved, waiting, bytes_look = (look(at)[0] for at in range(3))
        style = props(color=moved, linewidth=1.6)
        shares.plot(frame["day"], 100 * frame["moved_share"], label="moved", **style)
        style = props(color=waiting, linewidth=1.6, linestyle=(0, (5, 1.5)))
        label = "waiting for room in blocks"
        shares.plot(frame["day"], 100 * frame["waiting_share"], label=label, **style)
        shares.set(ylabel=f"% of the {items}", ylim=(0, 103))
        grid(shares)
        for growth in others:
            style = props(color=bytes_look, linewidth=1.6)
            growth.plot(frame["day"], frame["growth_bytes_per_day"], **style)
            growth.set_ylim(bottom=0)
            growth.yaxis.set_major_formatter(with_prefix("B"))
            growth.set_ylabel("growth of the\nchain per day")
            grid(growth)
            shares.tick_params(labelbottom=False)
        # To a day with a tick, also where a narrow figure has few.
        end = MaxNLocator(3).tick_values(0, frame["day"].max())[-1]
        for axes in (shares, *others):
            axes.set_xlim(0, end)
            for day in {day for days in events.values() for day in days}:
                axes.axvline(day, color=INK, linewidth=0.9, linestyle=":", zorder=1)
        notes = ", ".join(
            f"{what} from day {' to '.join(map(figures.integer, days))}"
            for what, days in events.items()
        )
        label = with_notes("day of the migration", f"dotted: {notes}" if notes else "")
        (others or [shares])[-1].set_xlabel(label)
        legend_above(shares, 2)
        last = frame.iloc[-1]
        first, then = (BYTES.text(frame["growth_bytes_per_day"].iloc[at]) for at in (0, -1))
        text = f"{100 * last['moved_share']:.4g}{figures.NARROW_SPACE}% of the {items} have moved "
        text += f"by day {figures.integer(last['day'])}; growth rises from {first} to {then} a day"
        names = [chain_of(frame), *(frame["algorithm"].iloc[:1] if "algorithm" in frame else [])]
        title = " to ".join(filter(None, names))
        headline(shares, f"{title}: {text}" if title else text)
    return shares


def _events(frame: pd.DataFrame) -> dict[str, list[float]]:
    """Return the days on which blocks are full and moves wait, at which the curves bend."""
    is_full = frame["carried_per_second"] < frame["wanted_per_second"]
    is_waiting = frame["waiting_share"] > 0
    return {
        what: [days.min(), *([days.max()] if days.max() < frame["day"].max() else [])]
        for what, days in (
            ("blocks are full", frame["day"][is_full]), ("moves wait", frame["day"][is_waiting])
        )
        if len(days)
    }  # fmt: skip
