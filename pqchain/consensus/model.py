"""Simulation of a scenario: heights, views, locks and finality.

Views follow each other as in Tendermint without its gossip: a delegate that has received a quorum
of votes for a block is locked on it. It votes for no other block until it receives a quorum for
that one, and it proposes the locked block. With one phase of votes the vote itself locks; without
phases there are no locks. In a pipeline heights overlap; it has no views and no locks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias, get_args

import numpy as np
from tqdm import tqdm

from pqchain.consensus.builder import Load, ModelBlock, ViewBuilder
from pqchain.consensus.network import SECOND
from pqchain.consensus.runs import Height, Run
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import NEVER, Array, Flags, Outcome, View
from pqchain.errors import UnknownName

Engine = Literal["fast", "simpy"]

ENGINES: tuple[Engine, ...] = get_args(Engine)
"""fast: compiled by numba where it is installed. simpy: the reference."""

PlayView: TypeAlias = Callable[[int, int, int], tuple[Outcome, Array]]
"""Function of a view's number, its proposer and the time at which it starts in ns, which returns
its outcome and the value of each delegate's block."""


def run(
    scenario: Scenario, *, engine: Engine = "fast", load: Load | None = None, progress: bool = False
) -> Run:
    """Run a scenario with an engine: "fast" or "simpy"; both return equal runs.

    A height without finality ends the run. `load` supplies the transactions of the blocks; by
    default they are drawn from the scenario's seed. `progress` shows a progress bar of blocks.
    Raises UnknownName for an unknown engine, and UsageError if the scenario has too many messages
    for the reference engine.
    """
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES, "pqchain.consensus.run.")
    builder, load = ViewBuilder(scenario), load or Load(scenario)
    if scenario.pipelined:
        return Run(scenario=scenario, heights=tuple(_pipeline(builder, load, engine)))
    heights = run_heights(builder, load, partial(_view_player, builder, engine), progress=progress)
    return Run(scenario=scenario, heights=heights)


def run_heights(
    builder: ViewBuilder,
    load: Load,
    begin: Callable[[ModelBlock], PlayView],
    *,
    progress: bool,
) -> tuple[Height, ...]:
    """Run heights until one is not final; `begin(block)` returns what plays its views."""
    scenario, now = builder.scenario, 0
    heights: list[Height] = []
    for number in tqdm(range(scenario.blocks), disable=not progress, unit="block"):
        block = load.take(number, now=now)
        heights.append(_height(builder, block, begin(block)))
        now = heights[-1].ended_ns
        if not heights[-1].is_final:
            break
    return tuple(heights)


def single_view(scenario: Scenario) -> View:
    """Return the first view of a scenario, for tests and benchmarks of engines."""
    builder, block = ViewBuilder(scenario), Load(scenario).take(0, now=0)
    return builder.view(
        block,
        0,
        proposer=int(builder.order(0)[0]),
        now=block.starts_ns,
        locks=np.full(scenario.delegate_count, NEVER, dtype=np.int64),
    )


def _height(builder: ViewBuilder, block: ModelBlock, play: PlayView) -> Height:
    """Play up to `max_views` views, until every live honest delegate has a final block."""
    scenario, honest = builder.scenario, builder.honest
    order = builder.order(block.height)
    final = np.full(len(order), NEVER, dtype=np.int64)
    blocks: set[int] = set()
    outcomes: list[Outcome] = []
    now, rivals = block.starts_ns, 0
    for attempt in range(scenario.max_views):
        proposer = int(order[attempt % len(order)])
        outcome, values = play(attempt, proposer, now)
        outcomes.append(outcome)
        if attempt == 0 and scenario.proposal == "luck":
            rivals = builder.rivals(block.height, proposer, outcome, now=now)
        ended = outcome.final_ns < NEVER
        blocks |= set(values[ended & honest].tolist())
        # The first final block of a delegate counts; later views do not replace it.
        final = np.where(ended & (final >= NEVER), outcome.final_ns, final)
        # A view is left at its timeout only, so the next one starts there.
        now = builder.deadline_ns(block.height, proposer, now=now)
        if (final[honest] < NEVER).all() or now == NEVER:
            break
    return _result(block, outcomes, final, honest, blocks, rivals=rivals)


def _result(
    block: ModelBlock,
    outcomes: list[Outcome],
    final_ns: Array,
    honest: Flags,
    blocks: set[int],
    *,
    rivals: int = 0,
) -> Height:
    """Return the result of a height from its views' outcomes; `honest` marks honest delegates."""
    reached = outcomes[0].reached_ns
    received = reached[reached < NEVER]
    spread = float((received.max() - block.starts_ns) / SECOND) if len(received) else math.nan
    return Height(
        block=block,
        ended_ns=int(final_ns[honest].max()) if honest.any() else NEVER,
        final_ns=final_ns,
        blocks=frozenset(blocks),
        views=len(outcomes),
        rivals=rivals,
        spread_seconds=spread,
        outcomes=tuple(outcomes),
    )


def _view_player(builder: ViewBuilder, engine: Engine, block: ModelBlock) -> PlayView:
    """Return a function that plays the views of a height in turn, and keeps the locks."""
    locks = np.full(builder.scenario.delegate_count, NEVER, dtype=np.int64)

    def play(attempt: int, proposer: int, now: int) -> tuple[Outcome, Array]:
        nonlocal locks
        view = builder.view(block, attempt, proposer=proposer, now=now, locks=locks)
        ((_, outcome),) = _play(engine, view)
        locks = _locked(view, outcome, locks)
        return outcome, view.values

    return play


def _pipeline(builder: ViewBuilder, load: Load, engine: Engine) -> Iterator[Height]:
    """Simulate all heights, each of which starts at a quorum of votes for the one before."""
    scenario = builder.scenario
    locks = np.full(scenario.delegate_count, NEVER, dtype=np.int64)
    blocks, views = [], []
    for number in range(scenario.blocks):
        block = load.take(number, now=0)
        blocks.append(block)
        proposer = int(builder.order(number)[0])
        views.append(builder.view(block, 0, proposer=proposer, now=0, locks=locks))
    outcomes = _play(engine, *views)
    for block, view, (started_ns, outcome) in zip(blocks, views, outcomes, strict=True):
        # Its transactions appeared when the block was proposed.
        proposed = replace(block, starts_ns=started_ns)
        values = set(view.values.tolist())
        yield _result(proposed, [outcome], outcome.final_ns, builder.honest, values)


def _play(engine: Engine, *views: View) -> list[tuple[int, Outcome]]:
    if engine == "simpy":
        from pqchain.consensus.engines import simulate

        return simulate.play(*views)
    from pqchain.consensus.engines import fast  # numba loads slowly, and kept times need no engine

    return fast.play(*views)


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
