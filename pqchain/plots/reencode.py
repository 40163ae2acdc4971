"""Plots of re-encoding: times of phases, streams and transports, and the effect of links."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain.figures import SECONDS
from pqchain.plots import paper
from pqchain.plots.canvas import GRID, INK, MUTED, PAPER, canvas, require
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

_PHASES = {
    "transfer": ("#0072B2", ""),
    "decode": ("#E69F00", "////"),
    "encode": ("#009E73", "...."),
    "io": (INK, ""),
    "other": (GRID, "\\\\\\\\"),
}
"""Colour and hatching by phase; hatching makes them distinct in grey."""

_STREAMS = {"single": ("#0072B2", "o", "-"), "multiplexed": ("#D55E00", "s", "--")}

_WAYS = {
    "tcp": ("#E69F00", "D"), "quic": ("#0072B2", "o"), "quic-one-stream": ("#56B4E9", "s"),
    "quic-cubic": ("#009E73", "^"), "quic-bbr": ("#CC79A7", "v"), "quic-fresh": (INK, "P"),
    "quic-0-rtt": ("#D55E00", "X"),
}  # fmt: skip

_BARS = ("#D55E00", "#0072B2", "#56B4E9", "#E69F00", "#009E73", "#CC79A7")
"""Colours of the bars of transports by row; each bar has its transport's name."""

_LABELLED_PERCENT = 6.0
"""Smaller shares have no label, which would not fit; twice that in a narrow figure."""


