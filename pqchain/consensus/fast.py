"""The fast engine: one view as arithmetic on whole nanoseconds, compiled by numba if it is there.

When a delegate votes depends on the votes that its processor handles first, so the times of votes
are a fixed point: they are computed from a guess until they do not change. Because every message
takes at least a nanosecond, there is one fixed point only, and it is what the reference engine
does event by event. Without numba the same is computed with numpy, row by row, and slower.

A first-in first-out server is d = max(d, arrival) + service over the sorted arrivals. Gossip is a
shortest path; nodes are taken in buckets of time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pqchain.consensus import draws
from pqchain.consensus.view import BLOCK, COMMIT, NEVER, VOTE, Array, Outcome, Overlay, View
from pqchain.errors import PqchainError

try:
    import numba
except ImportError:  # the extra `fast` is not installed; the numpy rows serve
    numba = None

_MAX_PASSES = 10_000
"""Passes until the times of votes must stand; at most 10 are usual, dozens contrived."""

_PARALLEL_ROWS = 256
"""From so many delegates on rows are played in parallel."""

_GOLDEN = np.uint64(draws.GOLDEN)
_FIRST = np.uint64(draws.FIRST)
_SECOND = np.uint64(draws.SECOND)


def is_compiled() -> bool:
    """Whether numba is there."""
    return numba is not None


def play(view: View, *, compiled: bool | None = None) -> Outcome:
    """Play one view. `compiled` asks for numba or for numpy; without it what there is."""
    use = is_compiled() if compiled is None else compiled
    if use and numba is None:
        raise PqchainError("numba is not installed; pip install 'pqchain[fast]', or compiled=False")
    if view.serial_pair_ns:
        return _serial(view).before(view.deadline_ns)
    return _quorums(view, use).before(view.deadline_ns)


def _quorums(view: View, compiled: bool) -> Outcome:
    """Iterate the times of votes and commits until they stand."""
    reached = np.zeros(0, dtype=np.int64)
    count = view.count
    never = np.full(count, NEVER, dtype=np.int64)
    block = never.copy()
    if view.alive[view.proposer]:
        if view.overlay is not None:
            reached = _gossip(view, view.overlay, compiled)
            block = reached[view.overlay.delegates]
        elif view.all_to_all:
            block = np.where(view.alive, view.leaves_ns, NEVER)
        else:
            block = _block_row(view)
    elif view.overlay is not None:
        reached = np.full(view.overlay.nodes, NEVER, dtype=np.int64)
    block = np.where(view.alive, block, NEVER)
    rows = _Rows(view, block, compiled)
    votes = view.phases > 0 or view.all_to_all
    voters = (view.willing | view.double) & view.alive
    verified, prepared = rows.alone(), never.copy()
    # With one kind of vote only those before the block matter until its times stand.
    brief = compiled and view.phases < 2
    for _ in range(_MAX_PASSES):
        departs_vote = np.where(voters & (verified < NEVER), verified + view.sign_ns, NEVER)
        departs_commit = np.where(prepared < NEVER, prepared + view.sign_ns, NEVER)
        bases = _bases(view, departs_vote if votes else never, departs_commit)
        again, quorum, final = rows.settle(bases, departs_vote, departs_commit, brief=brief)
        next_prepared = quorum if view.phases == 2 else never
        stands = np.array_equal(again, verified) and np.array_equal(next_prepared, prepared)
        verified, prepared = again, next_prepared
        if stands and not brief:
            break
        brief = brief and not stands
    else:
        raise PqchainError(
            f"the times of {count} delegates did not settle in {_MAX_PASSES} passes; "
            "use engine='simpy' for this scenario and report it"
        )
    if not votes:
        final = np.where(view.willing, verified, NEVER)
    elif view.phases < 2:
        final = quorum
    return Outcome(verified, prepared, final, reached)


def _bases(view: View, votes: Array, commits: Array) -> Array:
    """Return when each sender's votes and commits begin to be sent: [2, sender]."""
    wires, count = view.wires, view.count
    free = np.zeros(count, dtype=np.int64)
    sends_block = not view.all_to_all and view.overlay is None and view.alive[view.proposer]
    slots = wires.slot[:, view.regions]
    if not wires.shared:
        if not wires.parallel:
            slots = slots * (count - 1)
        if sends_block:
            free[view.proposer] = view.leaves_ns + slots[BLOCK, view.proposer]
        first = np.where(votes < NEVER, np.maximum(votes, free), NEVER)
        free = np.where(votes < NEVER, first + slots[VOTE], free)
        second = np.where(commits < NEVER, np.maximum(commits, free), NEVER)
        return np.stack([first, second])
    asked = np.concatenate([votes, commits])
    kinds = np.repeat(np.array([VOTE, COMMIT]), count)
    senders = np.tile(np.arange(count), 2)
    order = np.lexsort((senders, kinds, asked))
    order = order[asked[order] < NEVER]
    held = wires.slot[kinds[order], 0] * (count - 1)
    channel_free = view.leaves_ns + int(slots[BLOCK, 0]) * (count - 1) if sends_block else 0
    # d = max(d, asked) + held, all at once: exact, because these are whole numbers.
    before = np.cumsum(held) - held
    start = np.maximum(np.maximum.accumulate(asked[order] - before), channel_free) + before
    bases = np.full(2 * count, NEVER, dtype=np.int64)
    bases[order] = start
    return bases.reshape(2, count)


