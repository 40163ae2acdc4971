"""Max-min fair rates, and the order of messages on shared links."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pqchain.consensus.engines.events import set_fair_rates
from pqchain.consensus.engines.queues import SharedLinks, fair_rates
from pqchain.consensus.network import SECOND
from pqchain.consensus.view import NEVER

_CAPACITIES = st.lists(st.integers(1, 10**9), min_size=5, max_size=5)
_PAIRS = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda p: p[0] != p[1]))


def test_uplink_is_divided_equally() -> None:
    rates = fair_rates([(0, 1), (0, 2), (0, 3)], [900] * 4, [900] * 4)
    assert rates == {(0, 1): 300, (0, 2): 300, (0, 3): 300}


def test_what_a_slow_receiver_leaves_goes_to_the_others() -> None:
    rates = fair_rates([(0, 1), (0, 2)], [900, 900, 900], [900, 100, 900])
    assert rates == {(0, 1): 100, (0, 2): 800}


@given(pairs=_PAIRS, uploads=_CAPACITIES, downloads=_CAPACITIES)
def test_every_message_has_a_bottleneck(pairs, uploads, downloads) -> None:
    rates = fair_rates(pairs, uploads, downloads)
    assert set(rates) == pairs
    for sender, receiver in pairs:
        fills = []
        for side, node, capacities in ((0, sender, uploads), (1, receiver, downloads)):
            shared = [rate for pair, rate in rates.items() if pair[side] == node]
            # Rounding leaves less than a bit per second for each message; 1 is the least rate.
            assert sum(shared) <= max(capacities[node], len(shared))
            is_full = sum(shared) > capacities[node] - len(shared)
            fills.append(is_full and rates[sender, receiver] >= max(shared) - len(pairs))
        assert any(fills)


@given(pairs=_PAIRS, uploads=_CAPACITIES, downloads=_CAPACITIES)
def test_fast_engine_has_the_same_rates(pairs, uploads, downloads) -> None:
    expected = np.zeros((5, 5), dtype=np.int64)
    for pair, rate in fair_rates(pairs, uploads, downloads).items():
        expected[pair] = rate
    remaining = (expected > 0) * np.int64(8 * SECOND)
    ends = min((-(-8 * SECOND // int(rate)) for rate in expected[expected > 0]), default=NEVER)
    rates = np.zeros((5, 5), dtype=np.int64)
    assert set_fair_rates(remaining, rates, np.array(uploads), np.array(downloads)) == ends
    assert np.array_equal(rates, expected)


def test_messages_of_a_pair_follow_each_other_in_their_order() -> None:
    links = SharedLinks([10, 10], [10, 10])
    links.put(0, (0, 1), (0, 1), 20, "second")
    links.put(0, (0, 0), (0, 1), 10, "first")
    assert links.settle(0) == SECOND
    assert links.finish(SECOND) == [((0, 1), "first")]
    assert links.settle(SECOND) == 3 * SECOND
    # A message to another node halves the rate of the one under way.
    links = SharedLinks([10, 10, 10], [10, 10, 10])
    links.put(0, (0, 0), (0, 1), 20, "long")
    assert links.settle(0) == 2 * SECOND
    links.put(SECOND, (0, 0), (0, 2), 5, "short")
    assert links.settle(SECOND) == 2 * SECOND
    assert links.finish(2 * SECOND) == [((0, 2), "short")]
    assert links.settle(2 * SECOND) == 2 * SECOND + SECOND // 2
