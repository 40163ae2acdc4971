"""Simulation testing: one block at each height, progress after healing, mistakes found."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from pqchain.consensus.delegate.runner import Runner
from tests.consensus.delegate.trials import COUNT, Trial, make_setting

pytestmark = pytest.mark.native

MOST_SEEDS = 2000
"""Within so many a mistake has to be found."""


@pytest.fixture(scope="module")
def setting():
    return make_setting()


class Careless:
    """A directory that takes every signature for right."""

    def __init__(self, directory):
        self.sign, self.public_key = directory.sign, directory.public_key

    def verify(self, rank, statement, signature):
        return 0 <= rank < COUNT


class ForgottenLock(Runner):
    def _hold(self, held, now):
        self.book.keep(replace(self.book.record, lock=None))
        super()._hold(held, now)


class ForgottenVote(Runner):
    def start(self, now):
        self.book.keep(replace(self.book.record, voted=-1, committed=-1, lock=None))
        super().start(now)


class NeverUnlocks(Runner):
    def _unlock(self, view, digest, body):
        pass


class NeverAsks(Runner):
    def _help(self, link, height):
        pass


def quorum_less_one(setting):
    other = copy.copy(setting)
    other.quorum -= 1
    return {"setting": other}


def unverified_votes(setting):
    other = copy.copy(setting)
    other.__dict__["directory"] = Careless(setting.directory)
    return {"setting": other}


MISTAKES = {
    "quorum less one": quorum_less_one,
    "unverified votes": unverified_votes,
    "a forgotten lock": lambda setting: {"setting": setting, "runner": ForgottenLock},
    "a vote forgotten in a crash": lambda setting: {"setting": setting, "runner": ForgottenVote},
    "a ledger that is not synced": lambda setting: {"setting": setting, "synced": False},
    "no help for those behind": lambda setting: {"setting": setting, "runner": NeverAsks},
}
"""What could be wrong, and would not be seen where nothing goes wrong."""


def found_after(mistake, setting, most=MOST_SEEDS):
    """Return how many seeds it takes, and what is seen then."""
    for seed in range(most):
        if failure := Trial(seed, **MISTAKES[mistake](setting)).run():
            return seed + 1, failure
    return None, ""


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