def _presented(view: View, kind: int, base: Array, j: int) -> Array:
    """Return when each sender's message reaches j or its downlink; NEVER for none."""
    wires, count, trouble = view.wires, view.count, view.disturbance
    senders = np.arange(count)
    own = view.regions
    slot = wires.slot[kind, own]
    step = (j - senders) % count
    offset = slot if wires.parallel else step * slot
    at = base + offset + wires.tail[kind, own, own[j]]
    span = wires.span[own, own[j]]
    if span.any():
        drawn = draws.draws(trouble.jitter[kind], senders, j) >> np.uint64(32)
        at = at + ((drawn * span.astype(np.uint64)) >> np.uint64(32)).astype(np.int64)
    if trouble.delay_below:
        drawn = draws.draws(trouble.delay[kind], senders, j)
        at = np.where(drawn < np.uint64(trouble.delay_below), at + trouble.delay_ns, at)
    at = np.where(view.side != view.side[j], np.maximum(at, trouble.heal_ns), at)
    lost = (base >= NEVER) | (senders == j)
    if trouble.loss_below:
        lost |= draws.draws(trouble.loss[kind], senders, j) < np.uint64(trouble.loss_below)
    return np.where(lost, NEVER, at)


def _block_row(view: View) -> Array:
    """Return when the proposer's block reaches each delegate or its downlink."""
    wires, count, trouble, i = view.wires, view.count, view.disturbance, view.proposer
    receivers = np.arange(count)
    own = view.regions[i]
    slot = wires.slot[BLOCK, own]
    step = (receivers - i) % count
    at = view.leaves_ns + (slot if wires.parallel else step * slot)
    at = at + wires.tail[BLOCK, own, view.regions]
    span = wires.span[own, view.regions].astype(np.uint64)
    drawn = draws.draws(trouble.jitter[BLOCK], i, receivers) >> np.uint64(32)
    at = at + ((drawn * span) >> np.uint64(32)).astype(np.int64)
    if trouble.delay_below:
        drawn = draws.draws(trouble.delay[BLOCK], i, receivers)
        at = np.where(drawn < np.uint64(trouble.delay_below), at + trouble.delay_ns, at)
    at = np.where(view.side != view.side[i], np.maximum(at, trouble.heal_ns), at)
    if trouble.loss_below:
        drawn = draws.draws(trouble.loss[BLOCK], i, receivers)
        at = np.where(drawn < np.uint64(trouble.loss_below), NEVER, at)
    at[i] = view.leaves_ns
    return at


