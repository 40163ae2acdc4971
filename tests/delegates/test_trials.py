"""Simulation testing: one block at each height, progress after healing, mistakes found."""

from __future__ import annotations

import pytest

from tests.delegates.mistakes import MISTAKES, found_after
from tests.delegates.trials import Trial, make_setting

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def setting():
    return make_setting()


def test_random_faults_do_no_harm(setting):
    for seed in range(25):
        assert not Trial(seed, setting).run(), f"again by trials.py --seed {seed}"


def test_a_fast_clock_does_not_run_away(setting):
    # Its views were over two views before those of the others, whom it was needed by.
    assert not Trial(2382, setting).run()


@pytest.mark.long
def test_random_faults_do_no_harm_to_the_schemes_own_signatures():
    setting = make_setting(signatures=True)
    for seed in range(60):
        assert not Trial(seed, setting).run(), f"again by trials.py --signatures --seed {seed}"


def test_a_seed_gives_the_same_run(setting):
    one, two = Trial(5, setting), Trial(5, make_setting())
    assert one.run() == two.run() == ""
    assert (one.messages, one.finals) == (two.messages, two.finals)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(setting, mistake):
    seeds, failure = found_after(mistake, setting)
    assert seeds is not None
    expected = {
        "a ledger that is not synced": "lost a final block",
        "no help for those behind": "no progress",
    }
    assert expected.get(mistake, "two blocks are final") in failure
