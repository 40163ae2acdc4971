"""Latency by load: closed forms, simulation."""

import math

import numpy as np
import pytest

from pqchain.study.queueing import Blocks, curve, latency_seconds, left_over


def blocks(**changes):
    values = {
        "transactions": 100.0, "seconds": 10.0, "waits": False, "empty_seconds": 1.0,
        "full_seconds": 3.0,
    }  # fmt: skip
    return Blocks(**(values | changes))


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_block_of_one_equals_the_m_d_1_queue(load):
    # Queue after a service of one unit: the Pollaczek-Khinchine length without the served one.
    assert left_over(load, 1) == pytest.approx(load**2 / (2 * (1 - load)), rel=1e-6)


@pytest.mark.parametrize(("arrivals", "room"), [(7.0, 10), (95.0, 100), (11.5, 12)])
def test_queue_length_equals_a_simulation(arrivals, room):
    steps = np.random.default_rng(1).poisson(arrivals, 1_000_000) - room
    walk = np.cumsum(steps)
    queue = walk - np.minimum.accumulate(np.minimum(walk, 0))
    assert left_over(arrivals, room) == pytest.approx(queue.mean(), rel=0.06)


def test_approximation_approaches_kingmans_bound_from_below():
    assert left_over(0.99, 1) == pytest.approx(0.99 / (2 * 0.01))
    assert left_over(0.9, 1) < 0.9 / (2 * 0.1)


def test_wait_is_half_an_interval_at_low_load_and_infinite_at_capacity():
    assert latency_seconds(blocks(), 1e-6) == pytest.approx(6.0, rel=1e-4)
    assert latency_seconds(blocks(), 10.0) == math.inf
    assert latency_seconds(blocks(), 9.9) > 5 + 2.9


def test_waiting_blocks_follow_without_gaps():
    one = blocks(waits=True, seconds=0.0)
    assert one.capacity_per_second == pytest.approx(100 / 3)
    # cycle = final(rate * cycle / n): 1 + 2 * 10 c / 100 = c
    assert one.cycle_seconds(10.0) == pytest.approx(1 / 0.8)
    assert one.cycle_seconds(1e9) == 3.0
    held = blocks(waits=True, seconds=2.0)
    assert held.cycle_seconds(1.0) == 2.0
    assert held.capacity_per_second == pytest.approx(100 / 3)


def test_curve_ends_at_each_schemes_capacity():
    frame = curve({"fast": blocks(), "slow": blocks(transactions=10.0)})
    assert list(dict.fromkeys(frame["algorithm"])) == ["fast", "slow"]
    assert frame["load"].max() == 0.98
    assert np.isfinite(frame["latency_seconds"]).all()
    assert frame.groupby("algorithm")["arrivals_per_second"].max().tolist() == [9.8, 0.98]
