"""Fast engine: one view as integer arithmetic on nanoseconds, compiled by numba if installed.

When a delegate votes depends on the votes that its processor handles first, so the times of votes
are a fixed point: they are recomputed from a first guess until they no longer change. Because every
message takes at least one nanosecond, there is one fixed point only, and it is what the reference
engine computes event by event. Without numba the same is computed with numpy, row by row and more
slowly.

The law "host" is played by `hosted`, job by job. Gossip is a shortest-path problem from the
proposer, because the time of a message does not depend on other messages. The servers of the
delegates are in `rows`; `compiled` wraps numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pqchain.consensus import draws
from pqchain.consensus.engines import hosted
from pqchain.consensus.engines.compiled import HAS_NUMBA, arrival, below, compiled
from pqchain.consensus.engines.rows import Rows, queue
from pqchain.consensus.view import (
    BLOCK,
    COMMIT,
    NEVER,
    NO_BLOCK,
    VOTE,
    Array,
    Flags,
    Outcome,
    Overlay,
    View,
)
from pqchain.errors import PqchainError

_MAX_PASSES = 10_000
"""Maximum number of passes; at most 10 are usual, and contrived views need dozens."""


def play(view: View, *, compiled: bool | None = None) -> Outcome:
    """Play one view, with numba or numpy; by default with numba if it is installed.

    Raises PqchainError if `compiled` is true without numba, or if the times do not settle.
    """
    use = HAS_NUMBA if compiled is None else compiled
    if use and not HAS_NUMBA:
        raise PqchainError("numba is not installed; pip install numba, or compiled=False")
    if view.wires.processors:
        outcome = hosted.play(view)
    else:
        outcome = _serial(view) if view.serial_pair_ns else _quorums(view, use)
    return outcome.before(view.deadline_ns)


def _quorums(view: View, with_numba: bool) -> Outcome:
    """Iterate the times of votes and commits until they no longer change."""
    never = np.full(view.count, NEVER, dtype=np.int64)
    block, reached = _block(view, with_numba)
    rows = Rows(view, block, with_numba)
    void = view.values[view.proposer] == NO_BLOCK
    if not (view.phases > 0 or view.all_to_all):
        # No votes are sent: a delegate appends the block when it has verified it.
        alone = rows.alone()
        final = never if void else np.where(view.willing, alone, NEVER)
        return Outcome(alone, never, final, reached)
    voters = (view.willing | view.double) & view.alive
    verified, prepared = rows.alone(), never.copy()
    # Without commits, only votes that arrive before the block change when it is verified. Passes
    # compute that time alone until it is stable; one full pass then finds the quorums.
    brief = with_numba and view.phases < 2
    for _ in range(_MAX_PASSES):
        departs_vote = np.where(voters & (verified < NEVER), verified + view.sign_ns, NEVER)
        departs_commit = np.where(prepared < NEVER, prepared + view.sign_ns, NEVER)
        bases = _bases(view, departs_vote, departs_commit)
        again, quorum, final = rows.settle(bases, departs_vote, departs_commit, brief=brief)
        next_prepared = quorum if view.phases == 2 and not void else never
        stands = np.array_equal(again, verified) and np.array_equal(next_prepared, prepared)
        verified, prepared = again, next_prepared
        if stands and not brief:
            break
        brief = brief and not stands
    else:
        raise PqchainError(
            f"the times of {view.count} delegates did not settle in {_MAX_PASSES} passes; "
            "use engine='simpy' for this scenario and report it"
        )
    if void:
        final = never
    elif view.phases < 2:
        final = quorum
    return Outcome(verified, prepared, final, reached)


def _block(view: View, with_numba: bool) -> tuple[Array, Array]:
    """Return [delegate] and, for gossip, [node]: when the block arrives there or at the downlink.

    NEVER for crashed delegates.
    """
    reached = np.full(0 if view.overlay is None else view.overlay.nodes, NEVER, dtype=np.int64)
    block = np.full(view.count, NEVER, dtype=np.int64)
    if not view.alive[view.proposer]:
        return block, reached
    if view.overlay is not None:
        reached = _gossip(view, view.overlay, with_numba)
        block = reached[view.overlay.delegates]
    elif view.all_to_all:
        block[:] = view.leaves_ns
    else:
        receivers = np.arange(view.count)
        block = view.arrivals(BLOCK, view.proposer, receivers, base=view.leaves_ns)
        block[view.proposer] = view.leaves_ns
    return np.where(view.alive, block, NEVER), reached


def _gossip(view: View, overlay: Overlay, with_numba: bool) -> Array:
    """Return [node]: when it first receives the block."""
    wires, source = view.wires, int(overlay.delegates[view.proposer])
    if not with_numba:
        return _shortest_with_numpy(view, overlay, source)
    return _shortest(
        overlay.nodes, overlay.peers, np.uint64(overlay.key), source, view.leaves_ns,
        overlay.relay_ns, overlay.regions, wires.slot[BLOCK], wires.tail[BLOCK], wires.span,
        view.disturbance.plain(BLOCK), overlay.silent, overlay.side,
    )  # fmt: skip


def _shortest_with_numpy(view: View, overlay: Overlay, source: int) -> Array:
    """Compute shortest paths by relaxing all nodes that improved, until none does."""
    trouble, wires = view.disturbance, view.wires
    reached = np.full(overlay.nodes, NEVER, dtype=np.int64)
    reached[source] = view.leaves_ns
    changed = np.array([source])
    own = overlay.regions
    while len(changed):
        before = reached.copy()
        relay = np.where(changed == source, 0, overlay.relay_ns)
        for place in range(overlay.peers):
            ahead: Any = place
            if place and overlay.peers < overlay.nodes - 1:
                ahead = draws.below(overlay.key, changed, place, overlay.nodes - 1)
            peer = (changed + 1 + ahead) % overlay.nodes
            one, two = own[changed], own[peer]
            sent = before[changed] + relay + (place + 1) * wires.slot[BLOCK, one]
            at = trouble.arrivals(
                BLOCK,
                changed,
                place,
                at=sent + wires.tail[BLOCK, one, two],
                span=wires.span[one, two],
                cut=overlay.side[changed] != overlay.side[peer],
            )
            heard = ~overlay.silent[peer]
            np.minimum.at(reached, peer[heard], at[heard])
        changed = np.flatnonzero(reached < before)
    return reached


@compiled
def _shortest(
    nodes: int, peers: int, key: Any, source: int, leaves: int, relay_ns: int, regions: Array,
    slot: Array, tail: Array, span: Array, trouble: Any, silent: Flags, side: Flags,
) -> Array:  # fmt: skip
    """Compute shortest paths by relaxing waiting nodes in windows of time, the earliest first.

    A node whose time improves is relaxed again, so the result does not depend on the width of the
    window: at least the shortest hop, and at least a 256th of the longest.
    """
    others = nodes - 1
    shortest, longest = np.int64(NEVER), np.int64(0)
    for one in range(len(slot)):
        for two in range(len(slot)):
            hop = relay_ns + slot[one] + tail[one, two]
            shortest = min(shortest, hop)
            longest = max(longest, hop + (peers - 1) * slot[one] + span[one, two])
    width = max(shortest, longest // 256)
    reached = np.full(nodes, NEVER, dtype=np.int64)
    reached[source] = leaves
    waits = np.zeros(nodes, dtype=np.bool_)
    waiting = np.empty(nodes, dtype=np.int64)
    waiting[0], count = source, 1
    while count:
        end = reached[waiting[:count]].min() + width
        place = 0
        while place < count:
            node = waiting[place]
            now = reached[node]
            if now >= end:
                place += 1
                continue
            count -= 1
            waiting[place], waits[node] = waiting[count], False
            one = regions[node]
            start = now + (0 if node == source else relay_ns)
            for number in range(peers):
                peer = node + 1 + number
                if number and peers < others:
                    peer = node + 1 + below(key, node, number, others)
                if peer >= nodes:
                    peer -= nodes
                two = regions[peer]
                time = start + (number + 1) * slot[one] + tail[one, two]
                # Disturbances only delay, so a path that is later already needs no draws.
                if time >= reached[peer] or silent[peer]:
                    continue
                cut = side[node] != side[peer]
                time = arrival(trouble, node, number, time, span[one, two], cut)
                if time < reached[peer]:
                    reached[peer] = time
                    if not waits[peer]:
                        waiting[count], waits[peer] = peer, True
                        count += 1
    return reached


def _bases(view: View, votes: Array, commits: Array) -> Array:
    """Return [2, sender]: when its votes and commits start to be sent, in ns."""
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
    ready = np.concatenate([votes, commits])
    kinds = np.repeat([VOTE, COMMIT], count)
    senders = np.tile(np.arange(count), 2)
    # The shared channel serves requests by (time, kind, sender), after the block.
    order = np.lexsort((senders, kinds, ready))
    order = order[ready[order] < NEVER]
    held = wires.slot[kinds[order], 0] * (count - 1)
    channel_free = view.leaves_ns + int(slots[BLOCK, 0]) * (count - 1) if sends_block else 0
    bases = np.full(2 * count, NEVER, dtype=np.int64)
    bases[order] = queue(np.maximum(ready[order], channel_free), held) - held
    return bases.reshape(2, count)


def _serial(view: View) -> Outcome:
    """Play paper-serial: cumulative sums of the service times, sender by sender."""
    receivers = np.flatnonzero(view.alive)
    copies, latest = np.zeros((2, len(receivers)), dtype=np.int64)
    now = view.leaves_ns
    ends = np.cumsum(view.serial_pair_ns * view.slowness[receivers])
    senders = view.alive & (view.willing | view.double) & view.alive[view.proposer]
    for i in np.flatnonzero(senders):
        now += view.serial_sign_ns
        at = now + ends
        now = int(at[-1])
        cut = view.side[receivers] != view.side[i]
        there = view.disturbance.arrivals(VOTE, i, receivers, at=at, span=0, cut=cut)
        at = np.where(receivers == i, at, there)
        counted = (view.values[receivers] == view.values[i]) | view.double[i]
        counted &= at < NEVER
        copies += counted
        latest = np.where(counted, np.maximum(latest, at), latest)
    never = np.full(view.count, NEVER, dtype=np.int64)
    final = never.copy()
    if view.values[view.proposer] != NO_BLOCK:
        final[receivers] = np.where(copies >= len(receivers), latest, NEVER)
    return Outcome(final, never, final.copy(), np.zeros(0, dtype=np.int64))
