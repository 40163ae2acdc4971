"""Which plan counts, and when all have confirmed the same."""

import pytest

from pqchain.errors import DataError
from pqchain.reencode.protocol.plan import Confirmations, Plan


def test_the_later_epoch_counts_then_the_lower_leader():
    plans = [Plan(2, 1, (0, 1)), Plan(3, 4, (0, 1)), Plan(2, 0, (0, 2))]
    assert sorted(plans, key=lambda plan: plan.rank) == [plans[0], plans[2], plans[1]]
    assert Plan(2, 1, (0, 1)).agrees(Plan(2, 5, (0, 1)))
    assert not Plan(2, 1, (0, 1)).agrees(Plan(2, 1, (1, 0)))


def test_a_plan_survives_json_and_nothing_else_is_one():
    plan = Plan(2, 1, (0, 1))
    assert Plan.from_plain(plan.plain()) == plan
    for other in (None, {}, {"epoch": "x", "leader": 0, "members": []}, [1, 2, 3]):
        with pytest.raises(DataError, match="is no plan"):
            Plan.from_plain(other)


def test_everyone_must_confirm_the_same_for_every_block():
    told = Confirmations()
    assert told.agree(0, [1], [])
    assert not told.agree(0, [], ["a"])
    told.add(0, "a", "x")
    assert told.agree(0, [], ["a"])
    assert not told.agree(0, [1], ["a"])
    told.add(1, "a", "y")
    assert not told.agree(0, [1], ["a"])
    told.add(1, "a", "x")
    assert told.agree(0, [1], ["a"])
    assert not told.agree(0, [1], ["a", "b"])
    assert told.of(1) == {"a": "x"}
    told.clear()
    assert told.of(1) == {}
