"""Execution modes of a scenario: model, virtual time, loopback, network namespaces, cluster.

- model: computed by an engine (`consensus.model`), without delegates
- virtual: all delegates in this process on a modelled clock, work timed by the scenario's costs,
  over plain, which carries the bytes of messages by the scenario's law, or over QUIC
- loopback: one process per node, on this machine's sockets and clock
- netns: the same between network namespaces with shaped links
- cluster: the same on the workers of a Dask cluster, with its machines and network

Virtual runs are "replayed": bytes, signatures and protocol are real, times are modelled. The others
are measured and ignore the scenario's network law, except that law "host" sets the number of
processors that the nodes share. Measured runs start with a warm-up height that is not counted, in
which caches fill, unless the order of proposers matters. Nodes that are not delegates are
observers, except over plain, whose model has none.
"""

from __future__ import annotations

import math
import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from pqchain import algorithms, checks
from pqchain.chain import bulk
from pqchain.consensus.faults import Faults
from pqchain.consensus.network import SECOND, Network
from pqchain.consensus.runs import MODES, Height, Mode, Run
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import NEVER
from pqchain.delegates import lockstep, setting, timed_delegate
from pqchain.delegates.plain_network import PLAIN
from pqchain.delegates.setting import PoolLoad, Setting
from pqchain.errors import DataError, UnknownName, Unsupported, UsageError
from pqchain.results.files import scratch_folder
from pqchain.wire.drivers import cluster as cluster_driver
from pqchain.wire.drivers import namespaces, processes, virtual
from pqchain.wire.drivers.cluster import Cluster
from pqchain.wire.drivers.job import Job, NodeResult, Progress, Result
from pqchain.wire.drivers.link import Link
from pqchain.wire.drivers.processes import ForkServer
from pqchain.wire.node import Task
from pqchain.wire.transports import registry

PARENT_MEGABYTES, NODE_MEGABYTES = 250, 60
"""Memory in MB of the parent process and of each node; nodes share most of theirs."""

MAX_PROCESSES = 256
"""Maximum number of processes started at once."""

_MEMORY = Path("/proc/meminfo")

_FACTORY = "pqchain.delegates.node:build"
_HEX = re.compile("[0-9a-f]{1,64}")


class _Report(checks.TypedDict):
    height: int
    tip: str
    final_ns: list[int]
    rejected: dict[str, int]


class _DelegateReport(_Report):
    entered_ns: list[int]
    views: list[int]
    sent: list[tuple[int, int]]


def run(
    scenario: Scenario,
    *,
    mode: Mode,
    transport: str | None = None,
    log: Path | None = None,
    limit_seconds: float = 600.0,
    progress: bool = False,
    fork_server: ForkServer | None = None,
    scheduler: str | Cluster | None = None,
) -> Run:
    """Run the delegates of a scenario in mode "virtual", "loopback", "netns" or "cluster".

    `transport` is one of `wire.transports`; in virtual time "plain" is allowed, too, and the
    default. `log` is a folder for the nodes' ledgers. `fork_server` is an entered
    `open_fork_server(...)`.
    Mode "cluster" needs the address of a Dask `scheduler`, or a `Cluster` with further settings.
    Raises UnknownName for a mode; UsageError for options that the mode does not support;
    Unsupported for what is not available here; PqchainError for a run beyond `limit_seconds`.
    """
    if mode not in MODES[1:]:
        raise UnknownName("mode", mode, MODES, "pqchain.delegates.run(scenario, mode=...).")
    check_mode(scenario, mode, transport, log)
    cluster = Cluster.of(scheduler) if mode == "cluster" else None
    if mode == "virtual" and transport in (None, PLAIN):
        return lockstep.run(scenario, progress=progress)
    chosen = transport or registry.default()
    # Caches fill in a warm-up height; it would shift which delegate proposes when, which matters
    # under faults or luck.
    warm = mode != "virtual" and scenario.faults == Faults() and scenario.proposal != "luck"
    ran = replace(scenario, blocks=scenario.blocks + warm)
    shared = Setting(ran, modelled_clock=mode == "virtual")
    # On a cluster each node makes the transactions itself, from the keys and the seed.
    inputs = shared.shared_inputs(keys_only=cluster is not None)
    job = Job(
        nodes=scenario.nodes,
        factory=_FACTORY,
        parameters={"scenario": ran, "inputs": inputs},
        transport=chosen,
        begin=True,
        steps=True,
        limit_seconds=limit_seconds,
        processors=_first_processors(scenario.network) if mode == "loopback" else (),
        link=Link(
            # One link equivalent to the two links between delegates of a star network.
            bits_per_second=scenario.network.rate_bits_per_second,
            delay_seconds=2 * scenario.network.latency_seconds,
        )
        if mode in ("virtual", "netns")
        else Link(),
    )
    bar = tqdm(total=ran.blocks * scenario.nodes, disable=not progress, unit="block")
    with scratch_folder(_memory()) as temporary, bar:
        folder = temporary if log is None else log
        folder.mkdir(parents=True, exist_ok=True)
        advance = bar.update
        if cluster is not None:
            result = cluster_driver.run(job, cluster, in_memory=True, progress=advance, folder=log)
        elif mode == "virtual":
            result = _replayed(job, folder, shared, advance)
        else:
            shaped = mode == "netns"
            result = processes.run(
                job, folder, shaped=shaped, progress=advance, fork_server=fork_server
            )
    return _of_result(result, shared, scenario, mode, chosen)


