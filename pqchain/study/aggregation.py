"""Simulation of signature aggregation trees: groups prove their signatures, and proofs are merged.

It computes times and sizes. Each draw simulates another random network:

1. Every validator signs and spreads its signature in its group: by gossip (a random regular graph,
   each node forwards a message to all peers except its sender), on a grid (to its row and
   column, each receiver forwards along the other: two hops, two copies), or to aggregators only.
2. An aggregator waits for a share of the group's signatures, verifies each, and proves them.
3. Proofs travel among aggregators in the same way, are merged, and the first proof that covers
   enough ends the draw.

The time of a message is the latency of its hops plus its wait for the sender's link, which carries
all copies that the node sends; the message has a random position among them. This is a fluid
model: no packets, no losses, no slow start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from pqchain.checks import integer, number, one_of
from pqchain.errors import UsageError
from pqchain.statistics import half_width
from pqchain.study.checking import CORES
from pqchain.study.inputs import Plan
from pqchain.study.provers import PROVERS, Prover

Topology = Literal["gossip", "grid", "direct"]
Array = npt.NDArray[np.float64]

BEAMSIM_SIGNATURE_BYTES = 3072
"""Size of an XMSS signature in BEAMSIM's report."""

BEAMSIM_BITS_PER_SECOND = 100e6

