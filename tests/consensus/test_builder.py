"""Transactions of a block, and the election of delegates."""

from pqchain.consensus.builder import Load, delegates, tally
from tests.consensus.scenarios import SIZES, scenario


def test_every_block_is_full() -> None:
    load = Load(scenario(layout=SIZES, block_bytes=50_000))
    blocks = [load.take(height, now=height) for height in range(2)]
    size = 2420 + 1312
    for height, block in enumerate(blocks):
        assert (block.transactions, block.size_bytes) == (50_000 // size, 50_000 // size * size)
        assert block.starts_ns == height


def test_nodes_with_most_votes_are_delegates() -> None:
    votes = tally(500, 3)
    elected = delegates(500, 21, 3)
    assert len(set(elected.tolist())) == 21
    assert votes[elected].tolist() == sorted(votes.tolist(), reverse=True)[:21]
    assert votes.sum() == 500
