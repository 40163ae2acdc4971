"""Execution modes of a scenario: model, virtual time, loopback and network namespaces.

model      computed by an engine (`consensus.model`); no delegates run
virtual    all delegates in this process on a modelled clock, work timed by the scenario's costs:
           over plain, which carries the bytes of messages by the scenario's law, or over QUIC
loopback   one process per node, on this machine's sockets and clock
netns      the same between network namespaces with shaped links

Virtual runs are "replayed": bytes, signatures and protocol are real, times are modelled. The other
two are measured and ignore the scenario's network law, except that law "host" sets the number of
processors that the nodes share. Measured runs start with a warm-up height that is not counted, in
which caches fill, unless the order of proposers matters. Nodes that are not delegates are
observers, except over plain, whose model has none.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd
from tqdm import tqdm

from pqchain import algorithms, scratch
from pqchain.consensus import metrics, model
from pqchain.consensus.network import SECOND
from pqchain.consensus.scenario import Faults, Scenario
from pqchain.delegates import host, lockstep, setting, timed_delegate
from pqchain.delegates.node import DelegateTask
from pqchain.delegates.pool import PoolLoad
from pqchain.delegates.setting import Setting
from pqchain.errors import UnknownName, Unsupported, UsageError
from pqchain.intervals import half_width
from pqchain.results import Contract
from pqchain.wire.drivers import namespaces, processes, virtual
from pqchain.wire.drivers.job import Job, NodeResult, Progress, Result
from pqchain.wire.drivers.link import Link
from pqchain.wire.drivers.nursery import Nursery
from pqchain.wire.node import Task
from pqchain.wire.transports import registry

Mode = Literal["model", "virtual", "loopback", "netns"]

MODES: tuple[Mode, ...] = get_args(Mode)

PLAIN = "plain"
"""Transport in virtual time that carries only the bytes of messages."""

_MORE = Contract.of(
    "",
    ("str", "mode kind transport datagram_sha256"),
    ("Int64", "sent_messages sent_bytes"),
    ("float64", "cpu_seconds latency_half_width_seconds"),
    ("float64", "predicted_latency_seconds prediction_error_percent"),
    ("float64", "plain_latency_seconds over_plain_percent"),
)

RUNS = Contract("consensus_runs", {**metrics.CONSENSUS.columns, **_MORE.columns})

_FACTORY = "pqchain.delegates.node:build"

_KINDS = {"model": "modelled", "virtual": "replayed", "loopback": "measured", "netns": "measured"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lap:
    """Results of one height of a run over a transport."""

    latency_seconds: float
    """From when the first delegate could propose it to when the last honest one had it."""
    spread_seconds: float
    """The same up to the last of all nodes, observers included."""
    transactions: int
    messages: float
    """Messages sent by all delegates during the height; NaN over plain, as `bytes`."""
    bytes: float
    cpu_seconds: float
    """Processor time of all nodes; NaN unless measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """Results of a run in any mode."""

    scenario: Scenario
    mode: Mode
    transport: str = ""
    latency_seconds: float
    """Mean over the blocks, from when one could be proposed to when the last honest one had it."""
    throughput_per_second: float
    final_blocks: int
    views: int
    sent_messages: int | None = None
    """Messages and bytes sent in the run; None if modelled."""
    sent_bytes: int | None = None
    cpu_seconds: float = math.nan
    """Processor time of all nodes; NaN unless measured."""
    spread_seconds: float = math.nan
    is_safe: bool
    is_live: bool
    rivals: int = 0
    transactions_per_block: float
    reason: str = ""
    laps: tuple[Lap, ...] = ()
    """Results of each height; empty for a model."""
    predicted_seconds: float = math.nan
    """Latency predicted by the law "host"; see `delegates.service_times`."""
    plain_seconds: float = math.nan
    """Latency of the same over plain, for a run over a transport in virtual time."""
    datagram_sha256: str = ""
    """Digest of all datagrams and their times, over native in virtual time."""

    @property
    def half_width_seconds(self) -> float:
        """Half width of the 95 % interval of the mean latency; NaN for fewer than two heights."""
        return half_width(lap.latency_seconds for lap in self.laps)

    @property
    def error_percent(self) -> float:
        """Relative error of the predicted latency in percent."""
        return 100 * (self.predicted_seconds / self.latency_seconds - 1)

    @property
    def kind(self) -> str:
        """Kind of its numbers: modelled, replayed or measured."""
        return _KINDS[self.mode]

    def record(self) -> dict[str, Any]:
        """Return the results as a row of `frame`."""
        scenario = self.scenario
        row = {name: getattr(scenario, name) for name in ("algorithm", "nodes", "exchange")}
        row |= {name: getattr(scenario, name) for name in ("proposal", "seed")}
        own = (
            "latency_seconds throughput_per_second final_blocks views sent_messages sent_bytes "
            "cpu_seconds spread_seconds is_safe is_live rivals transactions_per_block reason mode "
            "kind transport datagram_sha256"
        )
        row |= {name: getattr(self, name) for name in own.split()}
        row |= {
            "scenario": scenario.identifier,
            "costs": scenario.costs.origin(scenario.algorithm),
            "delegates": scenario.delegate_count,
            "network": scenario.network.law,
            "vote_phases": scenario.phases,
            "messages": scenario.messages(),
            "status": "ok",
            "latency_half_width_seconds": self.half_width_seconds,
            "predicted_latency_seconds": self.predicted_seconds,
            "prediction_error_percent": self.error_percent,
            "plain_latency_seconds": self.plain_seconds,
            "over_plain_percent": 100 * (self.latency_seconds / self.plain_seconds - 1),
        }
        return {name: row[name] for name in RUNS.columns}


