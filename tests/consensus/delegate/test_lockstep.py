"""The delegates and the model, in every nanosecond: the third implementation, with real bytes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

from pqchain.consensus import model
from pqchain.consensus.delegate import lockstep
from pqchain.consensus.delegate.setting import Setting
from pqchain.consensus.model import Height, Run
from pqchain.consensus.network import NAMES
from pqchain.consensus.scenario import Faults, Scenario
from pqchain.consensus.view import NEVER, Outcome
from tests.consensus.scenarios import SCHEMES, scenarios

QUIET = settings(suppress_health_check=list(HealthCheck))

pytestmark = pytest.mark.native


def agreed(done: Run) -> Run:
    """The run without what delegates that equivocate believe, which is nobody's concern."""
    liars = list(done.scenario.faults.equivocating)

    def hidden(times: np.ndarray) -> np.ndarray:
        times = times.copy()
        times[liars] = NEVER
        return times

    def of(height: Height) -> Height:
        outcomes = tuple(
            Outcome(
                hidden(each.verified_ns),
                hidden(each.prepared_ns),
                hidden(each.final_ns),
                each.reached_ns,
            )
            for each in height.outcomes
        )
        return dataclasses.replace(height, outcomes=outcomes, final_ns=hidden(height.final_ns))

    return dataclasses.replace(done, heights=tuple(map(of, done.heights)))


def compare(case: Scenario) -> Run:
    delegates = lockstep.run(case)
    modelled = model.run(case, engine="fast", load=Setting(case).load)
    assert agreed(delegates) == agreed(modelled)
    return delegates


def check_part(part: int, examples: int) -> None:
    tried: dict[str, Scenario] = {}

    @seed(part)
    @settings(parent=QUIET, max_examples=examples)
    @given(case=scenarios(runs=True, max_nodes=24))
    def agree(case: Scenario) -> None:
        tried[case.identifier] = case
        compare(case)

    agree()
    cases = tried.values()
    assert len(cases) >= 0.9 * examples
    assert {case.network.law for case in cases} == set(NAMES)
    assert {case.proposal for case in cases} == {"votes", "luck", "dpos"}
    assert {(case.exchange, case.phases) for case in cases} == {
        ("all-to-all", 0), ("broadcast", 0), ("broadcast", 1), ("broadcast", 2),
    }  # fmt: skip
    assert {case.algorithm for case in cases} == set(SCHEMES)
    for field in Faults.__slots__:
        assert any(getattr(case.faults, field) for case in cases)


def test_delegates_and_model_agree_in_every_nanosecond() -> None:
    check_part(0, 120)


@pytest.mark.long
@pytest.mark.parametrize("part", range(1, 11))
def test_delegates_and_model_agree_in_2000_scenarios(part: int) -> None:
    check_part(part, 200)
