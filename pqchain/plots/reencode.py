"""Plots of re-encoding: times of phases, streams and transports, and the effect of links."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from pqchain import figures
from pqchain.errors import UsageError
from pqchain.figures import BYTES, SECONDS, Kind
from pqchain.plots import paper
from pqchain.plots.canvas import (
    GRID,
    INK,
    LOOKS,
    MUTED,
    PAPER,
    canvas,
    headline,
    require,
    with_notes,
)
from pqchain.plots.marks import (
    RUNS,
    annotate,
    brief,
    change,
    enclose,
    grid,
    legend_above,
    log_ticks,
    name_levels,
    props,
    times,
    with_prefix,
)
from pqchain.plots.words import words

_PHASES = {
    "transfer": (LOOKS[0][0], ""),
    "decode": (LOOKS[1][0], "///"),
    "encode": (LOOKS[2][0], "..."),
    "io": (INK, ""),
    "other": (GRID, ""),
}
"""Colour and hatching by phase; hatching makes them distinct in grey."""

_STREAMS = ("single", "multiplexed")

_WAY_WORDS = {
    "quic": "QUIC with NewReno", "tcp": "TCP with TLS", "quic-one-stream": "NewReno, one stream",
    "quic-cubic": "QUIC with CUBIC", "quic-bbr": "QUIC with BBR",
    "quic-fresh": "NewReno, new sessions", "quic-0-rtt": "NewReno, 0-RTT",
}  # fmt: skip
"""Configurations of `reencode.sweeps.WAYS` by their congestion control, streams and sessions."""

_WAYS = dict(zip(_WAY_WORDS, LOOKS, strict=False))

_LABELLED_PERCENT = 10
"""Smaller shares have no label, which would not fit; narrow figures need more, except transfers."""


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
            size = f"{BYTES.text(first['payload_bytes'], 2)} in {SECONDS.text(total)}"
            name, transport = words(str(run)), words(str(first.get("transport", "")))
            if first["kind"] == Kind.MEASURED and transport not in name:
                name += f", {transport}"
            labels.append(f"{name} ({words(first['kind'])})\n{size}")
            shares = group.set_index("phase")["share_percent"].reindex(list(_PHASES))
            start = 0.0
            for share, (phase, (colour, hatch)) in zip(shares, _PHASES.items(), strict=True):
                if not np.isfinite(share):
                    continue
                style = props(
                    color=colour,
                    hatch=hatch,
                    edgecolor=PAPER,
                    label=words(phase),
                    alpha=0.75,
                )
                axes.barh(level, share, left=start, height=0.62, linewidth=0.6, **style)
                # Rounded, so that equal labels are either all written or all left out.
                if round(share) >= (_LABELLED_PERCENT if phase == "transfer" else least):
                    axes.text(
                        start + share / 2, level, figures.percent(share, 0, sign=False), **text
                    )
                start += share
            if start == 0.0:
                axes.text(1, level, first["status"], va="center", color=MUTED, size=paper.points())
        name_levels(axes, labels)
        axes.set(xlim=(0, 100))
        axes.set_xlabel(with_notes(
            "share of a node's time in %", f"numbers: {least}{figures.NARROW_SPACE}% and more"
            + (", and of transfers" if least > _LABELLED_PERCENT else ""),
        ))  # fmt: skip
        legend_above(axes, 5)
        transfer = table[table["phase"] == "transfer"].groupby("run", sort=False)
        shares = transfer["share_percent"].first().dropna()
        if len(shares):
            headline(axes, f"Transfer takes {_ranges(shares, transfer['kind'].first())}")
    return axes


def _ranges(shares: pd.Series[float], kinds: pd.Series[str]) -> str:
    """Return the share that was measured and that which was published, or else that of all runs."""
    percent = partial(figures.percent, decimals=0, sign=False)
    parts = []
    for kind, where in (("measured", "in the runs measured here"), ("published", "in the paper")):
        if len(values := shares[kinds[shares.index] == kind]):
            ends = dict.fromkeys(map(percent, (values.min(), values.max())))
            parts.append((" to ".join(ends), where))
    parts = parts or [(f"at least {percent(shares.min())}", "in each run shown")]
    (first, where), *others = parts
    text = f"{first} of a node's time {where}"
    return ", ".join([text, *(f"{share} {other}" for share, other in others)])


def plot_streams(series: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw by how much multiplexed streams change the time of a transfer.

    Takes a row per point with the columns kind, mode, streams, blocks, repeats, transfer_seconds,
    low_seconds and high_seconds; whiskers go from the least to the greatest change between any two
    runs. Of several modes the virtual one, or else the first, is drawn, because modelled and
    measured times share no axis. Raises DataError, UsageError.
    """
    require(series, "kind mode streams blocks repeats transfer_seconds low_seconds high_seconds")
    modes = series["mode"].unique()
    mode = "virtual" if "virtual" in modes else modes[0]
    chosen = series[series["mode"] == mode]
    changes = _changes(chosen)
    if changes.empty:
        raise UsageError(
            "streams must have single and multiplexed ones of equal blocks; got others"
        )
    with canvas(ax, 1.5 + (0.4 if paper.narrow() else 0.55) * len(changes)) as axes:
        axes.axvline(0, color=INK, linewidth=0.9, zorder=1)
        for level, (blocks, row) in enumerate(changes.iterrows()):
            axes.hlines(level, row["low"], row["high"], color=LOOKS[0][0], linewidth=1.6, zorder=2)
            style = props(color=LOOKS[0][0], marker="o", linestyle="none", markersize=6.5)
            axes.plot([row["mean"]], [level], label=str(blocks), **style)
            annotate(axes, change(row["mean"]), (row["mean"], level), (0, 11))
        names = [_blocks(blocks) for blocks in changes.index]
        if not paper.narrow():
            pairs = zip(changes["single"], changes["multiplexed"], strict=True)
            texts = (
                f"one stream: {SECONDS.text(one, 4)}\none per chunk: {SECONDS.text(other, 4)}"
                for one, other in pairs
            )
            names = [f"{name}\n{text}" for name, text in zip(names, texts, strict=True)]
        name_levels(axes, names, is_above=False)
        low, high = min(0.0, changes["low"].min()), max(0.0, changes["high"].max())
        axes.set_xlim(low - 0.08 * (high - low or 1), high + 0.08 * (high - low or 1))
        enclose(axes)
        axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(lambda number, _: change(number, 0 if high > 5 else 1))
        kind, runs = chosen["kind"].iloc[0], int(chosen["repeats"].max())
        sizes = set(chosen.get("block_bytes", []))
        axes.set_xlabel(with_notes(
            f"change of the transfer time {f'{kind} ' if mode != 'virtual' else ''}{words(mode)}",
            f"blocks of {BYTES.text(sizes.pop(), 2)}" if len(sizes) == 1 else "",
            "left of the line: faster", f"whisker: range between any two of {runs} runs",
        ))  # fmt: skip
        grid(axes, "x")
        most = changes.index.max()
        ends = changes.loc[most]
        clear = ends["low"] > 0 or ends["high"] < 0
        verb = "changes" if clear else "does not clearly change"
        text = f"A stream for each chunk {verb} the transfer time, compared with one stream for all"
        headline(axes, f"{text}: {change(ends['mean'])} with {_blocks(most)}")
    return axes


