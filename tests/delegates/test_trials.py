"""Simulation testing: safety and progress under random faults, and planted mistakes.

As a program: after how many seeds of random faults each mistake is found.

    python tests/delegates/test_trials.py [--scheduler tls://host:8786]
"""

import argparse
import copy
import sys
from dataclasses import replace

import pytest

from pqchain.delegates.timed_delegate import TimedDelegate
from tests.delegates.doubles import COUNT, make_setting
from tests.delegates.trials import Trial, results_in_order, write

pytestmark = pytest.mark.native

MAX_SEEDS = 2000
"""Number of seeds within which a mistake has to be found."""


class UncheckedKeys:
    """Keys with which every signature is valid."""

    def __init__(self, keys):
        self.sign = keys.sign

    def verify(self, rank, statement, signature):
        return 0 <= rank < COUNT


class ForgottenLock(TimedDelegate):
    def _accept(self, block, now):
        self.store.save(replace(self.store.record, lock=None))
        super()._accept(block, now)


class ForgottenVote(TimedDelegate):
    def start(self, now):
        self.store.save(replace(self.store.record, voted=-1, committed=-1, lock=None))
        super().start(now)


class NeverHelps(TimedDelegate):
    def _send_final_block(self, link, height):
        pass


def quorum_less_one(setting):
    other = copy.copy(setting)
    other.quorum -= 1
    return {"setting": other}


def unverified_votes(setting):
    other = copy.copy(setting)
    other.__dict__["keys"] = UncheckedKeys(setting.keys)
    return {"setting": other}


MISTAKES = {
    "quorum less one": quorum_less_one,
    "unverified votes": unverified_votes,
    "a forgotten lock": lambda setting: {"setting": setting, "honest": ForgottenLock},
    "a vote forgotten in a crash": lambda setting: {"setting": setting, "honest": ForgottenVote},
    "a ledger that is not synced": lambda setting: {"setting": setting, "synced": False},
    "no help for those behind": lambda setting: {"setting": setting, "honest": NeverHelps},
}
"""Mistakes that have no effect without faults."""


def seeds_until_failure(mistake, setting):
    """Return the number of seeds until a mistake causes a failure, and the failure."""
    for seed in range(MAX_SEEDS):
        if failure := Trial(seed, **MISTAKES[mistake](setting)).run():
            return seed + 1, failure
    return None, ""


def search(mistake) -> tuple[str, int | None, str | None]:
    """Return the mistake, the number of seeds until it causes a failure, and the failure."""
    return mistake, *seeds_until_failure(mistake, make_setting())


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scheduler", help="address of a Dask scheduler whose workers search")
    address, missed = parser.parse_args().scheduler, 0
    tasks = [(mistake,) for mistake in MISTAKES]
    for mistake, seeds, failure in results_in_order(search, tasks, address):
        missed += seeds is None
        write(f"{mistake}: " + (f"found after {seeds} seeds: {failure}" if seeds else "not found"))
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
