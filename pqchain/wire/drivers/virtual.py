"""Driver on a modelled clock; protocol and tasks are executed, and only time is modelled.

All nodes run in this process. Their datagrams cross a modelled network, the `Fabric`. A thread
executes a task; its end is an event of the clock, at which the result is awaited. No real clock is
read, so the same job gives bit-identical results if nodes and transport are deterministic.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from pqchain.errors import PqchainError, Unsupported
from pqchain.wire.drivers.job import Job, NodeFailure, NodeResult, Progress, Result
from pqchain.wire.drivers.link import Clock, DatagramFabric, Timer
from pqchain.wire.node import Node, Task
from pqchain.wire.session import Event, Fabric
from pqchain.wire.transports import registry


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """Parameters of a run on a modelled clock that the job does not contain."""

    task_seconds: Callable[[Task], float]
    datagram_seconds: float = 0.0
    jitter_seconds: float = 0.0
    """Upper bound of the random delay with which each node starts, in seconds."""
    seed: int = 0
    digest: bool = False
    """Whether to hash all datagrams, where the transport supports it."""


@dataclass(eq=False)
class _Host:
    """A node between its start and its crash, with its timer and running task."""

    simulation: _Simulation
    index: int
    node: Node = field(init=False)
    alive: bool = False
    reported: int = 0
    running: Future[Any] | None = None

    def __post_init__(self) -> None:
        self.timer = Timer(self.simulation.clock, self.act)

    def start(self) -> None:
        """Start the node."""
        simulation, folder = self.simulation, self.simulation.folder / str(self.index)
        self.alive = True
        transport = simulation.fabric.start(self.index)
        self.node = simulation.job.node(self.index, transport, folder)
        self.node.start(simulation.clock.now)
        self.flush()

    def begin(self) -> None:
        if self.alive:
            self.node.begin(self.simulation.clock.now)
            self.flush()

    def crash(self) -> None:
        # The task's writes complete first, else the files after a crash would depend on real time.
        if self.running is not None:
            wait([self.running])
        self.alive = False
        self.simulation.fabric.stop(self.index)

    def act(self) -> None:
        if not self.alive:
            return
        now = self.simulation.clock.now
        if (due := self.node.timer()) is not None and due <= now:
            self.node.handle_timer(now)
        self.flush()

    def handle(self, events: list[Event]) -> None:
        for event in events:
            self.node.handle(event, self.simulation.clock.now)
        self.flush()

    def flush(self) -> None:
        simulation = self.simulation
        self.start_task()
        simulation.fabric.flush(self.index)
        if progress := self.node.progress - self.reported:
            simulation.progress(progress)
            self.reported += progress
        if (due := self.node.timer()) is not None:
            self.timer.set(due)

    def start_task(self) -> None:
        simulation, now = self.simulation, self.simulation.clock.now
        if (task := self.node.poll(now)) is None:
            return
        running = self.running = simulation.threads.submit(task.outcome)

        def end() -> None:
            # The node may have crashed after the task began.
            if self.alive:
                self.running = None
                self.node.finished(running.result(), simulation.clock.now)
                self.flush()

        simulation.clock.at(now + simulation.model.task_seconds(task), end)


class _Simulation:
    def __init__(
        self, job: Job, folder: Path, model: CostModel, progress: Progress, threads: Executor
    ) -> None:
        self.job, self.folder, self.model = job, folder, model
        self.progress, self.threads = progress, threads
        self.clock = Clock()
        self.hosts = [_Host(self, index) for index in range(job.nodes)]
        self.identities = job.identities(seed=model.seed)
        self.directory = [identity.public for identity in self.identities]
        self.fabric = self._fabric()
        self._failure_times: dict[int, float] = {}
        # Scheduled once a node has begun.
        self._unscheduled = [failure for failure in job.failures if failure.trigger == "begun"]

    def _fabric(self) -> Fabric:
        job, model = self.job, self.model
        addresses = {index: (f"node-{index}", 4433) for index in range(job.nodes)}
        conditions = job.link.conditions(
            datagram_seconds=model.datagram_seconds, seed=model.seed, digest=model.digest
        )
        settings = [
            job.settings(identity, self.directory, addresses, self.folder / str(identity.index))
            for identity in self.identities
        ]
        info = registry.get(job.transport)
        if hasattr(library := info.load(), "open_fabric"):
            fabric: Fabric = library.open_fabric(conditions, settings)
            return fabric
        return DatagramFabric(conditions, addresses, lambda index: info.open(settings[index]))

    def run(self) -> Result:
        job, clock = self.job, self.clock
        # Random stream 2 of the seed; losses use stream 1, so that neither affects the other.
        draws = np.random.default_rng([self.model.seed, 2])
        jitter = draws.uniform(0, self.model.jitter_seconds, job.nodes)
        for host, delay in zip(self.hosts, jitter, strict=True):
            clock.at(float(delay), host.start)
        while not all(host.alive and host.node.connected for host in self.hosts):
            self._step()
        connected = clock.now
        if job.begin:
            for host, delay in zip(self.hosts, jitter, strict=True):
                clock.at(connected + float(delay), host.begin)
        self._schedule([failure for failure in job.failures if failure.trigger == "connected"])
        while self._unscheduled or not all(host.node.done or not host.alive for host in self.hosts):
            self._step()
        totals = self.fabric.totals()
        return Result(
            nodes=tuple(
                NodeResult.of(host.index, host.node)
                if host.alive
                else NodeResult(node=host.index, report=host.node.report())
                for host in self.hosts
            ),
            connected=connected,
            failure_times=self._failure_times,
            identity=self.directory[0].algorithm,
            dropped_datagrams=totals.dropped,
            lost_datagrams=totals.lost,
            datagram_digest=totals.digest,
        )

    def _step(self) -> None:
        clock, limit = self.clock, self.job.limit_seconds
        if events := self.fabric.advance(min(clock.due, limit)):
            # Hosts advance with lookahead, so that one may be slightly ahead of another.
            for (now, index), simultaneous in groupby(events, key=lambda event: event[:2]):
                clock.now = now
                self.hosts[index].handle([event for *_, event in simultaneous])
        elif clock.due > limit or not clock.step():
            raise PqchainError(
                f"the run did not end within {limit} s of its modelled clock. "
                "Raise limit_seconds, or use a faster link."
            )
        if self._unscheduled and any(host.alive and host.node.begun for host in self.hosts):
            self._schedule(self._unscheduled)
            self._unscheduled = []

    def _schedule(self, failures: list[NodeFailure]) -> None:
        for failure in failures:
            self.clock.at(self.clock.now + failure.after_seconds, partial(self._fail_node, failure))

    def _fail_node(self, failure: NodeFailure) -> None:
        host = self.hosts[failure.node]
        host.crash()
        self._failure_times[failure.node] = self.clock.now


def run(job: Job, folder: Path, model: CostModel, *, progress: Progress = lambda _: None) -> Result:
    """Run a job on a modelled clock and return its result; node i uses `folder/i`.

    Raises Unsupported for a transport that needs sockets, and PqchainError after the time limit.
    """
    if not registry.get(job.transport).quic:
        virtual = " or ".join(registry.names(quic=True))
        raise Unsupported(f"transport must be {virtual} on a modelled clock; got {job.transport}.")
    with ThreadPoolExecutor() as threads:
        simulation = _Simulation(job, folder, model, progress, threads)
        try:
            return simulation.run()
        finally:
            simulation.fabric.close()
