from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from pqchain.consensus import fast, model, simulate
from pqchain.consensus.model import Run
from pqchain.consensus.network import NAMES, named
from pqchain.consensus.scenario import Scenario
from pqchain.errors import UsageError
from tests.consensus.scenarios import scenario, scenarios

QUIET = settings(max_examples=100, suppress_health_check=list(HealthCheck))


def _same(one: Run, other: Run) -> bool:
    """Whether two runs agree in every nanosecond of every delegate."""
    if len(one.heights) != len(other.heights):
        return False
    for mine, theirs in zip(one.heights, other.heights, strict=True):
        if len(mine.outcomes) != len(theirs.outcomes):
            return False
        if not all(a.equals(b) for a, b in zip(mine.outcomes, theirs.outcomes, strict=True)):
            return False
    return True


# 2,100 scenarios in seven parts, so that they can run side by side.
@pytest.mark.parametrize("part", range(7))
def test_reference_and_fast_engine_agree_in_every_nanosecond(part: int) -> None:
    @settings(parent=QUIET, max_examples=300)
    @given(case=scenarios())
    def agree(case: Scenario) -> None:
        # Hypothesis derives its examples from the function; the part makes them differ.
        case = case.with_(seed=(case.seed + part * 7919) % 2**63)
        assert _same(model.run(case, engine="simpy"), model.run(case, engine="fast"))

    agree.hypothesis.inner_test.__qualname__ = f"agree_{part}"  # type: ignore[attr-defined]
    agree()
