"""A replay on the virtual clock: every protocol byte and the codec are run, time is modelled.

All nodes live in this process. Datagrams of aioquic cross a modelled network; work such as
decoding is done at once, and its end is set on the clock by the rates of the scenario. Nothing
reads a real clock, so the same scenario gives the same result to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from pqchain.errors import PqchainError, Unsupported
from pqchain.reencode.outcome import NodeOutcome, Outcome
from pqchain.reencode.protocol.node import Node, Record
from pqchain.reencode.scenario import Fault, Scenario
from pqchain.reencode.storage import erasure, store
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire import identities
from pqchain.wire.drivers.link import Clock, Network
from pqchain.wire.session import Address
from pqchain.wire.transports.aioquic import AIOQUIC
from pqchain.wire.transports.quic import QuicEndpoint, write_qlog

Progress = Callable[[int], None]
"""Told how many more bytes of chunks have arrived."""


class _Host:
    """One node with its endpoint, and what the clock holds for them."""

    def __init__(self, world: World, index: int) -> None:
        self.index = index
        self.world = world
        self.alive = False
        self.inbox: list[tuple[int, bytes]] = []
        self.wake_at = float("inf")
        self.busy_until = 0.0
        self.generation = 0
        self.endpoint: QuicEndpoint
        self.node: Node

    def start(self, *, corrupt: bool = False, stall: bool = False) -> None:
        """Begin, or begin again after a restart, with nothing but the files."""
        world = self.world
        self.generation += 1
        self.alive = True
        self.inbox.clear()
        self.wake_at = float("inf")
        self.endpoint = QuicEndpoint(
            world.identities[self.index], world.directory, world.addresses, AIOQUIC,
            datagram_bytes=world.scenario.datagram_bytes, congestion=world.scenario.congestion,
            log=world.log,
        )  # fmt: skip
        chunks = ChunkStore(world.folder / str(self.index))
        self.node = Node(
            self.index, world.scenario, chunks, self.endpoint, corrupt=corrupt, stall=stall
        )
        self.node.start(world.clock.now)
        self.flush()

    def stop(self) -> None:
        """Die: say nothing more and hear nothing more."""
        self.alive = False
        self.generation += 1
        self.inbox.clear()

    def datagram(self, sender: int, data: bytes) -> None:
        """Take a datagram in, to be looked at a little later with those that follow it."""
        if not self.alive:
            return
        self.inbox.append((sender, data))
        self.wake(self.world.clock.now + self.world.scenario.link.coalescing_seconds)

    def wake(self, time: float) -> None:
        """Be called at that time, unless an earlier call is set already."""
        time = max(time, self.busy_until, self.world.clock.now)
        if time >= self.wake_at:
            return
        self.wake_at = time
        generation = self.generation

        def act() -> None:
            if self.alive and self.generation == generation and self.wake_at == time:
                self.wake_at = float("inf")
                self.act()

        self.world.clock.at(time, act)

    def act(self) -> None:
        """Look at what came, fire the timers that are due, and send."""
        now = self.world.clock.now
        came, self.inbox = self.inbox, []
        for sender, data in came:
            self.endpoint.receive(data, self.world.addresses[sender], now)
        timer = self.endpoint.timer()
        if timer is not None and timer <= now:
            self.endpoint.handle_timer(now)
        timer = self.node.timer()
        if timer is not None and timer <= now:
            self.node.handle_timer(now)
        self.flush(len(came))

    def flush(self, handled: int = 0) -> None:
        """Let events, tasks and datagrams out, and set the next call."""
        world, now = self.world, self.world.clock.now
        before = self.node.record.received_bytes
        for event in self.endpoint.events():
            self.node.handle(event, now)
        self.work()
        sent = self.endpoint.datagrams(now)
        for event in self.endpoint.events():
            self.node.handle(event, now)
        self.work()
        world.progress(self.node.record.received_bytes - before)
        cost = world.scenario.compute.datagram_seconds
        self.busy_until = max(self.busy_until, now) + handled * cost
        for data, address in sent:
            receiver = world.by_address[address]
            self.busy_until += cost
            if cost:
                leave = partial(world.network.send, self.index, receiver, data)
                world.clock.at(self.busy_until, leave)
            else:
                world.network.send(self.index, receiver, data)
        for timer in (self.endpoint.timer(), self.node.timer()):
            if timer is not None:
                self.wake(timer)

    def work(self) -> None:
        """Do the next task now and set its end by the modelled rate."""
        task = self.node.poll()
        if task is None:
            return
        now = self.world.clock.now
        self.node.started(now)
        generation = self.generation
        outcome = task.outcome()

        def end() -> None:
            if self.alive and self.generation == generation:
                self.node.finished(outcome, self.world.clock.now)
                self.flush()

        self.world.clock.at(now + self.world.scenario.compute.seconds(task.kind, task.size), end)


class World:
    """All nodes, their network and their clock."""

    def __init__(
        self,
        scenario: Scenario,
        folder: Path,
        *,
        progress: Progress = lambda count: None,
        log: bool = False,
    ) -> None:
        """Store the blocks before the failure, one chunk on each node, and connect nothing yet."""
        if scenario.mode != "virtual":
            raise Unsupported(f"the virtual clock runs virtual scenarios, not {scenario.mode}")
        self.scenario = scenario
        self.folder = folder
        self.progress = progress
        self.log = log
        self.clock = Clock()
        self.network = Network(
            scenario.link, scenario.nodes, self.clock,
            lambda receiver, sender, data: self.hosts[receiver].datagram(sender, data),
            seed=scenario.seed,
        )  # fmt: skip
        self.identities = identities.generate(scenario.nodes, algorithm=scenario.identity)
        self.directory = [identity.public for identity in self.identities]
        self.addresses: dict[int, Address] = {
            index: (f"node-{index}", 4433) for index in range(scenario.nodes)
        }
        self.by_address = {address: index for index, address in self.addresses.items()}
        self.hosts = [_Host(self, index) for index in range(scenario.nodes)]
        self._faults_set = False
        self._returning: set[int] = set()

    def run(self) -> Outcome:
        """Run until every living node of the plan is done. Raises the first node's error."""
        scenario, clock = self.scenario, self.clock
        jitter = np.random.default_rng([scenario.seed, 2]).uniform(
            0, scenario.jitter_seconds, scenario.nodes
        )
        kinds = {fault.node: fault.kind for fault in scenario.faults}
        for host, late in zip(self.hosts, jitter, strict=True):
            kind = kinds.get(host.index)
            begin = partial(host.start, corrupt=kind == "corrupt", stall=kind == "stall")
            clock.at(float(late), begin)
        while not all(host.alive and host.node.connected for host in self.hosts):
            self._step()
        origin = clock.now
        if scenario.experiment == "exchange":
            for host, late in zip(self.hosts, jitter, strict=True):
                clock.at(origin + float(late), partial(self._begin_exchange, host))
        else:
            failed = self.hosts[scenario.failed_node]
            clock.at(origin + scenario.failure_seconds, failed.stop)
        while not self._over():
            self._step()
        if self.log:
            for host in self.hosts:
                write_qlog(host.endpoint, self.folder / f"node-{host.index}.qlog")
        return self._outcome(origin)

    def _step(self) -> None:
        """Go on by one event."""
        if not self.clock.step() or self.clock.now > self.scenario.limit_seconds:
            raise PqchainError(
                f"the replay did not end within {self.scenario.limit_seconds} s of its own clock; "
                "raise limit_seconds (--limit-seconds), or use a faster link"
            )
        if not self._faults_set and self._gathering():
            self._faults_set = True
            for fault in self.scenario.faults:
                self.clock.at(self.clock.now + fault.after_seconds, partial(self._strike, fault))

    def _gathering(self) -> bool:
        """Return whether a node has begun."""
        return any(host.alive and host.node.record.begun is not None for host in self.hosts)

    def _begin_exchange(self, host: _Host) -> None:
        host.node.begin_exchange(self.clock.now)
        host.flush()

    def _strike(self, fault: Fault) -> None:
        """Let a fault happen; corrupting and stalling nodes do so from the start."""
        host = self.hosts[fault.node]
        if fault.kind in ("die", "restart"):
            host.stop()
        if fault.kind == "restart":
            self._returning.add(fault.node)

            def come_back() -> None:
                self._returning.discard(fault.node)
                host.start()
                if self.scenario.experiment == "exchange":
                    self._begin_exchange(host)

            self.clock.at(self.clock.now + fault.down_seconds, come_back)

    def _over(self) -> bool:
        """Return whether nobody has anything left to do."""
        if self._returning or (self.scenario.faults and not self._faults_set):
            return False
        living = [host for host in self.hosts if host.alive]
        return all(host.node.done for host in living)

    def _outcome(self, origin: float) -> Outcome:
        """Collect what the nodes have recorded."""
        nodes = []
        for host in self.hosts:
            record: Record = host.node.record
            nodes.append(
                NodeOutcome(
                    node=host.index,
                    state="dead" if not host.alive else "failed" if host.node.error else "done",
                    error=str(host.node.error or ""),
                    noticed_seconds=_since(record.noticed, origin + self.scenario.failure_seconds),
                    begun_seconds=_since(record.begun, origin),
                    seconds=dict(record.seconds),
                    work=dict(record.work),
                    wall_seconds=sum(record.seconds.values()),
                    cpu_seconds=float("nan"),
                    received_bytes=record.received_bytes,
                    wasted_bytes=record.wasted_bytes,
                    arrivals=tuple(record.arrivals),
                    verified_blocks=record.verified_blocks,
                    early_sessions=record.early_sessions,
                )
            )
        errors = [host.node.error for host in self.hosts if host.alive and host.node.error]
        return Outcome(
            scenario=self.scenario,
            nodes=tuple(nodes),
            span_seconds=_span([host.node.record for host in self.hosts if host.alive]),
            engine=erasure.ReedSolomon(*self.scenario.before, engine=self.scenario.engine).engine,
            identity=self.directory[0].algorithm,
            dropped_datagrams=self.network.dropped,
            lost_datagrams=self.network.lost,
            failure=errors[0] if errors else None,
        )


def _since(time: float | None, origin: float) -> float:
    """Return a time on the replay's own scale, NaN for what did not happen."""
    return float("nan") if time is None else time - origin


def _span(records: list[Record]) -> float:
    """Return how long it took from the first node's beginning to the last one's end."""
    begun = [record.begun for record in records if record.begun is not None]
    ended = [record.ended for record in records if record.ended is not None]
    return max(ended) - min(begun) if begun and ended else float("nan")


def prepare(scenario: Scenario, folder: Path, *, blocks: range | None = None) -> list[str]:
    """Store every block as one chunk on each node, as before the failure; return block hashes."""
    code = erasure.ReedSolomon(*scenario.before, engine=scenario.engine)
    members = tuple(range(scenario.nodes))
    hashes = []
    for number in blocks if blocks is not None else range(scenario.blocks):
        manifest, chunks = store.encode_block(
            scenario.block(number), code, epoch=1, members=members
        )
        for index, chunk in enumerate(chunks):
            held = ChunkStore(folder / str(index), synchronise=scenario.synchronise)
            held.put(manifest, index, chunk)
        hashes.append(manifest.block_hash)
    return hashes
