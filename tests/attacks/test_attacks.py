"""A small part of `make attack`: only permitted outcomes of hostile inputs."""

from __future__ import annotations

import pytest

from tests.attacks import __main__ as program
from tests.attacks.harness import ALLOWED, Attack, Input, Outcome, run
from tests.attacks.registry import ATTACKS

SMALL = [attack for attack in ATTACKS if attack.small]
"""Attacks of which `make test` tries some inputs."""


@pytest.mark.native
@pytest.mark.parametrize("attack", SMALL, ids=lambda attack: f"{attack.surface}, {attack.name}")
def test_hostile_inputs_are_accepted_or_rejected_with_a_reason(attack: Attack) -> None:
    tally = run(attack, attack.small)
    if not tally.inputs:
        pytest.skip(
            "impossible here: no mount in a namespace of its own, or no source in the cache"
        )
    assert set(tally.counts) <= set(ALLOWED), "\n".join(tally.defects)


def test_table_has_a_row_for_every_attack_and_no_defects() -> None:
    rows = program._rows(program.TABLE)
    assert list(rows) == [f"{attack.surface}, {attack.name}" for attack in ATTACKS]
    for row in rows.values():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[6] == "0", row


def test_forbidden_outcomes_are_counted_and_reported() -> None:
    def attempt(data: object) -> Outcome:
        if data == 1:
            raise KeyError("lost")
        return Outcome.WRONG if data == 2 else Outcome.FINE

    def make(_: object, count: int):
        return (Input(f"input {number}", number) for number in range(count))

    made_up = Attack("s", "n", 4, 4, lambda _: (make, attempt))
    tally = run(made_up, 4)
    assert (tally.inputs, tally.failed) == (4, 2)
    assert tally.counts[Outcome.FINE] == 2
    assert tally.defects == ["traceback: input 1: KeyError: 'lost'", "wrong answer: input 2: "]
