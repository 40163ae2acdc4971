"""Heights of CometBFT v0.40.0, message by message: gossip of a block's parts and of votes.

Each validator has a routine for each peer, which wakes once a poll interval and sends what the
peer is not known to have (consensus/reactor.go). A link carries one message after the other, so
copies delay what comes after them. Items are bits of an integer: the proposal, the block's parts,
prevotes, precommits.
"""

from __future__ import annotations

import heapq
import math
import random
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate, count
from typing import Any, NamedTuple


class Gossip(NamedTuple):
    """Validators, links, and lengths of the messages: a proposal, each part, a vote."""

    nodes: int
    quorum: int
    link_latency_seconds: float
    rate_bytes_per_second: float
    burst_bytes: float  # that pass an idle link at once
    poll_seconds: float
    flush_seconds: float
    commit_timeout_seconds: float
    sign_seconds: float
    verify_seconds: float
    block_seconds: float  # to verify the commit in a block and its transactions
    proposal_bytes: float
    part_bytes: tuple[float, ...]
    vote_bytes: float


class Heights:
    """Consecutive heights, whose first begins at once everywhere; phases of polls are drawn."""

    def __init__(self, gossip: Gossip, seed: int) -> None:
        self.gossip, self.draw, n = gossip, random.Random(seed), gossip.nodes
        self.proposers = random.Random(seed)  # The same ones whatever else is drawn.
        self.parts = 1 + len(gossip.part_bytes)
        self.data = (1 << self.parts) - 1
        self.prevotes = ((1 << n) - 1) << self.parts
        sizes = [gossip.proposal_bytes, *gossip.part_bytes, *[gossip.vote_bytes] * (2 * n)]
        # Packets of 1024 bytes have headers, and are in sealed frames.
        self.bytes = [1044 / 1024 * (size + 14 * (size // 1024 + 1)) for size in sizes]
        self.phases = [[self.draw.random() for _ in range(n)] for _ in range(n)]
        self.free = [[-math.inf] * n for _ in range(n)]
        self.begun, self.known_from = [0.0] * n, [-math.inf] * n

    def seconds(self) -> float:
        """Play a height; return the time from its proposal until the last validator commits."""
        gossip, n = self.gossip, self.gossip.nodes
        proposer = self.proposers.randrange(n)
        self.number = count()
        self.events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self.have, self.pending, self.step = [0] * n, [0] * n, [0] * n
        self.work, self.busy, self.shown = [-math.inf] * n, list(self.begun), [False] * n
        self.precommitted, self.commits = [math.inf] * n, [math.inf] * n
        self.sent, self.asleep = ([[value] * n for _ in range(n)] for value in (0, True))
        self.flush = [[-math.inf] * n for _ in range(n)]
        # What a validator announced, and what came over a link, by time: masks of items.
        self.told = [([-math.inf], [0]) for _ in range(n)]
        self.came = [[([-math.inf], [0]) for _ in range(n)] for _ in range(n)]
        for v in range(n):
            self._push(self.begun[v], self._go_on, v)
        began = self.begun[proposer]
        self._add_later(proposer, began + gossip.sign_seconds, self.data)
        while math.inf in self.commits:
            time, _, what, values = heapq.heappop(self.events)
            what(time, *values)
        delay = gossip.flush_seconds + gossip.link_latency_seconds
        self.begun = [time + gossip.commit_timeout_seconds for time in self.commits]
        self.known_from = [time + delay for time in self.commits]
        return max(self.commits) - began

    def _push(self, time: float, what: Callable[..., None], *values: Any) -> None:
        heapq.heappush(self.events, (time, next(self.number), what, values))

    def _receive(self, time: float, v: int, item: int) -> None:
        # One at a time; only the first copy is verified.
        if not (self.have[v] | self.pending[v]) >> item & 1:
            self.pending[v] |= 1 << item
            is_signed = item == 0 or item >= self.parts
            self.work[v] = max(self.work[v], time) + self.gossip.verify_seconds * is_signed
            self._push(self.work[v], self._add, v, 1 << item)

    def _add_later(self, v: int, time: float, items: int) -> None:
        self.busy[v] = time  # Until then it signs, and adds no others.
        self._push(time, self._add, v, items)

    def _add(self, time: float, v: int, items: int) -> None:
        if self.begun[v] <= time < self.busy[v]:
            self._push(self.busy[v], self._add, v, items)
            return
        self.have[v] |= items
        if items & ~self.data:
            self._tell(time, v, items)
            # The gossip routines see a proposal and its parts from the next vote on.
            if self.have[v] & 1 and not self.shown[v]:
                self.shown[v] = True
                items |= self.have[v]
        for peer, sent in enumerate(self.sent[v]):
            if items & ~sent and peer != v:
                self._wake_later(time, v, peer)
        self._go_on(time, v)

    def _tell(self, time: float, v: int, items: int) -> None:
        # Votes are announced when they come, the block when a quorum has voted for it.
        times, masks = self.told[v]
        times.append(time)
        masks.append(masks[-1] | items)
        later = time + self.gossip.flush_seconds
        self.flush[v] = [flush if flush >= time else later for flush in self.flush[v]]

    def _go_on(self, time: float, v: int) -> None:
        have, gossip, own = self.have[v], self.gossip, self.parts + v
        if self.data & ~have or time < max(self.begun[v], self.busy[v]) or self.step[v] == 3:
            return
        if (have & self.prevotes << gossip.nodes).bit_count() >= gossip.quorum:
            self.step[v], self.commits[v] = 3, time
        elif self.step[v] == 0:
            self.step[v] = 1
            self._add_later(v, time + gossip.block_seconds + gossip.sign_seconds, 1 << own)
        elif self.step[v] == 1 and (have & self.prevotes).bit_count() >= gossip.quorum:
            self.step[v], self.precommitted[v] = 2, time
            self._tell(time, v, self.data)
            self._add_later(v, time + gossip.sign_seconds, 1 << own + gossip.nodes)

    def _wake_later(self, time: float, v: int, peer: int) -> None:
        if self.asleep[v][peer]:
            self.asleep[v][peer] = False
            phase, poll = self.phases[v][peer], self.gossip.poll_seconds
            self._push((math.ceil(time / poll - phase) + phase) * poll, self._wake, v, peer)

    def _wake(self, time: float, v: int, peer: int) -> None:
        gossip, free, rate = self.gossip, self.free[v], self.gossip.rate_bytes_per_second
        self.asleep[v][peer] = True
        if time < self.known_from[peer]:
            return self._wake_later(self.known_from[peer], v, peer)
        # An announcement waits for the timer, and behind what its sender has sent.
        queue = max(0.0, self.free[peer][v] - time)
        before = time - gossip.link_latency_seconds - gossip.flush_seconds - queue
        (told, told_masks), (came, came_masks) = self.told[peer], self.came[peer][v]
        known = told_masks[bisect_right(told, before) - 1]
        known |= came_masks[bisect_right(came, time) - 1] | self.sent[v][peer]
        missing = self.have[v] & ~known & (-1 if self.shown[v] else ~self.data)
        if not missing:
            return None
        self.sent[v][peer] |= missing
        prevotes, precommits = (
            self._pick(missing & self.prevotes << number) for number in (0, gossip.nodes)
        )
        later = self.precommitted[peer] <= before
        votes = precommits + prevotes if later else prevotes + precommits
        data = [*self._pick(missing & 1), *self._pick(missing & self.data & ~1)]
        # The routines of data and of votes wake at the same time; chance decides who sends first.
        items = data + votes if self.draw.random() < 0.5 else votes + data
        if self.flush[v][peer] < time:
            self.flush[v][peer] = time + gossip.flush_seconds
        sums = list(accumulate(self.bytes[item] for item in items))
        full = sums[-1] // 65536 * 65536  # A full buffer is written before the timer.
        times, masks = self.came[v][peer]
        for item, total in zip(items, sums, strict=True):
            start = time if total <= full else self.flush[v][peer]
            free[peer] = max(free[peer], start - gossip.burst_bytes / rate)
            free[peer] += self.bytes[item] / rate
            times.append(max(start, free[peer]) + gossip.link_latency_seconds)
            masks.append(masks[-1] | 1 << item)
            if not (self.have[peer] | self.pending[peer]) >> item & 1:
                self._push(times[-1], self._receive, peer, item)
        return None

    def _pick(self, mask: int) -> list[int]:
        items = [item for item in range(mask.bit_length()) if mask >> item & 1]
        return self.draw.sample(items, len(items))
