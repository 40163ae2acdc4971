"""Run scenarios and return frames: events, times, costs and the limiting resource."""

from __future__ import annotations

import gc
import math
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import machine, results
from pqchain.checks import integer
from pqchain.errors import DataError, UsageError
from pqchain.installation import MAX_JSON_BYTES, read_bytes
from pqchain.reencode import runs
from pqchain.reencode.runs import Outcome, scenario_row
from pqchain.reencode.scenario import MOST_REPEATS, SCHEMA_VERSION, Scenario
from pqchain.results import Contract, checksum, scratch
from pqchain.statistics import half_width
from pqchain.wire.drivers import namespaces
from pqchain.wire.drivers.job import Progress
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

CONTRAST = Contract.of(
    "reencode_contrast",
    ("str", "experiment mode transport"),
    ("Int64", "repeats"),
    (
        "float64",
        "single_seconds multiplexed_seconds saving_percent low_percent high_percent "
        "claimed_percent",
    ),
    ("str", "verdict"),
)


def estimate_seconds(scenario: Scenario, *, processors: int = 4) -> float:
    """Return a rough estimate of a run's duration in seconds on an idle machine.

    `processors` is the number of processors that share the work of a run on sockets.
    """
    # Approximate: one datagram per `datagram_bytes` of chunks, without acknowledgements.
    datagrams = scenario.transfer_bytes / scenario.datagram_bytes
    row = registry.get(scenario.transport)
    if scenario.mode == "virtual":
        rounds = math.ceil(scenario.blocks / scenario.blocks_at_once)
        return 2.0 * rounds + datagrams * row.virtual_seconds
    count = datagrams if row.datagrams else scenario.transfer_bytes
    return 8.0 + count * row.live_seconds / processors


def unavailable_reason(scenario: Scenario) -> str:
    """Return "" if the scenario can run here, else the reason why not."""
    if scenario.mode == "netns" and (reason := namespaces.unavailable_reason()):
        return reason
    return registry.get(scenario.transport).unavailable_reason()


def replay(
    scenario: Scenario,
    *,
    streams: Sequence[str] = (),
    repeats: int = 1,
    progress: bool = False,
    resume: Path | None = None,
    logs: Path | None = None,
) -> pd.DataFrame:
    """Run a scenario `repeats` times for each kind of `streams`; return one row per run.

    The seed of repeat r is that of the scenario plus r. The order of the kinds alternates, so that
    a drift of the machine's speed affects them equally. Columns: see `RUN`; times are in seconds,
    and those of phases are means over the working nodes. On the virtual clock, sequential blocks
    have one row each. `attrs["nodes"]` is the frame of all nodes, see `NODE`.

    With `resume`, a folder, finished virtual rows are stored there and not run again. With `logs`,
    a folder, each node's qlog is written there. Raises UsageError, Unsupported, ChunksLost with the
    missing chunks, and PqchainError if a run does not end.
    """
    from tqdm import tqdm

    integer("repeats", repeats, least=1, most=MOST_REPEATS)
    if logs is not None and not registry.get(scenario.transport).logs:
        writing = " and ".join(registry.names(logs=True))
        raise UsageError(f"{scenario.transport} writes no qlog; take {writing}")
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
        tqdm(
            total=total, unit="B", unit_scale=True, disable=not progress, desc="chunks", leave=False
        ) as bar,
        scratch.folder() as origins,
    ):
        for repeat, block, part in plans:
            # Only virtual runs are resumed: they are deterministic, measured ones are not.
            kept = resume / f"{part.id}-{block}.json" if resume and part.mode == "virtual" else None
            found = _remembered(kept) if kept is not None else None
            if found is not None:
                bar.update(part.transfer_bytes)
            else:
                origin = _prepare(part, block, origins)
                outcome = _run(part, origin, bar.update, logs)
                # Repeat and block are added below; a stored run does not contain its place in the
                # plan.
                row, of_nodes = outcome.run_row(), outcome.node_rows()
                found = {"schema_version": SCHEMA_VERSION, "row": row, "nodes": of_nodes}
                if kept is not None:
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    results.write_atomically(kept, checksum.dumps(found, indent=1, allow_nan=True))
            at = {"repeat": repeat, "block": block}
            rows.append({**found["row"], **at})
            nodes += [{**row, **at} for row in found["nodes"]]
    frame = RUN.frame(rows)
    # A virtual run does not depend on the machine.
    provenance = {} if scenario.mode == "virtual" else machine.provenance()
    run, modelled = f"everything, one process per node, on {scenario.mode}", "nothing"
    if scenario.mode == "virtual":
        run = "every byte of QUIC, TLS and the codec; proofs of identity; files; hashes"
        modelled = "the clock; the link; how long decoding, encoding, hashing and files take"
    about = {"scenario_id": scenario.id, "repeats": repeats, "run": run, "modelled": modelled}
    frame.attrs["provenance"] = provenance | about
    frame.attrs["nodes"] = NODE.frame(nodes)
    return frame


