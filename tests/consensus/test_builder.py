"""Transactions of a block, and the election of delegates."""

import numpy as np

from pqchain.consensus import draws
from pqchain.consensus.builder import Load, delegates
from tests.consensus.scenarios import SIZES, scenario


def test_every_block_is_full() -> None:
    load, size = Load(scenario(layout=SIZES, block_bytes=50_000)), 2420 + 1312
    for height, block in enumerate(load.take(at, now=at) for at in range(2)):
        found = block.transactions, block.size_bytes, block.starts_ns
        assert found == (50_000 // size, 50_000 // size * size, height)


def test_nodes_with_most_votes_are_delegates() -> None:
    candidates = draws.integers_below(draws.key(3, "ballot"), np.arange(500), 0, 500).tolist()
    elected = delegates(500, 21, 3).tolist()
    most = sorted(map(candidates.count, range(500)), reverse=True)[:21]
    assert len(set(elected)) == 21 and list(map(candidates.count, elected)) == most