class _Rows:
    """The rows of a view: what every delegate receives, and its two servers."""

    def __init__(self, view: View, block: Array, compiled: bool) -> None:
        self.view, self.block, self.compiled = view, block, compiled
        # These hold the block without having to verify it.
        self.has_block = np.zeros(view.count, dtype=np.bool_)
        self.has_block[view.proposer] = True
        if view.all_to_all:
            self.has_block[:] = True
        # The block comes through the downlink, unless it came by gossip.
        self.down = view.wires.down if view.overlay is None else np.zeros(3, dtype=np.int64)

    def alone(self) -> Array:
        """Return when each would have verified the block if there were no votes."""
        there = self.block + self.down[BLOCK] + self.view.wires.down_latency + self.view.block_ns
        work = np.where(self.has_block, self.block, there)
        return np.where(self.block < NEVER, work, NEVER)

    def settle(
        self, bases: Array, votes: Array, commits: Array, *, brief: bool
    ) -> tuple[Array, Array, Array]:
        """Return when each verified the block, had a quorum of votes, and one of commits.

        `brief` asks for the first only, where that can be had for less.
        """
        if self.compiled:
            return self._compiled(bases, votes, commits, brief)
        out = np.full((3, self.view.count), NEVER, dtype=np.int64)
        for j in np.flatnonzero(self.view.alive):
            out[:, j] = self._row(int(j), bases, votes, commits)
        return out[0], out[1], out[2]

    def _row(self, j: int, bases: Array, votes: Array, commits: Array) -> tuple[int, int, int]:
        """Play the servers of one delegate, with numpy."""
        view, count = self.view, self.view.count
        block = NEVER if self.has_block[j] else int(self.block[j])
        at = np.concatenate(
            [
                np.array([block]),
                _presented(view, VOTE, bases[0], j),
                _presented(view, COMMIT, bases[1], j),
            ]
        )
        kind = np.concatenate([[BLOCK], np.repeat([VOTE, COMMIT], count)])
        order = np.argsort(at, kind="stable")
        order = order[at[order] < NEVER]
        done = at[order]
        if self.down[BLOCK]:
            done = _queue(done, self.down[kind[order]]) + view.wires.down_latency
        service = np.where(kind[order] == BLOCK, view.block_ns[j], view.vote_ns[j])
        done = _queue(done, service)
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
            reached = int(np.sort(times)[view.quorum - 1]) if view.quorum <= count else NEVER
            results.append(max(reached, verified))
        return verified, results[0], results[1]

    def _compiled(
        self, bases: Array, votes: Array, commits: Array, brief: bool
    ) -> tuple[Array, Array, Array]:
        """Play the servers of all delegates with numba, rows in parallel."""
        view, trouble = self.view, self.view.disturbance
        wires = view.wires
        keys = np.array([trouble.jitter, trouble.loss, trouble.delay], dtype=np.uint64)
        below = np.array([trouble.loss_below, trouble.delay_below], dtype=np.uint64)
        out = np.full((3, view.count), NEVER, dtype=np.int64)
        has_commits = bool((bases[1] < NEVER).any())
        threads = numba.get_num_threads()
        # Waking threads costs more than a few rows take.
        numba.set_num_threads(threads if view.count >= _PARALLEL_ROWS else 1)
        _settle_rows(
            self.block, self.has_block, bases, votes, commits, view.regions, wires.slot,
            wires.tail, wires.span, wires.parallel, self.down, wires.down_latency, keys, below,
            trouble.delay_ns, trouble.heal_ns, view.side, view.alive, view.values, view.willing,
            view.double, view.block_ns, view.vote_ns, view.quorum, has_commits, brief, out,
        )  # fmt: skip
        numba.set_num_threads(threads)
        return out[0], out[1], out[2]


def _queue(arrivals: Array, service: Any) -> Array:
    """Return when a first-in first-out server is done with each; arrivals ascend."""
    ends = np.cumsum(service)
    done: Array = np.maximum.accumulate(arrivals - (ends - service)) + ends
    return done


