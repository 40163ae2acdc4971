"""From a scenario to its results: heights, views, who proposes, what is final.

Views follow each other as in Tendermint without its gossip: who has seen a quorum of votes for a
block is locked on it, votes for no other block until it sees a quorum for that one, and proposes
it. With a single phase of votes the vote itself locks. With none nothing does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from pqchain.consensus import draws, election, lengths, luck
from pqchain.consensus.engines import fast
from pqchain.consensus.network import REGION_SHARES, SECOND, Wires, nanoseconds, wires
from pqchain.consensus.scenario import VOTE_BYTES, Scenario
from pqchain.consensus.view import NEVER, Array, Disturbance, Flags, Outcome, Overlay, View, alike
from pqchain.errors import UnknownName

Engine = Literal["fast", "numpy", "simpy"]

ENGINES: tuple[Engine, ...] = ("fast", "numpy", "simpy")
"""fast: numba if it is installed, else numpy. simpy: the reference."""

_NO_BLOCK = -1
"""Value of a block that does not verify."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Height:
    """What became of one height."""

    transactions: int
    block_bytes: int
    started_ns: int
    """When the first delegate proposed or began to wait for its turn to."""
    outcomes: tuple[Outcome, ...]
    """One per view."""
    final_ns: Array
    """When each delegate had a final block; NEVER if it did not."""
    blocks: frozenset[int]
    """Different blocks that honest delegates hold as final."""
    ended_ns: int
    """When the last live honest delegate had it; NEVER if one never did."""
    appeared_ns: float
    """Mean time at which the block's transactions appeared."""
    rivals: int
    """Proof of Luck: blocks released by others than the winner."""

    def __eq__(self, other: object) -> bool:
        """Whether the same became of both, to the nanosecond."""
        return alike(self, other)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Run:
    """The heights of one scenario."""

    scenario: Scenario
    heights: tuple[Height, ...]

    def __eq__(self, other: object) -> bool:
        """Whether both are of one scenario and agree in every nanosecond; so do all engines."""
        return alike(self, other)

    @property
    def is_safe(self) -> bool:
        """Whether no two honest delegates hold different blocks of one height as final."""
        return all(len(height.blocks) <= 1 for height in self.heights)

    @property
    def is_live(self) -> bool:
        """Whether every live honest delegate got every height."""
        ended = all(height.ended_ns < NEVER for height in self.heights)
        return ended and len(self.heights) == self.scenario.blocks

    @property
    def views(self) -> int:
        """How many views it took."""
        return sum(len(height.outcomes) for height in self.heights)

    @property
    def transactions(self) -> int:
        """How many transactions became final."""
        return sum(h.transactions for h in self.heights if h.ended_ns < NEVER)

    @property
    def latency_seconds(self) -> float:
        """Mean time from a transaction's appearance to the end of verification; NaN for none."""
        done = [height for height in self.heights if height.ended_ns < NEVER]
        if not done:
            return float("nan")
        total = sum((h.ended_ns - h.appeared_ns) * h.transactions for h in done)
        return total / sum(h.transactions for h in done) / SECOND

    @property
    def throughput_per_second(self) -> float:
        """Final transactions over the time of the run; 0 for none."""
        ended = [height.ended_ns for height in self.heights if height.ended_ns < NEVER]
        return self.transactions * SECOND / max(ended) if ended else 0.0


def run(scenario: Scenario, *, engine: str = "fast", progress: bool = False) -> Run:
    """Run a scenario with an engine: "fast", "numpy" or "simpy"; all give the same.

    `progress` shows a bar of blocks. Raises UnknownName, and UsageError if the reference engine
    would take too many messages.
    """
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES, "pqchain.consensus.run.")
    return _Runner(scenario, engine).run(progress=progress)


