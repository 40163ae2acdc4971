"""Who is elected."""

from __future__ import annotations

from typing import Any

import pytest

from pqchain.consensus import election


@pytest.mark.parametrize("voting", ["plurality", "approval", "weighted"])
def test_the_most_voted_are_delegates(voting: Any) -> None:
    votes = election.tally(voting, nodes=500, seed=3)
    elected = election.delegates(voting, nodes=500, count=21, seed=3)
    assert len(set(elected.tolist())) == 21
    assert votes[elected].tolist() == sorted(votes.tolist(), reverse=True)[:21]
    expected = {"plurality": 500, "approval": 500 * 30}.get(voting)
    assert expected is None or votes.sum() == expected
    if expected is None:
        assert 500 * 400 < votes.sum() < 500 * 600