def open_fork_server(scenario: Scenario, transport: str | None = None) -> ForkServer:
    """Return a context manager that starts delegate processes, for several runs to share."""
    job = Job(
        nodes=1,
        factory=_FACTORY,
        parameters={"scenario": scenario},
        transport=transport or registry.default(),
    )
    return processes.open_fork_server(job)


def check_mode(
    scenario: Scenario, mode: str, transport: str | None, log: Path | None = None
) -> None:
    """Raise UsageError for options that the mode rejects, Unsupported if it cannot run here."""
    setting.check_executable(scenario)
    if mode != "virtual" and algorithms.get(scenario.algorithm).source:
        raise UsageError(
            f"mode must be 'virtual' for user-defined schemes; got {mode!r} and "
            f"{scenario.algorithm}. Use mode='virtual' (--mode virtual)."
        )
    if mode == "virtual" and transport in (None, PLAIN):
        if log is not None:
            raise UsageError(
                f"log must be None over {PLAIN}, which writes no files; got {log}. Use a transport "
                "as well, such as native."
            )
        return
    if transport == PLAIN:
        raise UsageError(f"transport {PLAIN!r} must be used in mode 'virtual'; got mode {mode!r}.")
    # The workers of a cluster are checked by its driver.
    if (
        transport is not None
        and mode != "cluster"
        and (reason := registry.get(transport).unavailable_reason())
    ):
        raise Unsupported(f"transport {transport}: {reason}")
    law = scenario.network.law
    if mode in ("virtual", "netns") and law != "star":
        raise UsageError(
            f"network must be 'star' with a transport; got {law}. Use named('star') "
            "(--network star)" + ("." if mode == "netns" else ", or transport='plain'.")
        )
    timed_delegate.check_recovery(scenario)
    if mode == "netns" and (reason := namespaces.unavailable_reason()):
        raise Unsupported(f"network namespaces: {reason}. Use mode='loopback'.")
    if mode in ("loopback", "netns"):
        check_processes(scenario.nodes)
        bulk.library()  # as the nodes will: raises before they start, and is part of the provenance
    if mode == "loopback" and law == "host":
        check_processors(scenario.network.processors)


def processors() -> int:
    """Return the number of processors that this process may use."""
    # cpu_count() ignores the affinity mask, by which containers and taskset limit a process.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_processors(count: int) -> None:
    """Raise UsageError for too few processors, Unsupported if processes cannot be bound to them."""
    if not hasattr(os, "sched_setaffinity"):
        raise Unsupported("this system cannot bind processes to processors; use --network star.")
    if count > processors():
        raise UsageError(
            f"processors must be at most {processors()}, which this process may use; got {count}."
        )


def _first_processors(network: Network) -> tuple[int, ...]:
    """Return the processors to which the law "host" binds the nodes; empty for other laws."""
    if network.law != "host":
        return ()
    check_processors(network.processors)
    return tuple(sorted(os.sched_getaffinity(0))[: network.processors])


def check_processes(nodes: int) -> None:
    """Raise UsageError if there are too many nodes, or too little memory, for a process each."""
    needed, free = PARENT_MEGABYTES + nodes * NODE_MEGABYTES, free_megabytes()
    if nodes <= MAX_PROCESSES and (free is None or needed <= free):
        return
    available = "" if free is None else f", of which {free / 1000:.1f} GB are available"
    raise UsageError(
        f"nodes must be at most {MAX_PROCESSES} as processes, and fit into the memory; got "
        f"{nodes}, which need about {needed / 1000:.1f} GB{available}. Give fewer nodes, or "
        "mode='virtual' (--mode virtual), which runs in one process."
    )


def free_megabytes() -> int | None:
    """Return the available memory in MB as Linux reports it; None on other systems."""
    # MemAvailable includes caches that can be dropped, unlike MemFree; the unit is kB.
    with suppress(OSError):
        if found := re.search(r"^MemAvailable:\s*(\d+)", _MEMORY.read_text("ascii"), re.MULTILINE):
            return int(found[1]) // 1000
    return None


def _memory() -> Path | None:
    """Return a folder in memory, so that disk time is not measured; None if there is none."""
    folder = Path("/dev/shm")
    return folder if folder.is_dir() and os.access(folder, os.W_OK) else None


