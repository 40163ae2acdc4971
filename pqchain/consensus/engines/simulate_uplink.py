"""Reference engine of the law "uplink", whose heights may overlap.

The delegates are those of `simulate`. A node has an uplink and a downlink. Messages from one node
to another are sent one after the other; messages of different pairs are sent at once, at the
max-min fair rates of Bertsekas and Gallager, Data Networks, 1992, section 6.5.2: the link with the
least capacity per message is divided equally among its messages, then the rest of the capacity is
divided likewise. Rates are whole bits per second, at least 1, and times whole nanoseconds, so that
both engines compute the same numbers.

The quorum's signatures may follow each quorum. In a pipeline a delegate enters the next height when
it has a quorum of votes for the block before; messages that reach it earlier wait until then.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import simpy

from pqchain.consensus.engines.simulate import (
    AFTER_REQUESTS,
    Simulation,
    call_at,
    check,
    run_until,
)
from pqchain.consensus.network import SECOND
from pqchain.consensus.view import BLOCK, COMMIT, NEVER, VOTE, Outcome, View

Pair = tuple[int, int]
"""Sender and receiver."""


CERTIFICATE = -1
"""Kind of a message with a quorum's signatures, which its receiver does not process."""

ORDER = {
    (BLOCK, False): 0,
    (VOTE, False): 1,
    (VOTE, True): 2,
    (COMMIT, False): 3,
    (COMMIT, True): 4,
}
"""Order of messages of one height that a delegate sends at once, by kind and whether it is the
certificate of that kind."""


def play(views: Sequence[View]) -> list[tuple[int, Outcome]]:
    """Simulate overlapping heights; return when each was started, and its outcome.

    The first view has absolute times; the `ready_ns` of the others counts from when their proposer
    enters. Raises UsageError if a view has too many messages for this engine.
    """
    for view in views:
        check(view)
    return _Chain(views).run()


class _Chain:
    def __init__(self, views: Sequence[View]) -> None:
        first = views[0]
        self.env = simpy.Environment(initial_time=0)
        uploads, downloads = (
            [rates[region] for region in first.regions.tolist()]
            for rates in (first.link_times.uploads, first.link_times.downloads)
        )
        self.links = SharedLinks(uploads, downloads)
        self.settles_ns = NEVER
        self.finishes_ns = NEVER
        self.heights: list[_Height] = []
        for number, view in enumerate(views):
            self.heights.append(_Height(self, number, view))
        self.deadline_ns = views[-1].deadline_ns

    def run(self) -> list[tuple[int, Outcome]]:
        for rank in range(self.heights[0].view.count):
            self.heights[0].enter(rank)
        run_until(self.env, self.deadline_ns)
        return [(height.started_ns, height.outcome()) for height in self.heights]

    def put(
        self, order: tuple[int, int], pair: tuple[int, int], bits: int, message: tuple[Any, ...]
    ) -> None:
        """Send a message now, and share the links anew after all sends of this nanosecond."""
        self.links.put(int(self.env.now), order, pair, bits, message)
        self._settle_later()

    def _settle_later(self) -> None:
        if self.settles_ns != self.env.now:
            self.settles_ns = int(self.env.now)
            call_at(self.env, self.settles_ns, self._settle, AFTER_REQUESTS)

    def _settle(self, _: simpy.Event) -> None:
        self.settles_ns = NEVER
        self.finishes_ns = self.links.settle(int(self.env.now))
        if self.finishes_ns < NEVER:
            call_at(self.env, self.finishes_ns, self._finish)

    def _finish(self, _: simpy.Event) -> None:
        # Rates may have changed since this event was scheduled, which makes it stale.
        if self.finishes_ns != self.env.now:
            return
        for (sender, receiver), (number, kind) in self.links.finish(int(self.env.now)):
            if kind != CERTIFICATE:
                self.heights[number].travel(kind, sender, receiver)
        self._settle_later()


