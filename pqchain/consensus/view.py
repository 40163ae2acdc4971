"""Input and output of an engine: one attempt to finalize one block.

An engine takes a View and returns an Outcome. A view starts on an idle network and ends at its
deadline, where all messages and work in progress are dropped.

Order at equal times, in all engines: blocks before votes before commits, then the lower rank. A
message takes at least one nanosecond, so no event depends on itself.
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

# Not the greatest int64: durations are added to it before it is masked.
NEVER = 2**62
"""Time in nanoseconds of an event that does not happen."""

NO_BLOCK = -1
"""Value of a block that does not verify; it is never final, whatever the votes."""

BLOCK, VOTE, COMMIT = 0, 1, 2
"""Kinds of message, in the order of service at equal times."""


# A dataclass's generated __eq__ fails on arrays, which have no truth value as a whole.
class Alike:
    """Mixin: equality by class and all fields, arrays elementwise; not hashable."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        pairs = ((getattr(self, name), getattr(other, name)) for name in type(self).__slots__)
        # NaN, for a quantity that is not measured, is one object and equals itself.
        return all(
            np.array_equal(mine, theirs)
            if isinstance(mine, np.ndarray)
            else mine is theirs or mine == theirs
            for mine, theirs in pairs
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Disturbance:
    """Loss, delay, jitter and partition of single messages, in integers."""

    jitter: tuple[int, ...]
    """[kind of message]: key of the draws; likewise `loss` and `delay`."""
    loss: tuple[int, ...]
    delay: tuple[int, ...]
    loss_below: int
    """A message is lost if its draw is below this; delayed likewise by `delay_below`."""
    delay_below: int
    delay_ns: int
    heal_ns: int
    """When the partition heals: no message crosses it earlier."""

    def arrival(self, kind: int, i: int, j: int, *, at: int, span: int, cut: bool) -> int:
        """Return when a message arrives that undisturbed arrives at `at`; NEVER if it is lost.

        (i, j) identify the message, `span` bounds the jitter in nanoseconds, and `cut` tells
        whether the message crosses the partition.
        """
        if self.loss_below and draws.draw(self.loss[kind], i, j) < self.loss_below:
            return NEVER
        if span:
            at += draws.scaled(draws.draw(self.jitter[kind], i, j), span)
        if self.delay_below and draws.draw(self.delay[kind], i, j) < self.delay_below:
            at += self.delay_ns
        return max(at, self.heal_ns) if cut else at

    def arrivals(self, kind: int, i: Any, j: Any, *, at: Array, span: Any, cut: Flags) -> Array:
        """Compute `arrival` for arrays of messages."""
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
        """Return keys, bounds, delay and heal time of a kind as a tuple for compiled code."""
        drawn = (self.jitter[kind], self.loss[kind], self.delay[kind])
        unsigned = map(np.uint64, (*drawn, self.loss_below, self.delay_below))
        return (*unsigned, self.delay_ns, self.heal_ns)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Overlay:
    """Gossip graph: the peers to which each node forwards a block.

    A node's first peer is its successor; the others are drawn independently among all other nodes,
    so one may be drawn twice. If there are as many peers as other nodes, each of these is a peer
    once.
    """

    nodes: int
    peers: int
    """At most nodes - 1."""
    key: int
    delegates: Array
    """[delegate]: its node."""
    regions: Array
    """[node]: its region."""
    relay_ns: int
    """Time in which a node verifies a block before it forwards it."""
    silent: Flags
    """[node]: whether it forwards nothing."""
    side: Flags
    """[node]: its side of the partition."""

    def peer(self, node: int, place: int) -> int:
        """Return the peer to which a node forwards a block as number `place`, from 0."""
        others = self.nodes - 1
        # The successors form a ring, so every node is reachable whatever the draws.
        if place == 0 or self.peers == others:
            return (node + 1 + place) % self.nodes
        return (node + 1 + draws.scaled(draws.draw(self.key, node, place), others)) % self.nodes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class View:
    """Input of an engine: one view; arrays are [delegate] by rank, times in nanoseconds."""

    count: int
    proposer: int
    leaves_ns: int
    """When the proposer's block is ready to be sent; all-to-all: every delegate's copy."""
    deadline_ns: int
    all_to_all: bool
    sends_block: bool
    """Whether the block is a message; otherwise all delegates have it at `leaves_ns`."""
    serial_pair_ns: int
    """paper-serial: service time of a pair; 0 on other networks."""
    serial_sign_ns: int
    """paper-serial: time of a node's signature."""
    phases: int
    quorum: int
    wires: Wires
    disturbance: Disturbance
    overlay: Overlay | None
    regions: Array
    alive: Flags
    values: Array
    """Value of the block that the proposer sends to the delegate."""
    willing: Flags
    """Whether the delegate votes for the block that it receives."""
    double: Flags
    """Whether its vote counts for whichever block the receiver has."""
    slowness: Array
    """Factor on the delegate's computing times."""
    block_ns: Array
    """Time to verify the block."""
    vote_ns: Array
    sign_ns: Array
    """Times to verify and to sign a vote; except on "host", signing does not delay verification."""
    side: Flags
    """Side of the partition."""

    def arrivals(self, kind: int, senders: Any, receivers: Any, *, base: Any) -> Array:
        """Return when messages reach their receivers, or the receivers' downlinks if any.

        Senders start to send to all others at `base` (nanoseconds), to the next rank first.
        """
        wires, one, two = self.wires, self.regions[senders], self.regions[receivers]
        slot = wires.slot[kind, one]
        # One uplink sends the copies in turn; with a link per pair all leave at once.
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
    """Output of an engine, [delegate] in nanoseconds; NEVER if not before the deadline.

    Verified: the block. Prepared: a quorum of votes, with two phases. Final: the block.
    """

    verified_ns: Array
    prepared_ns: Array
    final_ns: Array
    reached_ns: Array
    """Gossip: [node], when it first received the block; otherwise empty."""

    def before(self, deadline_ns: int) -> Outcome:
        """Replace times at or after the deadline by NEVER."""
        times = (getattr(self, part.name) for part in fields(self))
        return Outcome(*(np.where(time < deadline_ns, time, NEVER) for time in times))
