"""Gossip as shortest paths: when each node first hears of a block.

What a message takes does not depend on other messages, so first arrivals are shortest paths from
the proposer. Nodes are taken in buckets of time by compiled code, or relaxed all at once by numpy.
The graph is that of `view.Overlay`, which is written to be read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pqchain.consensus import draws
from pqchain.consensus.engines.compiled import compiled, drawn
from pqchain.consensus.view import BLOCK, NEVER, Array, Flags, Overlay, View


def reached_ns(view: View, overlay: Overlay, with_numba: bool) -> Array:
    """Return when each node first hears of the block."""
    trouble, wires = view.disturbance, view.wires
    source = int(overlay.delegates[view.proposer])
    if not with_numba:
        return _shortest_with_numpy(view, overlay, source)
    keys = (overlay.key, trouble.jitter[BLOCK], trouble.loss[BLOCK], trouble.delay[BLOCK])
    return _shortest(
        overlay.nodes, overlay.peers, source, view.leaves_ns, overlay.relay_ns,
        overlay.regions, wires.slot[BLOCK], wires.tail[BLOCK], wires.span,
        np.array(keys, dtype=np.uint64),
        np.array([trouble.loss_below, trouble.delay_below], dtype=np.uint64),
        trouble.delay_ns, trouble.heal_ns, overlay.silent, overlay.side,
    )  # fmt: skip


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


@compiled(inline="always")
def _queue(
    node: int, place: int, heads: Array, what: Array, link: Array, unused: int, used: int
) -> tuple[Array, Array, int, int]:
    """Put a node into a bucket, in a free entry of the lists or a new one."""
    if unused >= 0:
        entry, unused = unused, link[unused]
    else:
        if used == len(what):
            what = np.concatenate((what, what))
            link = np.concatenate((link, link))
        entry, used = used, used + 1
    what[entry], link[entry] = node, heads[place]
    heads[place] = entry
    return what, link, unused, used


@compiled()
def _shortest(
    nodes: int, peers: int, source: int, leaves: int, relay_ns: int, regions: Array, slot: Array,
    tail: Array, span: Array, keys: Any, below: Any, delay_ns: int, heal_ns: int, silent: Flags,
    side: Flags,
) -> Array:  # fmt: skip
    """Relax nodes in the order of time, by buckets as wide as the shortest hop.

    A node whose time improves is taken again, so the result does not depend on the width. What is
    far ahead, delayed or held by a partition, waits in `far` until the buckets are empty.
    """
    reached = np.full(nodes, NEVER, dtype=np.int64)
    relayed = np.full(nodes, NEVER, dtype=np.int64)
    hop: Any = NEVER
    longest: Any = np.int64(0)
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
    bucket, others = 0, nodes - 1
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
                what, link, unused, used = _queue(
                    node, place % ring, heads, what, link, unused, used
                )
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
            peer = node + 1 + number
            if number and peers < others:
                high = drawn(keys[0], node, number) >> np.uint64(32)
                peer = node + 1 + np.int64((high * np.uint64(others)) >> np.uint64(32))
            if peer >= nodes:
                peer -= nodes
            two = regions[peer]
            time = start + (number + 1) * slot[one] + tail[one, two]
            if time >= reached[peer] or silent[peer]:
                continue
            if below[0] and drawn(keys[2], node, number) < below[0]:
                continue
            if span[one, two]:
                high = drawn(keys[1], node, number) >> np.uint64(32)
                time += np.int64((high * np.uint64(span[one, two])) >> np.uint64(32))
            if below[1] and drawn(keys[3], node, number) < below[1]:
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
            what, link, unused, used = _queue(peer, place % ring, heads, what, link, unused, used)
            waiting += 1
    return reached
