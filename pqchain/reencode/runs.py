"""Run a scenario: prepare the stores, run the nodes with a driver, and evaluate their reports.

An outcome has results per node and overall, with a verdict on the limiting resource. Published
results are not used here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pqchain import checks
from pqchain.errors import DataError
from pqchain.reencode.protocol.work import PHASES, Record
from pqchain.reencode.scenario import BYZANTINE_FAULTS, ReplayScenario
from pqchain.reencode.storage import erasure, store
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.drivers import cluster, processes, virtual
from pqchain.wire.drivers.cluster import Cluster
from pqchain.wire.drivers.job import Job, NodeFailure, NodeResult, Progress, Result

_SHARED_FIELDS = "nodes transport datagram_bytes congestion identity limit_seconds link"
"""Fields of the same name and meaning in `ReplayScenario` and `Job`."""

CPU_BOUND = 0.8
"""Processor utilization above which a run counts as processor-bound."""

LINK_BOUND = 0.5
"""Minimum ratio of `wire_limit_seconds` to transfer time for a run to count as link-bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOutcome(NodeResult):
    """Result of one node of a replay."""

    noticed_seconds: float
    """Seconds from the failure until detection; NaN if another node announced it first."""
    begun_seconds: float
    """Start in seconds after the first node, or on the virtual clock after all connected."""
    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOutcome:
    """Result of one replay."""

    scenario: ReplayScenario
    result: Result
    nodes: tuple[NodeOutcome, ...]
    span_seconds: float
    """Seconds from the first node's start to the last node's end."""

    @property
    def working(self) -> list[NodeOutcome]:
        """Nodes that completed their work."""
        return [node for node in self.nodes if node.state == "done" and node.record.wall_seconds]

    @property
    def phases(self) -> dict[str, float]:
        """Mean seconds of each phase over the working nodes."""
        records = [node.record for node in self.working]
        count = max(len(records), 1)
        return {phase: sum(record.seconds[phase] for record in records) / count for phase in PHASES}

    @property
    def processors(self) -> int:
        """Processors of all computers; 0 in virtual time."""
        if self.scenario.mode == "virtual":
            return 0
        if not self.result.cluster:
            return os.cpu_count() or 1
        # Several workers may run on one computer.
        counts = {row["computer"]: row["cpu_count"] for row in self.result.cluster["machines"]}
        return sum(counts.values())

    def run_row(self) -> dict[str, Any]:
        """Return a row of `replays.RUN` without the columns `repeat` and `block`."""
        records = [node.record for node in self.working]
        # Arrival times of received chunks by node: the first of each node, and the mean of all.
        arrivals = [record.arrivals for record in records if record.arrivals]
        received = max((record.received_bytes for record in records), default=0)
        cpu_seconds = sum(node.cpu_seconds for node in self.working)
        # At most one processor per node is counted.
        available = min(self.processors, len(records)) * self.span_seconds
        row = {
            **scenario_row(self.scenario),
            **{f"{phase}_seconds": seconds for phase, seconds in self.phases.items()},
            **_columns(self.result, "machine_busy dropped_datagrams lost_datagrams identity"),
            "total_seconds": sum(self.phases.values()),
            "span_seconds": self.span_seconds,
            "wire_limit_seconds": received * 8 / self.scenario.link.bits_per_second,
            "cpu_seconds": cpu_seconds,
            "cpu_share": cpu_seconds / available if available else math.nan,
            "first_chunk_seconds": _mean([min(times) for times in arrivals]),
            "mean_chunk_seconds": _mean([time for times in arrivals for time in times]),
            "engine": erasure.ReedSolomon(*self.scenario.before).engine,
            "nodes": len(records),
            "received_bytes": sum(node.record.received_bytes for node in self.nodes),
            "wasted_bytes": sum(node.record.wasted_bytes for node in self.nodes),
            "status": "ok",
        }
        return {**row, "verdict": _verdict(row, self.phases, self.scenario)}

    def node_rows(self) -> list[dict[str, Any]]:
        """Return rows of `replays.NODE` without the columns `repeat` and `block`."""
        return [
            {
                "scenario_id": self.scenario.id,
                **_columns(node, "node state noticed_seconds begun_seconds cpu_seconds"),
                **_columns(node.record, "received_bytes wasted_bytes verified_blocks"),
                **{f"{phase}_seconds": node.record.seconds[phase] for phase in PHASES},
                **{f"{kind}_work_seconds": node.record.work[kind] for kind in ("decode", "encode")},
                "total_seconds": node.record.wall_seconds,
                "reason": str(node.error or "").replace("\r", " "),
            }
            for node in self.nodes
        ]


def scenario_row(scenario: ReplayScenario) -> dict[str, Any]:
    """Return the columns of `replays.RUN` that come from the scenario."""
    names = "experiment mode transport streams seed blocks block_bytes"
    return {"scenario_id": scenario.id, **_columns(scenario, names)}


