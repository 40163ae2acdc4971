"""Execution of delegates in virtual time: views start on an idle network, heights in lockstep.

`run` returns what `model.run` returns, computed by delegates that send real bytes, make and verify
real signatures and keep a chain. The clock, the network (`plain_network`) and the duration of work
are modelled, with the scenario's costs. Times equal those of the model to the nanosecond.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from pqchain.chain.block import header_of
from pqchain.chain.state import BlockRejected
from pqchain.consensus.builder import ModelBlock, ViewBuilder
from pqchain.consensus.model import PlayView, run_heights
from pqchain.consensus.runs import Run
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import BLOCK, NEVER, NO_BLOCK, Array, Outcome
from pqchain.delegates.actions import FaultBehaviour, SignatureTask
from pqchain.delegates.core import CLASSES, Delegate
from pqchain.delegates.messages import HEADER_BYTES, MessageKind, kind_of
from pqchain.delegates.plain_network import AFTER_ARRIVALS, PLAIN, EventQueue, PlainNetwork, Server
from pqchain.delegates.setting import Setting, transactions_of
from pqchain.delegates.stores import MemoryStore


def work_ns(builder: ViewBuilder, kind: str, transactions: int, message_class: int = BLOCK) -> int:
    """Return how long a kind of work takes on a delegate that is not slow, in nanoseconds."""
    scenario = builder.scenario
    if kind == "block" and not scenario.sends_block:
        return 0  # in all-to-all the copies are verified and timed instead
    if kind in ("block", "copy"):
        return builder.block_ns(transactions) + builder.height_ns * (kind == "block")
    if kind == "final block":  # an observer also verifies the quorum
        return builder.block_ns(transactions) + builder.certificate_ns
    if kind == "sign block":
        starts_ns = builder.height_ns * (message_class == BLOCK)
        return scenario.signed_blocks * builder.sign_ns + starts_ns
    vote_ns = builder.sign_ns if kind == "sign vote" else builder.known_verify_ns
    return scenario.signed_votes * vote_ns


@dataclass(slots=True, eq=False)
class CpuJob:
    """A task of a delegate on a processor of the shared computer."""

    delegate: Delegate
    work: SignatureTask | None = None
    """None until the message has been received."""
    message: tuple[int, bytes] | None = None
    """Sender and bytes of a message to receive first, if there is one."""


class LockstepSimulation:
    """Simulation of all delegates of a scenario, with their network and their clock."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.scenario = setting, setting.scenario
        self.builder, self.clock = setting.builder, EventQueue()
        self.network = PlainNetwork(self.builder, self.clock, self._deliver)
        self.delegates: list[Delegate | None] = [None] * setting.count
        for rank in np.flatnonzero(self.builder.alive).tolist():
            delegate = Delegate(
                setting,
                rank,
                MemoryStore(setting.pool.genesis),
                behaviour=FaultBehaviour.of(self.scenario.faults, rank),
            )
            delegate.is_echoed = setting.serial
            self.delegates[rank] = delegate
        self._signs_in_queue = setting.hosted
        """Whether signing waits for the processor; otherwise it runs in parallel."""
        self._processors = [
            Server(self.clock, self._start_job, self._finish_job)
            for _ in range(self.scenario.network.processors if setting.hosted else 0)
        ]
        """Processors of the computer that all nodes share; empty unless the law is "host"."""
        self._slowness: list[int] = self.builder.slowness.tolist()
        self._rank_at = {int(node): rank for rank, node in enumerate(self.builder.nodes)}
        self._is_scheduled = [False] * setting.count
        self._final: bytes | None = None
        """Final block of the height."""

    @property
    def live_delegates(self) -> list[Delegate]:
        """The delegates that have not crashed."""
        return [delegate for delegate in self.delegates if delegate is not None]

    def begin(self, block: ModelBlock) -> PlayView:
        """End the last height, and return a function that plays the views of the next one.

        Its block is appended at every delegate, even if it is not final there yet. If honest
        delegates have different blocks, one of them is used, because the model counts heights and
        not forks.
        """
        if self._final is not None:
            for delegate in self.live_delegates:
                store = delegate.store
                store.add_final(self._final, self.setting.after(store.state, self._final), b"")
        self._final = None
        return partial(self._view, block.height)

    def _view(self, height: int, attempt: int, proposer: int, now: int) -> tuple[Outcome, Array]:
        """Simulate one view; return its outcome, and the values of blocks that are final."""
        clock = self.clock
        # As in the model, nothing is carried over: each view starts on an idle network.
        clock.clear()
        clock.now = now
        self.network.begin(
            self.setting.disturbance(height, attempt), self.builder.overlay(relay_ns=0)
        )
        self._is_scheduled = [False] * self.setting.count
        for processor in self._processors:
            processor.clear()
        for delegate in self.live_delegates:
            delegate.reset()
            delegate.enter(height, attempt, now)
            # Only the proposer has a release time.
            if delegate.releases_ns < NEVER:
                clock.at(delegate.releases_ns, self._wake, delegate)
        deadline_ns = self.builder.deadline_ns(height, proposer, now=now)
        clock.run(deadline_ns)
        outcome = self._outcome(deadline_ns)
        values = np.full(self.setting.count, NO_BLOCK, dtype=np.int64)
        for delegate in self.live_delegates:
            rank, block = delegate.rank, delegate.block
            if self.builder.honest[rank] and outcome.final_ns[rank] < NEVER:
                assert block is not None
                self._final = self._final or block.data
                # The number by which the model identifies the block of a view.
                after = header_of(block.data).timestamp - delegate.store.state.timestamp
                values[rank] = after - 2
        return outcome, values

    def _outcome(self, deadline_ns: int) -> Outcome:
        verified, prepared, final = (
            [getattr(row, name, NEVER) for row in self.delegates]
            for name in ("verified_ns", "prepared_ns", "final_ns")
        )
        if self.setting.serial:
            # The server of paper-serial reports verified copies, and the last one decides.
            verified = final
        return Outcome.before(deadline_ns, verified, prepared, final, self.network.reached)

    def _wake(self, delegate: Delegate) -> None:
        delegate.wake(self.clock.now)
        self._flush(delegate)

    def _deliver(self, receiver: int, sender: int, data: bytes) -> None:
        delegate = self.delegates[receiver]
        assert delegate is not None
        if self._processors:
            self._put(CpuJob(delegate, message=(sender, data)), message_class(data), sender)
            return
        delegate.receive(sender, data, self.clock.now)
        self._schedule_work(delegate)

    def _put(self, job: CpuJob, message_class: int, sender: int) -> None:
        """Queue a job for the processor of its delegate, in order of arrival."""
        rank = job.delegate.rank
        processor = self._processors[rank % len(self._processors)]
        processor.put((self.clock.now, message_class, sender, rank), job)

    def _start_job(self, job: CpuJob) -> int:
        """Start a job; return its duration in nanoseconds."""
        handling_ns = 0
        if job.message is not None:
            sender, data = job.message
            handling_ns = self.network.handling_ns(message_class(data), len(data))
            job.delegate.receive(sender, data, self.clock.now)
            job.work = job.delegate.poll()
        assert job.work is not None
        return handling_ns + self._work_ns(job.delegate, job.work)

    def _work_ns(self, delegate: Delegate, work: SignatureTask) -> int:
        """Return how long a delegate takes for work in nanoseconds."""
        one_ns = work_ns(self.builder, work.kind, work.transactions, work.message_class)
        return self._slowness[delegate.rank] * one_ns

    def _finish_job(self, job: CpuJob) -> None:
        assert job.work is not None
        job.work.finish(job.work.run(), self.clock.now)
        self._flush(job.delegate)

    def _schedule_work(self, delegate: Delegate) -> None:
        """Schedule verification after all arrivals of this nanosecond."""
        # The inbox orders simultaneous messages by class and rank, so all must be in it first.
        if not self._is_scheduled[delegate.rank]:
            self._is_scheduled[delegate.rank] = True
            self.clock.at(self.clock.now, self._work, delegate, priority=AFTER_ARRIVALS)

    def _work(self, delegate: Delegate) -> None:
        self._is_scheduled[delegate.rank] = False
        if (work := delegate.poll()) is not None:
            self._start_work(delegate, work)

    def _start_work(self, delegate: Delegate, work: SignatureTask) -> None:
        # The times of paper-serial's server include signatures and verification.
        duration_ns = 0 if self.setting.serial else self._work_ns(delegate, work)
        self.clock.at(self.clock.now + duration_ns, self._finish_work, delegate, work)

    def _finish_work(self, delegate: Delegate, work: SignatureTask) -> None:
        work.finish(work.run(), self.clock.now)
        self._flush(delegate)
        self._schedule_work(delegate)

    def _flush(self, delegate: Delegate) -> None:
        """Start pending signatures, and send queued messages."""
        while delegate.signing:
            work = delegate.poll()
            assert work is not None
            if self._signs_in_queue:
                self._put(CpuJob(delegate, work), work.message_class, delegate.rank)
            else:
                self._start_work(delegate, work)
        queued, delegate.out = delegate.out, []
        for sending in queued:
            is_block = sending.kind is MessageKind.PROPOSAL
            if is_block and not self.scenario.sends_block:
                # The block is not a separate message here, so it takes no time to arrive.
                for other in self.live_delegates:
                    if other is not delegate:
                        self._deliver(other.rank, delegate.rank, sending.for_(other.rank))
            elif is_block and self.scenario.network.law == "gossip":
                node = int(self.builder.nodes[delegate.rank])
                self.network.spread(node, sending.for_(delegate.rank), self._receive_gossip)
            else:
                self.network.send(delegate.rank, sending)

    def _receive_gossip(self, node: int, data: bytes) -> int | None:
        """Deliver a gossip block to a node; return the verification time in ns, None if invalid."""
        # The header names the proposer as sender, whichever node forwards the block.
        rank, proposer = self._rank_at.get(node), int.from_bytes(data[5:8], "big")
        if rank == proposer:
            return 0
        if rank is not None:
            self._deliver(rank, -1, data)
        block = data[HEADER_BYTES : len(data) - self.setting.field_bytes(MessageKind.PROPOSAL)]
        try:
            self.setting.after(self.live_delegates[0].store.state, block)
        except BlockRejected:
            return None
        return self.builder.block_ns(transactions_of(block))


def run(scenario: Scenario, *, progress: bool = False) -> Run:
    """Run the delegates of a scenario; stop after a height that is not final.

    Raises UsageError for a scenario that can only be modelled, and Unsupported if its scheme is not
    available here.
    """
    simulation = LockstepSimulation(Setting(scenario))
    builder, load = simulation.builder, simulation.setting.load
    heights = run_heights(builder, load, simulation.begin, progress=progress)
    return Run(scenario=scenario, heights=heights, mode="virtual", transport=PLAIN)


def message_class(data: bytes) -> int:
    """Return the model's class of an encoded message."""
    kind = kind_of(data)
    assert kind is not None
    return CLASSES[kind]
