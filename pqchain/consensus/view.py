"""One attempt to make one block final: what an engine is given and what it gives back.

Both engines take a View and return an Outcome; nothing else is known to them. A view starts on an
idle network and ends at its deadline, where everything that is under way is dropped.

Order at equal times, in both engines: blocks before votes before commits, then the lower rank. A
message takes at least a nanosecond, so that nothing can depend on itself.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from pqchain.consensus import draws
from pqchain.consensus.network import Wires

Array = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NEVER = 2**62
"""A time that does not come."""

NO_BLOCK = -1
"""Value of a block that does not verify; it is never final, whoever votes for it."""

BLOCK, VOTE, COMMIT = 0, 1, 2
"""Kinds of message."""


class Alike:
    """Equal if of one class and the same in every field, arrays in every element; not hashable."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        pairs = ((getattr(self, name), getattr(other, name)) for name in type(self).__slots__)
        return all(
            np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs
            for mine, theirs in pairs
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Disturbance:
    """What the network does to single messages, as whole numbers."""

    jitter: tuple[int, ...]
    """Key of the draws, by kind of message."""
    loss: tuple[int, ...]
    delay: tuple[int, ...]
    loss_below: int
    """A message is lost if its draw is below this."""
    delay_below: int
    delay_ns: int
    heal_ns: int
    """Until then the network holds what crosses the cut."""

    def arrival(self, kind: int, i: int, j: int, *, at: int, span: int, cut: bool) -> int:
        """Return when a message that would arrive at `at` does; NEVER if it is lost."""
        if self.loss_below and draws.draw(self.loss[kind], i, j) < self.loss_below:
            return NEVER
        if span:
            at += draws.scaled(draws.draw(self.jitter[kind], i, j), span)
        if self.delay_below and draws.draw(self.delay[kind], i, j) < self.delay_below:
            at += self.delay_ns
        return max(at, self.heal_ns) if cut else at

    def arrivals(self, kind: int, i: Any, j: Any, *, at: Array, span: Any, cut: Flags) -> Array:
        """Return `arrival` of many messages at once."""
        if np.any(span):
            at = at + draws.below(self.jitter[kind], i, j, span)
        if self.delay_below:
            delayed = draws.draws(self.delay[kind], i, j) < np.uint64(self.delay_below)
            at = np.where(delayed, at + self.delay_ns, at)
        at = np.where(cut, np.maximum(at, self.heal_ns), at)
        if self.loss_below:
            lost = draws.draws(self.loss[kind], i, j) < np.uint64(self.loss_below)
            at = np.where(lost, NEVER, at)
        return at

    def plain(self, kind: int) -> tuple[Any, ...]:
        """Return what compiled code takes for messages of a kind: keys, bounds, delay, heal."""
        drawn = (self.jitter[kind], self.loss[kind], self.delay[kind])
        unsigned = map(np.uint64, (*drawn, self.loss_below, self.delay_below))
        return (*unsigned, self.delay_ns, self.heal_ns)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Overlay:
    """The graph of gossip: whom each node passes a block on to.

    A node's first peer is its successor; the others are drawn among all nodes but itself, each on
    its own, so that one may be drawn twice. Where there are as many peers as other nodes, each of
    them is a peer once.
    """

    nodes: int
    peers: int
    """At most nodes - 1."""
    key: int
    delegates: Array
    """Node of every delegate."""
    regions: Array
    """Region of every node."""
    relay_ns: int
    """What a node takes to verify a block before it passes it on."""
    silent: Flags
    """[node]: passes nothing on."""
    side: Flags
    """[node]: on which side of a partition."""

    def peer(self, node: int, place: int) -> int:
        """Return the node to which a block is passed on as number `place`."""
        others = self.nodes - 1
        if place == 0 or self.peers == others:
            return (node + 1 + place) % self.nodes
        return (node + 1 + draws.scaled(draws.draw(self.key, node, place), others)) % self.nodes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class View:
    """What happens in one view, for D delegates by rank; times in nanoseconds."""

    count: int
    proposer: int
    leaves_ns: int
    """When the proposer's block is ready to be sent; all-to-all: everybody's copy."""
    deadline_ns: int
    all_to_all: bool
    sends_block: bool
    """Whether the block is a message; else everybody has it when it leaves."""
    serial_pair_ns: int
    """paper-serial: price of a pair; 0 on other networks."""
    serial_sign_ns: int
    """paper-serial: price of a node's signature."""
    phases: int
    quorum: int
    wires: Wires
    disturbance: Disturbance
    overlay: Overlay | None
    regions: Array
    alive: Flags
    values: Array
    """Which block each delegate gets from the proposer."""
    willing: Flags
    """Votes for the block that it gets."""
    double: Flags
    """Votes for whatever the receiver holds."""
    slowness: Array
    """How many times longer a delegate computes."""
    block_ns: Array
    """What verifying the block takes each delegate."""
    vote_ns: Array
    sign_ns: Array
    """What verifying a vote takes, and signing one, which is done beside verification."""
    side: Flags
    """On which side of a partition."""

    def arrivals(self, kind: int, senders: Any, receivers: Any, *, base: Any) -> Array:
        """Return when messages reach their receivers or their downlinks.

        Senders begin to send to all others at `base`, to the next rank first.
        """
        wires, one, two = self.wires, self.regions[senders], self.regions[receivers]
        slot = wires.slot[kind, one]
        offset = slot if wires.parallel else (receivers - senders) % self.count * slot
        return self.disturbance.arrivals(
            kind,
            senders,
            receivers,
            at=base + offset + wires.tail[kind, one, two],
            span=wires.span[one, two],
            cut=self.side[senders] != self.side[receivers],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Outcome(Alike):
    """When each delegate got how far; NEVER if not before the deadline."""

    verified_ns: Array
    prepared_ns: Array
    final_ns: Array
    reached_ns: Array
    """Gossip: when each node first had the block; else empty."""

    def before(self, deadline_ns: int) -> Outcome:
        """Void what happened at the deadline or later."""
        times = (getattr(self, part.name) for part in fields(self))
        return Outcome(*(np.where(time < deadline_ns, time, NEVER) for time in times))
