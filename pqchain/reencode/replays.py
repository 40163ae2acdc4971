"""Run re-encoding scenarios and return DataFrames with times, costs and limiting resources."""

from __future__ import annotations

import gc
import math
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import figures
from pqchain.checks import integer
from pqchain.errors import UsageError
from pqchain.reencode import runs
from pqchain.reencode.protocol.work import PHASES
from pqchain.reencode.runs import scenario_row
from pqchain.reencode.scenario import MAX_REPEATS, STREAMS, ReplayScenario, Streams
from pqchain.render.table import Column, Shown, Table
from pqchain.results import Contract, machine
from pqchain.results.files import scratch_folder
from pqchain.results.statistics import MAX_MEDIAN_OVER_MIN, median_interval
from pqchain.wire.drivers import namespaces
from pqchain.wire.drivers.cluster import Cluster
from pqchain.wire.transports import registry

RUN = Contract.of(
    "reencode",
    ("str", "scenario_id experiment mode transport streams"),
    ("Int64", "repeat block seed nodes blocks block_bytes"),
    (
        "float64",
        "transfer_seconds decode_seconds encode_seconds io_seconds other_seconds "
        "total_seconds span_seconds first_chunk_seconds mean_chunk_seconds wire_limit_seconds "
        "cpu_seconds cpu_share machine_busy",
    ),
    ("Int64", "received_bytes wasted_bytes dropped_datagrams lost_datagrams"),
    ("str", "engine identity status verdict"),
)

NODE = Contract.of(
    "reencode_nodes",
    ("str", "scenario_id"),
    ("Int64", "repeat block node"),
    ("str", "state"),
    (
        "float64",
        "noticed_seconds begun_seconds transfer_seconds decode_seconds encode_seconds "
        "io_seconds other_seconds total_seconds decode_work_seconds encode_work_seconds "
        "cpu_seconds",
    ),
    ("Int64", "received_bytes wasted_bytes verified_blocks"),
    ("str", "reason"),
)

BUSY = "times of a busy machine"
"""Start of a verdict on runs over sockets whose times vary too much for one."""

CONTRAST = Contract.of(
    "reencode_contrast",
    ("str", "experiment mode transport"),
    ("Int64", "repeats"),
    (
        "float64",
        "single_seconds multiplexed_seconds saving_percent low_percent high_percent "
        "claimed_percent single_dropped_datagrams multiplexed_dropped_datagrams",
    ),
    ("str", "verdict"),
)

# Maximum number of runs shown one by one; more are shown as their mean.
_SHOWN_RUNS = 6

_TIMES = [f"{name}_seconds" for name in (*PHASES, "total", "wire_limit", "cpu")]


