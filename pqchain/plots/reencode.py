"""Plots of re-encoding: times of phases, streams and transports."""

from __future__ import annotations

from functools import partial

import pandas as pd
from matplotlib.axes import Axes

from pqchain import figures
from pqchain.errors import UsageError
from pqchain.figures import BYTES, SECONDS, Kind
from pqchain.plots import canvas, dots, marks
from pqchain.plots.marks import props

_PHASES = {
    "transfer": ("indigo", ""),
    "decode": ("crimson", "///"),
    "encode": ("teal", "..."),
    "io": ("ink", ""),
    "other": ("line", ""),
}
"""Colour and hatching by phase; hatching makes them distinct in grey."""

_MODES = {"virtual": "in simulated time", "netns": "between network namespaces"}

_TRANSPORTS = {
    "tcp": "TCP",
    "tcp-tls": "TCP with TLS",
    "aioquic": "QUIC (aioquic)",
    "native": "QUIC (native)",
}

_LABELLED_PERCENT = 10
"""Smaller shares have no label, which would not fit; in narrow figures it is twice as much."""


def plot_phases(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the share of each phase in the time of each run, published and ours, as stacked bars.

    Takes a row per run and phase with the columns run, kind, phase, seconds, share_percent,
    payload_bytes and status; a run without times has its status as a label. Raises
    DataError, UsageError.
    """
    canvas.require(table, "run kind phase seconds share_percent payload_bytes status")
    text = props(ha="center", va="center", color=canvas.INK, size=canvas.points())
    text |= props(bbox=props(facecolor=canvas.PAPER, edgecolor="none", pad=1.4, alpha=0.9))
    least = _LABELLED_PERCENT * (2 if canvas.narrow() else 1)
    labels: list[str] = []
    with canvas.canvas(ax, 1.0 + 0.52 * table["run"].nunique()) as axes:
        for level, (run, group) in enumerate(table.groupby("run", sort=False)):
            first, total = group.iloc[0], group["seconds"].sum(min_count=1)
            size = f"{BYTES.text(first['payload_bytes'], 2)} in {SECONDS.text(total)}"
            transport = str(first.get("transport", "")) if first["kind"] == Kind.MEASURED else ""
            transport = _TRANSPORTS.get(transport, transport)
            name = str(run) if transport in str(run) else f"{run}, {transport}"
            labels.append(f"{name} ({first['kind']})\n{size}")
            shares = group.set_index("phase")["share_percent"].reindex(list(_PHASES))
            start = 0.0
            for phase, share in shares.dropna().items():
                colour, hatch = _PHASES[str(phase)]
                style = props(color=canvas.colour(colour), hatch=hatch, edgecolor=canvas.PAPER)
                name = "reading and writing" if phase == "io" else str(phase)
                style |= props(height=0.62, linewidth=0.6, alpha=0.75, label=name)
                axes.barh(level, share, left=start, **style)
                # Rounded, so that equal labels are either all written or all left out.
                if round(share) >= least:
                    number = figures.percent(share, 0, sign=False)
                    axes.text(start + share / 2, level, number, **text)
                start += share
            if start == 0.0:
                axes.text(1, level, first["status"], va="center", color=canvas.MUTED)
        marks.name_levels(axes, labels)
        axes.set(xlim=(0, 100))
        note = f"numbers: {least}{figures.NARROW_SPACE}% and more"
        canvas.x_label(axes, "share of a node's time in %", note)
        canvas.legend_above(axes, 5)
        transfers = table[table["phase"] == "transfer"].set_index("run")["share_percent"]
        show = partial(figures.percent, decimals=0, sign=False)
        canvas.headline(axes, marks.extremes("Transfer's share of a node's time", transfers, show))
    return axes


def plot_streams(series: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw by how much multiplexed streams change the time of a transfer.

    Takes a row per point with the columns kind, mode, streams, blocks, repeats, transfer_seconds,
    low_seconds and high_seconds; whiskers go from the least to the greatest change between any two
    runs. Of several modes the virtual one, or else the first, is drawn, because modelled and
    measured times share no axis. Raises DataError, UsageError.
    """
    columns = "kind mode streams blocks repeats transfer_seconds low_seconds high_seconds"
    canvas.require(series, columns)
    modes = series["mode"].unique()
    mode = "virtual" if "virtual" in modes else modes[0]
    chosen = series[series["mode"] == mode]
    changes = _changes(chosen)
    if changes.empty:
        raise UsageError(
            "streams must have single and multiplexed ones of equal blocks; got others"
        )
    names = []
    for blocks, row in changes.iterrows():
        one, other = (SECONDS.text(row[name], 4) for name in ("single", "multiplexed"))
        count = f"{blocks} block{'' if blocks == 1 else 's'}"
        names.append(f"{count}\none stream: {one}\none per chunk: {other}")
    drawn = changes.reset_index().assign(name=names)
    most = drawn.iloc[-1]
    verb = "changes" if most["low"] > 0 or most["high"] < 0 else "does not clearly change"
    label = f"change of the transfer time {_where(mode)}, by a stream for each chunk"
    style = props(row="name", low="low", high="high", origin=0.0, label=label, ax=ax)
    axes = dots.plot_values(drawn, "mean_percent", **style)
    repeats = int(chosen["repeats"].max())
    canvas.x_label(axes, label, f"whisker: range between any two of {repeats} runs")
    text = f"A stream for each chunk {verb} the transfer time: {marks.change(most['mean_percent'])}"
    canvas.headline(axes, f"{text} with {most['blocks']} blocks")
    return axes


def _changes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the change by multiplexing in percent, by number of blocks: mean_percent, low, high.

    The columns single and multiplexed have the times in seconds.
    """
    columns = ["transfer_seconds", "low_seconds", "high_seconds"]
    seconds = rows.groupby(["streams", "blocks"])[columns].mean()
    if not set(seconds.index.get_level_values("streams")) >= {"single", "multiplexed"}:
        return pd.DataFrame()
    single, other = seconds.loc["single"], seconds.loc["multiplexed"]
    ratios = {
        "mean_percent": other["transfer_seconds"] / single["transfer_seconds"],
        "low": other["low_seconds"] / single["high_seconds"],
        "high": other["high_seconds"] / single["low_seconds"],
    }
    pair = {"single": single["transfer_seconds"], "multiplexed": other["transfer_seconds"]}
    return (100 * (pd.DataFrame(ratios) - 1)).assign(**pair).dropna()


def plot_transports(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the transfer time of each transport on equal links, and the least time at the link rate.

    Takes a row per transport with the columns mode, transport, bits_per_second, block_bytes,
    repeats, transfer_seconds, low_seconds, high_seconds, wire_limit_seconds and status; whiskers go
    from the shortest to the longest run; a transport that did not run has its status. Labels have
    the excess over the limit of the link; a column verdict names the transports that the processor
    limits. Raises DataError, UsageError.
    """
    canvas.require(table, "mode transport bits_per_second block_bytes repeats status")
    canvas.require(table, "transfer_seconds low_seconds high_seconds wire_limit_seconds")
    limit = table["wire_limit_seconds"].max()
    # The fastest first, and last those that did not run.
    table = table.sort_values("transfer_seconds", kind="stable")
    names, times = table["transport"].replace(_TRANSPORTS), table["transfer_seconds"]
    texts = times.map(SECONDS.text)
    if limit > 0:
        texts += "  (" + (100 * (times / limit - 1)).map(partial(marks.change, decimals=0)) + ")"
    renamed = {"transfer_seconds": "value", "low_seconds": "low", "high_seconds": "high"}
    drawn = table.rename(columns=renamed).assign(
        algorithm="", row=names, operation="transfer", text=texts
    )
    first, repeats = table.iloc[0], table["repeats"].max()
    mean = f"mean of {repeats} runs, " if repeats > 1 else ""
    rate = first["bits_per_second"] / 1e6
    size = marks.with_prefix("B")(float(table["block_bytes"].max()))
    verdicts = table.get("verdict", pd.Series("", table.index)).astype(str)
    bound = names[verdicts.str.startswith("bound by the processor")]
    axes = dots.dots(
        drawn,
        f"time to transfer {size}, {mean}measured {_where(first['mode'])}",
        f"links of {rate:g} Mbit/s" if rate > 0 else "links not shaped",
        marks.RUNS if repeats > 1 else "",
        f"limited by the processor: {' and '.join(bound)}" if len(bound) else "",
        f"dotted: least time that the link allows, {SECONDS.text(limit)}" if limit > 0 else "",
        ax=ax, hue="operation", is_log=False, order="frame",
        show=f"{{:g}}{figures.NARROW_SPACE}s".format,
    )  # fmt: skip
    if limit > 0:
        axes.axvline(limit, color=canvas.INK, linestyle=":", linewidth=1.4)
    canvas.headline(axes, marks.extremes("Time of a transfer", times.set_axis(names), SECONDS.text))
    return axes


def _where(mode: str) -> str:
    return _MODES.get(mode, f"on {mode}")