def frame(runs: Iterable[Ran | model.Run]) -> pd.DataFrame:
    """Return runs of any mode as a frame of the contract "consensus_runs", one row per run.

    Columns: those of "consensus"; mode, kind (modelled, replayed or measured), transport,
    sent_messages and sent_bytes (in the whole run; empty if modelled), cpu_seconds (of all nodes;
    NaN unless measured), latency_half_width_seconds (of the 95 % interval of the mean over the
    heights; NaN if modelled or for one height), predicted_latency_seconds (by the law "host" for
    measured runs; else NaN), prediction_error_percent (its relative error), plain_latency_seconds
    (of the same over plain, for a run over a transport in virtual time; else NaN),
    over_plain_percent (relative cost of the transport) and datagram_sha256 (of all datagrams over
    native in virtual time, equal for equal scenarios; else empty).
    """
    rows = (_of_run(run, "model") if isinstance(run, model.Run) else run for run in runs)
    return RUNS.frame(row.record() for row in rows)


def run(
    scenario: Scenario,
    *,
    mode: str,
    transport: str | None = None,
    log: Path | None = None,
    limit_seconds: float = 600.0,
    progress: bool = False,
    using: Nursery | None = None,
) -> Ran:
    """Run the delegates of a scenario in mode "virtual", "loopback" or "netns".

    `transport` is one of `wire.transports`; in virtual time "plain" is allowed, too, and the
    default. `log` is a folder for qlog files. `using` is an entered `nursery`, shared by several
    runs. Raises UnknownName for a mode; UsageError for options that the mode does not support;
    Unsupported for what is not available here; PqchainError for a run beyond `limit_seconds`.
    """
    if mode not in MODES[1:]:
        raise UnknownName("mode", mode, MODES, "pqchain.consensus.run(scenario, mode=...).")
    refuse(scenario, mode, transport, log)
    if mode == "virtual" and transport in (None, PLAIN):
        return _of_run(lockstep.run(scenario, progress=progress), "virtual", PLAIN)
    chosen = transport or registry.default()
    warm = _warm(scenario, mode)
    ran = replace(scenario, blocks=scenario.blocks + warm)
    shared = Setting(ran, modelled_clock=mode == "virtual")
    job = Job(
        nodes=scenario.nodes,
        factory=_FACTORY,
        parameters={"scenario": ran, "inputs": shared.shared_inputs()},
        transport=chosen,
        begin=True,
        steps=True,
        limit_seconds=limit_seconds,
        processors=_bound(scenario, mode),
        link=link(scenario) if mode != "loopback" else Link(),
        log=log is not None,
    )
    bar = tqdm(total=ran.blocks * scenario.nodes, disable=not progress, unit="block")
    with scratch.folder(_memory()) as temporary:
        folder = temporary if log is None else log
        folder.mkdir(parents=True, exist_ok=True)
        with bar:
            result = _driven(job, folder, shared, mode, lambda count: _advance(bar, count), using)
    done = replace(_of_result(result, shared, warm, mode, chosen), scenario=scenario)
    if mode != "virtual" or scenario.delegate_count < scenario.nodes:
        return done
    # The model stands in for a run over plain: with the same transactions both are equal to the
    # nanosecond.
    plain = model.run(scenario, load=PoolLoad(scenario, shared.pool))
    return replace(done, plain_seconds=plain.latency_seconds)


