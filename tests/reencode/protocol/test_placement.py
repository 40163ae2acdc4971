"""Order of placements, and agreement on one."""

import pytest

from pqchain.errors import DataError
from pqchain.reencode.protocol.placement import Confirmations, Placement


def test_later_epoch_wins_then_lower_leader():
    placements = [Placement(2, 1, (0, 1)), Placement(3, 4, (0, 1)), Placement(2, 0, (0, 2))]
    assert sorted(placements, key=lambda each: each.rank) == [placements[i] for i in (0, 2, 1)]
    assert Placement(2, 1, (0, 1)).agrees(Placement(2, 5, (0, 1)))
    assert not Placement(2, 1, (0, 1)).agrees(Placement(2, 1, (1, 0)))


def test_placements_round_trip_and_invalid_ones_are_rejected():
    placement = Placement(2, 1, (0, 1))
    assert Placement.from_plain(placement.plain()) == placement
    for other in (None, {}, {"epoch": "x", "leader": 0, "members": []}, [1, 2, 3]):
        with pytest.raises(DataError, match="is not a placement"):
            Placement.from_plain(other)


def test_all_nodes_must_confirm_the_same_placement():
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
