"""Equality of executed delegates and the model, to the nanosecond."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

from pqchain.consensus import model
from pqchain.consensus.faults import Faults
from pqchain.consensus.model import Height, Run
from pqchain.consensus.network import NAMES, named
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import NEVER, Outcome
from pqchain.delegates import core, lockstep, plain_network
from pqchain.delegates.messages import MessageKind
from pqchain.delegates.setting import Setting
from tests.consensus.scenarios import SCHEMES, scenario, scenarios, table

EXECUTED = tuple(name for name in NAMES if name != "uplink")

QUIET = settings(suppress_health_check=list(HealthCheck))

pytestmark = pytest.mark.native


def without_equivocators(run: Run) -> Run:
    """Return a run without the times of equivocating delegates, which have no meaning."""
    equivocating = list(run.scenario.faults.equivocating)

    def hidden(part: Height | Outcome, *names: str) -> dict[str, np.ndarray]:
        times = {name: getattr(part, name).copy() for name in names}
        for array in times.values():
            array[equivocating] = NEVER
        return times

    def of(height: Height) -> Height:
        outcomes = tuple(
            dataclasses.replace(
                outcome, **hidden(outcome, "verified_ns", "prepared_ns", "final_ns")
            )
            for outcome in height.outcomes
        )
        return dataclasses.replace(height, outcomes=outcomes, **hidden(height, "final_ns"))

    return dataclasses.replace(run, heights=tuple(map(of, run.heights)))


def compare(case: Scenario) -> Run:
    delegates = lockstep.run(case)
    modelled = model.run(case, engine="fast", load=Setting(case).load)
    as_executed = dataclasses.replace(modelled, mode="virtual", transport="plain")
    assert without_equivocators(delegates) == without_equivocators(as_executed)
    return delegates


def check_part(part: int, examples: int) -> None:
    tried: dict[str, Scenario] = {}

    @seed(part)
    @settings(parent=QUIET, max_examples=examples)
    @given(case=scenarios(runs=True, max_nodes=24, laws=EXECUTED))
    def agree(case: Scenario) -> None:
        tried[case.identifier] = case
        compare(case)

    agree()
    cases = tried.values()
    assert len(cases) >= 0.9 * examples
    assert {case.network.law for case in cases} == {*NAMES} - {"uplink"}
    assert {case.proposal for case in cases} == {"votes", "luck", "dpos"}
    assert {(case.exchange, case.phases) for case in cases} == {
        ("all-to-all", 0), ("broadcast", 0), ("broadcast", 1), ("broadcast", 2),
    }  # fmt: skip
    assert {case.algorithm for case in cases} == set(SCHEMES)
    for field in Faults.__slots__:
        assert any(getattr(case.faults, field) for case in cases)


def test_delegates_and_model_agree_to_the_nanosecond() -> None:
    check_part(11, 100)


@pytest.mark.long
@pytest.mark.parametrize("part", range(1, 11))
def test_delegates_and_model_agree_in_2000_scenarios(part: int) -> None:
    check_part(part, 200)


_FAULTY = [
    scenario(
        nodes=7, network=named(law), exchange="broadcast", vote_phases=2, blocks=2,
        block_bytes=8000, max_views=4,
        costs=table(sign=1e-3, verify=1e-3), view_timeout_seconds=0.4, seed=seed,
        faults=Faults(slow=(2,), equivocating=(0,), loss_probability=0.15),
    )
    for law in ("mesh", "csma")
    for seed in range(4)
]  # fmt: skip
"""Scenarios in which locks, quorums, bytes and draws all matter."""


def _counting_any(self, kind, view, rank, digest, signature):
    digest = self.block.digest if self.block else digest
    self._votes[view, kind][rank] = (digest, signature)
    self._counts[view, kind, digest] += 1


def _quorum_less_one(self: Setting, *positional: Any, **named: Any) -> None:
    _INIT(self, *positional, **named)
    self.quorum -= 1


_INIT, _TIMES = Setting.__init__, plain_network.PlainNetwork._times

_MISTAKES: dict[str, tuple[Any, Any, Any]] = {
    "a forgotten lock": (core.Delegate, "_lock", lambda *_: None),
    "a quorum less one": (Setting, "__init__", _quorum_less_one),
    "a byte more": (
        plain_network.PlainNetwork, "_times", lambda self, length: _TIMES(self, length + 1)
    ),
    "wrong durations": (lockstep, "work_ns", lambda builder, *_, **__: builder.verify_ns),
    "votes for whatever comes": (core.Delegate, "_add_vote", _counting_any),
    "the draws of another kind": (core.CLASSES, MessageKind.COMMIT, 1),
}  # fmt: skip
"""Planted mistakes of the delegates or of their network: object or dict, name and new value."""


@pytest.mark.parametrize("mistake", _MISTAKES)
def test_comparison_finds_a_mistake(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [
        without_equivocators(model.run(case, engine="fast", load=Setting(case).load))
        for case in _FAULTY
    ]
    target, name, value = _MISTAKES[mistake]
    patch = monkeypatch.setitem if isinstance(target, dict) else monkeypatch.setattr
    patch(target, name, value)
    assert any(
        without_equivocators(lockstep.run(case)) != modelled
        for case, modelled in zip(_FAULTY, expected, strict=True)
    )


def test_delegates_and_model_agree_under_faults() -> None:
    for case in _FAULTY:
        compare(case)


def test_delegates_and_model_agree_after_a_second_block_became_final() -> None:
    # Ranks 0 and 2 equivocate, so the second blocks of heights 0 and 2 get the votes of five.
    case = scenario(
        nodes=7, network=named("mesh"), vote_phases=2, blocks=3, block_bytes=8000,
        view_timeout_seconds=2.0, faults=Faults(equivocating=(0, 2)),
    )  # fmt: skip
    run = compare(case)
    assert run.is_live and run.is_safe
    assert [set(height.blocks) for height in run.heights] == [{1}, {0}, {1}]