def _blocks(count: Any) -> str:
    return f"{count} block{'' if count == 1 else 's'}"


def _changes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the change by multiplexing in percent, by number of blocks: mean, low, high.

    The columns single and multiplexed have the times in seconds.
    """
    seconds = rows.groupby(["streams", "blocks"])[
        ["transfer_seconds", "low_seconds", "high_seconds"]
    ].mean()
    both = set(seconds.index.get_level_values("streams")) >= set(_STREAMS)
    if not both:
        return pd.DataFrame(columns=["mean", "low", "high", "single", "multiplexed"])
    single, other = seconds.loc["single"], seconds.loc["multiplexed"]
    ratios = {
        "mean": other["transfer_seconds"] / single["transfer_seconds"],
        "low": other["low_seconds"] / single["high_seconds"],
        "high": other["high_seconds"] / single["low_seconds"],
    }
    percent = 100 * (pd.DataFrame(ratios) - 1)
    pair = {name: seconds.loc[name]["transfer_seconds"] for name in _STREAMS}
    return percent.assign(**pair).dropna()


def plot_transports(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the transfer time of each transport on equal links, and the least time at the link rate.

    Takes a row per transport with the columns mode, transport, bits_per_second, block_bytes,
    repeats, transfer_seconds, low_seconds, high_seconds, wire_limit_seconds and status; whiskers go
    from the shortest to the longest run; a transport that did not run has its status. Labels have
    the excess over the limit of the link. Raises DataError, UsageError.
    """
    require(
        table,
        "mode transport bits_per_second block_bytes repeats transfer_seconds low_seconds "
        "high_seconds wire_limit_seconds status",
    )
    limit = table["wire_limit_seconds"].max()
    excess = {}
    with canvas(ax, 1.4 + 0.36 * len(table)) as axes:
        # The fastest first, and last those that did not run.
        table = table.sort_values("transfer_seconds", kind="stable")
        for level, row in enumerate(table.to_dict("records")):
            time, low, high = (row[f"{which}_seconds"] for which in ("transfer", "low", "high"))
            if not np.isfinite(time):
                annotate(axes, f"{words(row['status'])} here", (0, level), (6, 0), colour=MUTED)
                continue
            whisker = props(xerr=[[time - low], [high - time]], capsize=3, ecolor=INK)
            axes.barh(level, time, height=0.6, color=MUTED, alpha=0.55, **whisker)
            text = SECONDS.text(time)
            if limit > 0:
                excess[row["transport"]] = 100 * (time / limit - 1)
                text += f"  ({change(excess[row['transport']], 0)})"
            annotate(axes, text, (high, level), (7, 0))
        # The dotted line would cross names above the bars.
        name_levels(axes, [words(name) for name in table["transport"]], is_above=False)
        if np.isfinite(limit) and limit > 0:
            axes.axvline(limit, color=INK, linestyle=":", linewidth=1.4, label="limit of the link")
            axes.set_xlim(0, max(limit, table["high_seconds"].max()))
            enclose(axes)
        first = table.iloc[0]
        rate = first["bits_per_second"] / 1e6
        links = f"links of {rate:g} Mbit/s" if rate > 0 else "links not shaped"
        axes.xaxis.set_major_formatter(f"{{x:g}}{figures.NARROW_SPACE}s")
        size = with_prefix("B")(float(table["block_bytes"].max()))
        ran = table["transfer_seconds"].notna()
        has_range = (table["high_seconds"] > table["low_seconds"])[ran].any()
        repeats = table["repeats"].max()
        mean = f"mean of {repeats} runs, " if repeats > 1 else ""
        axes.set_xlabel(with_notes(
            f"time to transfer {size}, {mean}measured {words(first['mode'])}", links,
            RUNS if has_range else "", _bound(table[ran]),
            f"dotted: least time that the link allows, {SECONDS.text(limit)}" if limit > 0 else "",
        ))  # fmt: skip
        grid(axes, "x")
        if excess:
            best = min(excess, key=excess.__getitem__)
            more = figures.percent(excess[best], 0, sign=False)
            fastest = ", the fastest shown," if len(excess) > 1 else ""
            text = f"{words(best)}{fastest} takes {more} more than the least time of the link"
            headline(axes, text)
    return axes


