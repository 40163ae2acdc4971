"""Run scenarios and return frames: what happened, what it cost, and what bound it.

The room's front: knows every way to run, repeats and remembers; the protocol is the node's.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import machine, results
from pqchain.errors import DataError, UsageError
from pqchain.intervals import half_width
from pqchain.reencode.outcome import Outcome
from pqchain.reencode.protocol.node import PHASES
from pqchain.reencode.scenario import SCHEMA_VERSION, Scenario
from pqchain.results import Contract
from pqchain.wire.drivers import processes
from pqchain.wire.drivers.virtual import Progress, World, prepare

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


_VIRTUAL_SECONDS = 360e-6
"""Real time of one virtual datagram with its share of acknowledgements, measured on 64 MB."""

_LIVE_SECONDS = {"aioquic": 250e-6, "qh3": 80e-6, "tcp-tls": 5e-9, "grpc": 4e-9}
"""Processor seconds per datagram, or per byte where there are none, on a processor of 2021."""


def estimate_seconds(scenario: Scenario, *, processors: int = 4) -> float:
    """Return roughly how long a run takes on an idle machine; a busy one needs longer."""
    datagrams = scenario.transfer_bytes / scenario.datagram_bytes
    if scenario.mode == "virtual":
        return 2.0 * math.ceil(scenario.blocks / scenario.blocks_at_once) + (
            datagrams * _VIRTUAL_SECONDS
        )
    count = datagrams if scenario.transport in ("aioquic", "qh3") else scenario.transfer_bytes
    return 8.0 + count * _LIVE_SECONDS[scenario.transport] / processors


def replay(
    scenario: Scenario,
    *,
    streams: Sequence[str] = (),
    repeats: int = 1,
    progress: bool = False,
    resume: Path | None = None,
    logs: Path | None = None,
) -> pd.DataFrame:
    """Run a scenario `repeats` times, with each kind of `streams` in turn; one row per run.

    The seed of repeat r is that of the scenario plus r; kinds alternate in order, so that a
    machine whose speed drifts treats them alike. Columns: see `pqchain.results.CONTRACTS`,
    "reencode"; times in seconds, of phases the mean over the working nodes; with several blocks
    after each other on the virtual clock, one row per block. `attrs["nodes"]` is the frame of all
    nodes ("reencode_nodes").

    With `resume`, a folder, finished virtual rows are kept there and not run again. With `logs`,
    a folder, each node's qlog is written there. Raises UsageError, Unsupported, ChunksLost with
    the missing chunks, and PqchainError if a run does not end.
    """
    if repeats < 1:
        raise UsageError(f"{repeats} repeats give nothing; give at least 1")
    kinds = list(streams) or [scenario.streams]
    plans = []
    for repeat in range(repeats):
        for kind in kinds if repeat % 2 == 0 else kinds[::-1]:
            one = replace(scenario, streams=kind, seed=scenario.seed + repeat)
            plans += [(repeat, block, part) for block, part in _parts(one)]
    rows: list[dict[str, Any]] = []
    nodes: list[pd.DataFrame] = []
    total = sum(part.transfer_bytes for _, _, part in plans)
    with _bar(total, progress) as bar:
        for repeat, block, part in plans:
            place = resume / f"{part.id}-{block}.json" if resume is not None else None
            known = _remembered(place) if place is not None and part.mode == "virtual" else None
            if known is None:
                outcome = _run(part, block, bar, logs)
                known = {"row": _row(outcome), "nodes": _records(outcome.node_frame())}
                if place is not None and part.mode == "virtual":
                    place.parent.mkdir(parents=True, exist_ok=True)
                    content = {"schema_version": SCHEMA_VERSION, **known}
                    results.write_atomically(place, json.dumps(content, indent=1))
            else:
                bar(part.transfer_bytes)
            at = {"repeat": repeat, "block": block}
            rows.append({**known["row"], **at})
            nodes.append(pd.DataFrame(known["nodes"]).assign(**at))
    frame = results.check(pd.DataFrame(rows), RUN)
    provenance = {} if scenario.mode == "virtual" else machine.provenance()
    provenance |= {"scenario_id": scenario.id, "repeats": repeats, **_about(scenario)}
    frame.attrs["provenance"] = provenance
    frame.attrs["nodes"] = results.check(pd.concat(nodes, ignore_index=True), NODE)
    return frame


def _about(scenario: Scenario) -> dict[str, Any]:
    """Say what is run and what is modelled."""
    if scenario.mode == "virtual":
        return {
            "run": "every byte of QUIC, TLS and the codec; proofs of identity; files; hashes",
            "modelled": "the clock; the link; how long decoding, encoding, hashing and files take",
        }
    return {
        "run": f"everything, one process per node, on {scenario.mode}",
        "modelled": "nothing",
    }


def _parts(scenario: Scenario) -> list[tuple[int, Scenario]]:
    """Return what runs by itself: on the virtual clock, blocks that follow each other.

    -1 stands for all blocks together.
    """
    alone = scenario.mode == "virtual" and scenario.blocks > 1 and scenario.blocks_at_once == 1
    if not alone:
        return [(-1, scenario)]
    return [(number, replace(scenario, blocks=1)) for number in range(scenario.blocks)]


def _run(scenario: Scenario, block: int, progress: Progress, logs: Path | None) -> Outcome:
    """Run once, in a folder that is gone afterwards. Raises the error that a node has met."""
    with tempfile.TemporaryDirectory(prefix="pqchain-") as name:
        folder = Path(name)
        prepare(scenario, folder, blocks=range(block, block + 1) if block >= 0 else None)
        if scenario.mode == "virtual":
            world = World(scenario, folder, progress=progress, log=logs is not None)
            outcome = world.run()
        else:
            outcome = processes.run(scenario, folder, progress=progress, log=logs is not None)
        if logs is not None:
            logs.mkdir(parents=True, exist_ok=True)
            for path in folder.rglob("*.qlog"):
                results.write_atomically(logs / f"{scenario.id}-{path.name}", path.read_bytes())
    if outcome.failure is not None:
        raise outcome.failure
    return outcome


def _row(outcome: Outcome) -> dict[str, Any]:
    """Return a run as a row."""
    scenario, phases = outcome.scenario, outcome.phases
    return {
        "scenario_id": scenario.id,
        "experiment": scenario.experiment,
        "mode": scenario.mode,
        "transport": scenario.transport,
        "streams": scenario.streams,
        "seed": scenario.seed,
        "nodes": len(outcome.working),
        "blocks": scenario.blocks,
        "block_bytes": scenario.block_bytes,
        **{f"{phase}_seconds": phases[phase] for phase in PHASES},
        "total_seconds": outcome.total_seconds,
        "span_seconds": outcome.span_seconds,
        "first_chunk_seconds": outcome.first_chunk_seconds,
        "mean_chunk_seconds": outcome.mean_chunk_seconds,
        "wire_limit_seconds": outcome.wire_limit_seconds,
        "cpu_seconds": sum(node.cpu_seconds for node in outcome.working),
        "cpu_share": outcome.cpu_share,
        "machine_busy": outcome.machine_busy,
        "received_bytes": sum(node.received_bytes for node in outcome.nodes),
        "wasted_bytes": sum(node.wasted_bytes for node in outcome.nodes),
        "dropped_datagrams": outcome.dropped_datagrams,
        "lost_datagrams": outcome.lost_datagrams,
        "engine": outcome.engine,
        "identity": outcome.identity,
        "status": "ok",
        "verdict": outcome.verdict,
    }


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows that JSON can hold."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def _remembered(place: Path) -> dict[str, Any] | None:
    """Return a row of an earlier run, or None. Raises DataError if the file is broken."""
    try:
        known: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {place}: {error}; delete it to run it again") from error
    if known.get("schema_version") != SCHEMA_VERSION:
        raise DataError(f"{place} is of another version; delete it to run it again")
    return known


def unsupported(scenario: Scenario, reason: str) -> pd.DataFrame:
    """Return the row of a scenario that cannot run here, with the reason as its verdict."""
    empty = dict.fromkeys(RUN.columns, float("nan"))
    row: dict[str, Any] = {
        **empty, "scenario_id": scenario.id, "experiment": scenario.experiment,
        "mode": scenario.mode, "transport": scenario.transport, "streams": scenario.streams,
        "seed": scenario.seed, "repeat": 0, "block": -1, "nodes": 0, "blocks": scenario.blocks,
        "block_bytes": scenario.block_bytes, "received_bytes": 0, "wasted_bytes": 0,
        "dropped_datagrams": 0, "lost_datagrams": 0, "engine": "", "identity": "",
        "status": "unsupported", "verdict": reason,
    }  # fmt: skip
    return results.check(pd.DataFrame([row]), RUN)


def contrast(frame: pd.DataFrame, *, claimed_percent: float = 3.7) -> pd.DataFrame:
    """Compare multiplexed with single streams, paired by repeat; one row per mode and transport.

    Columns: experiment, mode, transport, repeats, single_seconds and multiplexed_seconds (means of
    the transfer), saving_percent (mean of the paired savings; above 0 multiplexing is faster),
    low_percent and high_percent (its 95 % interval, Student's t), claimed_percent, verdict. Takes
    a "reencode" frame. Raises UsageError if there are fewer than 2 pairs.
    """
    rows = []
    fine = frame[frame["status"] == "ok"]
    keys = ["experiment", "mode", "transport"]
    for (experiment, mode, transport), runs in fine.groupby(keys, sort=False):
        table = runs.pivot_table(
            index=["repeat", "block"], columns="streams", values="transfer_seconds"
        )
        if not {"single", "multiplexed"} <= set(table.columns) or len(table.dropna()) < 2:
            continue
        paired = table.dropna()
        saving = 100 * (1 - (paired["multiplexed"] / paired["single"]).to_numpy(float))
        mean, margin = float(saving.mean()), half_width(saving)
        low, high = mean - margin, mean + margin
        rows.append(
            {
                "experiment": experiment, "mode": mode, "transport": transport,
                "repeats": len(paired), "single_seconds": float(paired["single"].mean()),
                "multiplexed_seconds": float(paired["multiplexed"].mean()),
                "saving_percent": mean, "low_percent": low, "high_percent": high,
                "claimed_percent": claimed_percent,
                "verdict": _resolved(low, high, claimed_percent),
            }
        )  # fmt: skip
    if not rows:
        raise UsageError(
            "no pair of repeats with single and with multiplexed streams; run "
            "--streams single,multiplexed --repeats 10"
        )
    return results.check(pd.DataFrame(rows), CONTRAST)


def _resolved(low: float, high: float, claimed: float) -> str:
    """Say what the interval allows to say."""
    if low == high:
        return "every repeat is the same: nothing varies here; add loss or more nodes"
    if low <= 0 <= high:
        inside = (
            "it holds the claimed" if low <= claimed <= high else "it does not hold the claimed"
        )
        return f"no difference can be resolved: the interval holds 0; {inside} {claimed:g} %"
    what = "multiplexing is faster" if low > 0 else "a single stream is faster"
    if low <= claimed <= high:
        return f"{what}; the claimed {claimed:g} % lies in the interval"
    return f"{what}; the claimed {claimed:g} % lies outside the interval"


@contextmanager
def _bar(total: int, shown: bool) -> Iterator[Progress]:
    """Give what counts bytes, shown as a bar with rate and time left if a person watches."""
    from tqdm import tqdm

    with tqdm(
        total=total, unit="B", unit_scale=True, disable=not shown, desc="chunks", leave=False
    ) as bar:
        yield lambda count: bar.update(count) and None


def check_possible(scenario: Scenario) -> str:
    """Return "" if the scenario can run here, else why not."""
    from pqchain.wire.drivers import namespaces

    if scenario.mode == "netns" and (reason := namespaces.reason()):
        return reason
    if scenario.transport == "qh3":
        try:
            import pqchain.wire.transports.qh3
        except ImportError as error:
            return f"the transport qh3 needs qh3 ({error}): pip install qh3"
    if scenario.transport == "grpc":
        try:
            import pqchain.wire.transports.grpc  # noqa: F401
        except ImportError as error:
            return f"the transport grpc needs grpcio ({error}): pip install grpcio"
    return ""