def _serial(view: View) -> Outcome:
    """Play paper-serial: the sum of all grants so far, sender by sender."""
    count = view.count
    needed = int(view.alive.sum())
    copies = np.zeros(count, dtype=np.int64)
    latest = np.zeros(count, dtype=np.int64)
    now = view.leaves_ns
    receivers = np.flatnonzero(view.alive)
    ends = np.cumsum(view.serial_pair_ns * view.slowness[receivers])
    trouble = view.disturbance
    for i in range(count) if view.alive[view.proposer] else ():
        if not view.alive[i] or not (view.willing[i] or view.double[i]):
            continue
        now += view.serial_sign_ns
        at = now + ends
        now = int(at[-1])
        here = receivers != i
        if trouble.delay_below:
            drawn = draws.draws(trouble.delay[VOTE], i, receivers)
            late = (drawn < np.uint64(trouble.delay_below)) & here
            at = np.where(late, at + trouble.delay_ns, at)
        cut = view.side[receivers] != view.side[i]
        at = np.where(cut, np.maximum(at, trouble.heal_ns), at)
        good = (view.values[receivers] == view.values[i]) | view.double[i]
        if trouble.loss_below:
            drawn = draws.draws(trouble.loss[VOTE], i, receivers)
            good &= ~((drawn < np.uint64(trouble.loss_below)) & here)
        copies[receivers] += good
        latest[receivers] = np.where(good, np.maximum(latest[receivers], at), latest[receivers])
    final = np.where((copies >= needed) & (copies > 0), latest, NEVER)
    never = np.full(count, NEVER, dtype=np.int64)
    return Outcome(final, never, final.copy(), np.zeros(0, dtype=np.int64))


def _gossip(view: View, overlay: Overlay, compiled: bool) -> Array:
    """Return when each node first hears of the block."""
    trouble, wires = view.disturbance, view.wires
    source = int(overlay.delegates[view.proposer])
    if compiled:
        return np.asarray(
            _shortest(
                overlay.nodes, overlay.peers, source, view.leaves_ns, overlay.relay_ns,
                overlay.regions, wires.slot[BLOCK], wires.tail[BLOCK], wires.span,
                np.array(
                    [overlay.key, trouble.jitter[0], trouble.loss[0], trouble.delay[0]],
                    dtype=np.uint64,
                ),
                np.array([trouble.loss_below, trouble.delay_below], dtype=np.uint64),
                trouble.delay_ns, trouble.heal_ns, overlay.silent, overlay.side,
            )
        )  # fmt: skip
    return _shortest_with_numpy(view, overlay, source)


def _shortest_with_numpy(view: View, overlay: Overlay, source: int) -> Array:
    """Find the shortest paths by relaxing all nodes that improved, until none does."""
    trouble, wires = view.disturbance, view.wires
    reached = np.full(overlay.nodes, NEVER, dtype=np.int64)
    reached[source] = view.leaves_ns
    changed = np.array([source])
    own = overlay.regions
    while len(changed):
        before = reached.copy()
        relay = np.where(changed == source, 0, overlay.relay_ns)
        for place in range(overlay.peers):
            if place == 0:
                peer = (changed + 1) % overlay.nodes
            else:
                drawn = draws.draws(overlay.key, changed, place) >> np.uint64(32)
                peer = ((drawn * np.uint64(overlay.nodes)) >> np.uint64(32)).astype(np.int64)
            one, two = own[changed], own[peer]
            at = before[changed] + relay + (place + 1) * wires.slot[BLOCK, one]
            at = at + wires.tail[BLOCK, one, two]
            span = wires.span[one, two].astype(np.uint64)
            drawn = draws.draws(trouble.jitter[BLOCK], changed, place) >> np.uint64(32)
            at = at + ((drawn * span) >> np.uint64(32)).astype(np.int64)
            if trouble.delay_below:
                drawn = draws.draws(trouble.delay[BLOCK], changed, place)
                at = np.where(drawn < np.uint64(trouble.delay_below), at + trouble.delay_ns, at)
            cut = overlay.side[changed] != overlay.side[peer]
            at = np.where(cut, np.maximum(at, trouble.heal_ns), at)
            deaf = overlay.silent[peer]
            if trouble.loss_below:
                drawn = draws.draws(trouble.loss[BLOCK], changed, place)
                deaf = deaf | (drawn < np.uint64(trouble.loss_below))
            np.minimum.at(reached, peer[~deaf], at[~deaf])
        changed = np.flatnonzero(reached < before)
    return reached


def _compile(**options: Any) -> Any:
    """Return numba's decorator, or one that leaves the function alone where numba is missing."""
    if numba is None:
        return lambda function: function
    return numba.njit(cache=True, **options)