def _verdict(row: Mapping[str, Any], phases: Mapping[str, float], scenario: ReplayScenario) -> str:
    """Return a text that names the limiting resource of a run."""
    transfer = phases["transfer"]
    if not row["total_seconds"]:
        return "nothing was transferred"
    wire = row["wire_limit_seconds"] / transfer if transfer else 0.0
    # On the virtual clock only modelled limits can bind a run.
    if scenario.mode == "virtual":
        if scenario.compute.datagram_seconds:
            return "modelled: link and a processor time for each datagram"
        longest = max(phases, key=lambda phase: phases[phase])
        if longest != "transfer":
            names = {"other": "hashing, checks and waiting for confirmations", "io": "files"}
            return f"bound by {names.get(longest, longest + ' work')}, not by the transfer"
        if wire >= LINK_BOUND:
            return "bound by the link"
        why = "bound by the protocol's own waiting (congestion control, round trips)"
        return f"{why}: the link alone needs {wire:.0%} of the transfer"
    share, busy = row["cpu_share"], row["machine_busy"]
    if share > CPU_BOUND or busy > CPU_BOUND:
        # The second interval is longer: it includes the wait for a failure.
        return (
            f"bound by the processor: these nodes take {share:.0%} of it from their first "
            f"start to their last end; it is {busy:.0%} busy from connecting to the end"
        )
    if scenario.mode == "netns" and wire >= LINK_BOUND:
        return "bound by the link"
    return "bound by neither the processor nor the link alone"


def _columns(source: Any, names: str) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names.split()}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def prepare(scenario: ReplayScenario, folder: Path, *, blocks: range | None = None) -> None:
    """Store one chunk of every block on each node; `blocks` limits this to those block numbers."""
    _prepare(scenario, {node: folder / str(node) for node in range(scenario.nodes)}, blocks)


def prepare_node(index: int, folder: Path, *, scenario: ReplayScenario) -> None:
    """Store one node's chunk of every block in its folder."""
    _prepare(scenario, {index: folder}, None)


def _prepare(scenario: ReplayScenario, folders: Mapping[int, Path], blocks: range | None) -> None:
    code = erasure.ReedSolomon(*scenario.before)
    members = tuple(range(scenario.nodes))
    stores = {node: ChunkStore(folder) for node, folder in folders.items()}
    for number in blocks if blocks is not None else range(scenario.blocks):
        block = scenario.block(number)
        manifest, chunks = store.encode_block(block, code, epoch=1, members=members)
        for node, chunk_store in stores.items():
            chunk_store.put(manifest, node, chunks[node])


def job(scenario: ReplayScenario) -> Job:
    """Return a scenario as a job for a driver."""
    failures = []
    if scenario.experiment == "reencode":
        failures.append(NodeFailure(scenario.failed_node, scenario.failure_seconds, "connected"))
    for fault in scenario.faults:
        # A misbehaving node keeps running.
        if fault.kind not in BYZANTINE_FAULTS:
            failures.append(NodeFailure(fault.node, fault.after_seconds))
    return Job(
        factory="pqchain.reencode.protocol.node:build",
        prepare="pqchain.reencode.runs:prepare_node",
        parameters={"scenario": scenario},
        begin=scenario.experiment == "exchange",
        failures=tuple(failures),
        **_columns(scenario, _SHARED_FIELDS),
    )


def run(
    scenario: ReplayScenario,
    folder: Path,
    *,
    progress: Progress = lambda count: None,
    scheduler: str | Cluster | None = None,
) -> ReplayOutcome:
    """Replay a scenario once, in a folder that `prepare` has filled.

    In mode "cluster" the workers of the Dask `scheduler` fill folders of their own. A node's
    error is part of the outcome. Raises Unsupported and UsageError as the drivers do, and
    PqchainError if the run does not end.
    """
    driver_job = job(scenario)
    if scenario.mode == "virtual":
        model = virtual.CostModel(
            task_seconds=lambda task: scenario.compute.seconds(task.kind, task.size),
            datagram_seconds=scenario.compute.datagram_seconds,
            jitter_seconds=scenario.jitter_seconds,
            seed=scenario.seed,
        )
        result = virtual.run(driver_job, folder, model, progress=progress)
    elif scenario.mode == "cluster":
        result = cluster.run(driver_job, Cluster.of(scheduler), progress=progress)
    else:
        shaped = scenario.mode == "netns"
        result = processes.run(driver_job, folder, shaped=shaped, progress=progress)
    return _outcome(scenario, result)


def _outcome(scenario: ReplayScenario, result: Result) -> ReplayOutcome:
    records = [_synchronised(node) for node in result.nodes]
    pairs = list(zip(result.nodes, records, strict=True))
    living = [record for node, record in pairs if node.state != "dead"]
    first = min([record.begun for record in living if record.begun is not None], default=math.nan)
    last = max([record.ended for record in living if record.ended is not None], default=math.nan)
    # On the virtual clock the failure's time is known; on sockets it is the time of the kill, and
    # the nodes' common origin is the first start.
    origin, failed = result.connected, result.connected + scenario.failure_seconds
    if scenario.mode != "virtual":
        origin, failed = first, result.failure_times.get(scenario.failed_node, math.nan)
    nodes = tuple(
        NodeOutcome(
            **{field.name: getattr(node, field.name) for field in fields(node)},
            noticed_seconds=_since(record.noticed, failed),
            begun_seconds=_since(record.begun, origin),
            record=record,
        )
        for node, record in pairs
    )
    return ReplayOutcome(scenario=scenario, result=result, nodes=nodes, span_seconds=last - first)


def _synchronised(node: NodeResult) -> Record:
    """Return a node's record with times of the driver's clock. Raises DataError for a wrong one."""
    name = f"the report of node {node.node}"
    record: Record = checks.typed(node.report or {}, Record, name)
    if {*record.seconds} != {*PHASES} or {*record.work} != {*PHASES}:
        raise DataError(
            f"{name} must have times of {PHASES}; got {[*record.seconds, *record.work]}"
        )
    for name in ("noticed", "begun", "ended"):
        if (time := getattr(record, name)) is not None:
            setattr(record, name, time - node.clock_offset_seconds)
    return record


def _since(time: float | None, origin: float) -> float:
    return math.nan if time is None else time - origin
