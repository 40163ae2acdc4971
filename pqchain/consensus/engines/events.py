"""Fast engine of the laws "host" and "uplink", event by event.

On "host" the processors of one computer run all delegates: a job is a message to handle or a vote
to sign, and all jobs of a delegate run on one processor. On "uplink" heights may overlap, and
messages share links: two matrices by sender and receiver, remaining bits and rates, which compiled
code updates at every change; `simulate` defines both.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pqchain.consensus.engines.rows import compiled
from pqchain.consensus.network import SECOND
from pqchain.consensus.view import BLOCK, COMMIT, NEVER, NO_BLOCK, VOTE, Array, Outcome, View

_EVENT, _START, _SETTLE = range(3)
"""Priorities within a nanosecond: arrivals and ends; jobs, which start after all arrivals; the
shared links, which need to know all messages that are sent."""

_VOTE_QUORUM, _COMMIT_QUORUM = 3, 4
"""Kinds of certificates, after those of `view`."""

_ORDER = (0, 1, 3, 2, 4)
"""Order of messages of one height that a delegate sends at once, by kind."""


class _Height:
    """State of one height, with the arrays of its view as lists, which are read faster."""

    def __init__(self, view: View) -> None:
        count = view.count
        self.view, self.started_ns = view, NEVER
        self.verified, self.prepared, self.final = ([NEVER] * count for _ in range(3))
        self.tally = [[0] * count for _ in range(3)]
        self.entered = [False] * count
        self.early: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self.values, self.willing = view.values.tolist(), view.willing.tolist()
        self.equivocates, self.sign_ns = view.equivocates.tolist(), view.sign_ns.tolist()
        handling_ns = view.link_times.handling_ns
        self.services = [
            (verify_ns + handling_ns[kind]).tolist()
            for kind, verify_ns in enumerate((view.block_ns, view.vote_ns, view.vote_ns))
        ]
        self.bits = (*view.link_times.bits, view.certificate_bits, view.certificate_bits)
        self.latency_ns = view.link_times.latency_ns.tolist()
        self.max_jitter_ns = view.link_times.max_jitter_ns.tolist()

    def outcome(self) -> Outcome:
        # Only gossip has times at which nodes were reached.
        return Outcome.before(self.view.deadline_ns, self.verified, self.prepared, self.final, [])


class EventSimulation:
    """Simulation of one view, or of heights that overlap; see `fast.play`."""

    def __init__(self, views: Sequence[View]) -> None:
        first = views[0]
        self.count, self.deadline_ns = first.count, first.deadline_ns
        self.alive, self.side = first.alive.tolist(), first.side.tolist()
        self.regions = first.regions.tolist()
        self.heights = [_Height(view) for view in views]
        self.now, self.number = 0, 0
        self.events: list[tuple[int, int, int, Callable[..., None], tuple[Any, ...]]] = []
        self.is_hosted = first.link_times.processors > 0
        processors = first.link_times.processors or self.count
        # By processor: heap of (arrival, height, kind, sender, rank), and whether it has a job.
        self.jobs: list[list[tuple[int, int, int, int, int]]] = [[] for _ in range(processors)]
        self.is_busy = [False] * processors
        self.links = None if self.is_hosted else _Links(first)
        self.settles_ns = self.finishes_ns = NEVER

    def run(self) -> list[tuple[int, Outcome]]:
        """Return when each height was started, and its outcome."""
        self.heights[0].started_ns = 0
        for rank in range(self.count):
            self._enter(0, rank)
        while self.events and self.events[0][0] < self.deadline_ns:
            self.now, _, _, call, arguments = heapq.heappop(self.events)
            call(*arguments)
        return [(height.started_ns, height.outcome()) for height in self.heights]

    def _at(self, time: int, call: Callable[..., None], *arguments: int, after: int = 0) -> None:
        self.number += 1
        heapq.heappush(self.events, (time, after, self.number, call, arguments))

    # Delegates.

    def _enter(self, number: int, rank: int) -> None:
        height = self.heights[number]
        height.entered[rank] = True
        for kind, sender in height.early[rank]:
            self._queue(number, kind, sender, rank)
        if rank == height.view.proposer and self.alive[rank]:
            height.started_ns = self.now
            self._at(self.now + height.view.ready_ns, self._propose, number, rank)

    def _propose(self, number: int, rank: int) -> None:
        self._send(number, BLOCK, rank)
        self._verified(number, rank)

    def _receive(self, number: int, kind: int, sender: int, rank: int) -> None:
        height = self.heights[number]
        if height.entered[rank]:
            self._queue(number, kind, sender, rank)
        else:
            height.early[rank].append((kind, sender))

    def _queue(self, number: int, kind: int, sender: int, rank: int) -> None:
        processor = rank % len(self.jobs)
        heapq.heappush(self.jobs[processor], (self.now, number, kind, sender, rank))
        if not self.is_busy[processor]:
            self._at(self.now, self._start, processor, after=_START)

    def _start(self, processor: int) -> None:
        if self.is_busy[processor] or not self.jobs[processor]:
            return
        self.is_busy[processor] = True
        _, number, kind, sender, rank = heapq.heappop(self.jobs[processor])
        height = self.heights[number]
        service = height.sign_ns[rank] if sender == rank else height.services[kind][rank]
        self._at(self.now + service, self._end, number, kind, sender, rank)

    def _end(self, number: int, kind: int, sender: int, rank: int) -> None:
        height, processor = self.heights[number], rank % len(self.jobs)
        if sender == rank:
            self._signed(number, kind, rank)
        elif kind == BLOCK:
            self._verified(number, rank)
        elif height.equivocates[sender] or height.values[sender] == height.values[rank]:
            self._count(number, kind, rank)
        self.is_busy[processor] = False
        if self.jobs[processor]:
            self._at(self.now, self._start, processor, after=_START)

    def _verified(self, number: int, rank: int) -> None:
        height = self.heights[number]
        height.verified[rank] = self.now
        if not height.view.phases and not height.view.all_to_all:
            height.final[rank] = self.now if height.willing[rank] else NEVER
            return
        self._check(number, rank)
        if height.willing[rank] or height.equivocates[rank]:
            self._sign(number, VOTE, rank)

    def _sign(self, number: int, kind: int, rank: int) -> None:
        """Sign a vote: on "host" as a job, otherwise in parallel with other work."""
        if self.is_hosted:
            self._queue(number, kind, rank, rank)
        else:
            sign_ns = self.heights[number].sign_ns[rank]
            self._at(self.now + sign_ns, self._signed, number, kind, rank)

    def _signed(self, number: int, kind: int, rank: int) -> None:
        # The vote of a delegate that equivocates counts at every receiver, but not at itself.
        if kind == COMMIT or self.heights[number].willing[rank]:
            self._count(number, kind, rank)
        self._send(number, kind, rank)

    def _count(self, number: int, kind: int, rank: int) -> None:
        self.heights[number].tally[kind][rank] += 1
        self._check(number, rank)

    def _check(self, number: int, rank: int) -> None:
        """Commit or finalize if there is a quorum: enough votes, and the block is verified."""
        height, view = self.heights[number], self.heights[number].view
        if height.verified[rank] == NEVER or height.values[rank] == NO_BLOCK:
            return
        votes, commits = (height.tally[kind][rank] >= view.quorum for kind in (VOTE, COMMIT))
        if view.phases == 2 and votes and height.prepared[rank] == NEVER:
            height.prepared[rank] = self.now
            self._send_certificate(number, _VOTE_QUORUM, rank)
            self._sign(number, COMMIT, rank)
            if number + 1 < len(self.heights):
                self._enter(number + 1, rank)
        if (commits if view.phases == 2 else votes) and height.final[rank] == NEVER:
            height.final[rank] = self.now
            kind = _COMMIT_QUORUM if view.phases == 2 else _VOTE_QUORUM
            self._send_certificate(number, kind, rank)

    # Links.

    def _send_certificate(self, number: int, kind: int, rank: int) -> None:
        if self.heights[number].view.certificate_bits:
            self._send(number, kind, rank)

    def _send(self, number: int, kind: int, sender: int) -> None:
        if self.links is None:
            for receiver in range(self.count):
                if receiver != sender and self.alive[receiver]:
                    # One nanosecond on the link, as `network.link_times` gives it.
                    self._travel(number, kind, sender, receiver, sent_ns=self.now + 1)
            return
        bits = self.heights[number].bits[kind]
        for receiver in range(self.count):
            if receiver != sender:
                entry = self.now, number, _ORDER[kind], kind, bits
                heapq.heappush(self.links.waiting[sender][receiver], entry)
                self.links.ready.add((sender, receiver))
        self._settle_later()

    def _settle_later(self) -> None:
        if self.settles_ns != self.now:
            self.settles_ns = self.now
            self._at(self.now, self._settle, after=_SETTLE)

    def _settle(self) -> None:
        assert self.links is not None
        self.settles_ns = NEVER
        self.finishes_ns = self.links.settle(self.now)
        if self.finishes_ns < NEVER:
            self._at(self.finishes_ns, self._finish, self.finishes_ns)

    def _finish(self, time: int) -> None:
        # Rates may have changed since this event was scheduled, which makes it stale.
        if time != self.finishes_ns:
            return
        assert self.links is not None
        self.finishes_ns = NEVER
        for sender, receiver, number, kind in self.links.finish(self.now):
            if kind <= COMMIT and self.alive[receiver]:
                self._travel(number, kind, sender, receiver, sent_ns=self.now)
        self._settle_later()

    def _travel(self, number: int, kind: int, sender: int, receiver: int, *, sent_ns: int) -> None:
        height, i, j = self.heights[number], self.regions[sender], self.regions[receiver]
        at = height.view.disturbance.arrival(
            kind, sender, receiver, at=sent_ns + height.latency_ns[kind][i][j],
            max_jitter_ns=height.max_jitter_ns[i][j],
            partitioned=self.side[sender] != self.side[receiver],
        )  # fmt: skip
        if at < NEVER:
            self._at(at, self._receive, number, kind, sender, receiver)


class _Links:
    """Messages that wait for the link of their pair, and those under way, as matrices."""

    def __init__(self, view: View) -> None:
        count, regions = view.count, view.regions
        self.waiting: list[list[list[tuple[int, int, int, int, int]]]] = [
            [[] for _ in range(count)] for _ in range(count)
        ]
        self.ready: set[tuple[int, int]] = set()
        """Pairs with a message that waits."""
        self.message: dict[tuple[int, int], tuple[int, int]] = {}
        self.remaining = np.zeros((count, count), dtype=np.int64)
        self.rates = np.zeros((count, count), dtype=np.int64)
        self.uploads = np.array(view.link_times.uploads, dtype=np.int64)[regions]
        self.downloads = np.array(view.link_times.downloads, dtype=np.int64)[regions]
        self.now = 0

    def finish(self, now: int) -> list[tuple[int, int, int, int]]:
        """Return sender, receiver, height and kind of the messages that are sent by `now`."""
        progress(self.remaining, self.rates, now - self.now)
        self.now = now
        ended = np.argwhere((self.rates > 0) & (self.remaining <= 0)).tolist()
        for sender, receiver in ended:
            self.rates[sender, receiver] = self.remaining[sender, receiver] = 0
        return [(i, j, *self.message.pop((i, j))) for i, j in ended]

    def settle(self, now: int) -> int:
        """Start the messages whose pair is free; return when the next one is sent in full."""
        progress(self.remaining, self.rates, now - self.now)
        self.now = now
        for pair in [pair for pair in self.ready if pair not in self.message]:
            sender, receiver = pair
            queue = self.waiting[sender][receiver]
            _, number, _, kind, bits = heapq.heappop(queue)
            self.message[pair] = number, kind
            self.remaining[pair] = bits * SECOND
            if not queue:
                self.ready.discard(pair)
        left = int(set_fair_rates(self.remaining, self.rates, self.uploads, self.downloads))
        return min(now + left, NEVER)


@compiled
def progress(remaining: Array, rates: Array, nanoseconds: int) -> None:
    """Subtract from the remaining bits (in billionths) what was sent in that time."""
    remaining -= rates * nanoseconds


@compiled
def set_fair_rates(remaining: Array, rates: Array, uploads: Array, downloads: Array) -> Any:
    """Set the max-min fair rates; return the nanoseconds until the next message is sent in full."""
    count = len(uploads)
    is_left = remaining > 0
    members = np.concatenate((is_left.sum(axis=1), is_left.sum(axis=0)))
    left = np.concatenate((uploads, downloads))
    rates[:] = 0
    while True:
        bottleneck, lowest = -1, np.int64(0)
        for link in range(2 * count):
            if members[link]:
                share = left[link] // members[link]
                if bottleneck < 0 or share < lowest:
                    bottleneck, lowest = link, share
        if bottleneck < 0:
            break
        lowest = max(lowest, np.int64(1))
        for other in range(count):
            i, j = (bottleneck, other) if bottleneck < count else (other, bottleneck - count)
            if is_left[i, j]:
                is_left[i, j] = False
                rates[i, j] = lowest
                left[i] -= lowest
                left[count + j] -= lowest
                members[i] -= 1
                members[count + j] -= 1
    ends = np.int64(NEVER)
    for i in range(count):
        for j in range(count):
            if rates[i, j]:
                ends = min(ends, -(-remaining[i, j] // rates[i, j]))
    return ends
