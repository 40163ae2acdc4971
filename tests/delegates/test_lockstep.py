"""The delegates and the model, in every nanosecond: the third implementation, with real bytes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

from pqchain.consensus import model
from pqchain.consensus.model import Height, Run
from pqchain.consensus.network import NAMES, named
from pqchain.consensus.scenario import Faults, Scenario
from pqchain.consensus.view import NEVER, Outcome
from pqchain.delegates import core, lockstep, plain
from pqchain.delegates.messages import Kind
from pqchain.delegates.setting import Setting
from tests.consensus.scenarios import SCHEMES, scenario, scenarios, table

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
    # Without compiling anything: all engines give the same.
    modelled = model.run(case, engine="numpy", load=Setting(case).load)
    as_executed = dataclasses.replace(modelled, mode="virtual", transport="plain")
    assert agreed(delegates) == agreed(as_executed)
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
    check_part(0, 100)


@pytest.mark.long
@pytest.mark.parametrize("part", range(1, 11))
def test_delegates_and_model_agree_in_2000_scenarios(part: int) -> None:
    check_part(part, 200)


_TROUBLED = [
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


class _Slip:
    """What could be wrong with the delegates, or with their network."""

    @staticmethod
    def a_forgotten_lock(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(core.Delegate, "_lock", lambda *_: None)

    @staticmethod
    def a_quorum_less_one(patch: pytest.MonkeyPatch) -> None:
        made = Setting.__init__

        def less(self: Setting, *given: object, **more: object) -> None:
            made(self, *given, **more)  # type: ignore[arg-type]
            self.quorum -= 1

        patch.setattr(Setting, "__init__", less)

    @staticmethod
    def a_byte_more(patch: pytest.MonkeyPatch) -> None:
        wire = plain.Plain._wire
        patch.setattr(plain.Plain, "_wire", lambda self, length: wire(self, length + 1))

    @staticmethod
    def votes_not_verified_by_the_slow(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(lockstep.Prices, "of", lambda self, kind, count: self.verify_ns)

    @staticmethod
    def votes_for_whatever_comes(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(core.Delegate, "_note", _counting_any)

    @staticmethod
    def the_draws_of_another_kind(patch: pytest.MonkeyPatch) -> None:
        patch.setitem(core.CLASSES, Kind.COMMIT, 1)


def _counting_any(
    self: core.Delegate, kind: int, view: int, rank: int, digest: bytes, signature: bytes
) -> None:
    digest = self.held.digest if self.held else digest
    self._votes[view, kind][rank] = (digest, signature)
    self._counts[view, kind, digest] += 1


_SLIPS = [name for name in vars(_Slip) if not name.startswith("_")]


@pytest.mark.parametrize("slip", _SLIPS)
def test_the_comparison_sees_what_is_wrong(slip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [
        agreed(model.run(case, engine="numpy", load=Setting(case).load)) for case in _TROUBLED
    ]
    getattr(_Slip, slip)(monkeypatch)
    assert any(
        agreed(lockstep.run(case)) != modelled
        for case, modelled in zip(_TROUBLED, expected, strict=True)
    )


def test_the_comparison_agrees_where_nothing_is_wrong() -> None:
    for case in _TROUBLED:
        compare(case)
