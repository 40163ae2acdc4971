"""What could be wrong with a delegate, and after how many seeds of random faults it is seen.

python tests/delegates/mistakes.py
"""

from __future__ import annotations

import copy
import sys
from dataclasses import replace

from pqchain.delegates.runner import Runner
from tests.delegates.trials import COUNT, Trial, make_setting, write

MOST_SEEDS = 2000
"""Within so many a mistake has to be found."""


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


def main():
    setting, missed = make_setting(), 0
    for mistake in MISTAKES:
        seeds, failure = found_after(mistake, setting)
        missed += seeds is None
        write(f"{mistake}: " + (f"found after {seeds} seeds: {failure}" if seeds else "not found"))
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
