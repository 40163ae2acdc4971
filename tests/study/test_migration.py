"""Migration of keys: the published bound, adoption, phases, and capacity meanwhile."""

import math
from dataclasses import replace

import pytest

from pqchain.errors import UsageError
from pqchain.study import load
from pqchain.study.migration import Migration, series
from tests.study.plans import found, plan

BITCOIN = Migration(accounts=186.7e6, moves_per_block=17_020, blocks_per_day=144)


def test_bitcoin_migration_takes_the_published_days():
    # arXiv 2410.16965 prints 76.16: its 10,967 blocks of 10 minutes.
    assert BITCOIN.least_days == pytest.approx(76.16, rel=5e-4)
    frame = series(BITCOIN)
    assert len(frame) == math.ceil(BITCOIN.least_days)
    assert frame["moved_share"].iloc[-1] == pytest.approx(1.0)
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
