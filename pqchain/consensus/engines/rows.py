"""One pass of the fast engine, compiled by numba: messages, downlinks and processors of receivers.

A first-in first-out server is end = max(end, arrival) + service over the sorted arrivals. A row is
one receiver. Arrival times are computed on use and never stored, so memory grows with the number of
delegates and not with its square.

Only this module imports numba. Compiled code is cached on disk next to the module, or in the user's
cache if that folder is read-only, so it is compiled once per machine. It releases the interpreter's
lock, so plain threads run it in parallel. Numba's cache notices changes of the module only, not of
functions called from it: after a change of an inlined function or of `sort`, delete the
`__pycache__` folder.
"""

from __future__ import annotations

import os
from collections import namedtuple
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from pqchain.consensus import draws
from pqchain.consensus.view import BLOCK, COMMIT, NEVER, VOTE, Array, View

try:
    import numba
except ImportError:  # the extra `fast` is not installed; numpy is used instead
    HAS_NUMBA = False
else:
    HAS_NUMBA = True

_PARALLEL_ROWS = 256
"""Number of delegates from which on threads compute rows; starting them takes about 0.2 ms."""

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function, **options: Any) -> Function:
    """Compile a function with numba; without numba return it unchanged."""
    if not HAS_NUMBA:
        return function
    try:
        result: Function = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache is writable
        result = numba.njit(nogil=True, **options)(function)
    return result


def inlined(function: Function) -> Function:
    """Compile a function for inlining into its callers."""
    return compiled(function, inline="always")


draw_unsigned = inlined(draws.draw_unsigned)


@inlined
def integers_below(stream_key: Any, i: int, j: int, bound: int) -> Any:
    """Compute `draws.integers_below` for one pair (i, j)."""
    high = draw_unsigned(stream_key, i, j) >> np.uint64(32)
    return np.int64((high * np.uint64(bound)) >> np.uint64(32))


@inlined
def arrival(
    disturbance: Any, i: int, j: int, at: int, max_jitter_ns: int, partitioned: bool
) -> Any:
    """Compute `Disturbance.arrival`; `disturbance` is from `Disturbance.as_tuple(kind)`."""
    jitter, loss, loss_below, heal_ns = disturbance
    if loss_below and draw_unsigned(loss, i, j) < loss_below:
        return np.int64(NEVER)
    if max_jitter_ns:
        at += integers_below(jitter, i, j, max_jitter_ns)
    return max(at, heal_ns) if partitioned else at


_Fields = namedtuple(
    "_Fields",
    "block has_block regions send_ns latency_ns max_jitter_ns link_per_pair downlink_ns "
    "downlink_latency_ns disturbance side alive values willing equivocates block_ns vote_ns quorum",
)
"""Fields of a view and its `LinkTimes` for compiled code, which accepts no dataclasses."""


