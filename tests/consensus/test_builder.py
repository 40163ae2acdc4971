"""Transactions of a block, and the election of delegates."""

import numpy as np

from pqchain.consensus import draws
from pqchain.consensus.builder import Load, delegates
from tests.consensus.scenarios import SIZES, scenario


def test_every_block_is_full() -> None:
    load = Load(scenario(layout=SIZES, block_bytes=50_000))
    blocks = [load.take(height, now=height) for height in range(2)]
    size = 2420 + 1312
    for height, block in enumerate(blocks):
        assert (block.transactions, block.size_bytes) == (50_000 // size, 50_000 // size * size)
        assert block.starts_ns == height


def test_nodes_with_most_votes_are_delegates() -> None:
    candidates = draws.integers_below(draws.key(3, "ballot"), np.arange(500), 0, 500).tolist()
    elected = delegates(500, 21, 3).tolist()
    votes = sorted(map(candidates.count, range(500)), reverse=True)
    assert len(set(elected)) == 21
    assert list(map(candidates.count, elected)) == votes[:21]
