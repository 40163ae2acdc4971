"""Fast engine: computes one view in integer nanoseconds, compiled by numba.

When a delegate votes depends on the votes that its processor handles first, so the times of votes
are a fixed point: they are recomputed from a first guess until they are stable. Because every
message takes at least one nanosecond, there is one fixed point only, and it is what the reference
engine computes event by event. Without numba the same functions are interpreted, a hundred times
more slowly, which suffices for some hundreds of nodes.

The laws "host" and "uplink" are simulated by `events`, event by event. Gossip is a
shortest-path problem from the proposer, because the time of a message does not depend on other
messages. The servers of the delegates are in `rows`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pqchain.consensus.engines import events
from pqchain.consensus.engines.rows import Rows, arrival, compiled, integers_below, queue
from pqchain.consensus.view import (
    BLOCK,
    COMMIT,
    NEVER,
    NO_BLOCK,
    VOTE,
    Array,
    Flags,
    Outcome,
    View,
)
from pqchain.errors import PqchainError

_MAX_PASSES = 10_000
"""Maximum number of passes; at most 10 are usual, and contrived views need dozens."""


# Interpreted draws wrap around, too.
@np.errstate(over="ignore")
def play(*views: View) -> list[tuple[int, Outcome]]:
    """Simulate one view, or overlapping heights; return when each was started, and its outcome.

    The first view has absolute times; the `ready_ns` of the others counts from when their proposer
    enters. Raises PqchainError if the times of a view do not settle.
    """
    view = views[0]
    if view.link_times.uploads or view.link_times.processors:
        return events.EventSimulation(views).run()
    times = _serial(view) if view.serial_pair_ns else _quorums(view)
    return [(0, Outcome.before(view.deadline_ns, *times))]


def _quorums(view: View) -> tuple[Array, ...]:
    """Compute the times of votes and commits by iteration until they no longer change."""
    never = np.full(view.count, NEVER, dtype=np.int64)
    rows = Rows(view)
    reached = _send_block(view, rows)
    is_invalid = view.values[view.proposer] == NO_BLOCK
    if not (view.phases > 0 or view.all_to_all):
        # No votes are sent: a delegate appends the block when it has verified it.
        verified = rows.verified_without_votes()
        final = never if is_invalid else np.where(view.willing, verified, NEVER)
        return verified, never, final, reached
    voters = (view.willing | view.equivocates) & view.alive
    verified, prepared = rows.verified_without_votes(), never.copy()
    # Without commits, only votes that arrive before the block change when it is verified. Passes
    # compute only that time until it is stable; one full pass then finds the quorums.
    verified_only = view.phases < 2
    for _ in range(_MAX_PASSES):
        departs_vote = np.where(voters & (verified < NEVER), verified + view.sign_ns, NEVER)
        departs_commit = np.where(prepared < NEVER, prepared + view.sign_ns, NEVER)
        bases = _bases(view, departs_vote, departs_commit)
        next_verified, quorum, final = rows.compute(
            bases, departs_vote, departs_commit, verified_only=verified_only
        )
        next_prepared = quorum if view.phases == 2 and not is_invalid else never
        stable = np.array_equal(next_verified, verified) and np.array_equal(next_prepared, prepared)
        verified, prepared = next_verified, next_prepared
        if stable and not verified_only:
            break
        verified_only = verified_only and not stable
    else:
        raise PqchainError(
            f"the times of {view.count} delegates are not stable after {_MAX_PASSES} passes. "
            "Use engine='simpy' for this scenario, and report this error."
        )
    if is_invalid:
        final = never
    elif view.phases < 2:
        final = quorum
    return verified, prepared, final, reached


def _send_block(view: View, rows: Rows) -> Array:
    """Set when the block arrives at each delegate (or its downlink), NEVER at crashed ones.

    Return when it arrives at each node by gossip.
    """
    block = rows.fields.block
    reached = np.full(0 if view.overlay is None else view.overlay.nodes, NEVER, dtype=np.int64)
    if not view.alive[view.proposer]:
        return reached
    if (overlay := view.overlay) is not None:
        times = view.link_times
        reached = _shortest(
            overlay.nodes, overlay.peers, np.uint64(overlay.key),
            overlay.delegates[view.proposer], view.ready_ns, overlay.relay_ns, overlay.regions,
            times.send_ns[BLOCK], times.latency_ns[BLOCK], times.max_jitter_ns,
            view.disturbance.as_tuple(BLOCK), overlay.silent, overlay.side,
        )  # fmt: skip
        block[:] = reached[overlay.delegates]
    elif view.all_to_all:
        block[:] = view.ready_ns
    else:
        rows.send_block(view.proposer, view.ready_ns)
    block[~view.alive] = NEVER
    return reached


@compiled
def _shortest(
    nodes: int, peers: int, key: Any, source: int, ready_ns: int, relay_ns: int, regions: Array,
    send_ns: Array, latency_ns: Array, max_jitter_ns: Array, disturbance: Any, silent: Flags,
    side: Flags,
) -> Array:  # fmt: skip
    """Return when each node first receives the block, by shortest paths as in delta-stepping.

    A node whose time improves is visited again, so the result does not depend on the width of the
    time window: at least the shortest hop, and at least a 256th of the longest.
    """
    others = nodes - 1
    shortest, longest = np.int64(NEVER), np.int64(0)
    for sender_region in range(len(send_ns)):
        for receiver_region in range(len(send_ns)):
            hop = relay_ns + send_ns[sender_region] + latency_ns[sender_region, receiver_region]
            shortest = min(shortest, hop)
            last = hop + (peers - 1) * send_ns[sender_region]
            longest = max(longest, last + max_jitter_ns[sender_region, receiver_region])
    width = max(shortest, longest // 256)
    reached = np.full(nodes, NEVER, dtype=np.int64)
    reached[source] = ready_ns
    waits = np.zeros(nodes, dtype=np.bool_)
    waiting = np.empty(nodes, dtype=np.int64)
    waiting[0], count = source, 1
    while count:
        end = reached[waiting[:count]].min() + width
        index = 0
        while index < count:
            node = waiting[index]
            now = reached[node]
            if now >= end:
                index += 1
                continue
            count -= 1
            waiting[index], waits[node] = waiting[count], False
            sender_region = regions[node]
            start = now + (0 if node == source else relay_ns)
            for number in range(peers):
                peer = node + 1 + number
                if number and peers < others:
                    peer = node + 1 + integers_below(key, node, number, others)
                if peer >= nodes:
                    peer -= nodes
                receiver_region = regions[peer]
                time = start + (number + 1) * send_ns[sender_region]
                time += latency_ns[sender_region, receiver_region]
                # Disturbances only delay, so a path that is later already needs no draws.
                if time >= reached[peer] or silent[peer]:
                    continue
                jitter = max_jitter_ns[sender_region, receiver_region]
                partitioned = side[node] != side[peer]
                time = arrival(disturbance, node, number, time, jitter, partitioned)
                if time < reached[peer]:
                    reached[peer] = time
                    if not waits[peer]:
                        waiting[count], waits[peer] = peer, True
                        count += 1
    return reached


def _bases(view: View, votes: Array, commits: Array) -> Array:
    """Return when each sender starts to send its vote (row 0) and its commit (row 1), in ns."""
    link_times, count = view.link_times, view.count
    free = np.zeros(count, dtype=np.int64)
    sends_block = not view.all_to_all and view.overlay is None and view.alive[view.proposer]
    send_ns = link_times.send_ns[:, view.regions]
    if not link_times.shared_channel:
        if not link_times.link_per_pair:
            send_ns = send_ns * (count - 1)
        if sends_block:
            free[view.proposer] = view.ready_ns + send_ns[BLOCK, view.proposer]
        first = np.where(votes < NEVER, np.maximum(votes, free), NEVER)
        free = np.where(votes < NEVER, first + send_ns[VOTE], free)
        second = np.where(commits < NEVER, np.maximum(commits, free), NEVER)
        return np.stack([first, second])
    ready = np.concatenate([votes, commits])
    kinds = np.repeat([VOTE, COMMIT], count)
    senders = np.tile(np.arange(count), 2)
    # The shared channel serves requests by (time, kind, sender), after the block.
    order = np.lexsort((senders, kinds, ready))
    order = order[ready[order] < NEVER]
    occupied = link_times.send_ns[kinds[order], 0] * (count - 1)
    channel_free = view.ready_ns + int(send_ns[BLOCK, 0]) * (count - 1) if sends_block else 0
    bases = np.full(2 * count, NEVER, dtype=np.int64)
    bases[order] = queue(np.maximum(ready[order], channel_free), occupied) - occupied
    return bases.reshape(2, count)


def _serial(view: View) -> tuple[Array, ...]:
    """Simulate the law "paper-serial"."""
    final = np.full(view.count, NEVER, dtype=np.int64)
    if view.alive[view.proposer] and view.values[view.proposer] != NO_BLOCK:
        _serve_pairs(
            view.ready_ns, view.serial_sign_ns, view.serial_pair_ns * view.slowness, view.alive,
            view.alive & (view.willing | view.equivocates), view.values, view.equivocates,
            view.side, view.disturbance.as_tuple(VOTE), final,
        )  # fmt: skip
    never = np.full(view.count, NEVER, dtype=np.int64)
    return final, never, final, np.zeros(0, dtype=np.int64)


@compiled
def _serve_pairs(
    now: int, sign_ns: int, pair_ns: Array, alive: Flags, sends: Flags, values: Array,
    equivocates: Flags, side: Flags, disturbance: Any, final: Array,
) -> None:  # fmt: skip
    """Serve all pairs of delegates, and fill `final`: a copy from every live delegate is needed."""
    count = len(alive)
    copies, latest = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for i in range(count):
        if not sends[i]:
            continue
        now += sign_ns
        for j in range(count):
            if not alive[j]:
                continue
            now += pair_ns[j]
            at = now if i == j else arrival(disturbance, i, j, now, 0, side[i] != side[j])
            if at < NEVER and (values[i] == values[j] or equivocates[i]):
                copies[j] += 1
                latest[j] = max(latest[j], at)
    for j in range(count):
        if alive[j] and copies[j] == alive.sum():
            final[j] = latest[j]
