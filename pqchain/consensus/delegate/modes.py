"""One scenario, run where it is asked: modelled, in virtual time, on loopback, between namespaces.

model      an engine computes it (`consensus.model`); nothing is run
virtual    all delegates in this process on a modelled clock, work at the scenario's costs: over
           `plain`, which carries only the bytes of messages by the scenario's law, or over QUIC
loopback   a process for each delegate, on this machine's sockets and clock
netns      the same between network namespaces with shaped links

Virtual runs are "replayed": bytes, signatures and protocol are real, time is not. On loopback and
between namespaces all is measured, and the law of the scenario's network does not count.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd
from tqdm import tqdm

from pqchain.consensus import metrics, model
from pqchain.consensus.delegate import capacity, lockstep, runner, setting
from pqchain.consensus.delegate.node import DelegateTask
from pqchain.consensus.delegate.setting import Setting
from pqchain.consensus.network import SECOND
from pqchain.consensus.scenario import Scenario
from pqchain.errors import UnknownName, Unsupported, UsageError
from pqchain.results import Contract
from pqchain.wire.drivers import namespaces, processes, virtual
from pqchain.wire.drivers.job import Job, NodeResult, Progress, Result
from pqchain.wire.drivers.link import Link
from pqchain.wire.drivers.nursery import Nursery
from pqchain.wire.node import Task
from pqchain.wire.transports import registry

Mode = Literal["model", "virtual", "loopback", "netns"]

MODES: tuple[Mode, ...] = get_args(Mode)
"""Where a scenario can be run."""

PLAIN = "plain"
"""The transport that carries only the bytes of messages, in virtual time."""

_MORE = Contract.of(
    "",
    ("str", "mode kind transport"),
    ("Int64", "sent_messages sent_bytes"),
    ("float64", "cpu_seconds"),
)

RUNS = Contract("consensus_runs", {**metrics.CONSENSUS.columns, **_MORE.columns})

_FACTORY = "pqchain.consensus.delegate.node:build"

_KINDS = {"model": "modelled", "virtual": "replayed", "loopback": "measured", "netns": "measured"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run gave, whatever ran it."""

    scenario: Scenario
    mode: Mode
    transport: str = ""
    latency_seconds: float
    """Mean over the blocks, from when it could be proposed to when the last honest one had it."""
    throughput_per_second: float
    final_blocks: int
    views: int
    sent_messages: int | None = None
    """Of the whole run."""
    sent_bytes: int | None = None
    cpu_seconds: float = math.nan
    """Processor time of all delegates together."""
    spread_seconds: float = math.nan
    is_safe: bool
    is_live: bool
    rivals: int = 0
    transactions_per_block: float
    reason: str = ""

    @property
    def kind(self) -> str:
        """Whether its numbers are modelled, replayed or measured."""
        return _KINDS[self.mode]

    def record(self) -> dict[str, Any]:
        """Return it as a row; see `frame`."""
        scenario = self.scenario
        row = {name: getattr(scenario, name) for name in ("algorithm", "nodes", "exchange")}
        row |= {name: getattr(scenario, name) for name in ("proposal", "seed")}
        own = (
            "latency_seconds throughput_per_second final_blocks views sent_messages sent_bytes "
            "cpu_seconds spread_seconds is_safe is_live rivals transactions_per_block reason mode "
            "kind transport"
        )
        row |= {name: getattr(self, name) for name in own.split()}
        row |= {
            "scenario": scenario.identifier,
            "costs": scenario.costs.source,
            "delegates": scenario.delegate_count,
            "network": scenario.network.law,
            "vote_phases": scenario.phases,
            "messages": scenario.messages(),
            "status": "ok",
        }
        return {name: row[name] for name in RUNS.columns}


