"""Delegates as nodes of `wire`: what they say goes over sessions, by any driver.

Node i is the delegate of rank i; those beyond the delegates are observers (`observer`), and each
gets final blocks from one delegate. Of two nodes the one with the lower number dials. Loss, delay
and partition are drawn as the model draws them, by the sender, for each message between delegates;
what is delayed is held back, what is lost is not sent.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pqchain.consensus.delegate.book import Book
from pqchain.consensus.delegate.conduct import HONEST, Conduct
from pqchain.consensus.delegate.core import CLASSES, Sending, Work
from pqchain.consensus.delegate.files import FileBook
from pqchain.consensus.delegate.observer import ObserverNode, server
from pqchain.consensus.delegate.peers import Peers
from pqchain.consensus.delegate.runner import Runner
from pqchain.consensus.delegate.setting import Given, Setting
from pqchain.consensus.network import SECOND
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import NEVER
from pqchain.errors import PqchainError
from pqchain.wire.node import Node, Task
from pqchain.wire.session import Event, Transport


def conduct(scenario: Scenario, rank: int) -> Conduct:
    """Return how the scenario lets a delegate behave."""
    faults = scenario.faults
    if rank not in faults.invalid and rank not in faults.equivocating:
        return HONEST
    return Conduct(
        invalid=rank in faults.invalid,
        double=rank in faults.equivocating,
        plotters=frozenset(faults.equivocating) - frozenset(faults.invalid),
    )


def nanoseconds(now: float) -> int:
    """Return a driver's time as whole nanoseconds."""
    return round(now * SECOND)


@dataclass(slots=True, eq=False)
class DelegateTask(Task):
    """Work of a delegate; `size` is the number of transactions in the block that is verified."""

    times: int = 1
    """How many times longer than others it takes: the work is done as often."""


