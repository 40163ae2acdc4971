"""Plots of re-encoding: times of phases, streams and transports, and the effect of links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.figures import RATIO, SECONDS
from pqchain.plots import paper
from pqchain.plots.canvas import (
    GRID,
    INK,
    LOOKS,
    MUTED,
    PAPER,
    canvas,
    headline,
    panels,
    require,
)
from pqchain.plots.marks import (
    annotate,
    brief,
    grid,
    legend_above,
    log_ticks,
    name_levels,
    props,
)

_PHASES = {
    "transfer": (LOOKS[0][0], ""),
    "decode": (LOOKS[1][0], "///"),
    "encode": (LOOKS[2][0], "..."),
    "io": (INK, ""),
    "other": (GRID, ""),
}
"""Colour and hatching by phase; hatching makes them distinct in grey."""

_STREAMS = {"single": (*LOOKS[0], "-"), "multiplexed": (*LOOKS[1], "--")}

_WAYS = dict(zip(
    ("quic", "tcp", "quic-one-stream", "quic-cubic", "quic-bbr", "quic-fresh", "quic-0-rtt"),
    LOOKS, strict=False,
))  # fmt: skip

_LABELLED_PERCENT = 7.0
"""Smaller shares have no label, which would not fit; twice that in a narrow figure."""


def plot_phases(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the share of each phase in the time of each run, published and ours, as stacked bars.

    Takes a row per run and phase with the columns run, kind, phase, seconds, share_percent,
    payload_bytes and status; a run without times has its status as a label. Raises
    DataError, UsageError.
    """
    require(table, "run kind phase seconds share_percent payload_bytes status")
    text = props(ha="center", va="center", color=INK, size=paper.points())
    least = _LABELLED_PERCENT * (2 if paper.narrow() else 1)
    text |= props(bbox=props(facecolor=PAPER, edgecolor="none", pad=1.4, alpha=0.9))
    labels: list[str] = []
    with canvas(ax, 1.0 + 0.52 * table["run"].nunique()) as axes:
        for level, (run, group) in enumerate(table.groupby("run", sort=False)):
            first, total = group.iloc[0], group["seconds"].sum(min_count=1)
            size = f"{first['payload_bytes'] / 1e6:g} MB in {SECONDS.text(total)}"
            labels.append(f"{run} ({first['kind']})\n{size}")
            shares = group.set_index("phase")["share_percent"].reindex(list(_PHASES))
            start = 0.0
            for share, (phase, (colour, hatch)) in zip(shares, _PHASES.items(), strict=True):
                if not np.isfinite(share):
                    continue
                style = props(color=colour, hatch=hatch, edgecolor=PAPER, label=phase, alpha=0.75)
                axes.barh(level, share, left=start, height=0.62, linewidth=0.6, **style)
                if share >= least:
                    axes.text(start + share / 2, level, f"{share:.0f} %", **text)
                start += share
            if start == 0.0:
                axes.text(1, level, first["status"], va="center", color=MUTED, size=paper.points())
        name_levels(axes, labels)
        axes.set(xlim=(0, 100), xlabel="share of a node's time in percent")
        legend_above(axes, 5)
        transfer = table[table["phase"] == "transfer"].groupby("run", sort=False)
        shares = transfer["share_percent"].first().dropna()
        if len(shares):
            low, high = (figures.percent(end, 0, sign=False) for end in (min(shares), max(shares)))
            ends = low if low == high else f"{low} to {high}"
            headline(axes, f"Transfer takes {ends} of a node's time, in {len(shares)} runs")
    return axes


