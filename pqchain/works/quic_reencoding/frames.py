"""The re-encoding paper's Table 1 and Figure 1 beside replays, as frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pqchain import results
from pqchain.errors import UsageError
from pqchain.reencode import replay
from pqchain.reencode.replay import CONTRAST, RUN
from pqchain.results import Contract
from pqchain.works import papers

KEY = "quic-reencoding"

TABLE1 = Contract.of(
    "reencode_table1",
    ("str", "run kind phase"),
    ("float64", "seconds share_percent"),
    ("str", "mode transport"),
    ("Int64", "nodes blocks block_bytes payload_bytes"),
    ("str", "status note"),
)

FIGURE1 = Contract.of(
    "reencode_figure1",
    ("str", "kind mode streams"),
    ("Int64", "blocks block_bytes repeats"),
    ("float64", "transfer_seconds low_seconds high_seconds"),
)

TRANSPORTS = Contract.of(
    "reencode_transports",
    ("str", "mode transport"),
    ("float64", "bits_per_second"),
    ("Int64", "block_bytes repeats"),
    ("float64", "transfer_seconds low_seconds high_seconds wire_limit_seconds cpu_seconds"),
    ("str", "status verdict"),
)

LIBRARIES = Contract.of(
    "reencode_libraries",
    ("str", "experiment streams transport"),
    ("Int64", "blocks block_bytes repeats"),
    ("float64", "transfer_seconds over_native total_seconds first_chunk_seconds"),
    ("float64", "mean_chunk_seconds dropped_datagrams"),
    ("str", "status note"),
)

TROUBLE = Contract.of(
    "reencode_trouble",
    ("str", "comparison streams sessions transport"),
    ("float64", "delay_seconds loss"),
    ("Int64", "blocks block_bytes repeat"),
    ("float64", "first_chunk_seconds mean_chunk_seconds transfer_seconds"),
    ("str", "status"),
)

CLAIMED_PERCENT = 3.7
"""What multiplexing saves, as printed."""

PHASES = {
    "transfer": "QUIC 전송",
    "decode": "디코딩",
    "encode": "인코딩",
    "io": "I/O",
    "other": "기타",
}
"""Our phases, and the rows of Table 1 that print them."""

TOTAL = "총 소요 시간"
"""The row of the total."""

LINK_ONLY, CALIBRATED = "link only", "link and processor"
"""Our runs of Table 1 on the virtual clock."""

LOOPBACK = "loopback"
"""That over native QUIC on sockets; others say what they ran over."""

EARLY, LOSSY = "0-RTT", "loss"
"""What is compared under latency: handshakes, and streams with loss and without."""


def kind_of(mode: str) -> str:
    """Say what kind of number a run in this mode gives."""
    return "replayed" if mode == "virtual" else "measured"


def contrast(series: pd.DataFrame) -> pd.DataFrame:
    """Compare streams at the most blocks, see `replay.contrast`; without pairs there is no row."""
    most = series[series["blocks"] == series["blocks"].max()]
    try:
        return replay.contrast(most, claimed_percent=CLAIMED_PERCENT)
    except UsageError:
        return CONTRAST.frame()


def table1(phases: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return Table 1, printed and ours, a row for each phase.

    Takes "reencode" frames by the name of the run; blocks that were replayed after each other are
    rows of one repeat, whose times add up. Columns: run, kind ("published", "replayed" or
    "measured", never mixed in a run), phase, seconds (mean over nodes and repeats), share_percent,
    mode, transport, nodes (that re-encode), blocks, block_bytes, payload_bytes (of all blocks),
    status, note. Shares compare across sizes and machines; seconds do not.
    """
    paper = papers.paper(KEY)
    regime = paper.regime
    printed = {row["printed_name"]: row for row in papers.table(paper, "table1").to_dict("records")}
    rows: list[list[Any]] = []
    sizes = [regime[name] for name in ("nodes_left", "blocks", "block_bytes")]
    whole = regime["blocks"] * regime["block_bytes"]
    for phase, name in PHASES.items():
        line = printed[name]
        numbers = [float(line["duration_seconds"]), float(line["share_percent"])]
        rows.append(["printed", "published", phase, *numbers, "", "QUIC", *sizes, whole, "ok", ""])
    for run, frame in phases.items():
        first = frame.iloc[0]
        fine = frame[frame["status"] == "ok"]
        failed = frame[frame["status"] != "ok"]
        repeats = frame["repeat"].nunique()
        blocks = int(frame["blocks"].sum()) // repeats
        about = [first["mode"], first["transport"], first["nodes"], blocks, first["block_bytes"]]
        payload = blocks * int(first["block_bytes"])
        # Blocks without one of them are another amount of work.
        whole = fine if failed.empty else fine.head(0)
        row = first if failed.empty else failed.iloc[0]
        status, note = str(row["status"]), str(row["verdict"])
        total = _each(whole, "total", repeats)
        for phase in PHASES:
            seconds = _each(whole, phase, repeats)
            values = [kind_of(first["mode"]), phase, seconds, 100 * seconds / total]
            rows.append([run, *values, *about, payload, status, note])
    return TABLE1.frame(rows)


