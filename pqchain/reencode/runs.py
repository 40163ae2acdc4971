"""From a scenario to its outcome: fills the stores, has a driver run the nodes, reads reports."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from pathlib import Path

from pqchain.reencode.outcome import NodeOutcome, Outcome
from pqchain.reencode.protocol.work import Record
from pqchain.reencode.scenario import MISBEHAVIOUR, Scenario
from pqchain.reencode.storage import erasure, store
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.drivers import processes, virtual
from pqchain.wire.drivers.job import Job, NodeResult, Progress, Result, Strike

_ALIKE = ("nodes", "transport", "datagram_bytes", "congestion", "identity", "limit_seconds", "link")
"""What a scenario and a job say in the same words."""


def prepare(scenario: Scenario, folder: Path, *, blocks: range | None = None) -> list[str]:
    """Store every block as one chunk on each node, as before the failure; return block hashes."""
    code = erasure.ReedSolomon(*scenario.before, engine=scenario.engine)
    members = tuple(range(scenario.nodes))
    stores = [ChunkStore(folder / str(at), synchronise=scenario.synchronise) for at in members]
    hashes = []
    for number in blocks if blocks is not None else range(scenario.blocks):
        block = scenario.block(number)
        manifest, chunks = store.encode_block(block, code, epoch=1, members=members)
        for index, chunk in enumerate(chunks):
            stores[index].put(manifest, index, chunk)
        hashes.append(manifest.block_hash)
    return hashes


def job(scenario: Scenario, *, log: bool = False) -> Job:
    """Return what a driver is to run."""
    strikes = []
    if scenario.experiment == "reencode":
        failure, failed = scenario.failure_seconds, scenario.failed_node
        strikes.append(Strike(node=failed, after_seconds=failure, when="connected"))
    for fault in scenario.faults:
        if fault.kind not in MISBEHAVIOUR:
            down = fault.down_seconds if fault.kind == "restart" else None
            after = fault.after_seconds
            strikes.append(Strike(node=fault.node, after_seconds=after, down_seconds=down))
    kinds = {str(fault.node): fault.kind for fault in scenario.faults}
    return Job(
        factory="pqchain.reencode.protocol.node:build",
        parameters={"scenario": asdict(scenario), "misbehaving": kinds},
        begin=scenario.experiment == "exchange",
        strikes=tuple(strikes),
        log=log,
        **{name: getattr(scenario, name) for name in _ALIKE},
    )


def run(
    scenario: Scenario,
    folder: Path,
    *,
    progress: Progress = lambda count: None,
    log: bool = False,
) -> Outcome:
    """Replay once, in a folder that `prepare` has filled; a node's error is in the outcome.

    With `log` each node's qlog is written below the folder, where the transport can. Raises
    Unsupported and UsageError as the drivers do, and PqchainError if the run does not end.
    """
    mesh = job(scenario, log=log)
    if scenario.mode == "virtual":
        model = virtual.Model(
            task_seconds=lambda task: scenario.compute.seconds(task.kind, task.size),
            datagram_seconds=scenario.compute.datagram_seconds,
            jitter_seconds=scenario.jitter_seconds,
            seed=scenario.seed,
        )
        result = virtual.run(mesh, folder, model, progress=progress)
    else:
        shaped = scenario.mode == "netns"
        result = processes.run(mesh, folder, shaped=shaped, progress=progress)
    return _outcome(scenario, result)


def _outcome(scenario: Scenario, result: Result) -> Outcome:
    """Put what the nodes report on one scale."""
    records = {each.node: Record(**each.report) for each in result.nodes if each.report}
    living = [records[each.node] for each in result.nodes if each.state != "dead"]
    begun = [record.begun for record in living if record.begun is not None]
    ended = [record.ended for record in living if record.ended is not None]
    first = min(begun, default=math.nan)
    virtual_clock = scenario.mode == "virtual"
    if virtual_clock:
        origin, failed = result.connected, result.connected + scenario.failure_seconds
    else:
        origin, failed = first, result.struck.get(scenario.failed_node, math.nan)

    def node(each: NodeResult) -> NodeOutcome:
        record = records.get(each.node, Record())
        return NodeOutcome(
            node=each.node,
            state=each.state,
            error=each.error,
            noticed_seconds=_since(record.noticed, failed),
            begun_seconds=_since(record.begun, origin),
            cpu_seconds=each.cpu_seconds,
            record=record,
        )

    return Outcome(
        scenario=scenario,
        result=result,
        nodes=tuple(node(each) for each in result.nodes),
        span_seconds=max(ended, default=math.nan) - first,
        engine=erasure.ReedSolomon(*scenario.before, engine=scenario.engine).engine,
        processors=0 if virtual_clock else os.cpu_count() or 1,
    )


def _since(time: float | None, origin: float) -> float:
    """Return a time on the replay's own scale, NaN for what did not happen."""
    return math.nan if time is None else time - origin
