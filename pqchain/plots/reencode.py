"""Re-encoding: where the time goes, what streams save, and transports at equal links."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from pqchain.errors import UsageError
from pqchain.plots.canvas import GRID, INK, MUTED, PAPER, canvas, require
from pqchain.render import numbers

_PHASES = {
    "transfer": ("#0072B2", ""), "decode": ("#E69F00", "////"), "encode": ("#009E73", "...."),
    "io": ("#222222", ""), "other": ("#dcdcdc", "\\\\\\\\"),
}  # fmt: skip
"""Colour and hatching of a phase, so that both eyes and a black-and-white printer tell them apart.
"""

_STREAMS = {"single": ("#0072B2", "o", "-"), "multiplexed": ("#D55E00", "s", "--")}

_TRANSPORTS = {"aioquic": "#0072B2", "qh3": "#56B4E9", "tcp-tls": "#E69F00", "grpc": "#009E73"}

_LABELLED_PERCENT = 6.0
"""Narrower shares carry no number of their own: it would not fit."""


def plot_phases(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw each run's phases as one stacked bar of shares, printed and ours.

    Takes a frame of `pqchain.works.quic_reencoding.work.table1`; runs without times keep their
    bar's place and say why. Raises DataError if columns are missing, UsageError if there are no
    rows.
    """
    require(table, "run kind phase seconds share_percent payload_bytes status")
    if table.empty:
        raise UsageError("there are no rows to draw; pass a frame of reencoding.table1()")
    runs = list(dict.fromkeys(table["run"]))
    with canvas(ax, 1.0 + 0.52 * len(runs)) as axes:
        labels = []
        for level, run in enumerate(runs):
            rows = table[table["run"] == run].set_index("phase")
            kind = rows["kind"].iloc[0]
            total = rows["seconds"].sum(min_count=1)
            size = rows["payload_bytes"].iloc[0] / 1e6
            labels.append(f"{run} ({kind})\n{size:g} MB in {numbers.seconds(total)}")
            start = 0.0
            for phase, (colour, hatch) in _PHASES.items():
                share = float(rows["share_percent"].get(phase, np.nan))
                if not np.isfinite(share):
                    continue
                axes.barh(
                    level, share, left=start, height=0.62, color=colour, hatch=hatch,
                    edgecolor=PAPER, linewidth=0.6, label=phase,
                )  # fmt: skip
                if share >= _LABELLED_PERCENT:
                    axes.text(
                        start + share / 2, level, f"{share:.1f} %", ha="center", va="center",
                        size=7, color=INK,
                        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.2},
                    )  # fmt: skip
                start += share
            if start == 0.0:
                axes.text(1, level, rows["status"].iloc[0], va="center", color=MUTED, size=8)
        axes.set_yticks(range(len(runs)), labels)
        axes.set_ylim(len(runs) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of a node's time in percent")
        found = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
        axes.legend(
            list(found.values()), list(found), loc="lower left", bbox_to_anchor=(0, 1), ncols=5
        )
    return axes


def plot_streams(series: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the transfer time by number of blocks, single and multiplexed, as Figure 1 does.

    Takes a frame of `pqchain.works.quic_reencoding.work.figure1`; whiskers go from the shortest to
    the longest run. Modelled and measured series are on one axis only if `ax` is shared by the
    caller: of several modes the first is drawn. Raises DataError if columns are missing,
    UsageError without rows.
    """
    require(series, "kind mode streams blocks repeats transfer_seconds low_seconds high_seconds")
    if series.empty:
        raise UsageError("there are no rows to draw; pass a frame of reencoding.figure1()")
    mode = "virtual" if "virtual" in set(series["mode"]) else series["mode"].iloc[0]
    chosen = series[series["mode"] == mode]
    with canvas(ax, 3.0) as axes:
        for index, (streams, (colour, marker, line)) in enumerate(_STREAMS.items()):
            rows = chosen[chosen["streams"] == streams].sort_values("blocks")
            times = rows["transfer_seconds"].to_numpy() * 1e3
            low, high = (rows[f"{end}_seconds"].to_numpy() * 1e3 for end in ("low", "high"))
            # Beside each other, as the two hardly differ.
            axes.errorbar(
                rows["blocks"].to_numpy(float) + (index - 0.5) * 0.2, times,
                yerr=np.maximum([times - low, high - times], 0), color=colour, marker=marker,
                linestyle=line, markersize=5, capsize=3, linewidth=1.2, label=streams,
            )  # fmt: skip
        axes.set_xticks(sorted(set(chosen["blocks"].astype(int))))
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, axis="y", color=GRID)
        kind, runs = chosen["kind"].iloc[0], int(chosen["repeats"].max())
        axes.set_xlabel(f"blocks exchanged ({kind}, {mode}, up to {runs} runs of each)")
        axes.set_ylabel("time of transfer in ms")
        axes.legend(loc="upper left")
    return axes


def plot_transports(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the transfer time of each transport at equal links, and what the link alone needs.

    Takes a frame of `pqchain.works.quic_reencoding.work.transports`; whiskers go from the shortest
    to the longest run; a transport that did not run says why. Raises DataError if columns are
    missing, UsageError if there are no rows.
    """
    require(
        table,
        "mode transport bits_per_second repeats transfer_seconds low_seconds high_seconds "
        "wire_limit_seconds status",
    )
    if table.empty:
        raise UsageError("there are no rows to draw; pass a frame of reencoding.transports()")
    with canvas(ax, 0.9 + 0.42 * len(table)) as axes:
        records = table.to_dict("records")
        for level, row in enumerate(records):
            time = row["transfer_seconds"]
            if not np.isfinite(time):
                axes.text(0, level, f" {row['status']}", va="center", color=MUTED, size=8)
                continue
            colour = _TRANSPORTS.get(str(row["transport"]), MUTED)
            axes.barh(
                level, time, height=0.6, color=colour,
                xerr=[[time - row["low_seconds"]], [row["high_seconds"] - time]], capsize=3,
                ecolor=INK,
            )  # fmt: skip
            axes.annotate(
                numbers.seconds(time), (row["high_seconds"], level), xytext=(5, 0),
                textcoords="offset points", va="center", size=8, color=INK,
            )  # fmt: skip
        limit = table["wire_limit_seconds"].max()
        if np.isfinite(limit):
            axes.axvline(limit, color=INK, linestyle=":", linewidth=1.2, label="the link alone")
            axes.set_xlim(0, max(limit, table["high_seconds"].max()) * 1.2)
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1))
        axes.set_yticks(range(len(records)), [str(row["transport"]) for row in records])
        axes.set_ylim(len(records) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        rate = records[0]["bits_per_second"] / 1e6
        where = (
            f"{records[0]['mode']}, links of {rate:g} Mbit/s"
            if rate > 0
            else f"{records[0]['mode']}, links not shaped"
        )
        axes.set_xlabel(f"time of transfer in seconds (measured, {where})")
    return axes
