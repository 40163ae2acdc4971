"""From a scenario to its outcome: fills the stores, has a driver run the nodes, reads reports."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, fields
from pathlib import Path

from pqchain.reencode.outcome import NodeOutcome, Outcome
from pqchain.reencode.protocol.work import Record
from pqchain.reencode.scenario import MISBEHAVIOUR, Scenario
from pqchain.reencode.storage import erasure, store
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.drivers import processes, virtual
from pqchain.wire.drivers.job import Job, Progress, Result, Strike

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
        strikes.append(Strike(scenario.failed_node, scenario.failure_seconds, "connected"))
    for fault in scenario.faults:
        if fault.kind not in MISBEHAVIOUR:
            down = fault.down_seconds if fault.kind == "restart" else None
            strikes.append(Strike(fault.node, fault.after_seconds, down_seconds=down))
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
    scenario: Scenario, folder: Path, *, progress: Progress = lambda count: None, log: bool = False
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
    records = [Record(**(each.report or {})) for each in result.nodes]
    pairs = list(zip(result.nodes, records, strict=True))
    living = [record for node, record in pairs if node.state != "dead"]
    first = min([each.begun for each in living if each.begun is not None], default=math.nan)
    last = max([each.ended for each in living if each.ended is not None], default=math.nan)
    origin, failed, processors = result.connected, result.connected + scenario.failure_seconds, 0
    if scenario.mode != "virtual":
        origin, failed = first, result.struck.get(scenario.failed_node, math.nan)
        processors = os.cpu_count() or 1
    nodes = tuple(
        NodeOutcome(
            **{each.name: getattr(node, each.name) for each in fields(node)},
            noticed_seconds=_since(record.noticed, failed),
            begun_seconds=_since(record.begun, origin),
            record=record,
        )
        for node, record in pairs
    )
    return Outcome(
        scenario=scenario,
        result=result,
        nodes=nodes,
        span_seconds=last - first,
        engine=erasure.ReedSolomon(*scenario.before, engine=scenario.engine).engine,
        processors=processors,
    )


def _since(time: float | None, origin: float) -> float:
    """Return a time on the replay's own scale, NaN for what did not happen."""
    return math.nan if time is None else time - origin
