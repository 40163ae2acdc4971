"""Input and output of an engine for one view, which is one attempt to finalize a block.

An engine takes a View and returns an Outcome. A view starts on an idle network and ends at its
deadline, where all messages and work in progress are dropped.

Order at equal times, in all engines: blocks before votes before commits, then the lower rank. A
message takes at least one nanosecond, so no event depends on itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pqchain.consensus import draws
from pqchain.consensus.network import LinkTimes

Array = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# Not the greatest int64: durations are added to it before it is masked.
NEVER = 2**62
"""Time in nanoseconds of an event that does not happen."""

NO_BLOCK = -1
"""Value of a block that does not verify; it is never final, whatever the votes."""

BLOCK, VOTE, COMMIT = 0, 1, 2
"""Kinds of message, in the order of service at equal times."""


# A dataclass's generated __eq__ fails on arrays, whose comparison has no single truth value.
class ArrayEqMixin:
    """Mixin that compares class and all fields, arrays elementwise; instances are not hashable."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        pairs = ((getattr(self, name), getattr(other, name)) for name in type(self).__slots__)
        # NaN, for a quantity that is not measured, is one object and equals itself.
        return all(
            np.array_equal(left, right)
            if isinstance(left, np.ndarray)
            else left is right or left == right
            for left, right in pairs
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Disturbance:
    """Parameters of loss, jitter and partition of messages; times in nanoseconds."""

    jitter: tuple[int, ...]
    """Key of the random numbers for each kind of message; likewise `loss`."""
    loss: tuple[int, ...]
    loss_below: int
    """A message is lost if its random number is below this."""
    heal_ns: int
    """When the partition heals: no message crosses it earlier."""

    def arrival(
        self, kind: int, i: int, j: int, *, at: int, max_jitter_ns: int, partitioned: bool
    ) -> int:
        """Return when a message arrives that would arrive at `at` undisturbed; NEVER if it is lost.

        (i, j) identify the message, its jitter is below `max_jitter_ns`, and `partitioned` is
        whether it crosses the partition.
        """
        if self.loss_below and draws.draw(self.loss[kind], i, j) < self.loss_below:
            return NEVER
        if max_jitter_ns:
            at += draws.scale(draws.draw(self.jitter[kind], i, j), max_jitter_ns)
        return max(at, self.heal_ns) if partitioned else at

    def as_tuple(self, kind: int) -> tuple[Any, ...]:
        """Return the fields that apply to a kind of message as a tuple, for compiled code."""
        unsigned = map(np.uint64, (self.jitter[kind], self.loss[kind], self.loss_below))
        return (*unsigned, self.heal_ns)


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
    """Node of each delegate, by rank."""
    regions: Array
    """Region of each node."""
    relay_ns: int
    """Time to verify a block before forwarding it."""
    silent: Flags
    """Whether each node forwards nothing, because it has crashed."""
    side: Flags
    """Side of the partition of each node."""

    def peer(self, node: int, index: int) -> int:
        """Return the peer at position `index` (0-based) in a node's order of forwarding blocks."""
        others = self.nodes - 1
        # The successors form a ring, so every node is reachable whatever the draws.
        if index == 0 or self.peers == others:
            return (node + 1 + index) % self.nodes
        return (node + 1 + draws.scale(draws.draw(self.key, node, index), others)) % self.nodes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class View:
    """Input of an engine for one view; arrays are indexed by a delegate's rank, times in ns."""

    count: int
    proposer: int
    ready_ns: int
    """When the proposer's block is ready to be sent; all-to-all: every delegate's copy."""
    deadline_ns: int
    all_to_all: bool
    sends_block: bool
    """Whether the block is a message; otherwise all delegates have it at `ready_ns`."""
    serial_pair_ns: int
    """paper-serial: service time of a pair; 0 on other networks."""
    serial_sign_ns: int
    """paper-serial: time of a node's signature."""
    phases: int
    quorum: int
    link_times: LinkTimes
    disturbance: Disturbance
    overlay: Overlay | None
    regions: Array
    alive: Flags
    values: Array
    """Value of the block that the proposer sends to the delegate."""
    willing: Flags
    """Whether the delegate votes for the block that it receives."""
    equivocates: Flags
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
    certificate_bits: int = 0
    """uplink: bits of the certificate that follows each quorum; 0 if none is sent."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome(ArrayEqMixin):
    """Output of an engine: times by delegate rank in ns; NEVER if not before the deadline.

    Verified: block verified. Prepared: quorum of votes, with two phases. Final: block final.
    """

    verified_ns: Array
    prepared_ns: Array
    final_ns: Array
    reached_ns: Array
    """When each node first received the block by gossip; empty for other laws."""

    @classmethod
    def before(cls, deadline_ns: int, *times: Any) -> Outcome:
        """Return an outcome with NEVER in place of times at or after the deadline."""
        arrays = (np.asarray(values, dtype=np.int64) for values in times)
        return cls(*(np.where(time < deadline_ns, time, NEVER) for time in arrays))