def _replayed(job: Job, folder: Path, shared: Setting, progress: Progress) -> Result:
    """Run the nodes in virtual time, with tasks timed by the costs."""

    def seconds(task: Task) -> float:
        return task.times * lockstep.work_ns(shared.builder, task.kind, task.size) / SECOND

    # All nodes run in this process, so they share the setting and its cached verifications.
    job = replace(job, parameters={**job.parameters, "setting": shared})
    modelled = virtual.CostModel(task_seconds=seconds, seed=shared.scenario.seed, digest=True)
    return virtual.run(job, folder, modelled, progress=progress)


def _of_result(
    result: Result, shared: Setting, scenario: Scenario, mode: Mode, transport: str
) -> Run:
    """Return the run that the nodes' reports describe, without the warm-up heights.

    Times count from when the first delegate entered the first height that counts.
    """
    if result.failure is not None:
        raise result.failure
    blocks, honest = shared.scenario.blocks, shared.builder.honest
    warm = blocks - scenario.blocks
    delegates = [node for node in result.nodes if node.node < shared.count]
    # A delegate whose machine was lost counts as faulty: its blocks are not waited for.
    lost = {node.node for node in delegates if node.state == "dead"}
    honest = honest & ~np.isin(np.arange(shared.count), list(lost))
    by_rank = {
        node.node: _synchronised(node, blocks) for node in delegates if node.report is not None
    }
    reports = [report for rank, report in by_rank.items() if honest[rank]]
    others = result.nodes[shared.count :]
    observers = [_synchronised(node, blocks, _Report) for node in others if node.report is not None]
    # Only heights that all honest delegates and observers finished are final.
    complete = min((len(report["final_ns"]) for report in reports + observers), default=0)
    # The last blocks of nodes that are behind differ without a fork.
    ended = [report for report in reports + observers if report["height"] == blocks]
    tips = frozenset(int(report["tip"], 16) for report in ended)
    # Messages and bytes sent by the delegates, and processor seconds of all nodes, by height.
    sent, steps = np.zeros((blocks, 2), np.int64), np.full((len(result.nodes), blocks), math.nan)
    for report in by_rank.values():
        sent += report["sent"]
    for row, node in zip(steps, result.nodes, strict=True):
        row[: len(node.cpu_steps)] = np.diff((0.0, *node.cpu_steps))
    cpu_seconds = steps.sum(axis=0)
    load, origin, heights = PoolLoad(shared.scenario, shared.pool), 0, []
    # Heights that are not final count, too: they tell who lacks a block, and the last shows forks.
    for number in range(blocks):
        entered = [r["entered_ns"][number] for r in reports if number < len(r["entered_ns"])]
        if not entered:
            break
        if number == warm:
            origin = min(entered)
        block = load.take(number, now=min(entered) - origin)
        final_ns = np.full(shared.count, NEVER, dtype=np.int64)
        for rank, report in by_rank.items():
            if number < len(report["final_ns"]):
                final_ns[rank] = report["final_ns"][number] - origin
        is_final = number < complete
        last = max(r["final_ns"][number] for r in reports + observers) if is_final else math.nan
        height = Height(
            block=block,
            ended_ns=int(final_ns[honest].max()) if is_final else NEVER,
            final_ns=final_ns,
            blocks=tips if number + 1 == blocks else frozenset(),
            views=max(report["views"][number] for report in reports),
            spread_seconds=(last - min(entered)) / SECOND,
            sent_messages=int(sent[number, 0]),
            sent_bytes=int(sent[number, 1]),
            cpu_seconds=float(cpu_seconds[number]),
        )
        heights.append(height)
    return Run(
        scenario=scenario,
        heights=tuple(heights[warm:]),
        mode=mode,
        transport=transport,
        sent_messages=int(sent[warm:, 0].sum()),
        sent_bytes=int(sent[warm:, 1].sum()),
        cpu_seconds=sum(height.cpu_seconds for height in heights[warm:complete])
        if warm
        else sum(node.cpu_seconds for node in result.nodes),
        machine_busy=result.machine_busy,
        datagram_sha256=result.datagram_digest,
        cluster=result.cluster,
    )


def _synchronised(node: NodeResult, blocks: int, kind: Any = _DelegateReport) -> dict[str, Any]:
    """Return a node's report with times of the driver's clock. Raises DataError for a wrong one."""
    report: dict[str, Any] = checks.typed(node.report, kind, f"the report of node {node.node}")
    counts = {name: len(values) for name, values in report.items() if isinstance(values, list)}
    full = [counts[name] == blocks for name in ("views", "sent") if name in counts]
    if max(counts.values()) > blocks or not all(full) or not _HEX.fullmatch(report["tip"]):
        raise DataError(f"the report of node {node.node} must be of {blocks} blocks; got {counts}")
    offset_ns = round(node.clock_offset_seconds * SECOND)
    times = {
        name: [time - offset_ns for time in times]
        for name, times in report.items()
        if name.endswith("_ns")
    }
    return {**report, **times}