def unavailable_reason(scenario: ReplayScenario) -> str:
    """Return the reason why the scenario cannot run here; "" if it can."""
    if scenario.mode == "netns" and (reason := namespaces.unavailable_reason()):
        return reason
    if scenario.mode == "cluster":
        return ""  # its workers are checked when they are known
    return registry.get(scenario.transport).unavailable_reason()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Result of one or several replays of a scenario."""

    frame: pd.DataFrame
    """One row per run, see `RUN`; `attrs["provenance"]` lists executed and modelled parts."""
    nodes: pd.DataFrame
    """One row per node and run, see `NODE`."""


def replay(
    scenario: ReplayScenario,
    *,
    streams: Sequence[Streams] = (),
    repeats: int = 1,
    progress: bool = False,
    scheduler: str | Cluster | None = None,
) -> Replay:
    """Run a scenario `repeats` times for each kind of `streams`.

    The seed of repeat r is that of the scenario plus r. The order of the kinds alternates, so that
    a drift of the machine's speed affects them equally. Times in the frames are in seconds, and
    those of phases are means over the working nodes. On the virtual clock, sequential blocks have
    one row each.

    Mode "cluster" needs the address of a Dask `scheduler`, or a `Cluster` with further settings;
    the provenance then has the machines of the last run (`wire.drivers.cluster.run`).
    Raises UsageError, Unsupported, ChunksLost with the missing chunks, and PqchainError if a run
    does not end.
    """
    from tqdm import tqdm

    integer("repeats", repeats, least=1, most=MAX_REPEATS)
    kinds = list(streams) or [scenario.streams]
    plans = [
        (repeat, block, part)
        for repeat in range(repeats)
        for kind in (kinds if repeat % 2 == 0 else kinds[::-1])
        for block, part in _parts(replace(scenario, streams=kind, seed=scenario.seed + repeat))
    ]
    rows: list[dict[str, Any]] = []
    nodes: list[dict[str, Any]] = []
    total = sum(part.transfer_bytes for _, _, part in plans)
    with (
        tqdm(total=total, unit="B", unit_scale=True, disable=not progress, leave=False) as bar,
        scratch_folder() as origins,
    ):
        for repeat, block, part in plans:
            with scratch_folder() as temporary:
                folder = temporary / "nodes"
                if part.mode != "cluster":
                    # Hard links suffice as copies: stores replace files and never modify one.
                    shutil.copytree(_prepare(part, block, origins), folder, copy_function=os.link)
                outcome = runs.run(part, folder, progress=bar.update, scheduler=scheduler)
            if outcome.result.failure is not None:
                raise outcome.result.failure
            # Nodes and transports form reference cycles, and the next run needs their memory.
            gc.collect()
            position = {"repeat": repeat, "block": block}
            rows.append({**outcome.run_row(), **position})
            nodes += [{**row, **position} for row in outcome.node_rows()]
    frame = RUN.frame(rows)
    # A virtual run does not depend on the machine.
    provenance = {} if scenario.mode == "virtual" else machine.provenance()
    where = "the workers of a cluster" if scenario.mode == "cluster" else scenario.mode
    run, modelled = f"everything, one process per node, on {where}", "nothing"
    if scenario.mode == "virtual":
        run = "every byte of QUIC, TLS and the codec; proofs of identity; files; hashes"
        modelled = "the clock; the link; how long decoding, encoding, hashing and files take"
    about: dict[str, Any] = {
        "scenario_id": scenario.id,
        "repeats": repeats,
        "run": run,
        "modelled": modelled,
    }
    if scenario.mode == "cluster":
        about["cluster"] = outcome.result.cluster
    frame.attrs["provenance"] = provenance | about
    return Replay(frame=frame, nodes=NODE.frame(nodes))


def _parts(scenario: ReplayScenario) -> list[tuple[int, ReplayScenario]]:
    # Sequential blocks are separate runs on the virtual clock; -1: all blocks together.
    if scenario.mode == "virtual" and scenario.blocks > 1 and scenario.blocks_at_once == 1:
        return [(number, replace(scenario, blocks=1)) for number in range(scenario.blocks)]
    return [(-1, scenario)]


def _prepare(scenario: ReplayScenario, block: int, folder: Path) -> Path:
    origin = folder / f"{scenario.seed}-{block}"
    if not origin.exists():
        # Only the last origin is kept, which bounds the disk space.
        for earlier in folder.iterdir():
            shutil.rmtree(earlier)
        runs.prepare(scenario, origin, blocks=range(block, block + 1) if block >= 0 else None)
    return origin


def unsupported(scenario: ReplayScenario, reason: str) -> Replay:
    """Return the result of a scenario that cannot run here; its verdict is the reason."""
    numbers = {column: 0 for column, kind in RUN.columns.items() if kind == "Int64"}
    texts = {"engine": "", "identity": "", "status": "unsupported", "verdict": reason}
    frame = RUN.frame([{**numbers, "block": -1, **scenario_row(scenario), **texts}])
    return Replay(frame=frame, nodes=NODE.frame())


def contrast(frame: pd.DataFrame, *, claimed_percent: float) -> pd.DataFrame:
    """Compare multiplexed with single streams, paired by repeat and block.

    Takes a `RUN` frame and a claimed saving in percent. Returns one row per experiment, mode and
    transport. Columns: experiment, mode, transport, repeats (number of pairs), single_seconds and
    multiplexed_seconds (mean transfer times), saving_percent (median of the paired savings; above 0
    multiplexing is faster), low_percent and high_percent (its 95 % interval; NaN below six pairs,
    and on sockets if median/min of the times is above 1.1), claimed_percent,
    single_dropped_datagrams and multiplexed_dropped_datagrams (mean per run, by full queues of the
    modelled network; NaN on sockets, where they are not counted), verdict. Raises UsageError if no
    group has 2 pairs.
    """
    rows = []
    keys = ["experiment", "mode", "transport"]
    fine = frame[frame["status"] == "ok"].astype({"dropped_datagrams": float})
    for group, group_runs in fine.groupby(keys, sort=False):
        # Both runs of a pair have the same seed.
        pairs = group_runs.pivot_table(
            index=["repeat", "block"],
            columns="streams",
            values=["transfer_seconds", "dropped_datagrams"],
        ).dropna()
        if set(STREAMS) - set(pairs.columns.get_level_values(1)) or len(pairs) < 2:
            continue
        single, multiplexed = (pairs["transfer_seconds", kind] for kind in STREAMS)
        saving = 100 * (1 - multiplexed / single)
        low, high = median_interval(saving)
        spread = max(float(times.median() / times.min()) for times in (single, multiplexed))
        verdict = _verdict(low, high, claimed_percent)
        times = (len(pairs), float(single.mean()), float(multiplexed.mean()))
        dropped = [float(pairs["dropped_datagrams", kind].mean()) for kind in STREAMS]
        if group[1] != "virtual":
            dropped = [math.nan, math.nan]
            if spread > MAX_MEDIAN_OVER_MIN:  # the load of the machine, which differs within a pair
                low = high = math.nan
                verdict = f"{BUSY}, so no verdict: median/min {spread:.2f}"
        saved = float(saving.median())
        rows.append((*group, *times, saved, low, high, claimed_percent, *dropped, verdict))
    if not rows:
        raise UsageError(
            "a comparison needs at least 2 repeats with single and multiplexed streams. Run "
            "--streams single,multiplexed --repeats 10."
        )
    return CONTRAST.frame(rows)


def _verdict(low: float, high: float, claimed: float) -> str:
    if math.isnan(low):
        return "no interval: fewer than 6 pairs"
    # Deterministic runs without variation have an interval of width 0, which shows nothing.
    if low == high:
        return "all repeats are equal: nothing varies here; add loss or more nodes"
    claim = f"{'contains' if low <= claimed <= high else 'excludes'} the claimed {claimed:g} %"
    if low <= 0 <= high:
        return f"no significant difference: the interval contains 0 and {claim}"
    faster = "multiplexing is faster" if low > 0 else "a single stream is faster"
    return f"{faster}; the interval {claim}"


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
    interval = (low + " to " + high + " %").where(frame["low_percent"].notna(), "no interval")
    table = frame.assign(interval=interval)
    return Table.of(table, columns, remark="verdict", **more)
