"""Data frames for Table 1 and Figure 1 of the re-encoding paper, printed and replayed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pqchain import reencode, results
from pqchain.errors import UsageError
from pqchain.figures import Kind
from pqchain.reencode.replays import CONTRAST, RUN
from pqchain.reencode.scenario import ReplayScenario
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

RUNS = Contract("reencode_runs", {"run": "str", **RUN.columns})
"""The rows of every run, under the name of the table's run or of the comparison."""

PAIRS = Contract(
    "reencode_pairs",
    {"run": "str", "nodes": "Int64", "blocks": "Int64", "block_bytes": "Int64", **CONTRAST.columns},
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

IMPAIRED = Contract.of(
    "reencode_impaired",
    ("str", "comparison streams sessions transport"),
    ("float64", "delay_seconds loss"),
    ("Int64", "blocks block_bytes repeat"),
    ("float64", "first_chunk_seconds mean_chunk_seconds transfer_seconds"),
    ("str", "status verdict"),
)

PHASES = {
    "transfer": "QUIC 전송",
    "decode": "디코딩",
    "encode": "인코딩",
    "io": "I/O",
    "other": "기타",
}
"""Phases, and their printed names in Table 1."""

TOTAL = "총 소요 시간"
SAVING = "Multiplexing shorter than a single stream"
"""Printed names of the total, and of the claimed saving."""

BY_CONSTRUCTION = "by construction: both send as many bytes, each datagram at the same price"

LINK_ONLY, CALIBRATED = "link only", "link and processor"
"""Our runs on the virtual clock, without and with processor time for each datagram."""

LOOPBACK = "loopback"
"""The run over native QUIC on sockets; names of other live runs add their transport."""

OTHER_LIBRARIES, SHAPED = "libraries", "transports"
"""Runs of the comparisons of QUIC libraries, and of transports over shaped links."""

DATAGRAM_SECONDS = 4.7e-6
"""Modelled processor time of one datagram sent or received, calibrated on Table 1.

4.9978 s for ten blocks, of each of which a node receives and sends eight chunks of 9.14 MB in
datagrams of 1452 bytes, are 9.9 us for one datagram received and one sent; the rest is
acknowledgements.
"""

EARLY, LOSSY = "0-RTT", "loss"
"""Comparisons under latency: handshakes, and streams with and without loss."""


def kind_of(mode: str) -> Kind:
    """Return the kind of a run's numbers: replayed in virtual time, measured otherwise."""
    return Kind.REPLAYED if mode == "virtual" else Kind.MEASURED


def claimed_percent() -> float:
    """Return the transfer time that multiplexing saves according to the paper, in percent."""
    return float(papers.published(KEY).set_index("printed_name")["value"][SAVING])


def settings(frames: Mapping[str, pd.DataFrame]) -> dict[tuple[str, str], float]:
    """Return the settings of the replays by name and quantity; those of Table 1 need its frame."""
    scenario = ReplayScenario()
    values: dict[tuple[str, str], float] = {
        ("scenario", "nodes"): scenario.nodes,
        ("scenario", "other_nodes"): scenario.nodes - 1,
        ("scenario", "gigabits_per_second"): scenario.link.bits_per_second / 1e9,
    }
    for code in ("before", "after"):
        data, parity = getattr(scenario, code)
        values |= {(code, "data_chunks"): data, (code, "parity_chunks"): parity}
    if "table1" in frames:
        first = frames["table1"].query("run == @LINK_ONLY").iloc[0]
        values["table1", "blocks"] = float(first["blocks"])
        values["table1", "block_megabytes"] = float(first["block_bytes"]) / 1e6
    return values


def contrast(series: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Compare single and multiplexed streams at the most blocks; empty without pairs of runs.

    Takes exchanges by the name of the run: LINK_ONLY, CALIBRATED or LOOPBACK. Returns the columns
    of `reencode.contrast`, and run, nodes, blocks and block_bytes.
    """
    rows = []
    for run, exchanges in series.items():
        most = exchanges[exchanges["blocks"] == exchanges["blocks"].max()]
        try:
            compared = reencode.contrast(most, claimed_percent=claimed_percent())
        except UsageError:
            continue
        if run == CALIBRATED:
            # A difference of 0 is no result, and its interval no evidence.
            none = {"low_percent": math.nan, "high_percent": math.nan}
            compared = compared.assign(verdict=BY_CONSTRUCTION, **none)
        sizes = {name: most[name].iloc[0] for name in ("nodes", "blocks", "block_bytes")}
        rows.append(compared.assign(run=run, **sizes))
    return results.joined(rows, PAIRS)


def table1(phases: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return Table 1 as printed and as replayed here, with a row for each run and phase.

    Takes "reencode" frames by the name of the run; the times of sequential blocks, which are rows
    of one repeat, are added. A frame of TABLE1: seconds are means over nodes and repeats, nodes
    those that re-encode, payload_bytes those of all blocks. Shares are comparable across sizes and
    machines; seconds are not.
    """
    paper = papers.paper(KEY)
    printed = papers.table(paper, "table1").set_index("printed_name")
    nodes, blocks, size = (paper.setting[name] for name in ("nodes_left", "blocks", "block_bytes"))
    rows: list[list[Any]] = []
    for phase, name in PHASES.items():
        numbers = printed.loc[name, ["duration_seconds", "share_percent"]].astype(float)
        keys = ["printed", Kind.PUBLISHED, phase, *numbers, "", "QUIC"]
        rows.append([*keys, nodes, blocks, size, blocks * size, "ok", ""])
    for run, frame in phases.items():
        first, failed = frame.iloc[0], frame[frame["status"] != "ok"]
        repeats = frame["repeat"].nunique()
        # Sequential blocks are rows of one repeat.
        blocks, size = int(frame["blocks"].sum()) // repeats, int(first["block_bytes"])
        # If one block failed, the others are another amount of work, so no time is reported.
        complete = frame if failed.empty else frame.head(0)
        example = first if failed.empty else failed.iloc[0]
        about = [first["mode"], first["transport"], first["nodes"], blocks, size, blocks * size]
        total = _per_repeat(complete, "total", repeats)
        for phase in PHASES:
            seconds = _per_repeat(complete, phase, repeats)
            keys = [run, kind_of(first["mode"]), phase, seconds, 100 * seconds / total]
            rows.append([*keys, *about, str(example["status"]), str(example["verdict"])])
    return TABLE1.frame(rows)


def _per_repeat(runs: pd.DataFrame, phase: str, repeats: int) -> float:
    # min_count=1, because pandas sums no rows to 0 instead of NaN.
    return float(runs[f"{phase}_seconds"].sum(min_count=1)) / repeats


def figure1(runs: pd.DataFrame) -> pd.DataFrame:
    """Return transfer times by number of blocks, for single and multiplexed streams (Figure 1).

    Takes "reencode" rows of exchanges. A frame of FIGURE1: transfer_seconds are means over runs,
    low_seconds and high_seconds of the shortest and the longest run. The printed values are only
    plotted in the paper.
    """
    fine = runs[runs["status"] == "ok"]
    times = fine.groupby(["mode", "streams", "blocks", "block_bytes"])["transfer_seconds"]
    frame = times.agg(**_TIMES).reset_index()
    return results.check(frame.assign(kind=[kind_of(mode) for mode in frame["mode"]]), FIGURE1)


_TIMES: dict[str, Any] = {
    "repeats": "size", "transfer_seconds": "mean", "low_seconds": "min", "high_seconds": "max",
}  # fmt: skip


def libraries(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the results of several QUIC libraries at the same sizes on the virtual clock.

    Takes "reencode" rows. A frame of LIBRARIES: times and dropped_datagrams are means over runs,
    over_native is the ratio to the time over the native transport.
    """
    rows = []
    keys = ["experiment", "blocks", "block_bytes", "streams"]
    for (experiment, blocks, size, streams), group in runs.groupby(keys, sort=False):
        native = group[(group["status"] == "ok") & (group["transport"] == "native")]
        for transport, attempts in group.groupby("transport", sort=False):
            ran, first = attempts[attempts["status"] == "ok"], attempts.iloc[0]
            transfer, *others = (ran[name].astype(float).mean() for name in _MEANS)
            ratio = transfer / native["transfer_seconds"].mean()
            keys_here = [experiment, streams, transport, blocks, size, len(ran)]
            rows.append([*keys_here, transfer, ratio, *others, first["status"], first["verdict"]])
    return LIBRARIES.frame(rows)


_MEANS = (
    "transfer_seconds", "total_seconds", "first_chunk_seconds", "mean_chunk_seconds",
    "dropped_datagrams",
)  # fmt: skip


def impaired_links(runs: Sequence[tuple[Mapping[str, Any], pd.DataFrame]]) -> pd.DataFrame:
    """Return the runs over links with latency and packet loss, one row for each run.

    Takes pairs of conditions (comparison, sessions, delay_seconds, loss) and "reencode" rows. A
    frame of IMPAIRED: comparison (EARLY or LOSSY), sessions ("full", "0-rtt" or "kept"),
    delay_seconds (one way), first_chunk_seconds and mean_chunk_seconds (from the start of a node
    until the first chunk is complete, and the mean of all chunks; means over nodes).
    """
    names = [name for name in IMPAIRED.columns if name in RUN.columns]
    return results.joined(
        (frame[names].assign(**conditions) for conditions, frame in runs), IMPAIRED
    )


def transports(frames: Sequence[pd.DataFrame], bits_per_second: float) -> pd.DataFrame:
    """Return the measured transfer times of several transports over links of the same rate.

    Takes "reencode" frames. A frame of TRANSPORTS: transfer_seconds and cpu_seconds (over all
    nodes) are means, low_seconds and high_seconds of the shortest and longest run. Without
    namespaces the rows have status "unsupported".
    """
    rows = []
    joined = pd.concat(frames, ignore_index=True) if frames else RUN.frame()
    for (mode, transport), group in joined.groupby(["mode", "transport"], sort=False):
        fine = group[group["status"] == "ok"]
        # Without a successful run, the row states why.
        first = fine.iloc[0] if len(fine) else group.iloc[0]
        times = fine["transfer_seconds"]
        means = [fine[f"{name}_seconds"].mean() for name in ("wire_limit", "cpu")]
        keys = [mode, transport, bits_per_second, first["block_bytes"], len(fine)]
        values = [times.mean(), times.min(), times.max(), *means]
        rows.append([*keys, *values, first["status"], first["verdict"]])
    return TRANSPORTS.frame(rows)
