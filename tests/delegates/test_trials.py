"""Simulation testing: one block per height, progress after healing, detected mistakes."""

from __future__ import annotations

import pytest

from tests.delegates.doubles import make_setting
from tests.delegates.mistakes import MISTAKES, seeds_until_failure
from tests.delegates.trials import Trial

pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def setting():
    return make_setting()


def test_random_faults_keep_delegates_safe_and_live(setting):
    for seed in range(25):
        assert not Trial(seed, setting).run(), f"repeat with trials.py --seed {seed}"


@pytest.mark.long
def test_random_faults_do_no_harm_with_real_signatures():
    setting = make_setting(signatures=True)
    for seed in range(60):
        assert not Trial(seed, setting).run(), f"repeat with trials.py --signatures --seed {seed}"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_injected_mistakes_are_found(setting, mistake):
    seeds, failure = seeds_until_failure(mistake, setting)
    assert seeds is not None
    expected = {
        "a ledger that is not synced": "lost a final block",
        "no help for those behind": "no progress",
    }
    assert expected.get(mistake, "two blocks are final") in failure