def frame(runs: Iterable[Ran | model.Run]) -> pd.DataFrame:
    """Return runs of any mode as a frame of the contract "consensus_runs", a row each.

    Columns: those of "consensus"; mode, kind (modelled, replayed or measured), transport,
    sent_messages and sent_bytes (of the whole run; empty if it is modelled), cpu_seconds (of all
    delegates; NaN unless measured).
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
    """Run a scenario by delegates, in a mode that is not "model"; see the module.

    `transport` is one of `wire.transports`, or "plain" in virtual time, where that is the default.
    `log` is a folder for qlog. `using` is what `nursery` returns, entered, for whoever runs
    several. Raises UnknownName; UsageError for what has no meaning in that mode, with the reason;
    Unsupported for what cannot run here; PqchainError for what takes too long.
    """
    if mode not in MODES[1:]:
        raise UnknownName("mode", mode, MODES, "pqchain.consensus.run(scenario, mode=...).")
    refuse(scenario, mode, transport)
    if mode == "virtual" and transport in (None, PLAIN):
        return _of_run(lockstep.run(scenario, progress=progress), "virtual", PLAIN)
    chosen = transport or registry.default()
    shared = Setting(scenario, remember=mode == "virtual")
    job = Job(
        nodes=shared.count,
        factory=_FACTORY,
        parameters={"scenario": scenario, "given": shared.give()},
        transport=chosen,
        begin=True,
        limit_seconds=limit_seconds,
        link=link(scenario) if mode != "loopback" else Link(),
        log=log is not None,
    )
    bar = tqdm(total=scenario.blocks * shared.count, disable=not progress, unit="block")
    with tempfile.TemporaryDirectory(prefix="pqchain-delegates-") as temporary:
        folder = Path(temporary) if log is None else log
        folder.mkdir(parents=True, exist_ok=True)
        with bar:
            result = _driven(job, folder, shared, mode, lambda count: _advance(bar, count), using)
    return _of_result(result, shared, mode, chosen)


def nursery(scenario: Scenario, transport: str | None = None) -> Nursery:
    """Return what starts the processes of delegates, to be entered and given to several runs."""
    given, speaks = {"scenario": scenario}, transport or registry.default()
    return processes.nursery(Job(nodes=1, factory=_FACTORY, parameters=given, transport=speaks))


def _advance(bar: tqdm, count: int) -> None:
    bar.update(count)


def link(scenario: Scenario) -> Link:
    """Return what lies between two delegates on a star: two links and the hub between them."""
    network = scenario.network
    rate, latency = network.rate_bits_per_second, network.latency_seconds
    return Link(bits_per_second=rate, delay_seconds=2 * latency)


def refuse(scenario: Scenario, mode: str, transport: str | None) -> None:
    """Raise UsageError for what means nothing in a mode, Unsupported for what cannot run here."""
    setting.refuse(scenario)
    if mode == "virtual" and transport in (None, PLAIN):
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
    runner.refuse(scenario)
    if mode == "netns" and (reason := namespaces.reason()):
        raise Unsupported(f"no network namespaces: {reason}; use mode='loopback'")
    if mode in ("loopback", "netns"):
        capacity.check(scenario.delegate_count)


def _driven(
    job: Job, folder: Path, shared: Setting, mode: str, progress: Progress, using: Nursery | None
) -> Result:
    if mode != "virtual":
        return processes.run(job, folder, shaped=mode == "netns", progress=progress, using=using)
    prices = lockstep.Prices(shared.scenario)

    def seconds(task: Task) -> float:
        assert isinstance(task, DelegateTask)
        return task.times * prices.of(task.kind, task.size) / SECOND

    job = replace(job, parameters={**job.parameters, "setting": shared})
    modelled = virtual.Model(task_seconds=seconds, seed=shared.scenario.seed)
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
        **{name: row[name] for name in names.split()},
    )


def _of_result(result: Result, shared: Setting, mode: str, transport: str) -> Ran:
    """Put together what the delegates report."""
    if result.failure is not None:
        raise result.failure
    scenario, builder = shared.scenario, shared.builder
    honest = [node for node in result.nodes if builder.honest[node.node]]
    reports = [node.report for node in honest if node.report is not None]
    whole = min((len(report["final_ns"]) for report in reports), default=0)
    tips = {report["tip"] for report in reports if report["height"] == scenario.blocks}
    ends = [max(report["final_ns"][height] for report in reports) for height in range(whole)]
    entered = [min(report["entered_ns"][height] for report in reports) for height in range(whole)]
    held = [len(shared.transactions(height)) for height in range(whole)]
    latencies = [end - begun for end, begun in zip(ends, entered, strict=True)]
    weighted = sum(a * b for a, b in zip(latencies, held, strict=True))
    total = sum(held)
    return Ran(
        scenario=scenario,
        mode="netns" if mode == "netns" else "virtual" if mode == "virtual" else "loopback",
        transport=transport,
        latency_seconds=weighted / total / SECOND if total else math.nan,
        throughput_per_second=total * SECOND / (ends[-1] - entered[0]) if total else 0.0,
        final_blocks=whole,
        views=max((report["views"] for report in reports), default=0),
        sent_messages=sum(_reported(node, "messages") for node in result.nodes),
        sent_bytes=sum(_reported(node, "bytes") for node in result.nodes),
        cpu_seconds=sum(node.cpu_seconds for node in result.nodes),
        is_safe=len(tips) <= 1,
        is_live=whole == scenario.blocks,
        transactions_per_block=total / whole if whole else math.nan,
        reason="" if whole == scenario.blocks else f"{whole} of {scenario.blocks} blocks are final",
    )


def _reported(node: NodeResult, name: str) -> int:
    return int(node.report[name]) if node.report is not None else 0