class Rows:
    """Queueing model of a view: the messages, downlink and processor of each receiver (row)."""

    def __init__(self, view: View) -> None:
        link_times = view.link_times
        # Gossip delivers the block to the processor directly, without a downlink.
        no_downlink = np.zeros(3, dtype=np.int64)
        fields: dict[str, Any] = {
            "block": np.full(view.count, NEVER, dtype=np.int64),
            # The proposer, and everyone in all-to-all, need not verify the block.
            "has_block": (np.arange(view.count) == view.proposer) | view.all_to_all,
            "downlink_ns": link_times.downlink_ns if view.overlay is None else no_downlink,
            "disturbance": tuple(map(view.disturbance.as_tuple, (BLOCK, VOTE, COMMIT))),
        }
        for name in set(_Fields._fields) - fields.keys():
            fields[name] = getattr(link_times if hasattr(link_times, name) else view, name)
        self.fields = _Fields(**fields)

    def send_block(self, proposer: int, ready_ns: int) -> None:
        """Let the proposer send the block to every delegate from `ready_ns` on."""
        _send_block(self.fields, proposer, ready_ns)

    def verified_without_votes(self) -> Array:
        """Return when each delegate would verify the block if no votes arrived, in ns."""
        rows = self.fields
        downlink = rows.downlink_ns[BLOCK] + rows.downlink_latency_ns
        verified = np.where(rows.has_block, 0, downlink + rows.block_ns) + rows.block
        return np.where(rows.block < NEVER, verified, NEVER)

    def compute(self, bases: Array, votes: Array, commits: Array, *, verified_only: bool) -> Array:
        """Return an array (3, delegates): times of verified block, vote quorum and commit quorum.

        `bases`, [2, sender], is when votes and commits start to be sent; `votes` and `commits` are
        when delegates have signed theirs. `verified_only` computes only the first row where that
        is cheaper.
        """
        count = len(self.fields.block)
        out = np.full((3, count), NEVER, dtype=np.int64)
        arguments = self.fields, bases, votes, commits, verified_only, self._shared(bases[0]), out
        if count < _PARALLEL_ROWS:
            compute_rows(0, count, *arguments)
            return out
        # Threads need no lock: each row writes to its own column of `out` only. There are more
        # parts than threads, because parts of equal size need not take equal time.
        processors = os.cpu_count() or 1
        edges = np.linspace(0, count, 4 * processors + 1).astype(int).tolist()
        with ThreadPoolExecutor(processors) as pool:
            list(
                pool.map(lambda start, end: compute_rows(start, end, *arguments), edges, edges[1:])
            )
        return out

    def _shared(self, sent: Array) -> Array:
        """Return the sorted arrivals of votes by region of the receiver; empty if receivers differ.

        They are the same for all receivers of a region, but for the own vote, if every pair has a
        link and nothing disturbs messages. Sorting them once makes a round of votes four times
        faster.
        """
        rows = self.fields
        _, _, loss_below, heal_ns = rows.disturbance[VOTE]
        is_split = heal_ns > 0 and rows.side.any() and not rows.side.all()
        is_random = loss_below or rows.max_jitter_ns.any()
        if is_split or is_random or not rows.link_per_pair:
            return np.empty((0, 0), dtype=np.int64)
        senders = np.flatnonzero(sent < NEVER)
        times = sent[senders] + rows.send_ns[VOTE, rows.regions[senders]]
        return np.sort(times + rows.latency_ns[VOTE][rows.regions[senders]].T, axis=1)


def queue(arrivals: Array, service: Any) -> Array:
    """Return when a first-in first-out server finishes each job; arrivals must ascend."""
    # end = max(end, arrival) + service, unrolled into a running maximum over cumulative sums.
    ends = np.cumsum(service)
    finished: Array = np.maximum.accumulate(arrivals - (ends - service)) + ends
    return finished


