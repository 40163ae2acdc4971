"""The compiled rows of the fast engine: every delegate's servers, one row per delegate.

A row is what one delegate receives: arrival times are computed where they are needed and never
kept, so memory grows with the number of delegates and not with its square.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pqchain.consensus.engines.compiled import compiled, drawn
from pqchain.consensus.view import NEVER, Array, Flags


@compiled()
def sort(values: Any, scratch: Any, heads: Any) -> None:
    """Sort in place: spread into as many buckets as values, then insert; linear where even.

    Where one bucket gets many values, numpy's sort takes over.
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


@compiled()
def settle(
    first: int, last: int,
    block: Array, has_block: Flags, bases: Array, votes: Array, commits: Array, regions: Array,
    slot: Array, tail: Array, span: Array, parallel: bool, down: Array, down_latency: int,
    keys: Any, below: Any, delay_ns: int, heal_ns: int, side: Flags, alive: Flags, values: Array,
    willing: Flags, double: Flags, block_ns: Array, vote_ns: Array, quorum: int,
    has_commits: bool, brief: bool, out: Array,
) -> None:  # fmt: skip
    """Fill out[0..2]: block verified, quorum of votes, quorum of commits; rows first to last - 1.

    If all votes are alike they are sorted as bare times; else by (time, kind, sender).
    """
    count = len(block)
    kinds = 2 if has_commits else 1
    alike = not has_commits and down[0] == 0
    for i in range(count):
        if values[i] != values[0] or double[i]:
            alike = False
    # No vote arrives before this.
    soonest = bases[0].min() + slot[1].min() + tail[1].min()
    for j in range(first, last):
        if not alive[j]:
            continue
        if alike and brief and (has_block[j] or block[j] <= soonest or block[j] >= NEVER):
            if block[j] < NEVER:
                out[0, j] = block[j] + (0 if has_block[j] else block_ns[j])
            continue
        latest = block[j] if alike and brief else NEVER
        at = np.empty(1 + kinds * count, dtype=np.int64)
        label = np.empty(1 if alike else 1 + kinds * count, dtype=np.int64)
        size = 0
        if not has_block[j] and block[j] < NEVER and not alike:
            at[0], label[0] = block[j], 0
            size = 1
        two = regions[j]
        for kind in range(1, kinds + 1):
            for i in range(count):
                base = bases[kind - 1, i]
                if base >= NEVER or i == j:
                    continue
                if below[0] and drawn(keys[1, kind], i, j) < below[0]:
                    continue
                one = regions[i]
                step = j - i if j > i else j - i + count
                time = base + tail[kind, one, two] + slot[kind, one] * (1 if parallel else step)
                if span[one, two]:
                    high = drawn(keys[0, kind], i, j) >> np.uint64(32)
                    late = (high * np.uint64(span[one, two])) >> np.uint64(32)
                    time += np.int64(late)
                if below[1] and drawn(keys[2, kind], i, j) < below[1]:
                    time += delay_ns
                if side[i] != side[j] and time < heal_ns:
                    time = heal_ns
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
        # Of votes and of commits: how many counted, and when the last two of a quorum did.
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


@compiled()
def _with_own(before: Any, at: Any, own: Any) -> Any:
    """Return when a quorum is reached with one's own vote; without it it was at `at`.

    A processor is done with votes in ascending order, so only the last two of a quorum matter:
    one's own vote comes before both, between them, or too late to count.
    """
    return min(at, max(before, own))


@compiled()
def _alike(
    times: Array, block: Any, has_block: Any, own: Any, block_ns: Any, vote_ns: Any, quorum: int,
    j: int, out: Array,
) -> None:  # fmt: skip
    """Serve sorted votes and the block, which goes first among equals; find the quorum."""
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
