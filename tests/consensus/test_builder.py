"""Transactions of a block, and the election of delegates."""

from typing import Any

import numpy as np
import pytest

from pqchain.consensus.builder import Load, delegates, tally
from pqchain.consensus.network import SECOND
from tests.consensus.scenarios import SIZES, scenario


def test_without_arrivals_every_block_is_full() -> None:
    load = Load(scenario(layout=SIZES, block_bytes=50_000))
    blocks = [load.take(height, now=height) for height in range(2)]
    size = 2420 + 1312
    for height, block in enumerate(blocks):
        assert block is not None
        assert (block.transactions, block.size_bytes) == (50_000 // size, 50_000 // size * size)
        assert block.starts_ns == block.appeared_ns == height


def test_block_waits_for_its_first_transaction() -> None:
    load = Load(scenario(arrivals_per_second=100.0, blocks=3))
    arrivals = load.arrivals.copy()
    first = load.take(0, now=0)
    assert first is not None
    assert (first.transactions, first.starts_ns) == (1, arrivals[0])
    second = load.take(1, now=int(arrivals[4]))
    assert second is not None
    assert second.transactions == 4
    assert second.appeared_ns == pytest.approx(np.mean(arrivals[1:5]))
    assert np.diff(arrivals).mean() == pytest.approx(SECOND / 100, rel=0.5)


def test_no_block_without_pending_transactions() -> None:
    load = Load(scenario(arrivals_per_second=1e9))
    end = int(load.arrivals[-1])
    taken = 0
    while (block := load.take(0, now=end)) is not None:
        taken += block.transactions
    assert taken > 0 and not len(load.arrivals)


@pytest.mark.parametrize("voting", ["plurality", "approval", "weighted"])
def test_nodes_with_most_votes_are_delegates(voting: Any) -> None:
    votes = tally(voting, nodes=500, seed=3)
    elected = delegates(voting, nodes=500, count=21, seed=3)
    assert len(set(elected.tolist())) == 21
    assert votes[elected].tolist() == sorted(votes.tolist(), reverse=True)[:21]
    expected = {"plurality": 500, "approval": 500 * 30}.get(voting)
    assert expected is None or votes.sum() == expected
    if expected is None:
        assert 500 * 400 < votes.sum() < 500 * 600