def nursery(scenario: Scenario, transport: str | None = None) -> Nursery:
    """Return the starter of delegate processes, to be entered and shared by several runs."""
    given, speaks = {"scenario": scenario}, transport or registry.default()
    return processes.nursery(Job(nodes=1, factory=_FACTORY, parameters=given, transport=speaks))


def _advance(bar: tqdm, count: int) -> None:
    bar.update(count)


def link(scenario: Scenario) -> Link:
    """Return the path between two delegates on a star: two links and the hub between them."""
    network = scenario.network
    rate, latency = network.rate_bits_per_second, network.latency_seconds
    return Link(bits_per_second=rate, delay_seconds=2 * latency)


def refuse(scenario: Scenario, mode: str, transport: str | None, log: Path | None = None) -> None:
    """Raise UsageError for options that the mode rejects, Unsupported if it cannot run here."""
    setting.check_executable(scenario)
    if mode != "virtual" and algorithms.get(scenario.algorithm).source:
        raise UsageError(
            f"{scenario.algorithm} is a scheme of your own, which the processes of {mode} do not "
            "know: use mode='virtual', where hashes stand in for a scheme given by numbers"
        )
    if mode == "virtual" and transport in (None, PLAIN):
        if log is not None:
            raise UsageError(
                f"log must be None over {PLAIN}, which writes no files; got {log}. Use a transport "
                "as well, such as native."
            )
        return
    if transport == PLAIN:
        raise UsageError(f"transport is {PLAIN!r}, which needs no sockets; use mode='virtual'")
    if transport is not None and (reason := registry.get(transport).reason()):
        raise Unsupported(f"transport {transport}: {reason}")
    law = scenario.network.law
    if mode in ("virtual", "netns") and law != "star":
        raise UsageError(
            f"network is {law}; over a transport, delegates have a link each to a switch: use "
            "named('star') (--network star)" + ("" if mode == "netns" else ", or transport='plain'")
        )
    timed_delegate.check_recovery(scenario)
    if mode == "netns" and (reason := namespaces.reason()):
        raise Unsupported(f"no network namespaces: {reason}; use mode='loopback'")
    if mode in ("loopback", "netns"):
        host.check_processes(scenario.nodes)
    if mode == "loopback" and law == "host":
        host.check_processors(scenario.network.processors)


def _warm(scenario: Scenario, mode: str) -> int:
    """Return the number of warm-up heights, which are not counted."""
    # An extra height shifts which delegate proposes when, which matters under faults or luck.
    clocked = mode in ("loopback", "netns")
    return int(clocked and scenario.faults == Faults() and scenario.proposal != "luck")


def _bound(scenario: Scenario, mode: str) -> tuple[int, ...]:
    """Return the processors that the law "host" gives to the nodes; empty for other laws."""
    if mode != "loopback" or scenario.network.law != "host":
        return ()
    return host.first_processors(scenario.network.processors)


def _memory() -> Path | None:
    """Return a folder in memory, so that disk time is not measured; None if there is none."""
    folder = Path("/dev/shm")
    return folder if folder.is_dir() and os.access(folder, os.W_OK) else None


def _driven(
    job: Job, folder: Path, shared: Setting, mode: str, progress: Progress, using: Nursery | None
) -> Result:
    if mode != "virtual":
        return processes.run(job, folder, shaped=mode == "netns", progress=progress, using=using)
    work_times = lockstep.WorkTimes(shared.builder)

    def seconds(task: Task) -> float:
        times = task.times if isinstance(task, DelegateTask) else 1
        return times * work_times.of(task.kind, task.size) / SECOND

    # All nodes run in this process, so they share the setting and its cached verifications.
    job = replace(job, parameters={**job.parameters, "setting": shared})
    modelled = virtual.Model(task_seconds=seconds, seed=shared.scenario.seed, digest=True)
    return virtual.run(job, folder, modelled, progress=progress)