def plot_phases(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the share of each phase in the time of each run, published and ours, as stacked bars.

    Takes a row per run and phase with the columns run, kind, phase, seconds, share_percent,
    payload_bytes and status; a run without times has its status as a label. Raises
    DataError, UsageError.
    """
    require(table, "run kind phase seconds share_percent payload_bytes status")
    text = props(ha="center", va="center", color=INK, size=paper.scaled(7))
    least = _LABELLED_PERCENT * (2 if paper.narrow() else 1)
    text |= props(bbox=props(facecolor=PAPER, edgecolor="none", pad=1.2))
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
                style = props(color=colour, hatch=hatch, edgecolor=PAPER, label=phase)
                axes.barh(level, share, left=start, height=0.62, linewidth=0.6, **style)
                if share >= least:
                    axes.text(start + share / 2, level, f"{share:.1f} %", **text)
                start += share
            if start == 0.0:
                axes.text(1, level, first["status"], va="center", color=MUTED, size=8)
        name_levels(axes, labels)
        axes.set(xlim=(0, 100), xlabel="share of a node's time in percent")
        legend_above(axes, 5)
    return axes


def plot_streams(series: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the transfer time by number of blocks, for single and multiplexed streams.

    Takes a row per point with the columns kind, mode, streams, blocks, repeats, transfer_seconds,
    low_seconds and high_seconds; whiskers go from the shortest to the longest run. Of several
    modes the virtual one, or else the first, is drawn, because modelled and measured times share
    no axis. Raises DataError, UsageError.
    """
    require(series, "kind mode streams blocks repeats transfer_seconds low_seconds high_seconds")
    modes = series["mode"].unique()
    mode = "virtual" if "virtual" in modes else modes[0]
    chosen = series[series["mode"] == mode]
    with canvas(ax, 3.0) as axes:
        for index, (streams, (colour, marker, line)) in enumerate(_STREAMS.items()):
            rows = chosen[chosen["streams"] == streams].sort_values("blocks")
            low, times, high = (
                rows[f"{which}_seconds"].to_numpy() * 1e3 for which in ("low", "transfer", "high")
            )
            # A horizontal offset separates the two series, which hardly differ.
            places = rows["blocks"].to_numpy(float) + (index - 0.5) * 0.2
            whiskers = np.maximum([times - low, high - times], 0)
            style = props(color=colour, marker=marker, linestyle=line, label=streams)
            style |= props(markersize=5, capsize=3, linewidth=1.2)
            axes.errorbar(places, times, yerr=whiskers, **style)
        axes.set_xticks(sorted(set(chosen["blocks"].astype(int))))
        axes.set_ylim(bottom=0)
        grid(axes, "y")
        kind, runs = chosen["kind"].iloc[0], int(chosen["repeats"].max())
        axes.set_xlabel(f"blocks exchanged ({kind}, {mode}, up to {runs} runs of each)")
        axes.set_ylabel("time of transfer in ms")
        legend_within(axes, "upper left")
    return axes


def plot_transports(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the transfer time of each transport on equal links, and the least time at the link rate.

    Takes a row per transport with the columns mode, transport, bits_per_second, repeats,
    transfer_seconds, low_seconds, high_seconds, wire_limit_seconds and status; whiskers go from
    the shortest to the longest run; a transport that did not run has its status. Raises DataError,
    UsageError.
    """
    require(
        table,
        "mode transport bits_per_second repeats transfer_seconds low_seconds high_seconds "
        "wire_limit_seconds status",
    )
    with canvas(ax, 0.9 + 0.42 * len(table)) as axes:
        for level, row in enumerate(table.to_dict("records")):
            time, low, high = (row[f"{which}_seconds"] for which in ("transfer", "low", "high"))
            if not np.isfinite(time):
                axes.text(0, level, f" {row['status']}", va="center", color=MUTED, size=8)
                continue
            colour = _BARS[level % len(_BARS)]
            whisker = props(xerr=[[time - low], [high - time]], capsize=3, ecolor=INK)
            axes.barh(level, time, height=0.6, color=colour, **whisker)
            annotate(axes, SECONDS.text(time), (high, level), (5, 0), size=8)
        limit = table["wire_limit_seconds"].max()
        if np.isfinite(limit):
            axes.axvline(limit, color=INK, linestyle=":", linewidth=1.2, label="limit of the link")
            axes.set_xlim(0, max(limit, table["high_seconds"].max()) * 1.2)
            legend_above(axes, 1)
        name_levels(axes, table["transport"].tolist())
        first = table.iloc[0]
        rate = first["bits_per_second"] / 1e6
        links = f"links of {rate:g} Mbit/s" if rate > 0 else "links not shaped"
        axes.set_xlabel(f"time of transfer in seconds (measured, {first['mode']}, {links})")
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
    with canvas(ax, 1.2 + 0.42 * len(groups)) as axes:
        axes.set_xscale("log")
        labels = []
        for level, (_, group) in enumerate(groups):
            first = group.iloc[0]
            rate, delay, loss = first["bits_per_second"], first["delay_seconds"], first["loss"]
            labels.append(f"{rate / 1e6:g} Mbit/s, {1e3 * delay:g} ms, {100 * loss:g} %")
            for row in group[group["status"] == "ok"].to_dict("records"):
                colour, marker = _WAYS.get(str(row["way"]), (MUTED, "."))
                # A vertical offset separates the ways, whose times are often nearly equal.
                at = level + 0.5 * ((ways.index(row["way"]) + 0.5) / len(ways) - 0.5)
                axes.hlines(at, row["low_seconds"], row["high_seconds"], color=colour)
                style = props(color=colour, marker=marker, linestyle="none", markersize=5)
                axes.plot([row["transfer_seconds"]], [at], label=row["way"], **style)
            limit = group["wire_limit_seconds"].max()
            if limit > 0:
                tick = props(color=INK, marker="|", markersize=14, label="limit of the link")
                axes.plot([limit], [level], **tick)
        name_levels(axes, labels)
        log_ticks(axes, "x", brief)
        grid(axes, "x")
        if axes.get_legend_handles_labels()[1]:
            legend_above(axes, 4)
        axes.set_xlabel(f"time of transfer ({frame['mode'].iloc[0]}); links: rate, one way, loss")
    return axes
