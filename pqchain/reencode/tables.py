"""Tables of replays, for terminals and reports."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pqchain import figures
from pqchain.figures import RATIO
from pqchain.reencode.protocol.work import PHASES
from pqchain.reencode.scenario import STREAMS
from pqchain.render.table import Column, Shown, Table

# Maximum number of runs shown one by one; more are shown as their mean.
_SHOWN_RUNS = 6

_TIMES = [f"{name}_seconds" for name in (*PHASES, "total", "wire_limit", "cpu")]


def runs_table(frame: pd.DataFrame) -> Table:
    """Return a table of a `replays.RUN` frame, with the phases' shares per kind of streams."""
    columns = [
        Column("streams"),
        Column("repeat", numeric=True),
        Column("block", numeric=True),
        *(
            Column(title, numeric=True, unit="s")
            for title in (*PHASES, "total", "wire limit", "CPU")
        ),
        Column("verdict"),
    ]
    rows: list[list[Any]] = []
    few = len(frame) <= _SHOWN_RUNS
    for row in frame.to_dict("records") if few else []:
        block = figures.MISSING if row["block"] < 0 else row["block"]
        times = [row[time] for time in _TIMES]
        failed = "" if row["status"] == "ok" else f"{row['status']}: "
        rows.append([row["streams"], row["repeat"], block, *times, failed + row["verdict"]])
    for streams, group in frame[frame["status"] == "ok"].groupby("streams", sort=False):
        means = group[_TIMES].mean()
        if not few:
            often = group["verdict"].mode().iloc[0]
            rows.append([streams, f"mean of {len(group)}", "", *means, often])
        shares = means.iloc[: len(PHASES) + 1] / means["total_seconds"]
        cells = [Shown(share, f"{share:.1%}") for share in shares]
        nothing = Shown(None, "")
        rows.append([streams, "share", "", *cells, nothing, nothing, ""])
    return Table(columns=columns, rows=rows)


def contrast_table(frame: pd.DataFrame, **more: Any) -> Table:
    """Return a table of a `replays.CONTRAST` frame: single compared with multiplexed streams.

    The columns of dropped datagrams, means of a run, are left out on sockets.
    """
    columns: list[Column | str] = [
        "mode",
        "transport",
        Column("pairs", numeric=True, key="repeats"),
        "single_seconds",
        "multiplexed_seconds",
        # Two decimals, as the paper prints the saving.
        Column("saved", numeric=True, show="{:.2f} %".format, key="saving_percent"),
        Column("95 % interval", numeric=True, key="interval"),
    ]
    if frame["single_dropped_datagrams"].notna().any():
        columns[5:5] = [
            Column(kind, "dropped datagrams", numeric=True, key=f"{kind}_dropped_datagrams")
            for kind in STREAMS
        ]
    low, high = (frame[f"{end}_percent"].map("{:.2f}".format) for end in ("low", "high"))
    table = frame.assign(interval=low + " to " + high + " %")
    return Table.of(table, columns, remark="verdict", **more)


def links_table(frame: pd.DataFrame) -> Table:
    """Return a table of a `sweeps.SWEEP` frame; the best of each condition has ratio 1."""
    columns: list[Column | str] = [
        Column("rate", numeric=True, key="rate"),
        Column("one way", numeric=True, key="delay_seconds"),
        Column("loss", numeric=True, key="lost"),
        "way",
        "first_chunk_seconds",
        "mean_chunk_seconds",
        "transfer_seconds",
        Column("link alone", numeric=True, key="wire_limit_seconds"),
        Column("relative to the best", numeric=True, unit=RATIO, key="over_best"),
    ]
    table = frame.assign(
        rate=(frame["bits_per_second"] / 1e6).map("{:g} Mbit/s".format),
        lost=(100 * frame["loss"]).map("{:g} %".format),
        note=frame["note"].where(frame["status"] != "ok", ""),
    )
    return Table.of(table, columns, remark="note")