def _of_run(done: model.Run, mode: Mode, transport: str = "") -> Ran:
    row = metrics.record(done)
    names = (
        "latency_seconds throughput_per_second final_blocks views spread_seconds is_safe "
        "is_live rivals transactions_per_block reason"
    )
    return Ran(
        scenario=done.scenario,
        mode=mode,
        transport=transport,
        laps=tuple(map(_lap, done.final)) if mode == "virtual" else (),
        **{name: row[name] for name in names.split()},
    )


def _lap(height: model.Height) -> Lap:
    seconds = (height.ended_ns - height.block.starts_ns) / SECOND
    return Lap(
        latency_seconds=seconds,
        spread_seconds=seconds,
        transactions=height.block.transactions,
        messages=math.nan,
        bytes=math.nan,
        cpu_seconds=math.nan,
    )


def _of_result(result: Result, shared: Setting, warm: int, mode: str, transport: str) -> Ran:
    """Combine the reports of the nodes, without the first `warm` heights."""
    if result.failure is not None:
        raise result.failure
    scenario, builder = shared.scenario, shared.builder
    delegates = [node for node in result.nodes if node.node < shared.count]
    watched = [node for node in result.nodes[shared.count :] if node.report is not None]
    honest = [node for node in delegates if builder.honest[node.node]]
    reports = [node.report for node in honest if node.report is not None]
    everybody = reports + [node.report for node in watched if node.report is not None]
    # Only heights that all honest delegates and observers finished have a latency.
    whole = min((len(report["final_ns"]) for report in everybody), default=0)
    # The last blocks of nodes that are behind differ without a fork.
    tips = {report["tip"] for report in everybody if report["height"] == scenario.blocks}
    ends = [max(report["final_ns"][height] for report in reports) for height in range(whole)]
    entered = [min(report["entered_ns"][height] for report in reports) for height in range(whole)]
    laps = [
        Lap(
            latency_seconds=(ends[height] - entered[height]) / SECOND,
            spread_seconds=(last - entered[height]) / SECOND,
            transactions=len(shared.transactions(height)),
            messages=sum(_sent(node, height)[0] for node in delegates),
            bytes=sum(_sent(node, height)[1] for node in delegates),
            cpu_seconds=sum(_step(node, height) for node in result.nodes),
        )
        for height in range(warm, whole)
        for last in [max(report["final_ns"][height] for report in everybody)]
    ]
    blocks, final = scenario.blocks - warm, max(0, whole - warm)
    counted = range(warm, scenario.blocks)
    total = sum(lap.transactions for lap in laps)
    weighted = sum(lap.latency_seconds * lap.transactions for lap in laps)
    return Ran(
        scenario=scenario,
        mode="netns" if mode == "netns" else "virtual" if mode == "virtual" else "loopback",
        transport=transport,
        latency_seconds=weighted / total if total else math.nan,
        throughput_per_second=total * SECOND / (ends[-1] - entered[warm]) if total else 0.0,
        final_blocks=final,
        views=max((report["views"] for report in reports), default=warm) - warm,
        sent_messages=sum(_sent(node, h)[0] for node in delegates for h in counted),
        sent_bytes=sum(_sent(node, h)[1] for node in delegates for h in counted),
        cpu_seconds=sum(lap.cpu_seconds for lap in laps)
        if warm
        else sum(node.cpu_seconds for node in result.nodes),
        spread_seconds=max((lap.spread_seconds for lap in laps), default=math.nan),
        is_safe=len(tips) <= 1,
        is_live=final == blocks,
        transactions_per_block=total / final if final else math.nan,
        reason="" if final == blocks else f"{final} of {blocks} blocks are final",
        laps=tuple(laps),
        datagram_sha256=result.datagram_digest,
    )


def _sent(node: NodeResult, height: int) -> tuple[int, int]:
    sent = (0, 0) if node.report is None else node.report["sent"][height]
    return int(sent[0]), int(sent[1])


def _step(node: NodeResult, height: int) -> float:
    """Return the processor time of a node at a height in seconds, NaN if unknown."""
    steps = (0.0, *node.cpu_steps)
    return steps[height + 1] - steps[height] if height + 1 < len(steps) else math.nan