class DelegateNode:
    """A delegate, its sessions, and what it tells of itself."""

    def __init__(self, index: int, transport: Transport, setting: Setting, book: Book) -> None:
        scenario = setting.scenario
        self.index, self.setting, self.book = index, setting, book
        self.error: PqchainError | None = None
        self.begun = False
        self.runner = Runner(
            setting, index, book, conduct=conduct(scenario, index), target=scenario.blocks
        )
        self._crashed = index in scenario.faults.crashed
        self._repeats = scenario.faults.slow_factor if index in scenario.faults.slow else 1
        self._side = setting.builder.side_of[setting.builder.nodes].tolist()
        others = range(index + 1, setting.count)
        self._observers = [
            number
            for number in range(setting.count, scenario.nodes)
            if server(setting, number) == index
        ]
        """Whom it gives its final blocks."""
        self._peers = Peers(
            index,
            transport,
            dials=frozenset([*others, *self._observers]),
            count=setting.count - 1 + len(self._observers),
            longest_bytes=setting.longest_bytes,
            refused=self.runner.refused,
        )
        self._held: list[tuple[int, int, int, bytes]] = []
        """What is delayed: until when, its number, for whom, and what."""
        self._count = 0
        self._working = False
        self._begun_ns = 0
        self.sent: list[list[int]] = [[0, 0] for _ in range(scenario.blocks)]
        """Messages and bytes by height."""
        self.finals: list[int] = []
        self.entered: list[int] = []

    # What a driver asks.

    @property
    def connected(self) -> bool:
        """Whether there is a channel to every other delegate, and to its observers."""
        return self._peers.connected

    @property
    def done(self) -> bool:
        """Whether all blocks are final here; a crashed delegate has nothing to do."""
        return self.error is not None or (self.begun and (self._crashed or self.runner.done))

    @property
    def progress(self) -> int:
        """How many blocks are final."""
        return self.runner.blocks

    def timer(self) -> float | None:
        """Return when it wants to be woken."""
        due = [self._peers.redial] if self._peers.redial is not None else []
        if self.begun and not self._crashed:
            waiting = self._held[0][0] if self._held else NEVER
            first = min(self.runner.timer(), waiting)
            due += [first / SECOND] if first < NEVER else []
        return min(due, default=None)

    def report(self) -> Mapping[str, Any]:
        """Return what it did: when it entered each height and had its block, in nanoseconds."""
        runner = self.runner
        return {
            "rank": self.index,
            "height": runner.blocks,
            "tip": runner.book.state.tip.hex(),
            "began_ns": self._begun_ns,
            "entered_ns": self.entered,
            "final_ns": self.finals,
            "views": runner.views,
            "sent": self.sent,
            "refused": dict(runner.refused),
        }

    # What a driver tells.

    def start(self, now: float) -> None:
        """Dial those with higher numbers."""
        self._peers.dial(now)

    def begin(self, now: float) -> None:
        """Begin the first height, or go on where the book ends."""
        self.begun, self._begun_ns = True, nanoseconds(now)
        if not self._crashed:
            self.runner.start(nanoseconds(now))
            self._after(nanoseconds(now))

    def handle(self, event: Event, now: float) -> None:
        """Handle a transport event."""
        came = self._peers.handle(event, now)
        if self._crashed or not came:
            return
        for peer, data in came:
            self.runner.receive(peer, data, nanoseconds(now))
        if self.begun:
            self._after(nanoseconds(now))

    def handle_timer(self, now: float) -> None:
        """Do what is due."""
        if self._peers.redial is not None and now >= self._peers.redial:
            self._peers.dial(now)
        if self.begun and not self._crashed:
            at = nanoseconds(now)
            while self._held and self._held[0][0] <= at:
                _, _, peer, data = heapq.heappop(self._held)
                self._put(peer, data)
            self.runner.wake(at)
            self._after(at)

    def poll(self) -> Task | None:
        """Return the next work of the delegate, one thing after the other."""
        if self._working or self._crashed or not self.begun:
            return None
        work = self.runner.poll()
        if work is None:
            return None
        self._working = True

        def run() -> tuple[Work, Any]:
            for _ in range(self._repeats - 1):
                work.run()
            return work, work.run()

        return DelegateTask(work.kind, work.transactions, run, times=self._repeats)

    def started(self, now: float) -> None:
        """Note that work begins."""

    def finished(self, outcome: Any, now: float) -> None:
        """Take what work gave."""
        self._working = False
        if isinstance(outcome, PqchainError):
            self.error = outcome
            return
        work, result = outcome
        try:
            work.done(result, nanoseconds(now))
        except PqchainError as error:
            self.error = error
            return
        self._after(nanoseconds(now))

    # The rest.

    def _after(self, now: int) -> None:
        """Send what the delegate says, and note how far it is."""
        runner = self.runner
        while len(self.entered) <= runner.blocks and not runner.done:
            self.entered.append(now)
        while len(self.finals) < runner.blocks:
            self.finals.append(now)
            for observer in self._observers:
                self._put(observer, runner.decided(len(self.finals) - 1))
        said, runner.out = runner.out, []
        for sending in said:
            self._say(sending, now)

    def _say(self, sending: Sending, now: int) -> None:
        """Send to one, or to all, the next rank first."""
        count = self.setting.count
        others = [(self.index + step) % count for step in range(1, count)]
        for peer in others if sending.to is None else [sending.to]:
            data, at = sending.for_(peer), now
            if sending.kind in CLASSES and self.setting.scenario.faults.any:
                cut = self._side[self.index] != self._side[peer]
                at = self.setting.disturbance(self.runner.height, self.runner.view).arrival(
                    CLASSES[sending.kind], self.index, peer, at=now - self._begun_ns, span=0,
                    cut=cut,
                ) + (self._begun_ns)  # fmt: skip
            if at >= NEVER:
                continue
            if at <= now:
                self._put(peer, data)
            else:
                self._count += 1
                heapq.heappush(self._held, (at, self._count, peer, data))

    def _put(self, peer: int, data: bytes) -> None:
        if self._peers.put(peer, data):
            sent = self.sent[min(self.runner.blocks, len(self.sent) - 1)]
            sent[0] += 1
            sent[1] += len(data)


def build(
    index: int,
    transport: Transport,
    folder: Path,
    *,
    scenario: Scenario,
    given: Given,
    setting: Setting | None = None,
) -> Node:
    """Make a node for a driver; with `setting` it shares that with others of its process."""
    setting = setting or Setting(scenario, remember=False, given=given)
    book = FileBook(folder, setting.pool.genesis, verifier=setting.verifier)
    if index >= setting.count:
        return ObserverNode(index, transport, setting, book)
    return DelegateNode(index, transport, setting, book)
