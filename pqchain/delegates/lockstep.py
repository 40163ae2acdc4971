"""Delegates in modelled time: each view on an idle network, heights in lockstep.

`run` returns what `model.run` returns, computed by delegates that send real bytes, make and verify
real signatures and keep a chain. The clock, the network (`plain`) and the duration of work are
modelled, with the scenario's costs. Delegates and model are equal to the nanosecond.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from pqchain.chain.block import header_of
from pqchain.consensus.builder import Block, ViewBuilder
from pqchain.consensus.network import nanoseconds
from pqchain.consensus.runs import Height, Run, modelled_height
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import BLOCK, NEVER, Outcome
from pqchain.delegates.book import MemoryBook
from pqchain.delegates.conduct import HONEST, Conduct
from pqchain.delegates.core import CLASSES, Delegate, Work
from pqchain.delegates.messages import Kind, kind_of
from pqchain.delegates.plain import AFTER_ARRIVALS, PLAIN, Clock, Plain, Server
from pqchain.delegates.setting import Setting, transactions_of


class Prices:
    """Duration of a delegate's work, from the costs of the scenario."""

    def __init__(self, builder: ViewBuilder) -> None:
        scenario = builder.scenario
        self.verify_ns = nanoseconds(scenario.cost.verify_seconds)
        self.sign_ns = nanoseconds(scenario.sign_seconds)
        self.attested_ns = 0
        if scenario.proposal == "luck":
            self.attested_ns = nanoseconds(scenario.attestation_verify_seconds)
        self.threads = scenario.verification_threads
        self.transaction_ns, self.height_ns = builder.transaction_ns, builder.height_ns
        self.sends_block = scenario.sends_block
        votes = scenario.quorum if scenario.phases and scenario.signed_votes else 0
        self.certificate_ns = votes * self.verify_ns
        self.signed_blocks, self.signed_votes = scenario.signed_blocks, scenario.signed_votes

    def block_ns(self, transactions: int) -> int:
        """Return the time to verify a block in nanoseconds."""
        signatures = -(-transactions * self.verify_ns // self.threads)
        others = transactions * self.transaction_ns + self.attested_ns
        return signatures + self.signed_blocks * self.verify_ns + others

    def of(self, kind: str, transactions: int, order: int = BLOCK) -> int:
        """Return the time of a kind of work on a delegate that is not slow, in nanoseconds."""
        if kind == "block" and not self.sends_block:
            return 0  # in all-to-all the copies are verified and timed instead
        if kind in ("block", "copy"):
            return self.block_ns(transactions) + self.height_ns * (kind == "block")
        if kind == "final block":  # an observer also verifies the quorum
            return self.block_ns(transactions) + self.certificate_ns
        if kind == "sign block":
            return self.signed_blocks * self.sign_ns + self.height_ns * (order == BLOCK)
        return self.signed_votes * (self.sign_ns if kind == "sign vote" else self.verify_ns)


@dataclass(slots=True, eq=False)
class _Job:
    """A task of a delegate on a processor of the shared computer."""

    delegate: Delegate
    work: Work | None = None
    message: tuple[int, bytes] | None = None
    """Sender and bytes of a message to receive first, if there is one."""

    def __lt__(self, other: _Job) -> bool:
        return False


class Stage:
    """All delegates of a scenario, their network and their clock."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.scenario = setting, setting.scenario
        self.builder, self.clock = setting.builder, Clock()
        self.prices = Prices(setting.builder)
        faults = self.scenario.faults
        alive = self.builder.alive.tolist()
        plotters = frozenset(faults.equivocating) - frozenset(faults.invalid)
        self.plain = Plain(self.builder, self.clock, self._deliver)
        self.plain.up = alive
        self.delegates: list[Delegate | None] = [None] * setting.count
        for rank in np.flatnonzero(self.builder.alive).tolist():
            conduct = HONEST
            if rank in faults.invalid or rank in faults.equivocating:
                conduct = Conduct(
                    invalid=rank in faults.invalid,
                    double=rank in faults.equivocating,
                    plotters=plotters,
                )
            book = MemoryBook(setting.pool.genesis)
            live = sum(alive)
            delegate = Delegate(setting, rank, book, conduct=conduct, live=live)
            delegate.echoed = setting.serial
            self.delegates[rank] = delegate
        self._processors = [
            Server(self.clock, self._begun, self._done)
            for _ in range(self.scenario.network.processors if setting.hosted else 0)
        ]
        """Processors of the computer that all nodes share; empty unless the law is "host"."""
        self._slowness = self.builder.slowness.tolist()
        self._rank_at = {int(node): rank for rank, node in enumerate(self.builder.nodes)}
        self._woken = [False] * setting.count

    @property
    def living(self) -> list[Delegate]:
        """The delegates that have not crashed."""
        return [each for each in self.delegates if each is not None]

    def view(self, block: Block, attempt: int, *, now: int) -> tuple[Outcome, int]:
        """Simulate one view; return its outcome and its deadline (NEVER without a timeout)."""
        scenario, builder, clock = self.scenario, self.builder, self.clock
        proposer = self.setting.proposer(block.height, attempt)
        starts = now + self.setting.wait_ns(block.height, proposer)
        timeout = scenario.view_timeout_seconds
        deadline = NEVER if timeout is None else starts + nanoseconds(timeout)
        # As in the model, nothing is carried over: each view starts on an idle network.
        clock.clear()
        clock.now = now
        disturbance = self.setting.disturbance(block.height, attempt)
        self.plain.begin(disturbance, builder.overlay(0))
        self._woken = [False] * self.setting.count
        for processor in self._processors:
            processor.clear()
        for delegate in self.living:
            delegate.forget()
            delegate.enter(block.height, attempt, now)
            # Only the proposer has a release time.
            if delegate.releases_ns < NEVER:
                clock.at(delegate.releases_ns, self._wake, delegate)
        clock.run(deadline)
        return self._outcome().before(deadline), deadline

    def _outcome(self) -> Outcome:
        times = {}
        for name in ("verified_ns", "prepared_ns", "final_ns"):
            each = [NEVER if d is None else getattr(d, name) for d in self.delegates]
            times[name] = np.array(each, dtype=np.int64)
        if self.setting.serial:
            # The one server of paper-serial reports verified copies, and the last one decides.
            times["verified_ns"] = times["final_ns"].copy()
        return Outcome(**times, reached_ns=np.array(self.plain.reached, dtype=np.int64))

    def _wake(self, delegate: Delegate) -> None:
        delegate.wake(self.clock.now)
        self._let_out(delegate)

    def _deliver(self, receiver: int, sender: int, data: bytes) -> None:
        delegate = self.delegates[receiver]
        assert delegate is not None
        if self._processors:
            kind = kind_of(data)
            assert kind is not None
            job = _Job(delegate, message=(sender, data))
            self._put(job, CLASSES[kind], sender)
            return
        delegate.receive(sender, data, self.clock.now)
        self._work_later(delegate)

    def _put(self, job: _Job, order: int, sender: int) -> None:
        """Queue a job for the processor of its delegate, in order of arrival."""
        rank = job.delegate.rank
        processor = self._processors[rank % len(self._processors)]
        processor.put(self.clock.now, order, sender, rank, job)

    def _begun(self, job: _Job) -> int:
        """Start a job; return its duration in nanoseconds."""
        price = 0
        if job.message is not None:
            sender, data = job.message
            kind = kind_of(data)
            assert kind is not None
            price = self.plain.price_ns(CLASSES[kind], len(data))
            job.delegate.receive(sender, data, self.clock.now)
            job.work = job.delegate.poll()
        assert job.work is not None
        own = self.prices.of(job.work.kind, job.work.transactions, job.work.order)
        slowness: int = self._slowness[job.delegate.rank]
        return price + own * slowness

    def _done(self, job: _Job) -> None:
        assert job.work is not None
        job.work.done(job.work.run(), self.clock.now)
        self._let_out(job.delegate)

    def _work_later(self, delegate: Delegate) -> None:
        """Schedule verification after all arrivals of this nanosecond."""
        # The inbox orders simultaneous messages by class and rank, so all must be in it first.
        if not self._woken[delegate.rank]:
            self._woken[delegate.rank] = True
            self.clock.at(self.clock.now, self._work, delegate, priority=AFTER_ARRIVALS)

    def _work(self, delegate: Delegate) -> None:
        self._woken[delegate.rank] = False
        if (work := delegate.poll()) is not None:
            self._begin(delegate, work)

    def _begin(self, delegate: Delegate, work: Work) -> None:
        # The times of paper-serial's server include signatures and verification.
        price = 0 if self.setting.serial else self.prices.of(work.kind, work.transactions)
        price *= self._slowness[delegate.rank]
        self.clock.at(self.clock.now + price, self._end, delegate, work)

    def _end(self, delegate: Delegate, work: Work) -> None:
        work.done(work.run(), self.clock.now)
        self._let_out(delegate)
        self._work_later(delegate)

    def _let_out(self, delegate: Delegate) -> None:
        """Start pending signatures, and send queued messages."""
        while delegate.has_to_sign:
            work = delegate.poll()
            assert work is not None
            if self._processors:
                self._put(_Job(delegate, work=work), work.order, delegate.rank)
            else:
                self._begin(delegate, work)
        said, delegate.out = delegate.out, []
        for sending in said:
            if sending.kind is not Kind.PROPOSAL:
                self.plain.send(delegate.rank, sending)
            elif not self.scenario.sends_block:
                # The block is not a message of its own here, so it takes no time to arrive.
                for other in self.living:
                    if other is not delegate:
                        self._deliver(other.rank, delegate.rank, sending.for_(other.rank))
            elif self.scenario.network.law == "gossip":
                node = int(self.builder.nodes[delegate.rank])
                self.plain.spread(node, sending.for_(delegate.rank), self._relayed)
            else:
                self.plain.send(delegate.rank, sending)

    def _relayed(self, node: int, data: bytes) -> int | None:
        """Deliver a relayed block to a node; return its verification time, None if invalid."""
        # The header names the proposer as sender, whichever node relays the block.
        rank, body = self._rank_at.get(node), data[16:]
        proposer = int.from_bytes(data[5:8], "big")
        if rank == proposer:
            return 0
        if rank is not None:
            self._deliver(rank, -1, data)
        field = self.setting.field_bytes(Kind.PROPOSAL)
        body = body[: len(body) - field]
        valid = not self.setting.refuses(self.living[0].book.state, body)
        return self.prices.block_ns(transactions_of(body)) if valid else None

    def settle(self, data: bytes | None) -> None:
        """End a height: append its block at all delegates, also where it is not final yet.

        If honest delegates have different blocks, one of them is used, because the model counts
        heights and not forks.
        """
        if data is not None:
            for delegate in self.living:
                book = delegate.book
                # No proof is stored, because no delegate has to catch up here.
                book.append(data, self.setting.after(book.state, data), b"")


def run(scenario: Scenario, *, progress: bool = False) -> Run:
    """Run the delegates of a scenario; stop after a height that is not final.

    Raises UsageError for a scenario that can only be modelled, and Unsupported if its scheme is not
    available here.
    """
    setting = Setting(scenario)
    stage, now = Stage(setting), 0
    heights: list[Height] = []
    for number in tqdm(range(scenario.blocks), disable=not progress, unit="block"):
        block = setting.load.take(number, now=now)
        if block is None:
            break
        heights.append(_height(stage, block))
        now = heights[-1].ended_ns
        if not heights[-1].is_final:
            break
    return Run(scenario=scenario, heights=tuple(heights), mode="virtual", transport=PLAIN)


def _height(stage: Stage, block: Block) -> Height:
    """Run views until every live honest delegate has a final block."""
    scenario, builder = stage.scenario, stage.builder
    honest = builder.honest
    final = np.full(scenario.delegate_count, NEVER, dtype=np.int64)
    values: set[int] = set()
    outcomes: list[Outcome] = []
    now, rivals, data = block.starts_ns, 0, None
    for attempt in range(scenario.max_views):
        outcome, deadline = stage.view(block, attempt, now=now)
        outcomes.append(outcome)
        if attempt == 0 and scenario.proposal == "luck":
            winner = stage.setting.proposer(block.height, 0)
            rivals = builder.rivals(block.height, winner, outcome, now=now)
        ended = outcome.final_ns < NEVER
        for rank in np.flatnonzero(ended & honest).tolist():
            delegate = stage.delegates[rank]
            assert delegate is not None and delegate.held is not None
            data = data or delegate.held.data
            values.add(value(delegate))
        # A delegate keeps the time of the first view in which its block became final.
        final = np.where(ended & (final >= NEVER), outcome.final_ns, final)
        now = deadline
        if (final[honest] < NEVER).all() or now == NEVER:
            break
    stage.settle(data)
    return modelled_height(
        block, outcomes, final_ns=final, honest=honest, blocks=values, rivals=rivals
    )


def value(delegate: Delegate) -> int:
    """Return the model's number for a delegate's block of the view."""
    assert delegate.held is not None
    return header_of(delegate.held.data).timestamp - delegate.book.state.timestamp - 2
