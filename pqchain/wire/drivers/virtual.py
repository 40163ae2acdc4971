"""Driver on a modelled clock: every protocol byte and every task is executed, time is modelled.

All nodes run in this process. Their datagrams cross a modelled network, the `Fabric`. A thread
executes a task; its end is an event of the clock, at which the result is awaited. No real clock is
read, so the same job gives bit-identical results if nodes and transport are deterministic.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from pqchain.errors import PqchainError, Unsupported
from pqchain.wire.drivers.datagrams import DatagramFabric
from pqchain.wire.drivers.job import Job, NodeResult, Progress, Result, Strike
from pqchain.wire.drivers.link import Alarm, Clock
from pqchain.wire.node import Node, Task
from pqchain.wire.session import Event, Fabric
from pqchain.wire.transports import registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Parameters of a modelled clock in addition to the job."""

    task_seconds: Callable[[Task], float]
    """Duration of a task in seconds."""
    datagram_seconds: float = 0.0
    """Processor seconds of each datagram that is sent or received."""
    jitter_seconds: float = 0.0
    """Upper bound of the random delay with which each node starts, in seconds."""
    seed: int = 0
    digest: bool = False
    """Whether to hash all datagrams, where the transport supports it."""


@dataclass(eq=False)
class _Host:
    """One incarnation of a node, with its timer and running task."""

    world: World
    index: int
    node: Node = field(init=False)
    alive: bool = False
    returns: bool = False
    """Whether a restart follows."""
    reported: int = 0
    working: Future[Any] | None = None
    """The running task."""

    def __post_init__(self) -> None:
        self.alarm = Alarm(self.world.clock, self.act)

    def start(self) -> None:
        """Start the node; its folder is the only state from an earlier incarnation."""
        world, folder = self.world, self.world.folder / str(self.index)
        self.alive = True
        transport = world.fabric.start(self.index)
        self.node = world.job.node(self.index, transport, folder)
        self.node.start(world.clock.now)
        self.flush()

    def begin(self) -> None:
        if self.alive:
            self.node.begin(self.world.clock.now)
            self.flush()

    def end(self) -> None:
        """Crash the node, after its running task has ended."""
        # The task's writes complete first, else the files after a crash would depend on real time.
        if self.working is not None:
            wait([self.working])
        self.alive = False
        self.world.fabric.stop(self.index)

    def act(self) -> None:
        if not self.alive:
            return
        now = self.world.clock.now
        if (timer := self.node.timer()) is not None and timer <= now:
            self.node.handle_timer(now)
        self.flush()

    def handle(self, events: list[Event]) -> None:
        for event in events:
            self.node.handle(event, self.world.clock.now)
        self.flush()

    def flush(self) -> None:
        """Start the next task, flush queued sends, report progress and set the timer."""
        world = self.world
        self.work()
        world.fabric.settle(self.index)
        if progress := self.node.progress - self.reported:
            world.progress(progress)
            self.reported += progress
        if (timer := self.node.timer()) is not None:
            self.alarm.set(timer)

    def work(self) -> None:
        """Run the node's next task on a thread, and schedule its modelled end."""
        if (task := self.node.poll()) is None:
            return
        world, now = self.world, self.world.clock.now
        self.node.started(now)
        working = self.working = world.threads.submit(task.outcome)
        # Otherwise the modelled network could write to the memory that the task uses.
        if task.alone:
            wait([working])

        def end() -> None:
            # The node may have crashed after the task began.
            if self.alive:
                self.working = None
                self.node.finished(working.result(), world.clock.now)
                self.flush()

        world.clock.at(now + world.model.task_seconds(task), end)