class _Runner:
    """A scenario in whole nanoseconds and arrays, made once for all its views."""

    def __init__(self, scenario: Scenario, engine: str) -> None:
        self.scenario, self.engine = scenario, engine
        count = scenario.delegate_count
        faults = scenario.faults
        self.nodes = election.delegates(
            scenario.voting, nodes=scenario.nodes, count=count, seed=scenario.seed
        )
        self.by_name = np.argsort(self.nodes, kind="stable")
        self.alive = _all_but(count, faults.crashed)
        self.double = ~_all_but(count, faults.equivocating)
        self.honest = self.alive & ~self.double & _all_but(count, faults.invalid)
        self.slowness = np.where(_all_but(count, faults.slow), 1, faults.slow_factor)
        self.regions = self._regions(self.nodes)
        cut = int(faults.partition_fraction * scenario.nodes)
        self.side: Flags = self.nodes < cut
        costs = scenario.cost
        self.verify_ns = nanoseconds(costs.verify_seconds)
        self.sign_ns = nanoseconds(costs.sign_seconds)
        self.tables: dict[int, Wires] = {}

    def run(self, *, progress: bool = False) -> Run:
        """Run the heights one after the other; a height that fails ends the run."""
        scenario, now = self.scenario, 0
        arrivals = self._arrivals()
        heights: list[Height] = []
        taken = 0
        for number in tqdm(range(scenario.blocks), disable=not progress, unit="block"):
            if len(arrivals):
                if taken >= len(arrivals):
                    break
                now = max(now, int(arrivals[taken]))
                ready = int(np.searchsorted(arrivals, now, side="right"))
            sizes = self._sizes(number)
            fill = _fill(sizes, self._room())
            if len(arrivals):
                fill = min(fill, ready - taken)
            appeared = float(arrivals[taken : taken + fill].mean()) if len(arrivals) else float(now)
            taken += fill
            size = scenario.layout.block_overhead_bytes() + int(sizes[:fill].sum())
            height = self._height(number, now=now, transactions=fill, size=size, appeared=appeared)
            heights.append(height)
            if height.ended_ns >= NEVER:
                break
            now = height.ended_ns
        return Run(scenario=scenario, heights=tuple(heights))

    def _height(
        self, number: int, *, now: int, transactions: int, size: int, appeared: float
    ) -> Height:
        """Try view after view until every live honest delegate has a final block."""
        scenario = self.scenario
        count = scenario.delegate_count
        order = self._order(number)
        locks: Array = np.full(count, NEVER, dtype=np.int64)
        final: Array = np.full(count, NEVER, dtype=np.int64)
        blocks: set[int] = set()
        outcomes: list[Outcome] = []
        started, waiting = now, self.alive & self.honest
        rivals = 0
        for attempt in range(scenario.max_views):
            proposer = int(order[attempt % count])
            wait = self._wait_ns(number, proposer)
            deadline = NEVER
            if scenario.view_timeout_seconds is not None:
                deadline = now + wait + nanoseconds(scenario.view_timeout_seconds)
            view = self._view(
                number,
                attempt,
                proposer=proposer,
                starts=now + wait,
                deadline=deadline,
                locks=locks,
                transactions=transactions,
                size=size,
            )
            outcome = self._play(view)
            outcomes.append(outcome)
            if attempt == 0 and scenario.proposal == "luck":
                rivals = self._rivals(number, proposer, outcome, now)
            new = (outcome.final_ns < NEVER) & (final >= NEVER)
            held = (outcome.final_ns < NEVER) & self.honest
            blocks |= {int(value) for value in np.unique(view.values[held])}
            final = np.where(new, outcome.final_ns, final)
            locks = self._locked(view, outcome, locks)
            if (final[waiting] < NEVER).all():
                break
            if deadline == NEVER:
                break
            now = deadline
        missing = bool((final[waiting] >= NEVER).any()) or not waiting.any()
        return Height(
            transactions=transactions,
            block_bytes=size,
            started_ns=started,
            outcomes=tuple(outcomes),
            final_ns=final,
            blocks=frozenset(blocks),
            ended_ns=NEVER if missing else int(final[waiting].max()),
            appeared_ns=appeared,
            rivals=rivals,
        )

    def _play(self, view: View) -> Outcome:
        """Hand the view to the engine."""
        if self.engine == "simpy":
            from pqchain.consensus.engines import simulate

            return simulate.play(view)
        return fast.play(view, compiled=False if self.engine == "numpy" else None)

    def _view(
        self, number: int, attempt: int, *, proposer: int, starts: int, deadline: int,
        locks: Array, transactions: int, size: int,
    ) -> View:  # fmt: skip
        """Put together what the engine needs."""
        scenario, faults = self.scenario, self.scenario.faults
        count = scenario.delegate_count
        costs = scenario.cost
        values = np.full(count, 2 * attempt, dtype=np.int64)
        if proposer in faults.invalid:
            values[:] = _NO_BLOCK
        elif proposer in faults.equivocating:
            # One block for one half of the delegates, another for the rest.
            values += np.arange(count) % 2
        elif locks[proposer] < NEVER:
            values[:] = locks[proposer]
        willing = self.alive & ~self.double & ((locks >= NEVER) | (locks == values))
        willing &= values != _NO_BLOCK
        signed = scenario.signed_blocks
        block_ns = -(-transactions * self.verify_ns // scenario.verification_threads)
        block_ns += self.verify_ns if signed else 0
        if scenario.proposal == "luck":
            block_ns += nanoseconds(scenario.attestation_verify_seconds)
        vote_ns = self.verify_ns if scenario.signed_votes else 0
        sign_ns = self.sign_ns if scenario.signed_votes else 0
        if scenario.exchange == "all-to-all":
            vote_ns, sign_ns = block_ns, self.sign_ns if signed else 0
        law = scenario.network.serial
        is_serial = scenario.network.law == "paper-serial"
        sizes = costs.public_key_bytes + costs.signature_bytes
        pair = law.pair_seconds + law.byte_seconds * sizes + law.verifies * costs.verify_seconds
        leaves = starts + (self.sign_ns if signed else 0) * int(self.slowness[proposer])
        return View(
            count=count,
            proposer=proposer,
            leaves_ns=starts if is_serial else leaves,
            deadline_ns=deadline,
            all_to_all=scenario.exchange == "all-to-all",
            serial_pair_ns=max(1, nanoseconds(pair)) if is_serial else 0,
            serial_sign_ns=nanoseconds(law.signs * costs.sign_seconds),
            phases=scenario.phases,
            quorum=int(self.alive.sum()) if scenario.exchange == "all-to-all" else scenario.quorum,
            wires=self._wires(size),
            disturbance=self._disturbance(number, attempt),
            overlay=self._overlay(block_ns),
            regions=self.regions,
            alive=self.alive,
            values=values,
            willing=willing,
            double=self.double & self.alive,
            slowness=self.slowness,
            block_ns=block_ns * self.slowness,
            vote_ns=vote_ns * self.slowness,
            sign_ns=sign_ns * self.slowness,
            side=self.side,
        )

    def _locked(self, view: View, outcome: Outcome, locks: Array) -> Array:
        """Return the locks after a view."""
        if self.scenario.phases == 0:
            return locks
        if self.scenario.phases == 2:
            return np.where(outcome.prepared_ns < NEVER, view.values, locks)
        voted = view.willing & (outcome.verified_ns < NEVER)
        voted &= outcome.verified_ns + view.sign_ns < view.deadline_ns
        return np.where(voted, view.values, locks)

    def _order(self, number: int) -> Array:
        """Return the ranks in the order in which they propose at a height."""
        count = self.scenario.delegate_count
        if self.scenario.proposal == "luck":
            drawn = [self._luck(number, rank) for rank in range(count)]
            return np.argsort(-np.array(drawn), kind="stable")
        turns = self.by_name if self.scenario.proposal == "dpos" else np.arange(count)
        return np.roll(turns, -(number % count))

    def _luck(self, number: int, rank: int) -> float:
        """Return the luck of a delegate; who has crashed has none."""
        if not self.alive[rank]:
            return -1.0
        return luck.luck(self.scenario.seed, height=number, node=int(self.nodes[rank]))

    def _wait_ns(self, number: int, proposer: int) -> int:
        """Return how long a proposer waits before its block may leave."""
        scenario = self.scenario
        if scenario.proposal != "luck":
            return 0
        attests = nanoseconds(scenario.attestation_seconds)
        if not scenario.round_seconds:
            return attests
        drawn = max(0.0, self._luck(number, proposer))
        delay = luck.release_delay_seconds(drawn, round_seconds=scenario.round_seconds)
        return nanoseconds(scenario.round_seconds + delay) + attests

    def _rivals(self, number: int, winner: int, outcome: Outcome, now: int) -> int:
        """Count who released a block because it had not verified the luckiest in time."""
        return sum(
            bool(self.alive[rank]) and now + self._wait_ns(number, rank) < outcome.verified_ns[rank]
            for rank in range(self.scenario.delegate_count)
            if rank != winner and outcome.verified_ns[rank] < NEVER
        )

    def _wires(self, size: int) -> Wires:
        """Return the network's times for a block of that size."""
        if size not in self.tables:
            scenario = self.scenario
            vote = VOTE_BYTES + (scenario.cost.signature_bytes if scenario.signed_votes else 0)
            kinds = (size, size if scenario.exchange == "all-to-all" else vote, vote)
            self.tables[size] = wires(scenario.network, kinds)
        return self.tables[size]

    def _disturbance(self, number: int, attempt: int) -> Disturbance:
        """Return the keys of the draws of this view, and what is drawn against."""
        scenario, faults = self.scenario, self.scenario.faults

        def keys(purpose: str) -> tuple[int, int, int]:
            first = (number * scenario.max_views + attempt) * 3
            one, two, three = (
                draws.key(scenario.seed, purpose, round_number=first + kind) for kind in range(3)
            )
            return one, two, three

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
        """Return the graph of gossip, if the network is one."""
        scenario = self.scenario
        if scenario.network.law != "gossip":
            return None
        everyone = np.arange(scenario.nodes, dtype=np.int64)
        silent = np.zeros(scenario.nodes, dtype=np.bool_)
        silent[self.nodes[~self.alive]] = True
        return Overlay(
            nodes=scenario.nodes,
            peers=scenario.peers,
            key=draws.key(scenario.seed, "peer"),
            delegates=self.nodes,
            regions=self._regions(everyone),
            relay_ns=block_ns,
            silent=silent,
            side=everyone < int(scenario.faults.partition_fraction * scenario.nodes),
        )

    def _regions(self, nodes: Array) -> Array:
        """Return the region of each node, by the shares of Bitcoin's nodes."""
        if not self.scenario.network.is_regional:
            return np.zeros(len(nodes), dtype=np.int64)
        bounds = [draws.threshold(float(share)) for share in np.cumsum(REGION_SHARES)]
        drawn = draws.draws(draws.key(self.scenario.seed, "region"), nodes, 0)
        found = np.searchsorted(np.array(bounds, dtype=np.uint64), drawn, side="right")
        regions: Array = np.minimum(found, len(REGION_SHARES) - 1).astype(np.int64)
        return regions

    def _room(self) -> int:
        """Return the bytes that a block has for transactions."""
        return self.scenario.block_bytes - self.scenario.layout.block_overhead_bytes()

    def _sizes(self, number: int) -> Array:
        """Draw the sizes of the transactions that come next; more than fit."""
        scenario = self.scenario
        counted = scenario.signature_lengths()
        fixed = scenario.layout.transaction_bytes(scenario.cost, 0)
        most = self._room() // (fixed + min(counted)) + 1
        return fixed + lengths.sample(counted, count=most, seed=scenario.seed, block=number)

    def _arrivals(self) -> Array:
        """Draw when transactions appear, or nothing if there are always enough."""
        scenario = self.scenario
        rate = scenario.arrivals_per_second
        if not rate:
            return np.zeros(0, dtype=np.int64)
        most = scenario.blocks * len(self._sizes(0))
        drawn = draws.draws(draws.key(scenario.seed, "arrival"), np.arange(most), 0)
        uniform = ((drawn >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
        gaps = np.rint(-np.log(uniform) / rate * SECOND).astype(np.int64)
        times: npt.NDArray[np.int64] = np.cumsum(gaps)
        return times


def single_view(scenario: Scenario) -> View:
    """Return the first view of a scenario, for tests and benchmarks of the engines."""
    runner = _Runner(scenario, "fast")
    sizes = runner._sizes(0)
    fill = _fill(sizes, runner._room())
    locks = np.full(scenario.delegate_count, NEVER, dtype=np.int64)
    size = scenario.layout.block_overhead_bytes() + int(sizes[:fill].sum())
    proposer = int(runner._order(0)[0])
    timeout = scenario.view_timeout_seconds
    view = runner._view(
        0, 0, proposer=proposer, starts=0, deadline=NEVER, locks=locks, transactions=fill, size=size
    )
    return view if timeout is None else replace(view, deadline_ns=nanoseconds(timeout))


def _fill(sizes: Array, room: int) -> int:
    """Return how many transactions fit, taken in order."""
    return int(np.searchsorted(np.cumsum(sizes), room, side="right"))


def _all_but(count: int, ranks: tuple[int, ...]) -> Flags:
    """Return True for all but the ranks given."""
    flags = np.ones(count, dtype=np.bool_)
    flags[list(ranks)] = False
    return flags