def _parts(scenario: Scenario) -> list[tuple[int, Scenario]]:
    """Return the parts of a scenario that run separately, with the number of their block.

    On the virtual clock sequential blocks are separate parts; -1 means all blocks together.
    """
    if scenario.mode == "virtual" and scenario.blocks > 1 and scenario.blocks_at_once == 1:
        return [(number, replace(scenario, blocks=1)) for number in range(scenario.blocks)]
    return [(-1, scenario)]


def _prepare(scenario: Scenario, block: int, folder: Path) -> Path:
    """Return the folder of the nodes' initial files; create it unless the last run used it."""
    origin = folder / f"{scenario.seed}-{block}"
    if not origin.exists():
        # Only the last origin is kept, which bounds the disk space.
        for earlier in folder.iterdir():
            shutil.rmtree(earlier)
        runs.prepare(scenario, origin, blocks=range(block, block + 1) if block >= 0 else None)
    return origin


def _run(scenario: Scenario, origin: Path, progress: Progress, logs: Path | None) -> Outcome:
    """Run once in a temporary folder. Raises the error of a failed node."""
    with scratch.folder() as place:
        # Hard links suffice as copies, because stores replace files and never modify one.
        folder = Path(shutil.copytree(origin, place / "nodes", copy_function=os.link))
        outcome = runs.run(scenario, folder, progress=progress, log=logs is not None)
        if logs is not None:
            logs.mkdir(parents=True, exist_ok=True)
            for path in folder.rglob("*.qlog"):
                results.write_atomically(logs / f"{scenario.id}-{path.name}", path.read_bytes())
    if outcome.result.failure is not None:
        raise outcome.result.failure
    # Nodes and transports form reference cycles, and the next run needs their memory.
    gc.collect()
    return outcome


def _remembered(place: Path) -> dict[str, Any] | None:
    """Return the stored rows of an earlier run, or None. Raises DataError for a damaged file."""
    try:
        text = read_bytes(place, MAX_JSON_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"cannot read {place}: {error}; delete it to run it again") from error
    version = ("schema_version", SCHEMA_VERSION)
    return checksum.loads(text, str(place), "delete it to run it again", version=version)


def unsupported(scenario: Scenario, reason: str) -> pd.DataFrame:
    """Return the row of a scenario that cannot run here, with the reason as its verdict."""
    numbers = {column: 0 for column, kind in RUN.columns.items() if kind == "Int64"}
    words = {"engine": "", "identity": "", "status": "unsupported", "verdict": reason}
    return RUN.frame([{**numbers, "block": -1, **scenario_row(scenario), **words}])


def contrast(frame: pd.DataFrame, *, claimed_percent: float) -> pd.DataFrame:
    """Compare multiplexed with single streams, paired by repeat and block.

    Takes a `RUN` frame and a claimed saving in percent. Returns one row per
    experiment, mode and transport. Columns: experiment, mode, transport, repeats (number of pairs),
    single_seconds and multiplexed_seconds (mean transfer times), saving_percent (mean of the paired
    savings; above 0 multiplexing is faster), low_percent and high_percent (its 95 % confidence
    interval, Student's t), claimed_percent, verdict. Raises UsageError if no group has 2 pairs.
    """
    rows = []
    fine = frame[frame["status"] == "ok"]
    keys = ["experiment", "mode", "transport"]
    for group, group_runs in fine.groupby(keys, sort=False):
        # Both runs of a pair have the same seed.
        pairs = group_runs.pivot_table(
            index=["repeat", "block"], columns="streams", values="transfer_seconds"
        ).dropna()
        if not {"single", "multiplexed"} <= set(pairs.columns) or len(pairs) < 2:
            continue
        single, multiplexed = pairs["single"], pairs["multiplexed"]
        saving = 100 * (1 - (multiplexed / single).to_numpy(float))
        mean, margin = float(saving.mean()), half_width(saving)
        low, high = mean - margin, mean + margin
        times = (len(pairs), float(single.mean()), float(multiplexed.mean()))
        verdict = _resolved(low, high, claimed_percent)
        rows.append((*group, *times, mean, low, high, claimed_percent, verdict))
    if not rows:
        raise UsageError(
            "no pair of repeats with single and with multiplexed streams; run "
            "--streams single,multiplexed --repeats 10"
        )
    return CONTRAST.frame(rows)


def _resolved(low: float, high: float, claimed: float) -> str:
    # Deterministic runs without variation have an interval of width 0, which shows nothing.
    if low == high:
        return "every repeat is the same: nothing varies here; add loss or more nodes"
    inside = low <= claimed <= high
    if low <= 0 <= high:
        holds = f"the interval holds 0; it {'holds' if inside else 'does not hold'}"
        return f"no difference can be resolved: {holds} the claimed {claimed:g} %"
    what = "multiplexing is faster" if low > 0 else "a single stream is faster"
    return f"{what}; the claimed {claimed:g} % lies {'in' if inside else 'outside'} the interval"
