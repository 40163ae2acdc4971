"""Simulation of a scenario: heights, views, locks and finality.

Views follow each other as in Tendermint without its gossip: a delegate that has received a quorum
of votes for a block is locked on it. It votes for no other block until it receives a quorum for
that one, and it proposes the locked block. With one phase of votes the vote itself locks; without
phases there are no locks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from tqdm import tqdm

from pqchain.consensus.builder import Block, Load, ViewBuilder
from pqchain.consensus.engines import fast
from pqchain.consensus.network import SECOND
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import NEVER, Array, ArrayEqMixin, Outcome, View
from pqchain.errors import UnknownName

Engine = Literal["fast", "numpy", "simpy"]

ENGINES: tuple[Engine, ...] = get_args(Engine)
"""fast: numba if it is installed, else numpy. numpy: never numba. simpy: the reference."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Height(ArrayEqMixin):
    """Result of one height; equality compares all fields, times to the nanosecond."""

    block: Block
    """Contents of the first proposed block, and when it could be proposed."""
    outcomes: tuple[Outcome, ...]
    """One outcome per view, in order."""
    final_ns: Array
    """[delegate]: when it had a final block, in nanoseconds; NEVER if it did not."""
    blocks: frozenset[int]
    """Values of the different blocks that honest delegates finalized."""
    ended_ns: int
    """When the last live honest delegate had a final block; NEVER if one never did."""
    rivals: int
    """Proof of Luck: blocks released by delegates other than the winner."""

    @property
    def is_final(self) -> bool:
        """Whether every live honest delegate has a final block."""
        return self.ended_ns < NEVER

    @property
    def spread_seconds(self) -> float:
        """Gossip: seconds until the last node received the first view's block; NaN if none did."""
        reached = self.outcomes[0].reached_ns
        heard = reached[reached < NEVER]
        return float((heard.max() - self.block.starts_ns) / SECOND) if len(heard) else float("nan")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Run(ArrayEqMixin):
    """Results of one scenario; all engines return equal runs."""

    scenario: Scenario
    heights: tuple[Height, ...]

    @property
    def final(self) -> list[Height]:
        """The heights at which every live honest delegate had a final block."""
        return [height for height in self.heights if height.is_final]

    @property
    def is_safe(self) -> bool:
        """Whether no two honest delegates finalized different blocks of one height."""
        return all(len(height.blocks) <= 1 for height in self.heights)

    @property
    def is_live(self) -> bool:
        """Whether every live honest delegate finalized a block at all heights of the scenario."""
        return len(self.final) == len(self.heights) == self.scenario.blocks

    @property
    def views(self) -> int:
        """Number of views of all heights."""
        return sum(len(height.outcomes) for height in self.heights)

    @property
    def transactions(self) -> int:
        """Number of transactions in final blocks."""
        return sum(height.block.transactions for height in self.final)

    @property
    def latency_seconds(self) -> float:
        """Mean time from a transaction's appearance to finality; NaN without a final block."""
        if not self.final:
            return float("nan")
        total = sum((h.ended_ns - h.block.appeared_ns) * h.block.transactions for h in self.final)
        return total / self.transactions / SECOND

    @property
    def throughput_per_second(self) -> float:
        """Final transactions divided by the duration of the run; 0 without a final block."""
        last = max((height.ended_ns for height in self.final), default=0)
        return self.transactions * SECOND / last if last else 0.0


def run(
    scenario: Scenario, *, engine: Engine = "fast", load: Load | None = None, progress: bool = False
) -> Run:
    """Run a scenario with an engine: "fast", "numpy" or "simpy"; all return equal runs.

    A height without finality ends the run. `load` supplies the transactions of the blocks; by
    default they are drawn from the scenario's seed. `progress` shows a progress bar of blocks.
    Raises UnknownName for an unknown engine, and UsageError if the scenario has too many messages
    for the reference engine.
    """
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES, "pqchain.consensus.run.")
    builder, load = ViewBuilder(scenario), load or Load(scenario)
    now = 0
    heights: list[Height] = []
    for number in tqdm(range(scenario.blocks), disable=not progress, unit="block"):
        block = load.take(number, now=now)
        if block is None:  # the last transaction has been taken
            break
        heights.append(_height(builder, block, engine))
        now = heights[-1].ended_ns
        if not heights[-1].is_final:
            break
    return Run(scenario=scenario, heights=tuple(heights))


def single_view(scenario: Scenario) -> View:
    """Return the first view of a scenario, for tests and benchmarks of engines."""
    builder, block = ViewBuilder(scenario), Load(scenario).take(0, now=0)
    assert block is not None  # the first block always has a transaction to wait for
    return builder.view(
        block,
        0,
        proposer=int(builder.order(0)[0]),
        now=block.starts_ns,
        locks=np.full(scenario.delegate_count, NEVER, dtype=np.int64),
    )


def _height(builder: ViewBuilder, block: Block, engine: Engine) -> Height:
    """Play views until every live honest delegate has a final block, or `max_views` is reached."""
    scenario, count = builder.scenario, builder.scenario.delegate_count
    order = builder.order(block.height)
    locks, final = np.full((2, count), NEVER, dtype=np.int64)
    blocks: set[int] = set()
    outcomes: list[Outcome] = []
    now, rivals = block.starts_ns, 0
    for attempt in range(scenario.max_views):
        proposer = int(order[attempt % count])
        view = builder.view(block, attempt, proposer=proposer, now=now, locks=locks)
        outcome = _play(view, engine)
        outcomes.append(outcome)
        if attempt == 0 and scenario.proposal == "luck":
            rivals = builder.rivals(block.height, proposer, outcome, now=now)
        ended = outcome.final_ns < NEVER
        blocks |= {int(value) for value in np.unique(view.values[ended & builder.honest])}
        # The first final block of a delegate counts; later views do not replace it.
        final = np.where(ended & (final >= NEVER), outcome.final_ns, final)
        locks = _locked(view, outcome, locks)
        # A view is left at its timeout only, so the next one starts there.
        now = view.deadline_ns
        if (final[builder.honest] < NEVER).all() or now == NEVER:
            break
    return Height(
        block=block,
        outcomes=tuple(outcomes),
        final_ns=final,
        blocks=frozenset(blocks),
        ended_ns=int(final[builder.honest].max()) if builder.honest.any() else NEVER,
        rivals=rivals,
    )


def _play(view: View, engine: Engine) -> Outcome:
    if engine == "simpy":
        from pqchain.consensus.engines import simulate

        return simulate.play(view)
    return fast.play(view, compiled=False if engine == "numpy" else None)


def _locked(view: View, outcome: Outcome, locks: Array) -> Array:
    if view.phases == 0:
        return locks
    locking = outcome.prepared_ns < NEVER
    # With one phase there is no quorum before the final one, so the vote itself has to lock. A vote
    # that is not signed before the deadline is never sent and locks nothing.
    if view.phases == 1:
        voted = view.willing & (outcome.verified_ns < NEVER)
        locking = voted & (outcome.verified_ns + view.sign_ns < view.deadline_ns)
    return np.where(locking, view.values, locks)
