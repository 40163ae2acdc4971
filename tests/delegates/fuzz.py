"""Damaged messages into a delegate: no exception, and no vote that it should not cast.

    python tests/delegates/fuzz.py 1000000

What seven delegates say to each other under faults is recorded, then damaged, mixed up and given
to one of them. It may vote once in a view, and only for blocks that verify.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

from pqchain.delegates import messages
from pqchain.delegates.book import MemoryBook
from pqchain.delegates.messages import Kind
from pqchain.delegates.runner import Runner
from tests.delegates.trials import COUNT, MS, Trial, make_setting

VICTIM = 3

LIFE = 300
"""Messages after which another delegate begins with nothing."""


def recorded(setting):
    """Return messages of all kinds with who sent them, and blocks that verify somewhere."""
    said = []

    class Recording(Trial):
        def send(self, rank, to, data):
            said.append((rank, data))
            super().send(rank, to, data)

    for seed in range(6):
        Recording(seed, setting).run()
    return said


def damage(dice, data):
    """Return the bytes with something done to them."""
    how, data = dice.randrange(7), bytearray(data)
    where = dice.randrange(len(data)) if data else 0
    if how == 0:
        del data[where:]
    elif how == 1:
        data[where:where] = dice.randbytes(dice.randrange(1, 9))
    elif how == 2:
        data[where : where + 4] = dice.randbytes(4)
    elif how == 3:
        data[4] = dice.randrange(10)
    elif how < 6:
        data[where] ^= 1 << dice.randrange(8)
    return bytes(data)


def by_kind(said):
    """Return what was said, a list for each kind of message that was."""
    kinds = {kind: [each for each in said if messages.kind_of(each[1]) is kind] for kind in Kind}
    return {kind: each for kind, each in kinds.items() if each}


def live(setting, kinds, dice, count, now=0):
    """Give a new delegate so many messages; return what it refused, and how many votes it cast."""
    cast, votes, refused = 0, {}, Counter()
    runner = Runner(setting, VICTIM, MemoryBook(setting.pool.genesis))
    runner.start(now)
    runner.refused = refused
    for _ in range(count):
        now += dice.randrange(MS)
        link, data = dice.choice(kinds[dice.choice(list(kinds))])
        if dice.random() < 0.7:
            data = damage(dice, data)
        runner.receive(link if dice.random() < 0.95 else dice.randrange(COUNT), data, now)
        if now >= runner.timer():
            runner.wake(now)
        while (work := runner.poll()) is not None:
            work.done(work.run(), now)
        for sending in runner.out:
            if sending.kind in (Kind.VOTE, Kind.COMMIT):
                cast += 1
                message = messages.decode(
                    sending.for_(0), field_bytes=setting.field_bytes(sending.kind)
                )
                ballot = (message.kind, message.height, message.view)
                assert message.sender == VICTIM
                assert votes.setdefault(ballot, message.body) == message.body, ballot
                assert message.height <= runner.height
        runner.out = []
    return refused, cast


def fuzz(setting, count, seed=0):
    """Give delegates so many messages; return what they refused, and how many votes they cast."""
    dice, kinds = random.Random(seed), by_kind(recorded(setting))
    cast, refused = 0, Counter()
    for first in range(0, count, LIFE):
        no, votes = live(setting, kinds, dice, min(LIFE, count - first))
        refused, cast = refused + no, cast + votes
    return refused, cast


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    refused, cast = fuzz(make_setting(), count)
    sys.stdout.write(f"{count} messages, {cast} votes cast; refused: {dict(refused)}\n")


if __name__ == "__main__":
    main()
