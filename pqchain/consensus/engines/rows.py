"""One pass of the fast engine: the messages of every delegate, and its downlink and processor.

A first-in first-out server is d = max(d, arrival) + service over the sorted arrivals. A row is one
receiver; rows are computed by compiled code, or one by one with numpy, with equal results. Compiled
code computes arrival times on use and never stores them, so memory grows with the number of
delegates and not with its square.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from pqchain.consensus.engines.compiled import arrival, compiled
from pqchain.consensus.view import BLOCK, COMMIT, NEVER, VOTE, Array, Flags, View

_PARALLEL_ROWS = 256
"""Number of delegates from which on threads compute rows; starting them takes about 0.2 ms."""


class Rows:
    """Rows of a view: received messages and the two servers of every delegate."""

    def __init__(self, view: View, block: Array, compiled: bool) -> None:
        self.view, self.block, self.compiled = view, block, compiled
        # These have the block from the start and need not verify it.
        self.has_block = (np.arange(view.count) == view.proposer) | view.all_to_all
        # Gossip delivers the block to the processor directly, without a downlink.
        self.down = view.wires.down if view.overlay is None else np.zeros(3, dtype=np.int64)

    def alone(self) -> Array:
        """Return [delegate]: when it would have verified the block without votes, in ns."""
        there = self.block + self.down[BLOCK] + self.view.wires.down_latency + self.view.block_ns
        work = np.where(self.has_block, self.block, there)
        return np.where(self.block < NEVER, work, NEVER)

    def settle(self, bases: Array, votes: Array, commits: Array, *, brief: bool) -> Array:
        """Return [3, delegate]: times of block verified, quorum of votes, quorum of commits.

        `bases`, [2, sender], is when votes and commits start to be sent; `votes` and `commits` are
        when delegates have signed their own. `brief` asks for the first row only, where that is
        cheaper.
        """
        if self.compiled:
            return self._compiled(bases, votes, commits, brief)
        out = np.full((3, self.view.count), NEVER, dtype=np.int64)
        for j in np.flatnonzero(self.view.alive):
            out[:, j] = self._row(int(j), bases, votes, commits)
        return out

    def _row(self, j: int, bases: Array, votes: Array, commits: Array) -> tuple[int, int, int]:
        """Compute the servers of one delegate with numpy; return its three times."""
        view, count = self.view, self.view.count
        block = NEVER if self.has_block[j] else int(self.block[j])
        senders = np.arange(count)
        messages = [
            np.where(
                (base < NEVER) & (senders != j), view.arrivals(kind, senders, j, base=base), NEVER
            )
            for kind, base in zip((VOTE, COMMIT), bases, strict=True)
        ]
        at = np.concatenate([[block], *messages])
        kind = np.concatenate([[BLOCK], np.repeat([VOTE, COMMIT], count)])
        # Stable over (block, votes, commits) by sender: equal times are served in that order.
        order = np.argsort(at, kind="stable")
        order = order[at[order] < NEVER]
        done = at[order]
        if self.down[BLOCK]:
            done = queue(done, self.down[kind[order]]) + view.wires.down_latency
        service = np.where(kind[order] == BLOCK, view.block_ns[j], view.vote_ns[j])
        done = queue(done, service)
        finished = np.full(2 * count + 1, NEVER, dtype=np.int64)
        finished[order] = done
        verified = int(self.block[j]) if self.has_block[j] else int(finished[0])
        if verified >= NEVER:
            return NEVER, NEVER, NEVER
        counted = (view.values == view.values[j]) | view.double
        results = []
        for part, own, departs in (
            (finished[1 : count + 1], bool(view.willing[j]), votes),
            (finished[count + 1 :], True, commits),
        ):
            times = np.where(counted, part, NEVER)
            times[j] = departs[j] if own else NEVER
            results.append(max(int(np.sort(times)[view.quorum - 1]), verified))
        return verified, results[0], results[1]

    def _compiled(self, bases: Array, votes: Array, commits: Array, brief: bool) -> Array:
        view, wires = self.view, self.view.wires
        out = np.full((3, view.count), NEVER, dtype=np.int64)
        has_commits = bool((bases[1] < NEVER).any())
        trouble = tuple(view.disturbance.plain(kind) for kind in (BLOCK, VOTE, COMMIT))
        arguments = (
            self.block, self.has_block, bases, votes, commits, view.regions, wires.slot,
            wires.tail, wires.span, wires.parallel, self.down, wires.down_latency, trouble,
            view.side, view.alive, view.values, view.willing, view.double, view.block_ns,
            view.vote_ns, view.quorum, has_commits, brief, out,
        )  # fmt: skip
        if view.count < _PARALLEL_ROWS:
            settle(0, view.count, *arguments)
            return out
        # Threads need no lock: each row writes to its own column of `out` only. There are more
        # parts than threads, because parts of equal size need not take equal time.
        processors = os.cpu_count() or 1
        edges = np.linspace(0, view.count, 4 * processors + 1).astype(int).tolist()
        with ThreadPoolExecutor(processors) as pool:
            list(pool.map(lambda start, end: settle(start, end, *arguments), edges, edges[1:]))
        return out


def queue(arrivals: Array, service: Any) -> Array:
    """Return when a first-in first-out server finishes each job; arrivals must ascend."""
    # d = max(d, arrival) + service, unrolled into a running maximum over cumulative sums.
    ends = np.cumsum(service)
    done: Array = np.maximum.accumulate(arrivals - (ends - service)) + ends
    return done


@compiled
def sort(values: Any, scratch: Any, heads: Any) -> None:
    """Sort in place by buckets, as many as values, and insertion; linear for even spreads.

    If one bucket gets more than 48 values, numpy's sort is used instead.
    """
    size = len(values)
    if size >= 64:
        low, high = values.min(), values.max()
        width = (high - low) // size + 1
        heads[: size + 1] = 0
        for value in values:
            heads[(value - low) // width + 1] += 1
        for place in range(1, size + 1):
            if heads[place] > 48:
                values.sort()
                return
            heads[place] += heads[place - 1]
        for value in values:
            bucket = (value - low) // width
            scratch[heads[bucket]] = value
            heads[bucket] += 1
        values[:] = scratch[:size]
    for place in range(1, size):
        value = values[place]
        at = place - 1
        while at >= 0 and values[at] > value:
            values[at + 1] = values[at]
            at -= 1
        values[at + 1] = value


@compiled
def settle(
    first: int, last: int,
    block: Array, has_block: Flags, bases: Array, votes: Array, commits: Array, regions: Array,
    slot: Array, tail: Array, span: Array, parallel: bool, down: Array, down_latency: int,
    trouble: Any, side: Flags, alive: Flags, values: Array, willing: Flags, double: Flags,
    block_ns: Array, vote_ns: Array, quorum: int, has_commits: bool, brief: bool, out: Array,
) -> None:  # fmt: skip
    """Fill out[0..2]: block verified, quorum of votes, quorum of commits; rows first to last - 1.

    If all votes count alike, they are sorted as bare times; otherwise by (time, kind, sender).
    """
    count = len(block)
    kinds = 2 if has_commits else 1
    alike = not has_commits and down[0] == 0
    for i in range(count):
        if values[i] != values[0] or double[i]:
            alike = False
    # Lower bound of the arrival of votes: a block before it is verified without any delay.
    soonest = bases[0].min() + slot[1].min() + tail[1].min()
    for j in range(first, last):
        if not alive[j]:
            continue
        if alike and brief and (has_block[j] or block[j] <= soonest or block[j] >= NEVER):
            if block[j] < NEVER:
                out[0, j] = block[j] + (0 if has_block[j] else block_ns[j])
            continue
        # Votes after the block cannot delay its verification.
        latest = block[j] if alike and brief else NEVER
        at = np.empty(1 + kinds * count, dtype=np.int64)
        label = np.empty(1 if alike else 1 + kinds * count, dtype=np.int64)
        size = 0
        if not has_block[j] and block[j] < NEVER and not alike:
            at[0], label[0] = block[j], 0
            size = 1
        two = regions[j]
        for kind in range(1, kinds + 1):
            disturbed = trouble[kind]
            for i in range(count):
                base = bases[kind - 1, i]
                if base >= NEVER or i == j:
                    continue
                one = regions[i]
                step = j - i if j > i else j - i + count
                time = base + tail[kind, one, two] + slot[kind, one] * (1 if parallel else step)
                cut = side[i] != side[j]
                time = arrival(disturbed, i, j, time, span[one, two], cut)
                if time >= latest:
                    continue
                at[size] = time
                if not alike:
                    label[size] = kind * count + i
                size += 1
        if alike:
            times = at[:size]
            sort(times, np.empty(size, dtype=np.int64), np.empty(size + 1, dtype=np.int64))
            own = votes[j] if willing[j] else np.int64(NEVER)
            _alike(times, block[j], has_block[j], own, block_ns[j], vote_ns[j], quorum, j, out)
            continue
        order = np.argsort(at[:size], kind="mergesort")
        link, processor = np.int64(0), np.int64(0)
        verified = block[j] if has_block[j] else NEVER
        # For votes and commits: the number counted, and the times of the last two of a quorum.
        counted = np.zeros(2, dtype=np.int64)
        ends = np.full((2, 2), NEVER, dtype=np.int64)
        ends[:, 0] = 0 if quorum == 1 else NEVER
        for index in order:
            time, kind = at[index], label[index] // count
            if down[0]:
                link = max(link, time) + down[kind]
                time = link + down_latency
            processor = max(processor, time) + (block_ns[j] if kind == 0 else vote_ns[j])
            if kind == 0:
                verified = processor
                continue
            i = label[index] - kind * count
            if values[i] == values[j] or double[i]:
                counted[kind - 1] += 1
                if quorum - 1 <= counted[kind - 1] <= quorum:
                    ends[kind - 1, counted[kind - 1] - quorum + 1] = processor
        if verified >= NEVER:
            continue
        out[0, j] = verified
        own = votes[j] if willing[j] else np.int64(NEVER)
        out[1, j] = max(verified, _with_own(ends[0, 0], ends[0, 1], own))
        if has_commits:
            out[2, j] = max(verified, _with_own(ends[1, 0], ends[1, 1], commits[j]))


@compiled
def _with_own(before: Any, at: Any, own: Any) -> Any:
    """Return when a quorum is reached with the delegate's own vote; without it, at `at`.

    A processor finishes votes in ascending order, so only the last two of a quorum matter: the own
    vote comes before both, between them, or too late to count.
    """
    return min(at, max(before, own))


@compiled
def _alike(
    times: Array, block: Any, has_block: Any, own: Any, block_ns: Any, vote_ns: Any, quorum: int,
    j: int, out: Array,
) -> None:  # fmt: skip
    """Serve sorted votes and the block, which comes first at equal times; find the quorum."""
    processor = np.int64(0)
    verified = block if has_block else NEVER
    waits = not has_block and block < NEVER
    before, reached = NEVER, NEVER
    if quorum == 1:
        before = 0
    for counted, time in enumerate(times, 1):
        if waits and block <= time:
            processor = max(processor, block) + block_ns
            verified, waits = processor, False
        processor = max(processor, time) + vote_ns
        if counted == quorum - 1:
            before = processor
        if counted == quorum:
            reached = processor
    if waits:
        verified = max(processor, block) + block_ns
    if verified < NEVER:
        out[0, j] = verified
        out[1, j] = max(verified, _with_own(before, reached, own))
