"""Gossip as shortest paths: when each node first hears of a block.

What a message takes does not depend on other messages, so first arrivals are shortest paths from
the proposer. Compiled code takes nodes in windows of time, numpy all at once that improved.
The graph is that of `view.Overlay`, which is written to be read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pqchain.consensus import draws
from pqchain.consensus.engines.compiled import arrival, below, compiled
from pqchain.consensus.view import BLOCK, NEVER, Array, Flags, Overlay, View


def reached_ns(view: View, overlay: Overlay, with_numba: bool) -> Array:
    """Return when each node first hears of the block."""
    wires, source = view.wires, int(overlay.delegates[view.proposer])
    if not with_numba:
        return _shortest_with_numpy(view, overlay, source)
    return _shortest(
        overlay.nodes, overlay.peers, np.uint64(overlay.key), source, view.leaves_ns,
        overlay.relay_ns, overlay.regions, wires.slot[BLOCK], wires.tail[BLOCK], wires.span,
        view.disturbance.plain(BLOCK), overlay.silent, overlay.side,
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


@compiled
def _shortest(
    nodes: int, peers: int, key: Any, source: int, leaves: int, relay_ns: int, regions: Array,
    slot: Array, tail: Array, span: Array, trouble: Any, silent: Flags, side: Flags,
) -> Array:  # fmt: skip
    """Relax what waits in windows of time, the soonest first, each as wide as the shortest hop.

    A node whose time improves is taken again, so the result does not depend on the width.
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
