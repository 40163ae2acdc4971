"""Migration of keys by day, and latency by load: published bounds, closed forms, simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pqchain.errors import UsageError
from pqchain.study import load
from pqchain.study.migration import Migration, series
from pqchain.study.queueing import Blocks, curve, latency_seconds, left_over
from tests.study.plans import found, plan

BITCOIN = Migration(accounts=186.7e6, moves_per_block=17_020, blocks_per_day=144)


def test_bitcoin_migration_takes_the_published_days():
    # arXiv 2410.16965 prints 76.16: its 10,967 blocks of 10 minutes.
    assert BITCOIN.least_days == pytest.approx(76.16, rel=5e-4)
    frame = series(BITCOIN)
    assert len(frame) == math.ceil(BITCOIN.least_days)
    assert frame["moved_share"].iloc[-1] == pytest.approx(1.0)
    # All have asked on the first day, so who has not moved is waiting.
    assert (frame["moved_share"] + frame["waiting_share"]).to_numpy() == pytest.approx(1.0)
    assert (frame["growth_bytes_per_day"] >= 0).all()


def test_accounts_migrate_only_after_requesting():
    slow = replace(BITCOIN, adoption_days=400.0)
    frame = series(slow, days=400)
    assert frame["moved_share"].iloc[-1] <= slow.asked_share(400.0)
    assert slow.asked_share(400.0) == pytest.approx(0.5, abs=0.01)
    assert frame["moved_share"].is_monotonic_increasing
    assert slow.asked_share(0.0) == 0.0


def test_phase_a_accelerates_and_phase_b_ends_migration():
    slow = replace(BITCOIN, adoption_days=2000.0)
    pressed = replace(slow, phase_a_days=500.0, phase_b_days=1230.0)
    frame = series(pressed)
    assert list(dict.fromkeys(frame["phase"])) == ["open", "A"]  # all moved before B
    assert len(frame) <= 500 + 366 + 80
    late = series(replace(slow, phase_a_days=500.0, phase_b_days=600.0))
    assert late["phase"].iloc[-1] == "B"
    assert late["day"].iloc[-1] == 601
    assert late["moved_share"].iloc[-1] < 1.0
    assert late["moved_share"].iloc[-1] == late["moved_share"].iloc[-2]


def test_longer_transactions_displace_others():
    chain = replace(
        BITCOIN, share=0.25, old_bytes=372.0, new_bytes=3282.0, move_bytes=1269.0,
        transactions_per_second=7.0, old_per_day=8 * 86_400, new_per_day=1.78 * 86_400,
    )  # fmt: skip
    frame = series(chain)
    assert frame["carried_per_second"].iloc[0] == pytest.approx(6.0, abs=0.1)
    assert frame["carried_per_second"].iloc[-1] < 1.8
    assert (frame["carried_per_second"] <= frame["wanted_per_second"]).all()


def test_study_migrates_its_accounts():
    chain = load("bitcoin").with_(nodes=64, algorithms=("Falcon-512",))
    answer = found(chain.with_(moving_share=1.0, adoption_days=0.0))
    moving = answer.migration("Falcon-512")
    # The 2.27 inputs of each transaction move, where the literature's bound is 17,020 a block.
    assert moving.moves_per_block == pytest.approx(2.27 * 4050, abs=3)
    assert (moving.phase_a_days, moving.phase_b_days) == (1111.1, 1841.6)  # of BIP-361
    expected = answer.values["Falcon-512"]["migration_seconds"] / 86_400
    assert moving.least_days == pytest.approx(expected)
    for name, per_day in (
        (chain.chain.baseline, moving.old_per_day),
        ("Falcon-512", moving.new_per_day),
    ):
        a_block = answer.values[name]["transactions_per_block"]
        assert per_day == pytest.approx(moving.blocks_per_day * a_block)
    with pytest.raises(UsageError, match="accounts must be above 0"):
        found(plan()).migration("Falcon-512")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"share": 0.0}, "share must be above 0 and at most 1; got 0.0"),
        ({"accounts": 0.0}, "accounts must be above 0; got 0.0"),
        ({"phase_a_days": 9.0, "phase_b_days": 8.0}, "must be at least phase_a_days, 9; got 8"),
    ],
)  # fmt: skip
def test_invalid_migrations_are_rejected(change, message):
    with pytest.raises(UsageError, match=message):
        replace(BITCOIN, **change)


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