@compiled
def sort(values: Any, scratch: Any, heads: Any) -> None:
    """Sort in place by bucket sort and insertion sort; linear time for evenly spread values.

    There are as many buckets as values; if one gets more than 48, numpy's sort is used instead.
    """
    size = len(values)
    if size >= 64:
        low, high = values.min(), values.max()
        width = (high - low) // size + 1
        heads[: size + 1] = 0
        for value in values:
            heads[(value - low) // width + 1] += 1
        for index in range(1, size + 1):
            if heads[index] > 48:
                values.sort()
                return
            heads[index] += heads[index - 1]
        for value in values:
            bucket = (value - low) // width
            scratch[heads[bucket]] = value
            heads[bucket] += 1
        values[:] = scratch[:size]
    for index in range(1, size):
        value = values[index]
        at = index - 1
        while at >= 0 and values[at] > value:
            values[at + 1] = values[at]
            at -= 1
        values[at + 1] = value


@inlined
def _arrival_ns(rows: Any, kind: int, i: int, j: int, base: Any) -> Any:
    """Return when a message from i, sent to all from `base` on, arrives at j or its downlink."""
    sender_region, receiver_region = rows.regions[i], rows.regions[j]
    # One uplink sends the copies in turn; with a link per pair all leave at once.
    step = j - i if j > i else j - i + len(rows.regions)
    copies = 1 if rows.link_per_pair else step
    time = base + rows.latency_ns[kind, sender_region, receiver_region]
    time += rows.send_ns[kind, sender_region] * copies
    partitioned = rows.side[i] != rows.side[j]
    jitter = rows.max_jitter_ns[sender_region, receiver_region]
    return arrival(rows.disturbance[kind], i, j, time, jitter, partitioned)


@compiled
def _send_block(rows: Any, proposer: int, ready_ns: int) -> None:
    """Fill `rows.block` with the arrivals of the proposer's block."""
    for j in range(len(rows.block)):
        rows.block[j] = ready_ns if j == proposer else _arrival_ns(rows, 0, proposer, j, ready_ns)


@compiled
def compute_rows(
    first: int,
    last: int,
    rows: Any,
    bases: Array,
    votes: Array,
    commits: Array,
    verified_only: bool,
    shared: Array,
    out: Array,
) -> None:
    """Fill `out` with the result of `Rows.compute` for the delegates `first` to `last` - 1.

    If all votes count equally, only their times are sorted; otherwise (time, kind, sender).
    """
    block, has_block, values = rows.block, rows.has_block, rows.values
    equivocates, downlink_ns = rows.equivocates, rows.downlink_ns
    block_ns, vote_ns, quorum, willing = rows.block_ns, rows.vote_ns, rows.quorum, rows.willing
    has_commits = bases[1].min() < NEVER
    count = len(block)
    kinds = 2 if has_commits else 1
    uniform = not has_commits and downlink_ns[0] == 0
    for i in range(count):
        if values[i] != values[0] or equivocates[i]:
            uniform = False
    # Lower bound of the arrival of votes: a block before it is verified without any delay.
    earliest_vote = bases[0].min() + rows.send_ns[1].min() + rows.latency_ns[1].min()
    for j in range(first, last):
        if not rows.alive[j]:
            continue
        undelayed = has_block[j] or block[j] <= earliest_vote or block[j] >= NEVER
        if uniform and verified_only and undelayed:
            if block[j] < NEVER:
                out[0, j] = block[j] + (0 if has_block[j] else block_ns[j])
            continue
        # Votes after the block cannot delay its verification.
        latest = block[j] if uniform and verified_only else np.int64(NEVER)
        if uniform and len(shared):
            region = rows.regions[j]
            times = shared[region]
            if bases[0, j] < NEVER:
                own = bases[0, j] + rows.send_ns[1, region] + rows.latency_ns[1, region, region]
                at_own = np.searchsorted(times, own)
                times = np.concatenate((times[:at_own], times[at_own + 1 :]))
            times = times[: np.searchsorted(times, latest)]
            own_vote = votes[j] if willing[j] else np.int64(NEVER)
            _serve_uniform(
                times, block[j], has_block[j], own_vote, block_ns[j], vote_ns[j], quorum, j, out
            )
            continue
        at = np.empty(1 + kinds * count, dtype=np.int64)
        label = np.empty(1 if uniform else 1 + kinds * count, dtype=np.int64)
        size = 0
        if not has_block[j] and block[j] < NEVER and not uniform:
            at[0], label[0] = block[j], 0
            size = 1
        for kind in range(1, kinds + 1):
            for i in range(count):
                base = bases[kind - 1, i]
                if base >= NEVER or i == j:
                    continue
                time = _arrival_ns(rows, kind, i, j, base)
                if time >= latest:
                    continue
                at[size] = time
                if not uniform:
                    label[size] = kind * count + i
                size += 1
        if uniform:
            times = at[:size]
            sort(times, np.empty(size, dtype=np.int64), np.empty(size + 1, dtype=np.int64))
            own_vote = votes[j] if willing[j] else np.int64(NEVER)
            _serve_uniform(
                times, block[j], has_block[j], own_vote, block_ns[j], vote_ns[j], quorum, j, out
            )
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
            if downlink_ns[0]:
                link = max(link, time) + downlink_ns[kind]
                time = link + rows.downlink_latency_ns
            processor = max(processor, time) + (block_ns[j] if kind == 0 else vote_ns[j])
            if kind == 0:
                verified = processor
                continue
            i = label[index] - kind * count
            if values[i] == values[j] or equivocates[i]:
                counted[kind - 1] += 1
                if quorum - 1 <= counted[kind - 1] <= quorum:
                    ends[kind - 1, counted[kind - 1] - quorum + 1] = processor
        if verified >= NEVER:
            continue
        out[0, j] = verified
        own_vote = votes[j] if willing[j] else np.int64(NEVER)
        out[1, j] = max(verified, _with_own_vote(ends[0, 0], ends[0, 1], own_vote))
        if has_commits:
            out[2, j] = max(verified, _with_own_vote(ends[1, 0], ends[1, 1], commits[j]))


@compiled
def _with_own_vote(before: Any, at: Any, own_vote: Any) -> Any:
    """Return when a quorum is reached with the delegate's own vote; without that vote it is `at`.

    A processor finishes votes in ascending order, so only the last two of a quorum matter: the own
    vote comes before both, between them, or too late to count.
    """
    return min(at, max(before, own_vote))


@compiled
def _serve_uniform(
    times: Array, block: Any, has_block: Any, own_vote: Any, block_ns: Any, vote_ns: Any,
    quorum: int, j: int, out: Array,
) -> None:  # fmt: skip
    """Process sorted votes and the block (before votes of equal time); store times in `out`."""
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
        out[1, j] = max(verified, _with_own_vote(before, reached, own_vote))
