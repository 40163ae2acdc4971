"""From a scenario to its views: who is a delegate, who proposes when, what everything takes."""

from __future__ import annotations

import numpy as np

from pqchain.consensus import draws, election
from pqchain.consensus.load import Block
from pqchain.consensus.network import REGION_SHARES, Wires, nanoseconds, wires
from pqchain.consensus.scenario import VOTE_BYTES, Scenario
from pqchain.consensus.view import NEVER, Array, Disturbance, Flags, Outcome, Overlay, View

_NO_BLOCK = -1
"""Value of a block that does not verify."""


class ViewBuilder:
    """A scenario in whole nanoseconds and arrays, made once for all its views."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        count, faults = scenario.delegate_count, scenario.faults
        self.nodes = election.delegates(
            scenario.voting, nodes=scenario.nodes, count=count, seed=scenario.seed
        )
        """Node of every delegate, by rank."""
        self.alive = _all_but(count, faults.crashed)
        self.double = ~_all_but(count, faults.equivocating)
        self.honest = self.alive & ~self.double & _all_but(count, faults.invalid)
        self.slowness = np.where(_all_but(count, faults.slow), 1, faults.slow_factor)
        everyone = np.arange(scenario.nodes, dtype=np.int64)
        self.region_of = self._regions(everyone)
        self.side_of: Flags = everyone < int(faults.partition_fraction * scenario.nodes)
        self.verify_ns = nanoseconds(scenario.cost.verify_seconds)
        self.sign_ns = nanoseconds(scenario.cost.sign_seconds)
        self.wires: dict[int, Wires] = {}

    def order(self, height: int) -> Array:
        """Return the ranks in the order in which they propose at a height."""
        count = self.scenario.delegate_count
        if self.scenario.proposal == "luck":
            lucks = [self._luck(height, rank) for rank in range(count)]
            return np.argsort(-np.array(lucks), kind="stable")
        by_name = self.scenario.proposal == "dpos"
        turns = np.argsort(self.nodes, kind="stable") if by_name else np.arange(count)
        return np.roll(turns, -(height % count))

    def wait_ns(self, height: int, proposer: int) -> int:
        """Return how long a proposer waits before its block may leave."""
        scenario = self.scenario
        if scenario.proposal != "luck":
            return 0
        attestation = nanoseconds(scenario.attestation_seconds)
        if not scenario.round_seconds:
            return attestation
        delay = election.release_delay_seconds(
            max(0.0, self._luck(height, proposer)), round_seconds=scenario.round_seconds
        )
        return nanoseconds(scenario.round_seconds + delay) + attestation

    def rivals(self, height: int, winner: int, outcome: Outcome, *, now: int) -> int:
        """Count who released a block because it had not verified the luckiest in time."""
        return sum(
            bool(self.alive[rank]) and now + self.wait_ns(height, rank) < outcome.verified_ns[rank]
            for rank in range(self.scenario.delegate_count)
            if rank != winner and outcome.verified_ns[rank] < NEVER
        )

    def view(self, block: Block, attempt: int, *, proposer: int, now: int, locks: Array) -> View:
        """Put together what an engine needs."""
        scenario, costs, law = self.scenario, self.scenario.cost, self.scenario.network.serial
        count = scenario.delegate_count
        all_to_all = scenario.exchange == "all-to-all"
        is_serial = scenario.network.law == "paper-serial"
        starts = now + self.wait_ns(block.height, proposer)
        timeout = scenario.view_timeout_seconds
        values = self._values(attempt, proposer, locks)
        willing = self.alive & ~self.double & ((locks >= NEVER) | (locks == values))
        block_sign_ns = self.sign_ns if scenario.signed_blocks else 0
        block_ns = -(-block.transactions * self.verify_ns // scenario.verification_threads)
        block_ns += self.verify_ns if scenario.signed_blocks else 0
        if scenario.proposal == "luck":
            block_ns += nanoseconds(scenario.attestation_verify_seconds)
        vote_ns, sign_ns = (self.verify_ns, self.sign_ns) if scenario.signed_votes else (0, 0)
        if all_to_all:
            vote_ns, sign_ns = block_ns, block_sign_ns
        size = costs.public_key_bytes + costs.signature_bytes
        pair = law.pair_seconds + law.byte_seconds * size + law.verifies * costs.verify_seconds
        return View(
            count=count,
            proposer=proposer,
            leaves_ns=starts + (0 if is_serial else block_sign_ns * int(self.slowness[proposer])),
            deadline_ns=NEVER if timeout is None else starts + nanoseconds(timeout),
            all_to_all=all_to_all,
            serial_pair_ns=max(1, nanoseconds(pair)) if is_serial else 0,
            serial_sign_ns=nanoseconds(law.signs * costs.sign_seconds),
            phases=scenario.phases,
            quorum=int(self.alive.sum()) if all_to_all else scenario.quorum,
            wires=self._wires(block.size_bytes),
            disturbance=self._disturbance(block.height * scenario.max_views + attempt),
            overlay=self._overlay(block_ns),
            regions=self.region_of[self.nodes],
            alive=self.alive,
            values=values,
            willing=willing & (values != _NO_BLOCK),
            double=self.double & self.alive,
            slowness=self.slowness,
            block_ns=block_ns * self.slowness,
            vote_ns=vote_ns * self.slowness,
            sign_ns=sign_ns * self.slowness,
            side=self.side_of[self.nodes],
        )

    def _values(self, attempt: int, proposer: int, locks: Array) -> Array:
        """Return which block each delegate gets from the proposer."""
        count, faults = self.scenario.delegate_count, self.scenario.faults
        values = np.full(count, 2 * attempt, dtype=np.int64)
        if proposer in faults.invalid:
            values[:] = _NO_BLOCK
        elif proposer in faults.equivocating:
            # One block for one half of the delegates, another for the rest.
            values += np.arange(count) % 2
        elif locks[proposer] < NEVER:
            values[:] = locks[proposer]
        return values

    def _luck(self, height: int, rank: int) -> float:
        """Return the luck of a delegate; who has crashed has none."""
        if not self.alive[rank]:
            return -1.0
        return election.luck(self.scenario.seed, height=height, node=int(self.nodes[rank]))

    def _wires(self, block_bytes: int) -> Wires:
        if block_bytes not in self.wires:
            scenario = self.scenario
            vote = VOTE_BYTES + (scenario.cost.signature_bytes if scenario.signed_votes else 0)
            first = block_bytes if scenario.exchange == "all-to-all" else vote
            self.wires[block_bytes] = wires(scenario.network, (block_bytes, first, vote))
        return self.wires[block_bytes]

    def _disturbance(self, number: int) -> Disturbance:
        """Return the keys of the draws of the view of that number, and what is drawn against."""
        seed, faults = self.scenario.seed, self.scenario.faults

        def keys(purpose: str) -> tuple[int, ...]:
            return tuple(draws.key(seed, purpose, round_number=3 * number + k) for k in range(3))

        return Disturbance(
            jitter=keys("jitter"),
            loss=keys("loss"),
            delay=keys("delay"),
            loss_below=draws.threshold(faults.loss_probability),
            delay_below=draws.threshold(faults.delay_probability),
            delay_ns=nanoseconds(faults.delay_seconds),
            heal_ns=nanoseconds(faults.heal_seconds),
        )

    def _overlay(self, block_ns: int) -> Overlay | None:
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
            relay_ns=block_ns,
            silent=silent,
            side=self.side_of,
        )

    def _regions(self, nodes: Array) -> Array:
        """Return the region of each node, by the shares of Bitcoin's nodes."""
        if not self.scenario.network.is_regional:
            return np.zeros(len(nodes), dtype=np.int64)
        bounds = [draws.threshold(float(share)) for share in np.cumsum(REGION_SHARES)]
        drawn = draws.draws(draws.key(self.scenario.seed, "region"), nodes, 0)
        places = np.searchsorted(np.array(bounds, dtype=np.uint64), drawn, side="right")
        return np.minimum(places, len(REGION_SHARES) - 1).astype(np.int64)


def _all_but(count: int, ranks: tuple[int, ...]) -> Flags:
    flags = np.ones(count, dtype=np.bool_)
    flags[list(ranks)] = False
    return flags