def plot_streams(series: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw transfer times with single and multiplexed streams, and below their difference.

    Takes a row per point with the columns kind, mode, streams, blocks, repeats, transfer_seconds,
    low_seconds and high_seconds; whiskers go from the shortest to the longest run, and those of the
    difference from the least to the greatest of any two runs. Of several modes the virtual one, or
    else the first, is drawn, because modelled and measured times share no axis. With `ax` only the
    times are drawn; their axes are returned. Raises DataError, UsageError.
    """
    require(series, "kind mode streams blocks repeats transfer_seconds low_seconds high_seconds")
    modes = series["mode"].unique()
    mode = "virtual" if "virtual" in modes else modes[0]
    chosen = series[series["mode"] == mode]
    counts = sorted(set(chosen["blocks"].astype(int)))
    with panels(2, 1, 4.4) if ax is None else canvas(ax, 3.0) as drawn:
        axes, *others = [drawn] if isinstance(drawn, Axes) else drawn
        for index, (streams, (colour, marker, line)) in enumerate(_STREAMS.items()):
            rows = chosen[chosen["streams"] == streams].sort_values("blocks")
            low, times, high = (
                rows[f"{which}_seconds"].to_numpy() * 1e3 for which in ("low", "transfer", "high")
            )
            # A horizontal offset separates the two series, which hardly differ.
            at = np.searchsorted(counts, rows["blocks"].to_numpy(int))
            places = at + (index - 0.5) * 0.16
            whiskers = np.maximum([times - low, high - times], 0)
            style = props(color=colour, marker=marker, linestyle=line, label=streams)
            style |= props(markersize=6, capsize=3, linewidth=1.2)
            axes.errorbar(places, times, yerr=whiskers, **style)
        axes.set_ylim(0, 1.15e3 * chosen["high_seconds"].max())
        axes.set_ylabel("time of transfer in ms")
        change = _changes(chosen)
        for below in others:
            spread = np.maximum(
                [change["mean"] - change["low"], change["high"] - change["mean"]], 0
            )
            style = props(color=INK, marker="o", linestyle="none", capsize=3, markersize=6)
            at = np.searchsorted(counts, change.index.to_numpy(int))
            below.errorbar(at, change["mean"], yerr=spread, **style)
            for place, value in zip(at, change["mean"], strict=True):
                # Above the line of no difference, where most of them are.
                annotate(below, figures.percent(value), (float(place), float(value)), (7, 8))
            below.axhline(0, color=MUTED, linewidth=0.9)
            below.set_ylabel("multiplexed, % of single")
            below.margins(y=0.25)
        for part in (axes, *others):
            part.set_xticks(range(len(counts)), map(str, counts))
            part.set_xlim(-0.5, len(counts) - 0.5)
            grid(part, "y")
        if others:
            axes.tick_params(labelbottom=False)
        kind, runs = chosen["kind"].iloc[0], int(chosen["repeats"].max())
        last = (others or [axes])[-1]
        last.set_xlabel(f"blocks exchanged ({kind}, {mode}, up to {runs} runs of each)")
        legend_above(axes, 2)
        if len(change):
            most = change.index.max()
            ends = change.loc[most]
            headline(
                axes,
                f"{most} blocks: multiplexing changes the time by {figures.percent(ends['mean'])} "
                f"({figures.percent(ends['low'])} to {figures.percent(ends['high'])})",
            )
    return axes


def _changes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the change by multiplexing in percent, by number of blocks: mean, low, high."""
    times = rows.groupby(["streams", "blocks"])[
        ["transfer_seconds", "low_seconds", "high_seconds"]
    ].mean()
    both = set(times.index.get_level_values("streams")) >= set(_STREAMS)
    if not both:
        return pd.DataFrame(columns=["mean", "low", "high"])
    single, other = times.loc["single"], times.loc["multiplexed"]
    ratios = {
        "mean": other["transfer_seconds"] / single["transfer_seconds"],
        "low": other["low_seconds"] / single["high_seconds"],
        "high": other["high_seconds"] / single["low_seconds"],
    }
    return (100 * (pd.DataFrame(ratios) - 1)).dropna()


def plot_transports(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the transfer time of each transport on equal links, and the least time at the link rate.

    Takes a row per transport with the columns mode, transport, bits_per_second, repeats,
    transfer_seconds, low_seconds, high_seconds, wire_limit_seconds and status; whiskers go from
    the shortest to the longest run; a transport that did not run has its status. Labels have the
    excess over the limit of the link. Raises DataError, UsageError.
    """
    require(
        table,
        "mode transport bits_per_second repeats transfer_seconds low_seconds high_seconds "
        "wire_limit_seconds status",
    )
    limit = table["wire_limit_seconds"].max()
    excess = {}
    with canvas(ax, 1.4 + 0.36 * len(table)) as axes:
        for level, row in enumerate(table.to_dict("records")):
            time, low, high = (row[f"{which}_seconds"] for which in ("transfer", "low", "high"))
            if not np.isfinite(time):
                axes.text(0, level, f" {row['status']}", va="center", color=MUTED,
                          size=paper.points())  # fmt: skip
                continue
            whisker = props(xerr=[[time - low], [high - time]], capsize=3, ecolor=INK)
            axes.barh(level, time, height=0.6, color=MUTED, alpha=0.55, **whisker)
            text = SECONDS.text(time)
            if limit > 0:
                excess[row["transport"]] = 100 * (time / limit - 1)
                text += f"   {figures.percent(excess[row['transport']], 0)}"
            annotate(axes, text, (high, level), (7, 0))
        name_levels(axes, table["transport"].tolist())
        if np.isfinite(limit) and limit > 0:
            axes.axvline(limit, color=INK, linestyle=":", linewidth=1.4, label="limit of the link")
            axes.set_xlim(0, max(limit, table["high_seconds"].max()) * 1.35)
            legend_above(axes, 1)
        first = table.iloc[0]
        rate = first["bits_per_second"] / 1e6
        links = f"links of {rate:g} Mbit/s" if rate > 0 else "links not shaped"
        axes.set_xlabel(f"time of transfer in seconds (measured, {first['mode']}, {links})")
        grid(axes, "x")
        if excess:
            best, last = min(excess, key=excess.__getitem__), max(excess, key=excess.__getitem__)
            text = f"Over the limit of the link: {best} {figures.percent(excess[best], 0)}"
            more = f", {last} {figures.percent(excess[last], 0)}" if last != best else ""
            headline(axes, text + more)
    return axes


def plot_links(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the transfer time of each transport variant, a row for each kind of link.

    Takes a `reencode.sweep` frame, with the columns way, mode, bits_per_second, delay_seconds,
    loss, transfer_seconds, low_seconds, high_seconds, wire_limit_seconds and status. Whiskers go
    from the shortest to the longest run; a tick shows the limit of the link. Raises DataError,
    UsageError.
    """
    require(
        frame,
        "way mode bits_per_second delay_seconds loss transfer_seconds low_seconds high_seconds "
        "wire_limit_seconds status",
    )
    conditions = ["bits_per_second", "delay_seconds", "loss"]
    groups = list(frame.groupby(conditions, sort=False))
    ways = list(dict.fromkeys(frame["way"]))
    inches = max(0.4, 0.13 * len(ways))
    with canvas(ax, 1.3 + inches * len(groups)) as axes:
        axes.set_xscale("log")
        labels = []
        for level, (_, group) in enumerate(groups):
            first = group.iloc[0]
            labels.append(_link(*(first[name] for name in conditions)))
            for row in group[group["status"] == "ok"].to_dict("records"):
                colour, marker = _WAYS.get(str(row["way"]), (MUTED, "."))
                # A vertical offset separates the ways, whose times are often nearly equal.
                at = level + 0.7 * ((ways.index(row["way"]) + 0.5) / len(ways) - 0.5)
                axes.hlines(at, row["low_seconds"], row["high_seconds"], color=colour)
                style = props(color=colour, marker=marker, linestyle="none", markersize=6)
                axes.plot([row["transfer_seconds"]], [at], label=row["way"], **style)
            limit = group["wire_limit_seconds"].max()
            if limit > 0:
                style = props(color=INK, linestyle=":", linewidth=1.4, label="limit of the link")
                axes.plot([limit, limit], [level - 0.42, level + 0.42], **style)
            if level:
                axes.axhline(level - 0.5, color=GRID, linewidth=0.8, zorder=0)
        name_levels(axes, labels)
        log_ticks(axes, "x", brief)
        grid(axes, "x")
        if axes.get_legend_handles_labels()[1]:
            legend_above(axes, 4)
        axes.set_xlabel(f"time of transfer ({frame['mode'].iloc[0]}); links: rate, one way, loss")
        fine = frame[frame["status"] == "ok"].groupby(conditions)["transfer_seconds"]
        spread = (fine.max() / fine.min()).dropna()
        if len(spread) and len(ways) > 1:
            worst: Any = spread.idxmax()
            rows = frame.set_index(conditions).loc[[worst]].dropna(subset="transfer_seconds")
            fast, slow = rows["transfer_seconds"].agg(["argmin", "argmax"])
            names = rows["way"].tolist()
            link = _link(*worst)
            ratio = RATIO.text(spread.max(), 3)
            text = (
                f"Ways differ most at {link}: {names[slow]} takes {ratio} as long as {names[fast]}"
            )
            headline(axes, text)
    return axes


def _link(rate: float, delay: float, loss: float) -> str:
    return f"{rate / 1e6:g} Mbit/s, {1e3 * delay:g} ms, {100 * loss:g} %"