MOST_WATCHED = 16
"""Maximum number of simulated aggregators of a group; the first to finish its proof counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Parameters of an aggregation tree. Defaults are from README and example of BEAMSIM."""

    validators: int = 8192
    groups: int = 8
    topology: Topology = "gossip"
    peers: int = 8
    """Gossip: peers of a node, an even number."""
    aggregators: int = 16
    """Aggregators of a group; "direct" sends every signature to each of them."""
    sign_seconds: float = 0.020
    signature_bytes: float = BEAMSIM_SIGNATURE_BYTES
    verify_seconds: float = 0.003
    """Verification of a signature at each hop; signatures are verified in parallel."""
    proof_bytes: float = 131_072
    proof_verify_seconds: float = 0.010
    aggregate_per_second: float = 1000.0
    merge_per_second: float = 100.0
    group_threshold: float = 0.9
    """Share of a group's signatures that an aggregator waits for."""
    final_threshold: float = 0.66
    """Share of all signatures that the last proof has to cover."""
    rate_bits_per_second: float = BEAMSIM_BITS_PER_SECOND
    least_latency_seconds: float = 0.010
    most_latency_seconds: float = 0.100
    """Latency of a link is drawn evenly between the two."""
    group_deadline_seconds: float = math.inf
    final_deadline_seconds: float = math.inf

    def __post_init__(self) -> None:
        one_of("topology", self.topology, get_args(Topology))
        integer("validators", self.validators, least=2, most=2**22)
        integer("groups", self.groups, least=1, most=self.validators // 2)
        integer("peers", self.peers, least=2, most=1024)
        integer("aggregators", self.aggregators, least=1, most=self.members)
        if self.peers % 2:
            raise UsageError(f"peers must be an even number, such as 8; got {self.peers}")
        for name in ("group_threshold", "final_threshold"):
            number(name, getattr(self, name), least=1e-6, most=1.0)
        for name in ("aggregate_per_second", "merge_per_second", "rate_bits_per_second"):
            number(name, getattr(self, name), least=1e-6)
        number("least_latency_seconds", self.least_latency_seconds)
        number("most_latency_seconds", self.most_latency_seconds, least=self.least_latency_seconds)
        if self.final_threshold > self.group_threshold:
            raise UsageError(
                f"final_threshold must be at most group_threshold, {self.group_threshold}, "
                f"the share of signatures that group proofs cover; got {self.final_threshold}"
            )

    @property
    def members(self) -> int:
        """Number of validators in the largest group."""
        return math.ceil(self.validators / self.groups)

    @property
    def copies(self) -> float:
        """Mean number of copies of a message that a node sends and receives."""
        if self.topology == "gossip":
            return float(self.peers - 1)
        return 2.0 if self.topology == "grid" else 1.0


@dataclass(frozen=True, slots=True)
class Aggregated:
    """Simulated times and bytes of an aggregation tree, over several draws."""

    seconds: float
    """Mean time from the start of the slot to the final proof."""
    half_width_seconds: float
    """Half of the 95 % confidence interval of that mean."""
    group_seconds: float
    """Mean time to the proof of a group."""
    missed_groups: float
    """Share of the group proofs after their deadline."""
    missed_final: float
    """Share of the final proofs after their deadline."""
    received_bytes: float
    """Bytes that a validator other than an aggregator receives in a slot, with copies."""
    received_by_aggregator_bytes: float


def proven_by(tree: Tree, prover: Prover, *, cores: float) -> dict[str, Any]:
    """Return the `Tree` fields that a published prover sets. Raises UsageError without a rate."""
    covered = tree.group_threshold * tree.members
    fields: dict[str, Any] = {
        "aggregate_per_second": prover.rate_per_second(cores),
        "proof_bytes": prover.proof_bytes(covered),
    }
    if prover.merge_seconds:
        fields["merge_per_second"] = 1.0 / prover.merge_seconds
    if prover.verifications:
        fields["proof_verify_seconds"] = prover.verify_seconds(covered)
    return fields


def of_plan(plan: Plan) -> dict[str, Tree]:
    """Return the aggregation tree of a plan's votes for each topology; {} without prover rates.

    Links have the rate of the plan, or BEAMSIM's if the plan's regions have their own rates.
    There is a group for each aggregate of a block. The final proof is due with the next block, and
    group proofs a fifth of the slot earlier (leanSpec: five intervals in a slot).
    """
    prover = PROVERS.get(plan.vote_aggregation)
    if prover is None or not prover.rates or plan.votes_per_block < 2 * plan.vote_aggregates:
        return {}
    tree = Tree(
        validators=round(plan.votes_per_block),
        groups=round(plan.vote_aggregates),
        aggregators=min(16, math.ceil(plan.votes_per_block / plan.vote_aggregates)),
        signature_bytes=plan.vote_signature_bytes or BEAMSIM_SIGNATURE_BYTES,
        rate_bits_per_second=plan.rate_bits_per_second or BEAMSIM_BITS_PER_SECOND,
        final_deadline_seconds=plan.block_seconds or math.inf,
        group_deadline_seconds=0.8 * plan.block_seconds or math.inf,
    )
    proven = replace(tree, **proven_by(tree, prover, cores=CORES))
    return {name: replace(proven, topology=name) for name in get_args(Topology)}


def aggregate(tree: Tree, *, draws: int = 16) -> Aggregated:
    """Simulate a tree in several random networks; return times, missed deadlines and bytes."""
    integer("draws", draws, least=1, most=10_000)
    finals, groups = [], []
    for seed in range(draws):
        # Seeds count from 0, so that equal trees give equal results.
        rng = np.random.default_rng(seed)
        proofs = np.array([_group_seconds(tree, rng) for _ in range(tree.groups)])
        groups.append(proofs)
        finals.append(_final_seconds(tree, proofs, rng))
    proven, ended = np.concatenate(groups), np.array(finals)
    signatures = tree.members * tree.signature_bytes
    proofs_bytes = tree.copies * tree.groups * tree.proof_bytes
    # With "direct", signatures go to aggregators only.
    forwarded = 0.0 if tree.topology == "direct" else tree.copies * signatures
    return Aggregated(
        seconds=float(ended.mean()),
        half_width_seconds=half_width(ended.tolist()),
        group_seconds=float(proven.mean()),
        missed_groups=float((proven > tree.group_deadline_seconds).mean()),
        missed_final=float((ended > tree.final_deadline_seconds).mean()),
        received_bytes=forwarded + tree.proof_bytes,
        received_by_aggregator_bytes=tree.copies * signatures + proofs_bytes,
    )


def _group_seconds(tree: Tree, rng: np.random.Generator) -> float:
    needed = math.ceil(tree.group_threshold * tree.members)
    sent = tree.members * tree.copies
    if tree.topology == "direct":
        sent = max(tree.aggregators, tree.members)  # a sender's copies, or a receiver's inbox
    arrived = tree.sign_seconds + _spread(
        tree,
        rng,
        members=tree.members,
        receivers=min(tree.aggregators, MOST_WATCHED),
        messages=tree.members,
        link_seconds=8 * sent * tree.signature_bytes / tree.rate_bits_per_second,
        hop_seconds=tree.verify_seconds,
    )
    # The first aggregator with enough signatures proves the group.
    enough = np.partition(arrived, needed - 1, axis=1)[:, needed - 1]
    return float(enough.min()) + needed / tree.aggregate_per_second


def _final_seconds(tree: Tree, proofs: Array, rng: np.random.Generator) -> float:
    # A group proof covers only the share group_threshold of its group's signatures.
    needed = math.ceil(tree.final_threshold / tree.group_threshold * tree.groups)
    if tree.groups == 1:
        return float(proofs[0])
    aggregators = max(2, tree.groups * tree.aggregators)
    sent = tree.groups * tree.copies
    travel = _spread(
        tree,
        rng,
        members=aggregators,
        receivers=min(aggregators, MOST_WATCHED),
        messages=tree.groups,
        link_seconds=8 * sent * tree.proof_bytes / tree.rate_bits_per_second,
        hop_seconds=tree.proof_verify_seconds,
    )
    enough = np.partition(proofs[None, :] + travel, needed - 1, axis=1)[:, needed - 1]
    return float(enough.min()) + needed / tree.merge_per_second


def _spread(
    tree: Tree,
    rng: np.random.Generator,
    *,
    members: int,
    receivers: int,
    messages: int,
    link_seconds: float,
    hop_seconds: float,
) -> Array:
    """Return the delivery time of each message as an array indexed [receiver, message]."""
    if tree.topology == "gossip" and members > tree.peers:
        way = _gossip(tree, rng, members, receivers, hop_seconds)[:, :messages]
    else:
        # On a grid a message turns once, unless its receiver is in its row or column.
        side = math.sqrt(members)
        hops = 1 + (rng.random((receivers, messages)) >= 2 / side) * (tree.topology == "grid")
        way = _latency(tree, rng, (receivers, messages)) + hop_seconds
        way += (hops - 1) * (_latency(tree, rng, (receivers, messages)) + hop_seconds)
    # Fluid model: a message is at a random position among all bytes that its sender's link carries.
    return way + rng.random((receivers, messages)) * link_seconds


def _latency(tree: Tree, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(tree.least_latency_seconds, tree.most_latency_seconds, shape)


def _gossip(
    tree: Tree, rng: np.random.Generator, members: int, receivers: int, hop_seconds: float
) -> Array:
    """Return the shortest path times in a random regular graph, indexed [receiver, sender]."""
    # The union of random permutations is a regular graph in which most nodes are near each other.
    ways = [rng.permutation(members) for _ in range(tree.peers // 2)]
    cost = [_latency(tree, rng, (members,)) + hop_seconds for _ in ways]
    reached = np.full((receivers, members), np.inf)
    reached[np.arange(receivers), np.arange(receivers)] = 0.0
    # Bellman-Ford for all receivers at once: repeat until no path gets shorter.
    while True:
        before = reached.copy()
        for way, seconds in zip(ways, cost, strict=True):
            # A link between node i and way[i], in both directions.
            reached = np.minimum(reached, reached[:, way] + seconds)
            back = np.full_like(reached, np.inf)
            back[:, way] = reached + seconds
            reached = np.minimum(reached, back)
        if np.array_equal(before, reached):
            return reached
