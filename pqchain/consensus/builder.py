"""Inputs of the engines, derived from a scenario: delegates, proposers, blocks and durations.

Milutinovic, He, Wu, Kanwal, Proof of Luck (arXiv 1703.05435) and luckychain/lucky, commit d86d7fc:
a round lasts ROUND_TIME (10 s there; 15 in the paper's summary); then l is uniform in [0, 1) with
52 random bits, and the block is released after f(l) = (1 - l) * ROUND_TIME / 2 + 1 seconds. A node
that receives a luckier block before its release time sends none; nodes follow the chain with the
larger sum of luck.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pqchain.consensus import draws, lengths
from pqchain.consensus.network import LinkTimes, link_times, nanoseconds, regions
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import (
    NEVER,
    NO_BLOCK,
    Array,
    Disturbance,
    Flags,
    Outcome,
    Overlay,
    View,
)

MIN_DELAY_SECONDS = 1.0
"""Constant part of the release delay, in which every node determines its luck."""


def delegates(nodes: int, count: int, seed: int) -> Array:
    """Return the `count` nodes with the most votes, in descending order; ties by lower number.

    Every node votes for one. The PQ-DPoL paper does not specify the rule; voters choose at random,
    from the scenario's seed.
    """
    voters = np.arange(nodes, dtype=np.uint64)
    candidates = draws.integers_below(draws.key(seed, "ballot"), voters, 0, nodes)
    votes = np.bincount(candidates, minlength=nodes)
    return np.argsort(-votes, kind="stable")[:count].astype(np.int64)


def luck_value(seed: int, *, height: int, node: int) -> float:
    """Return the luck (Proof of Luck) of a node at a height, in [0, 1) with 52 random bits."""
    return (draws.draw(draws.key(seed, "luck", round_number=height), node) >> 12) * 2.0**-52


def release_delay_seconds(luck: float, *, round_seconds: float) -> float:
    """Return f(luck), the delay in seconds before a delegate releases its block."""
    return (1.0 - luck) * round_seconds / 2.0 + MIN_DELAY_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBlock:
    """Block proposed at a height: number of transactions, size, and times in nanoseconds."""

    height: int
    starts_ns: int
    """When the height can start, and when its transactions appeared."""
    transactions: int
    size_bytes: int


class Load:
    """Source of a scenario's transactions, which fills one block after another."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.header_bytes = scenario.layout.block_overhead_bytes()
        self.capacity_bytes = scenario.block_bytes - self.header_bytes

    def take(self, height: int, *, now: int) -> ModelBlock:
        """Return a block that is filled at `now` (ns)."""
        sizes = self._sizes(height)
        count = int(np.searchsorted(np.cumsum(sizes), self.capacity_bytes, side="right"))
        return ModelBlock(
            height=height,
            starts_ns=now,
            transactions=count,
            size_bytes=self.header_bytes + int(sizes[:count].sum()),
        )

    def _sizes(self, height: int) -> Array:
        """Draw the sizes in bytes of the next transactions, enough to fill a block."""
        scenario = self.scenario
        counts = scenario.signature_lengths()
        fixed = scenario.layout.transaction_bytes(scenario.cost, 0)
        # One more than fit at the least length, so that the block is always full.
        number = self.capacity_bytes // (fixed + min(counts)) + 1
        return fixed + lengths.sample(counts, count=number, seed=scenario.seed, block=height)


