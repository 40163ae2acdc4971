"""Nodes on a modelled clock: every byte of the protocol and every task is run, time is modelled.

All nodes live in this process. Their datagrams cross a modelled network, the `Fabric`; a task is
done by a thread, and its end is set on the clock, where its outcome is waited for. Nothing reads a
real clock, so the same job gives the same result to the last bit, if nodes and transport do.
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
    """What a modelled clock needs to know beside the job."""

    task_seconds: Callable[[Task], float]
    """How long a task takes."""
    datagram_seconds: float = 0.0
    """Processor time of each datagram that is sent or received."""
    jitter_seconds: float = 0.0
    """Up to so much later than the first each node starts, by chance."""
    seed: int = 0
    digest: bool = False
    """Whether all datagrams are hashed, where the transport can."""


@dataclass(eq=False)
class _Host:
    """One life of a node, and what the clock holds for it."""

    world: World
    index: int
    node: Node = field(init=False)
    alive: bool = False
    returns: bool = False
    """Whether another life follows this one."""
    reported: int = 0
    working: Future[Any] | None = None
    """The task that is under way."""

    def __post_init__(self) -> None:
        self.alarm = Alarm(self.world.clock, self.act)

    def start(self) -> None:
        """Begin, with nothing but the files."""
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
        """Die, when what a thread does for the node has reached its files."""
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
        """Begin the next task, let out what was sent, and set the next call."""
        world = self.world
        self.work()
        world.fabric.settle(self.index)
        if progress := self.node.progress - self.reported:
            world.progress(progress)
            self.reported += progress
        if (timer := self.node.timer()) is not None:
            self.alarm.set(timer)

    def work(self) -> None:
        """Let a thread do the node's next task, and set its end by the model."""
        if (task := self.node.poll()) is None:
            return
        world, now = self.world, self.world.clock.now
        self.node.started(now)
        working = self.working = world.threads.submit(task.outcome)
        if task.alone:
            wait([working])

        def end() -> None:
            if self.alive:
                self.working = None
                self.node.finished(working.result(), world.clock.now)
                self.flush()

        world.clock.at(now + world.model.task_seconds(task), end)


class World:
    """All nodes, their network and their clock."""

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
        """Strikes that wait for a node to begin."""

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
        """Run until every living node is done. Raises PqchainError if that takes too long."""
        job, clock = self.job, self.clock
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
        """Go on to what happens next: on the network, or what our clock holds."""
        clock, limit = self.clock, self.job.limit_seconds
        if happened := self.fabric.advance(min(clock.due, limit)):
            # A host has its own time, and may be a little ahead of another.
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
        """Let a node die: it says nothing more and hears nothing more."""
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
    """Run a job on a modelled clock; node i has the folder `folder/i`.

    Raises Unsupported for a transport that needs sockets, and PqchainError if the nodes are not
    done within the job's limit.
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