def _bound(ran: pd.DataFrame) -> str:
    """Return which transports the processor limited, of frames with verdicts; "" for none."""
    is_bound = ran.get("verdict", pd.Series(dtype=str)).str.startswith("bound by the processor")
    if not is_bound.any():
        return ""
    names = (
        "all transports" if is_bound.all() else " and ".join(map(words, ran["transport"][is_bound]))
    )
    return f"limited by the processor: {names}"


def plot_links(frame: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the transfer time of each transport variant, a row for each kind of link.

    Takes a `reencode.sweep` frame, with the columns way, mode, bits_per_second, delay_seconds,
    loss, transfer_seconds, low_seconds, high_seconds, wire_limit_seconds, blocks, block_bytes,
    repeats and status. Whiskers go from the shortest to the longest run; a tick shows the limit of
    the link. Raises DataError, UsageError.
    """
    require(
        frame,
        "way mode bits_per_second delay_seconds loss transfer_seconds low_seconds high_seconds "
        "wire_limit_seconds blocks block_bytes repeats status",
    )
    conditions = ["bits_per_second", "delay_seconds", "loss"]
    groups = list(frame.groupby(conditions, sort=False))
    ways = list(dict.fromkeys(frame["way"]))
    inches = 0.1 + 0.17 * max(2, len(ways))
    with canvas(ax, 1.3 + inches * len(groups)) as axes:
        axes.set_xscale("log")
        labels = []
        for level, (_, group) in enumerate(groups):
            first = group.iloc[0]
            label = _link(*(first[name] for name in conditions))
            labels.append(label.replace(", ", "\n") if paper.narrow() else label)
            for row in group[group["status"] == "ok"].to_dict("records"):
                colour, marker = _WAYS.get(str(row["way"]), (MUTED, "."))
                # A vertical offset separates the ways, whose times are often nearly equal.
                at = level + 0.86 * ((ways.index(row["way"]) + 0.5) / len(ways) - 0.5)
                line = props(color=colour, linewidth=1.6, alpha=0.55, zorder=2)
                axes.hlines(at, row["low_seconds"], row["high_seconds"], **line)
                style = props(color=colour, marker=marker, linestyle="none", markersize=5.5)
                axes.plot([row["transfer_seconds"]], [at], label=_WAY_WORDS[row["way"]], **style)
                end = max(row["high_seconds"], row["transfer_seconds"])
                annotate(axes, SECONDS.text(row["transfer_seconds"], 3), (end, at), (7, 0))
            limit = group["wire_limit_seconds"].max()
            if limit > 0:
                style = props(color=INK, linestyle=":", linewidth=1.4, label="limit of the link")
                axes.plot([limit, limit], [level - 0.42, level + 0.42], **style)
            if level:
                axes.axhline(level - 0.5, color=GRID, linewidth=0.8, zorder=0)
        name_levels(axes, labels, is_above=False)
        enclose(axes)
        log_ticks(axes, "x", brief)
        grid(axes, "x")
        if axes.get_legend_handles_labels()[1]:
            legend_above(axes, 4)
        ran, sizes = frame["repeats"].max(), frame[["blocks", "block_bytes"]].drop_duplicates()
        data = [
            f"transfer: {blocks} blocks of {BYTES.text(size)}"
            for blocks, size in sizes.itertuples(index=False)
        ]
        axes.set_xlabel(with_notes(
            f"time of a transfer {words(frame['mode'].iloc[0])}"
            + (f", mean of {ran} runs" if ran > 1 else ""),
            *data, "rate, delay and loss of each direction",
            RUNS if (frame["high_seconds"] > frame["low_seconds"]).any() else "",
        ))  # fmt: skip
        fine = frame[frame["status"] == "ok"].groupby(conditions)["transfer_seconds"]
        spread = (fine.max() / fine.min()).dropna()
        if len(spread) and len(ways) > 1:
            worst: Any = spread.idxmax()
            rows = frame.set_index(conditions).loc[[worst]].dropna(subset=["transfer_seconds"])
            fast, slow = rows["transfer_seconds"].agg(["argmin", "argmax"])
            names = rows["way"].map(_WAY_WORDS).tolist()
            ratio = times(rows["transfer_seconds"].iloc[slow] / rows["transfer_seconds"].iloc[fast])
            text = f"With {_link(*worst)}, {names[slow]} takes {ratio} as long as {names[fast]}"
            if ran > 1:
                is_apart = rows["low_seconds"].iloc[slow] > rows["high_seconds"].iloc[fast]
                text += f"; their ranges of runs {'do not ' if is_apart else ''}overlap"
            headline(axes, text)
    return axes


def _link(rate: float, delay: float, loss: float) -> str:
    narrow_space = figures.NARROW_SPACE
    link = f"{rate / 1e6:g}{narrow_space}Mbit/s, {1e3 * delay:g}{narrow_space}ms delay"
    return f"{link}, {100 * loss:g}{narrow_space}% loss"