class ViewBuilder:
    """Builder of a scenario's views, which share arrays and times in integer nanoseconds."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        count, faults = scenario.delegate_count, scenario.faults
        self.nodes = delegates(scenario.nodes, count, scenario.seed)
        """Node of each delegate, by rank."""
        ranks = np.arange(count)
        self.alive = ~np.isin(ranks, faults.crashed)
        self.equivocates = np.isin(ranks, faults.equivocating)
        self.honest = self.alive & ~self.equivocates & ~np.isin(ranks, faults.invalid)
        self.slowness = np.where(np.isin(ranks, faults.slow), faults.slow_factor, 1)
        nodes = np.arange(scenario.nodes, dtype=np.int64)
        self.region_of = self._regions(nodes)
        self.side_of: Flags = nodes < int(faults.partition_fraction * scenario.nodes)
        self.verify_ns = nanoseconds(scenario.cost.verify_seconds)
        self.known_verify_ns = nanoseconds(scenario.cost.known_key_verify_seconds)
        """Time to verify a signature of a delegate, whose public key every other one keeps
        decoded."""
        self.sign_ns = nanoseconds(scenario.sign_seconds)
        voted = scenario.phases > 0 and scenario.signed_votes
        self.certificate_ns = voted * scenario.quorum * self.known_verify_ns
        """Time to verify a quorum of votes."""
        law, costs = scenario.network.serial, scenario.cost
        size = costs.public_key_bytes + costs.signature_bytes
        pair = law.pair_seconds + law.byte_seconds * size + law.verifies * costs.verify_seconds
        self.serial_pair_ns = max(1, nanoseconds(pair))
        """paper-serial: service time of a pair of delegates."""
        self.serial_sign_ns = nanoseconds(law.signs * scenario.sign_seconds)
        """paper-serial: time of a delegate's signature."""
        is_host, times = scenario.network.law == "host", scenario.network.service_times
        self.transaction_ns = nanoseconds(times.transaction_seconds) * is_host
        """host: time to verify a transaction in addition to its signature."""
        self.height_ns = nanoseconds(times.height_seconds) * is_host
        """host: time per delegate and height, counted when it proposes or receives the block."""
        self.link_times = lru_cache(maxsize=None)(self._link_times)
        """Link times of a view by the length of its block in bytes."""

    def order(self, height: int) -> Array:
        """Return the ranks of the delegates in the order in which they propose at a height."""
        count = self.scenario.delegate_count
        if self.scenario.proposal == "luck":
            values = [self._luck(height, rank) for rank in range(count)]
            return np.argsort(-np.array(values), kind="stable")
        by_name = self.scenario.proposal == "dpos"
        ranks = np.argsort(self.nodes, kind="stable") if by_name else np.arange(count)
        return np.roll(ranks, -(height % count))

    def wait_ns(self, height: int, proposer: int) -> int:
        """Return how many nanoseconds a proposer waits before it may send its block."""
        scenario = self.scenario
        if scenario.proposal != "luck" or not scenario.round_seconds:
            return 0
        # A crashed delegate has luck -1, but its turn comes, too, after all others.
        delay = release_delay_seconds(
            max(0.0, self._luck(height, proposer)), round_seconds=scenario.round_seconds
        )
        return nanoseconds(scenario.round_seconds + delay)

    def deadline_ns(self, height: int, proposer: int, *, now: int) -> int:
        """Return when a view that starts at `now` ends, in ns; NEVER without a timeout."""
        timeout = self.scenario.view_timeout_seconds
        if timeout is None:
            return NEVER
        return now + self.wait_ns(height, proposer) + nanoseconds(timeout)

    def rivals(self, height: int, winner: int, outcome: Outcome, *, now: int) -> int:
        """Count the delegates that released a block before they had verified the luckiest block."""
        return sum(
            bool(self.alive[rank]) and now + self.wait_ns(height, rank) < outcome.verified_ns[rank]
            for rank in range(self.scenario.delegate_count)
            if rank != winner and outcome.verified_ns[rank] < NEVER
        )

    def view(
        self, block: ModelBlock, attempt: int, *, proposer: int, now: int, locks: Array
    ) -> View:
        """Return the input of an engine for one view; times in nanoseconds.

        `locks` has the number of the block that each delegate is locked on; NEVER without a lock.
        """
        scenario = self.scenario
        all_to_all = scenario.exchange == "all-to-all"
        is_serial = scenario.network.law == "paper-serial"
        starts_ns = now + self.wait_ns(block.height, proposer)
        values = self._values(attempt, proposer, locks)
        willing = self.alive & ~self.equivocates & ((locks >= NEVER) | (locks == values))
        block_sign_ns = self.sign_ns if scenario.signed_blocks else 0
        carried_bytes = self.parent_certificate_bytes(block.height)
        block_ns = self.block_ns(block.transactions, has_certificate=carried_bytes > 0)
        vote_ns, sign_ns = (self.known_verify_ns, self.sign_ns) if scenario.signed_votes else (0, 0)
        # In all-to-all the messages are copies of the block, so the block's costs apply to them.
        if all_to_all:
            vote_ns, sign_ns = block_ns, block_sign_ns
        proposes_ns = block_sign_ns + self.height_ns
        return View(
            count=scenario.delegate_count,
            proposer=proposer,
            ready_ns=starts_ns + (0 if is_serial else proposes_ns * int(self.slowness[proposer])),
            deadline_ns=self.deadline_ns(block.height, proposer, now=now),
            all_to_all=all_to_all,
            sends_block=scenario.sends_block,
            serial_pair_ns=self.serial_pair_ns if is_serial else 0,
            serial_sign_ns=self.serial_sign_ns,
            phases=scenario.phases,
            # All-to-all waits for the copies of all live delegates instead of two thirds.
            quorum=int(self.alive.sum()) if all_to_all else scenario.quorum,
            link_times=self.link_times(block.size_bytes + carried_bytes),
            disturbance=self.disturbance(block.height * scenario.max_views + attempt),
            # A block that does not verify is not forwarded: its verification never ends.
            overlay=self.overlay(block_ns if values[proposer] != NO_BLOCK else NEVER),
            regions=self.region_of[self.nodes],
            alive=self.alive,
            values=values,
            willing=willing & (values != NO_BLOCK),
            equivocates=self.equivocates & self.alive,
            slowness=self.slowness,
            block_ns=(block_ns + self.height_ns) * self.slowness,
            vote_ns=vote_ns * self.slowness,
            sign_ns=sign_ns * self.slowness,
            side=self.side_of[self.nodes],
            certificate_bits=self.certificate_bits,
        )

    def block_ns(self, transactions: int, *, has_certificate: bool = False) -> int:
        """Return the time to verify a block, and a certificate that it contains, in ns."""
        scenario = self.scenario
        # Threads verify signatures in parallel; the division is rounded up.
        signatures_ns = transactions * self.verify_ns + has_certificate * self.certificate_ns
        block_ns = -(-signatures_ns // scenario.verification_threads)
        signed_ns = scenario.signed_blocks * self.known_verify_ns
        return block_ns + signed_ns + transactions * self.transaction_ns

    @property
    def certificate_bits(self) -> int:
        """Bits of the message with a quorum's signatures; 0 unless it is broadcast."""
        scenario = self.scenario
        if scenario.certificates != "broadcast":
            return 0
        return scenario.network.bits(lengths.VOTE_BYTES + scenario.certificate_bytes)

    def parent_certificate_bytes(self, height: int) -> int:
        """Return the bytes of the certificate that a block contains; 0 without one."""
        # The first block has no parent for which delegates have voted.
        is_carried = self.scenario.certificates == "next-block" and height > 0
        return self.scenario.certificate_bytes if is_carried else 0

    def _values(self, attempt: int, proposer: int, locks: Array) -> Array:
        """Return the identifying number of the block that the proposer sends to each delegate."""
        # Two values per view; the second is for the second block of an equivocating proposer.
        count, faults = self.scenario.delegate_count, self.scenario.faults
        values = np.full(count, 2 * attempt, dtype=np.int64)
        if proposer in faults.invalid:
            values[:] = NO_BLOCK
        elif proposer in faults.equivocating:
            # Ranks alternate between the two blocks.
            values += np.arange(count) % 2
        elif locks[proposer] < NEVER:
            values[:] = locks[proposer]
        return values

    def _luck(self, height: int, rank: int) -> float:
        """Return the luck of a delegate at a height; -1 if it has crashed."""
        if not self.alive[rank]:
            return -1.0
        return luck_value(self.scenario.seed, height=height, node=int(self.nodes[rank]))

    def _link_times(self, block_bytes: int) -> LinkTimes:
        scenario = self.scenario
        field = scenario.cost.signature_bytes
        # These are the lengths of the messages that the executed delegates send.
        block = lengths.MESSAGE_HEADER_BYTES + block_bytes + scenario.signed_blocks * field
        vote = lengths.VOTE_BYTES + scenario.signed_votes * field
        # In all-to-all the votes are copies of the block.
        first = block if scenario.exchange == "all-to-all" else vote
        return link_times(scenario.network, (block, first, vote))

    def disturbance(self, number: int) -> Disturbance:
        """Return the parameters of loss, jitter and partition for view number `number`."""
        seed, faults = self.scenario.seed, self.scenario.faults

        def keys(purpose: str) -> tuple[int, ...]:
            return tuple(draws.key(seed, purpose, round_number=3 * number + k) for k in range(3))

        return Disturbance(
            jitter=keys("jitter"),
            loss=keys("loss"),
            loss_below=draws.threshold(faults.loss_probability),
            heal_ns=nanoseconds(faults.heal_seconds),
        )

    def overlay(self, relay_ns: int) -> Overlay | None:
        """Return the gossip graph with forwarding delay `relay_ns`; None for all other laws."""
        scenario = self.scenario
        if scenario.network.law != "gossip":
            return None
        silent = np.zeros(scenario.nodes, dtype=np.bool_)
        silent[self.nodes[~self.alive]] = True
        return Overlay(
            nodes=scenario.nodes,
            peers=scenario.peers,
            key=draws.key(scenario.seed, "peer"),
            delegates=self.nodes,
            regions=self.region_of,
            relay_ns=relay_ns,
            silent=silent,
            side=self.side_of,
        )

    def _regions(self, nodes: Array) -> Array:
        """Draw the region of each node; probabilities are the regions' shares of nodes."""
        if not self.scenario.network.is_regional:
            return np.zeros(len(nodes), dtype=np.int64)
        shares = [region["share"] for region in regions()]
        bounds = [draws.threshold(float(share)) for share in np.cumsum(shares)]
        drawn = draws.draw_array(draws.key(self.scenario.seed, "region"), nodes, 0)
        places = np.searchsorted(np.array(bounds, dtype=np.uint64), drawn, side="right")
        return np.minimum(places, len(shares) - 1).astype(np.int64)