def _each(runs: pd.DataFrame, phase: str, repeats: int) -> float:
    """Return a phase's seconds in one repeat, NaN without runs."""
    return float(runs[f"{phase}_seconds"].sum(min_count=1)) / repeats


def figure1(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the transfer time by number of blocks, single and multiplexed, as Figure 1 draws it.

    Takes "reencode" rows of exchanges. Columns: kind ("replayed" or "measured"), mode, streams,
    blocks, block_bytes, repeats, transfer_seconds (mean over runs), low_seconds and high_seconds
    (the shortest and the longest run). The print's own values are a picture and not given.
    """
    fine = runs[runs["status"] == "ok"]
    rows = []
    keys = ["mode", "streams", "blocks", "block_bytes"]
    for (mode, streams, blocks, size), group in fine.groupby(keys, sort=True):
        times = group["transfer_seconds"]
        about = (kind_of(str(mode)), mode, streams, blocks, size, len(times))
        rows.append((*about, times.mean(), times.min(), times.max()))
    return FIGURE1.frame(rows)


def libraries(runs: pd.DataFrame) -> pd.DataFrame:
    """Return what several libraries of QUIC came to at the same sizes on the virtual clock.

    Takes "reencode" rows. Columns: experiment, streams, transport, blocks, block_bytes, repeats,
    transfer_seconds, over_native (that time over the native one's), total_seconds,
    first_chunk_seconds and mean_chunk_seconds (means over runs), dropped_datagrams (mean), status,
    note.
    """
    rows = []
    keys = ["experiment", "blocks", "block_bytes", "streams"]
    for group, those in runs.groupby(keys, sort=False):
        experiment, blocks, size, streams = group
        fine = those[those["status"] == "ok"]
        native = fine.loc[fine["transport"] == "native", "transfer_seconds"].mean()
        for transport, each in those.groupby("transport", sort=False):
            ran = each[each["status"] == "ok"]
            names = ("total_seconds", "first_chunk_seconds", "mean_chunk_seconds")
            transfer = ran["transfer_seconds"].mean()
            means = [transfer, transfer / native, *(ran[name].mean() for name in names)]
            first = each.iloc[0]
            about = [experiment, streams, transport, blocks, size, len(ran)]
            dropped = ran["dropped_datagrams"].astype(float).mean()
            rows.append([*about, *means, dropped, first["status"], first["verdict"]])
    return LIBRARIES.frame(rows)


def trouble(runs: Sequence[tuple[Mapping[str, Any], pd.DataFrame]]) -> pd.DataFrame:
    """Return runs under latency and loss, one row each.

    Takes what was set (comparison, sessions, delay_seconds, loss) with "reencode" rows. Columns:
    comparison (EARLY or LOSSY), streams, sessions ("full", "0-rtt" or "kept"), transport,
    delay_seconds (one way), loss (a probability), blocks, block_bytes, repeat,
    first_chunk_seconds, mean_chunk_seconds (from a node's beginning until the first chunk is
    complete, and the mean of all; over nodes), transfer_seconds, status.
    """
    names = [name for name in TROUBLE.columns if name in RUN.columns]
    parts = [frame[names].assign(**conditions) for conditions, frame in runs]
    return results.check(pd.concat(parts), TROUBLE) if parts else TROUBLE.frame()


def transports(frames: Sequence[pd.DataFrame], bits_per_second: float) -> pd.DataFrame:
    """Return transports beside each other, measured over links of the same rate.

    Takes "reencode" frames. Columns: mode, transport, bits_per_second, block_bytes, repeats,
    transfer_seconds (mean), low_seconds, high_seconds (shortest and longest run),
    wire_limit_seconds, cpu_seconds (mean, all nodes), status, verdict. Without namespaces the rows
    are unsupported and say so.
    """
    rows = []
    if frames:
        joined = pd.concat(frames, ignore_index=True)
        for (mode, transport), group in joined.groupby(["mode", "transport"], sort=False):
            fine = group[group["status"] == "ok"]
            first = fine.iloc[0] if len(fine) else group.iloc[0]
            times = fine["transfer_seconds"]
            means = [fine[f"{what}_seconds"].mean() for what in ("wire_limit", "cpu")]
            extremes = [times.mean(), times.min(), times.max()]
            about = [mode, transport, bits_per_second, first["block_bytes"], len(fine)]
            rows.append([*about, *extremes, *means, first["status"], first["verdict"]])
    return TRANSPORTS.frame(rows)