@_compile(inline="always")
def _drawn(family: Any, i: int, j: int) -> Any:
    """Return `draws.draw`, in unsigned numbers of 64 bits that wrap around."""
    value = family ^ ((np.uint64(i) << np.uint64(32)) | np.uint64(j))
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    value = (value ^ (value >> np.uint64(31))) + _GOLDEN
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@_compile()
def _sort(values: Any, scratch: Any, heads: Any) -> None:
    """Sort in place: spread into as many buckets as values, then insert; linear where even.

    Where one bucket gets many values, numpy's sort takes over.
    """
    size = len(values)
    if size < 64:
        for place in range(1, size):
            value = values[place]
            at = place - 1
            while at >= 0 and values[at] > value:
                values[at + 1] = values[at]
                at -= 1
            values[at + 1] = value
        return
    low, high = values.min(), values.max()
    width = (high - low) // size + 1
    heads[: size + 1] = 0
    for value in values:
        heads[(value - low) // width + 1] += 1
    crowded = False
    for place in range(1, size + 1):
        if heads[place] > 48:
            crowded = True
            break
        heads[place] += heads[place - 1]
    if crowded:
        values.sort()
        return
    for value in values:
        bucket = (value - low) // width
        scratch[heads[bucket]] = value
        heads[bucket] += 1
    for place in range(size):
        value = scratch[place]
        at = place - 1
        while at >= 0 and values[at] > value:
            values[at + 1] = values[at]
            at -= 1
        values[at + 1] = value


@_compile(parallel=True)
def _settle_rows(
    block, has_block, bases, votes, commits, regions, slot, tail, span, parallel, down,
    down_latency, keys, below, delay_ns, heal_ns, side, alive, values, willing, double, block_ns,
    vote_ns, quorum, has_commits, brief, out,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Fill out[0..2]: block verified, quorum of votes, quorum of commits; one row per delegate.

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
    for j in numba.prange(count):  # type: ignore[union-attr]
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
                if below[0] and _drawn(keys[1, kind], i, j) < below[0]:
                    continue
                one = regions[i]
                step = j - i if j > i else j - i + count
                time = base + tail[kind, one, two] + slot[kind, one] * (1 if parallel else step)
                if span[one, two]:
                    high = _drawn(keys[0, kind], i, j) >> np.uint64(32)
                    late = (high * np.uint64(span[one, two])) >> np.uint64(32)
                    time += np.int64(late)
                if below[1] and _drawn(keys[2, kind], i, j) < below[1]:
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
            _sort(times, np.empty(size, dtype=np.int64), np.empty(size + 1, dtype=np.int64))
            own = votes[j] if willing[j] else NEVER
            _alike(times, block[j], has_block[j], own, block_ns[j], vote_ns[j], quorum, j, out)
            continue
        order = np.argsort(at[:size], kind="mergesort")
        done = np.full(2 * count + count, NEVER, dtype=np.int64)
        link, processor = np.int64(0), np.int64(0)
        verified = block[j] if has_block[j] else NEVER
        for index in order:
            time, kind = at[index], label[index] // count
            if down[0]:
                link = max(link, time) + down[kind]
                time = link + down_latency
            processor = max(processor, time) + (block_ns[j] if kind == 0 else vote_ns[j])
            if kind == 0:
                verified = processor
            else:
                i = label[index] - kind * count
                if values[i] == values[j] or double[i]:
                    done[(kind - 1) * count + i] = processor
        if verified >= NEVER:
            continue
        out[0, j] = verified
        if willing[j]:
            done[j] = votes[j]
        done[count + j] = commits[j]
        if quorum <= count:
            out[1, j] = max(verified, np.sort(done[:count])[quorum - 1])
            if has_commits:
                out[2, j] = max(verified, np.sort(done[count : 2 * count])[quorum - 1])


@_compile()
def _alike(times, block, has_block, own, block_ns, vote_ns, quorum, j, out):  # type: ignore[no-untyped-def]
    """Serve sorted votes and the block, which goes first among equals; find the quorum."""
    processor = np.int64(0)
    verified = block if has_block else NEVER
    waits = not has_block and block < NEVER
    counted, reached = 0, NEVER
    own_counted = own >= NEVER
    for time in times:
        if waits and block <= time:
            processor = max(processor, block) + block_ns
            verified, waits = processor, False
        processor = max(processor, time) + vote_ns
        if not own_counted and own <= processor:
            own_counted = True
            counted += 1
            if counted == quorum:
                reached = own
        counted += 1
        if counted == quorum:
            reached = processor
    if waits:
        verified = max(processor, block) + block_ns
    if not own_counted:
        counted += 1
        if counted == quorum:
            reached = own
    if verified < NEVER:
        out[0, j] = verified
        out[1, j] = max(verified, reached)


@_compile()
def _shortest(
    nodes, peers, source, leaves, relay_ns, regions, slot, tail, span, keys, below, delay_ns,
    heal_ns, silent, side,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Relax nodes in the order of time, by buckets as wide as the shortest hop.

    A node whose time improves is taken again, so the result does not depend on the width. What is
    far ahead, delayed or held by a partition, waits in `far` until the buckets are empty.
    """
    reached = np.full(nodes, NEVER, dtype=np.int64)
    relayed = np.full(nodes, NEVER, dtype=np.int64)
    hop, longest = NEVER, np.int64(0)
    for one in range(len(slot)):
        for two in range(len(slot)):
            hop = min(hop, slot[one] + tail[one, two])
            most = relay_ns + peers * slot[one] + tail[one, two] + span[one, two]
            longest = max(longest, most)
    width = max(hop + relay_ns, longest // 65536 + 1)
    ring = longest // width + 2
    heads = np.full(ring, -1, dtype=np.int64)
    what = np.empty(nodes + 64, dtype=np.int64)
    link = np.empty(nodes + 64, dtype=np.int64)
    far = np.empty(64, dtype=np.int64)
    used, unused, waiting, distant = 1, -1, 1, 0
    reached[source] = leaves
    what[0], link[0], heads[0] = source, -1, 0
    bucket = 0
    while waiting or distant:
        if not waiting:
            soonest = NEVER
            for index in range(distant):
                if relayed[far[index]] != reached[far[index]]:
                    soonest = min(soonest, reached[far[index]])
            if soonest == NEVER:
                break
            bucket = (soonest - leaves) // width
            kept = 0
            for index in range(distant):
                node = far[index]
                if relayed[node] == reached[node]:
                    continue
                place = (reached[node] - leaves) // width
                if place - bucket >= ring:
                    far[kept] = node
                    kept += 1
                    continue
                if unused >= 0:
                    entry, unused = unused, link[unused]
                else:
                    if used == len(what):
                        what = np.concatenate((what, what))
                        link = np.concatenate((link, link))
                    entry, used = used, used + 1
                what[entry], link[entry] = node, heads[place % ring]
                heads[place % ring] = entry
                waiting += 1
            distant = kept
        entry = heads[bucket % ring]
        if entry < 0:
            bucket += 1
            continue
        heads[bucket % ring] = link[entry]
        node = what[entry]
        link[entry], unused = unused, entry
        waiting -= 1
        now = reached[node]
        if relayed[node] == now:
            continue
        relayed[node] = now
        one = regions[node]
        start = now + (0 if node == source else relay_ns)
        for number in range(peers):
            if number == 0:
                peer = node + 1 if node + 1 < nodes else 0
            else:
                high = _drawn(keys[0], node, number) >> np.uint64(32)
                peer = np.int64((high * np.uint64(nodes)) >> np.uint64(32))
            two = regions[peer]
            time = start + (number + 1) * slot[one] + tail[one, two]
            if time >= reached[peer] or silent[peer]:
                continue
            if below[0] and _drawn(keys[2], node, number) < below[0]:
                continue
            if span[one, two]:
                high = _drawn(keys[1], node, number) >> np.uint64(32)
                time += np.int64((high * np.uint64(span[one, two])) >> np.uint64(32))
            if below[1] and _drawn(keys[3], node, number) < below[1]:
                time += delay_ns
            if side[node] != side[peer] and time < heal_ns:
                time = heal_ns
            if time >= reached[peer]:
                continue
            reached[peer] = time
            place = (time - leaves) // width
            if place - bucket >= ring:
                if distant == len(far):
                    far = np.concatenate((far, far))
                far[distant] = peer
                distant += 1
                continue
            if unused >= 0:
                entry, unused = unused, link[unused]
            else:
                if used == len(what):
                    what = np.concatenate((what, what))
                    link = np.concatenate((link, link))
                entry, used = used, used + 1
            what[entry], link[entry] = peer, heads[place % ring]
            heads[place % ring] = entry
            waiting += 1
    return reached