class _Height(Simulation):
    """Simulation of one height, on the links and processors that all heights share."""

    def __init__(self, chain: _Chain, number: int, view: View) -> None:
        super().__init__(view, chain.env)
        self.chain, self.number = chain, number
        self.started_ns = 0 if number == 0 else NEVER
        self.entered = [False] * view.count
        # By receiver: (kind, sender) of messages that came before it entered the height.
        self.early: list[list[tuple[int, int]]] = [[] for _ in range(view.count)]
        if number:
            self.processors = chain.heights[0].processors
        else:
            # The service and its end are those of the height that the message belongs to.
            for processor in self.processors:
                processor.service = lambda at, *message: chain.heights[at].serve(*message)
                processor.on_end = lambda at, *message: chain.heights[at].end(*message)
        for rank in range(view.count):
            if self.alive[rank]:
                self.env.process(self._delegate(rank))

    def serve(self, kind: int, _: int, receiver: int) -> int:
        """Return the time to process a message in nanoseconds."""
        times = self.view.block_ns if kind == BLOCK else self.view.vote_ns
        return int(times[receiver])

    def end(self, kind: int, sender: int, receiver: int) -> None:
        """Act on a processed message."""
        if kind == BLOCK:
            self.has_block[receiver].succeed()
        elif self.equivocates[sender] or self.values[sender] == self.values[receiver]:
            self._count(kind, receiver)

    def enter(self, rank: int) -> None:
        """Let a delegate process messages of this height, and propose if it is its turn."""
        self.entered[rank] = True
        for kind, sender in self.early[rank]:
            self.processors[rank].put(self.now, self.number, kind, sender, rank)
        if rank == self.view.proposer and self.alive[rank]:
            self.started_ns = self.now
            call_at(self.env, self.now + self.view.ready_ns, self._propose)

    def _propose(self, _: simpy.Event) -> None:
        self.has_block[self.view.proposer].succeed()
        self._send(BLOCK, self.view.proposer)

    def travel(self, kind: int, sender: int, receiver: int) -> None:
        """Schedule the arrival of a message whose last bit has been sent now."""
        self._travel(kind, sender, receiver, sent_ns=self.now)

    def _arrive(self, at: int, kind: int, sender: int, receiver: int) -> None:
        call_at(self.env, at, partial(self._receive, kind, sender, receiver))

    def _receive(self, kind: int, sender: int, receiver: int, _: simpy.Event) -> None:
        if self.entered[receiver]:
            self.processors[receiver].put(self.now, self.number, kind, sender, receiver)
        else:
            self.early[receiver].append((kind, sender))

    def _send(self, kind: int, sender: int) -> None:
        self._put(ORDER[kind, False], self.view.link_times.bits[kind], kind, sender)

    def _put(self, order: int, bits: int, kind: int, sender: int) -> None:
        for receiver in range(self.view.count):
            if receiver != sender:
                message = self.number, kind
                self.chain.put((self.number, order), (sender, receiver), bits, message)

    def _on_quorum(self, kind: int, rank: int) -> None:
        if self.view.certificate_bits:
            self._put(ORDER[kind, True], self.view.certificate_bits, CERTIFICATE, rank)
        if self.view.phases == 2 and kind == VOTE and self.number + 1 < len(self.chain.heights):
            self.chain.heights[self.number + 1].enter(rank)


def fair_rates(
    pairs: Collection[Pair], uploads: list[int], downloads: list[int]
) -> dict[Pair, int]:
    """Return the max-min fair rate of the message of each pair, in bits per second.

    `uploads` and `downloads` are the capacities of each node's links.
    """
    left = [*uploads, *downloads]
    members: dict[int, set[Pair]] = defaultdict(set)
    for sender, receiver in pairs:
        members[sender].add((sender, receiver))
        members[len(uploads) + receiver].add((sender, receiver))
    rates: dict[Pair, int] = {}
    while members:
        # Of links with equal shares the first one is divided first: a division rounds down, so the
        # order matters in the last bit per second.
        bottleneck = min(members, key=lambda link: (left[link] // len(members[link]), link))
        share = max(1, left[bottleneck] // len(members[bottleneck]))
        for sender, receiver in list(members[bottleneck]):
            rates[sender, receiver] = share
            for link in (sender, len(uploads) + receiver):
                left[link] -= share
                members[link].discard((sender, receiver))
                if not members[link]:
                    del members[link]
    return rates


class SharedLinks:
    """Uplinks and downlinks of all nodes, with the messages that wait or are under way.

    At each time, first call `finish`, then `put` for every message that is sent at that time, then
    `settle`, which returns the time of the next `finish`.
    """

    def __init__(self, uploads: list[int], downloads: list[int]) -> None:
        """Take the bits per second that each node can send and receive."""
        self._uploads, self._downloads = uploads, downloads
        # By pair, heaps of (time, order, bits, message): what was sent at once has a fixed order.
        self._waiting: dict[Pair, list[tuple[int, tuple[int, int], int, Any]]] = defaultdict(list)
        self._active: dict[Pair, Any] = {}
        # Billionths of a bit, so that bits per second times nanoseconds are whole numbers.
        self._remaining: dict[Pair, int] = {}
        self._rates: dict[Pair, int] = {}
        self._now = 0

    def put(self, now: int, order: tuple[int, int], pair: Pair, bits: int, message: Any) -> None:
        """Send a message of so many bits; those of one pair and time are sent in their order."""
        heapq.heappush(self._waiting[pair], (now, order, bits, message))

    def finish(self, now: int) -> list[tuple[Pair, Any]]:
        """Return the messages whose last bit is sent by `now`, by sender and receiver."""
        self._progress(now)
        ended = sorted(pair for pair, remaining in self._remaining.items() if remaining <= 0)
        for pair in ended:
            del self._remaining[pair]
        return [(pair, self._active.pop(pair)) for pair in ended]

    def settle(self, now: int) -> int:
        """Start the messages whose pair is free; return when the next message is sent in full."""
        self._progress(now)
        for pair in [pair for pair, queue in self._waiting.items() if queue]:
            if pair not in self._active:
                _, _, bits, self._active[pair] = heapq.heappop(self._waiting[pair])
                self._remaining[pair] = bits * SECOND
        self._rates = fair_rates(self._active, self._uploads, self._downloads)
        ends = (now - -self._remaining[pair] // rate for pair, rate in self._rates.items())
        return min(ends, default=NEVER)

    def _progress(self, now: int) -> None:
        for pair in self._remaining:
            self._remaining[pair] -= self._rates[pair] * (now - self._now)
        self._now = now
