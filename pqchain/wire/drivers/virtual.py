"""Nodes on a modelled clock: every byte of the protocol and every task is run, time is modelled.

All nodes live in this process. Their datagrams cross a modelled network; a task is done at once,
and its end is set on the clock. Nothing reads a real clock, so the same job gives the same result
to the last bit, if its nodes and its transport do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from pqchain.errors import PqchainError, Unsupported
from pqchain.wire.drivers.job import Job, NodeResult, Progress, Result, Strike
from pqchain.wire.drivers.link import Clock, Network
from pqchain.wire.node import Node, Task
from pqchain.wire.session import Endpoint
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


@dataclass(eq=False)
class _Host:
    """One life of a node, its endpoint, and what the clock holds for them."""

    world: World
    index: int
    endpoint: Endpoint = field(init=False)
    node: Node = field(init=False)
    alive: bool = False
    returns: bool = False
    """Whether another life follows this one."""
    inbox: list[tuple[int, bytes]] = field(default_factory=list)
    wake_at: float = math.inf
    busy_until: float = 0.0
    reported: int = 0

    def start(self) -> None:
        """Begin, with nothing but the files."""
        world, folder = self.world, self.world.folder / str(self.index)
        self.alive = True
        identity = world.identities[self.index]
        self.endpoint = world.job.open(identity, world.directory, world.addresses, folder)
        self.node = world.job.node(self.index, self.endpoint, folder)
        self.node.start(world.clock.now)
        self.flush()

    def begin(self) -> None:
        if self.alive:
            self.node.begin(self.world.clock.now)
            self.flush()

    def datagram(self, sender: int, data: bytes) -> None:
        """Take a datagram in, to be looked at a little later with those that follow it."""
        if self.alive:
            self.inbox.append((sender, data))
            self.wake(self.world.clock.now + self.world.job.link.coalescing_seconds)

    def wake(self, time: float) -> None:
        """Be called at that time, unless an earlier call is set already."""
        time = max(time, self.busy_until, self.world.clock.now)
        if time < self.wake_at:
            self.wake_at = time
            self.world.clock.at(time, partial(self.act, time))

    def act(self, time: float) -> None:
        if not self.alive or self.wake_at != time:
            return
        self.wake_at = math.inf
        now = self.world.clock.now
        came, self.inbox = self.inbox, []
        for sender, data in came:
            self.endpoint.receive(data, self.world.addresses[sender], now)
        for timed in (self.endpoint, self.node):
            if (timer := timed.timer()) is not None and timer <= now:
                timed.handle_timer(now)
        self.flush(len(came))

    def flush(self, handled: int = 0) -> None:
        """Let events, tasks and datagrams out, and set the next call."""
        world, now = self.world, self.world.clock.now
        self.handle_events()
        sent = self.endpoint.datagrams(now)
        self.handle_events()
        world.progress(self.node.progress - self.reported)
        self.reported = self.node.progress
        cost = world.model.datagram_seconds
        self.busy_until = max(self.busy_until, now) + handled * cost
        for data, address in sent:
            send = partial(world.network.send, self.index, world.by_address[address], data)
            self.busy_until += cost
            if cost:
                world.clock.at(self.busy_until, send)
            else:
                send()
        for timed in (self.endpoint, self.node):
            if (timer := timed.timer()) is not None:
                self.wake(timer)

    def handle_events(self) -> None:
        """Tell the node what has happened; do its next task now and set the end by the model."""
        now = self.world.clock.now
        for event in self.endpoint.events():
            self.node.handle(event, now)
        if (task := self.node.poll()) is None:
            return
        self.node.started(now)
        outcome = task.outcome()

        def end() -> None:
            if self.alive:
                self.node.finished(outcome, self.world.clock.now)
                self.flush()

        self.world.clock.at(now + self.world.model.task_seconds(task), end)


class World:
    """All nodes, their network and their clock."""

    def __init__(self, job: Job, folder: Path, model: Model, progress: Progress) -> None:
        self.job = job
        self.folder = folder
        self.model = model
        self.progress = progress
        self.clock = Clock()
        self.hosts = [_Host(self, index) for index in range(job.nodes)]
        self.network = Network(
            job.link,
            job.nodes,
            self.clock,
            lambda receiver, sender, data: self.hosts[receiver].datagram(sender, data),
            seed=model.seed,
        )
        self.identities = job.identities()
        self.directory = [identity.public for identity in self.identities]
        self.addresses = {index: (f"node-{index}", 4433) for index in range(job.nodes)}
        self.by_address = {address: index for index, address in self.addresses.items()}
        self._struck: dict[int, float] = {}
        self._later = [strike for strike in job.strikes if strike.when == "begun"]
        """Strikes that wait for a node to begin."""

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
                log.write_text(json.dumps(host.endpoint.qlog()), encoding="utf-8")
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
            dropped_datagrams=self.network.dropped,
            lost_datagrams=self.network.lost,
        )

    def _step(self) -> None:
        if not self.clock.step() or self.clock.now > self.job.limit_seconds:
            raise PqchainError(
                f"the run did not end within {self.job.limit_seconds} s of its own clock; "
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
        host.alive = False
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
    return World(job, folder, model, progress).run()