class World:
    """All nodes with their network and clock."""

    def __init__(
        self, job: Job, folder: Path, model: Model, progress: Progress, threads: Executor
    ) -> None:
        self.job = job
        self.folder = folder
        self.model = model
        self.progress = progress
        self.threads = threads
        self.clock = Clock()
        self.hosts = [_Host(self, index) for index in range(job.nodes)]
        self.identities = job.identities(seed=model.seed)
        self.directory = [identity.public for identity in self.identities]
        self.fabric = self._fabric()
        self._struck: dict[int, float] = {}
        self._later = [strike for strike in job.strikes if strike.when == "begun"]
        """Failures that are scheduled once a node has begun."""

    def _fabric(self) -> Fabric:
        job, model = self.job, self.model
        addresses = {index: (f"node-{index}", 4433) for index in range(job.nodes)}
        conditions = job.link.conditions(
            datagram_seconds=model.datagram_seconds, seed=model.seed, digest=model.digest
        )
        places = [
            job.place(identity, self.directory, addresses, self.folder / str(identity.index))
            for identity in self.identities
        ]
        if not job.row.endpoint:
            fabric: Fabric = job.row.open_fabric(conditions, places)
            return fabric
        return DatagramFabric(conditions, addresses, lambda index: job.row.open(places[index]))

    def run(self) -> Result:
        """Run until every living node is done. Raises PqchainError after the job's time limit."""
        job, clock = self.job, self.clock
        # Stream 2 of the seed; losses draw from stream 1, so that neither affects the other.
        draws = np.random.default_rng([self.model.seed, 2])
        jitter = draws.uniform(0, self.model.jitter_seconds, job.nodes)
        for host, late in zip(self.hosts, jitter, strict=True):
            clock.at(float(late), host.start)
        while not all(host.alive and host.node.connected for host in self.hosts):
            self._step()
        connected = clock.now
        if job.begin:
            for host, late in zip(self.hosts, jitter, strict=True):
                clock.at(connected + float(late), host.begin)
        self._await([strike for strike in job.strikes if strike.when == "connected"])
        while not self._over():
            self._step()
        if job.log:
            for host in self.hosts:
                log = self.folder / f"node-{host.index}.qlog"
                log.write_text(json.dumps(self.fabric.qlog(host.index)), encoding="utf-8")
        totals = self.fabric.totals()
        return Result(
            nodes=tuple(
                NodeResult.of(host.index, host.node)
                if host.alive
                else NodeResult(node=host.index, report=host.node.report())
                for host in self.hosts
            ),
            connected=connected,
            struck=self._struck,
            identity=self.directory[0].algorithm,
            dropped_datagrams=totals.dropped,
            lost_datagrams=totals.lost,
            datagram_digest=totals.digest,
        )

    def _step(self) -> None:
        """Process the next event of the network or of the clock."""
        clock, limit = self.clock, self.job.limit_seconds
        if happened := self.fabric.advance(min(clock.due, limit)):
            # Hosts advance with lookahead, so that one may be slightly ahead of another.
            for (now, index), events in groupby(happened, key=lambda each: each[:2]):
                clock.now = now
                self.hosts[index].handle([event for *_, event in events])
        elif clock.due > limit or not clock.step():
            raise PqchainError(
                f"the run did not end within {limit} s of its own clock; "
                "raise limit_seconds (--limit-seconds), or use a faster link"
            )
        if self._later and any(host.alive and host.node.begun for host in self.hosts):
            self._await(self._later)
            self._later = []

    def _await(self, strikes: list[Strike]) -> None:
        for strike in strikes:
            self.clock.at(self.clock.now + strike.after_seconds, partial(self._strike, strike))

    def _strike(self, strike: Strike) -> None:
        """Crash a node, and schedule its restart if it has one."""
        host = self.hosts[strike.node]
        host.end()
        self._struck[strike.node] = self.clock.now
        if strike.down_seconds is None:
            return
        host.returns = True

        def come_back() -> None:
            host = self.hosts[strike.node] = _Host(self, strike.node)
            host.start()
            if self.job.begin:
                host.begin()

        self.clock.at(self.clock.now + strike.down_seconds, come_back)

    def _over(self) -> bool:
        ended = (host.node.done if host.alive else not host.returns for host in self.hosts)
        return not self._later and all(ended)


def run(job: Job, folder: Path, model: Model, *, progress: Progress = lambda count: None) -> Result:
    """Run a job on a modelled clock; node i uses the folder `folder/i`.

    Times of the result are seconds of the modelled clock. Raises Unsupported for a transport that
    needs sockets, and PqchainError if the nodes are not done within the job's time limit.
    """
    if not job.row.virtual:
        runs = ", ".join(registry.names(virtual=True))
        raise Unsupported(f"{job.transport} needs sockets; a modelled clock runs {runs} only")
    with ThreadPoolExecutor() as threads:
        world = World(job, folder, model, progress, threads)
        try:
            return world.run()
        finally:
            world.fabric.close()
