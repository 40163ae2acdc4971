"""Feed damaged messages to a delegate: no exception and no forbidden vote.

    python tests/delegates/test_fuzz.py 1000000

The messages of seven delegates under faults are recorded, then damaged, shuffled and delivered to
one of them. It may vote once in a view, and only for valid blocks.
"""

import random
import sys
from collections import Counter

import pytest

from pqchain.delegates import messages
from pqchain.delegates.messages import VOTE_KINDS, MessageKind, kind_of
from pqchain.delegates.setting import Setting
from pqchain.delegates.stores import MemoryStore
from pqchain.delegates.timed_delegate import TimedDelegate
from tests.delegates.doubles import COUNT, make_setting
from tests.delegates.trials import MS, Trial

pytestmark = pytest.mark.native

VICTIM = 3

FIELD = 16
"""Length of a message's header in bytes."""

LIFE = 300
"""Messages after which a new delegate starts."""


def recorded(setting):
    """Return messages of all kinds with their senders."""
    sent = []

    class Recording(Trial):
        def send(self, rank, to, data):
            sent.append((rank, data))
            super().send(rank, to, data)

    for seed in range(6):
        Recording(seed, setting).run()
    return sent


def damage(dice, data):
    """Return the bytes, damaged in one of seven ways."""
    how, data = dice.randrange(7), bytearray(data)
    at = dice.randrange(len(data)) if data else 0
    if how == 0:
        del data[at:]
    elif how == 1:
        data[at:at] = dice.randbytes(dice.randrange(1, 9))
    elif how == 2:
        data[at : at + 4] = dice.randbytes(4)
    elif how == 3:
        data[4] = dice.randrange(10)
    elif how < 6:
        data[at] ^= 1 << dice.randrange(8)
    return bytes(data)


def by_kind(sent):
    """Return the messages as a list for each kind that occurs."""
    kinds = sorted({messages.kind_of(data) for _, data in sent} - {None})
    return {kind: [pair for pair in sent if messages.kind_of(pair[1]) is kind] for kind in kinds}


def live(setting, kinds, dice, count, now=0):
    """Send a new delegate `count` messages; return its rejections and how many votes it cast."""
    cast, votes, rejected = 0, {}, Counter()
    delegate = TimedDelegate(setting, VICTIM, MemoryStore(setting.pool.genesis))
    delegate.start(now)
    delegate.rejected = rejected
    for _ in range(count):
        now += dice.randrange(MS)
        link, data = dice.choice(kinds[dice.choice(list(kinds))])
        if dice.random() < 0.7:
            data = damage(dice, data)
        delegate.receive(link if dice.random() < 0.95 else dice.randrange(COUNT), data, now)
        if now >= delegate.timer():
            delegate.wake(now)
        while (work := delegate.poll()) is not None:
            work.finish(work.run(), now)
        for sending in delegate.out:
            if sending.kind in messages.VOTE_KINDS:
                cast += 1
                message = messages.decode(
                    sending.for_(0), field_bytes=setting.field_bytes(sending.kind)
                )
                ballot = (message.kind, message.height, message.view)
                assert message.sender == VICTIM
                assert votes.setdefault(ballot, message.body) == message.body, ballot
                assert message.height <= delegate.height
        delegate.out = []
    return rejected, cast


def fuzz(setting, count, seed=0):
    """Send delegates `count` messages; return their rejections and how many votes they cast."""
    dice, kinds = random.Random(seed), by_kind(recorded(setting))
    cast, rejected = 0, Counter()
    for first in range(0, count, LIFE):
        rejections, votes = live(setting, kinds, dice, min(LIFE, count - first))
        rejected, cast = rejected + rejections, cast + votes
    return rejected, cast


def test_damaged_messages_keep_delegates_safe():
    rejected, cast = fuzz(make_setting(), 5000)
    assert cast > 0
    assert {"malformed", "wrong sender", "bad signature", "wrong root", "no quorum"} <= set(
        rejected
    )


@pytest.mark.parametrize("kind", [MessageKind.PROPOSAL, MessageKind.VOTE, MessageKind.COMMIT])
def test_message_with_a_flipped_bit_is_not_counted(kind):
    """Blocks are signed here: nothing else authenticates their proposer and time."""
    plain = make_setting()
    setting = Setting(plain.scenario.with_(signed_blocks=True))
    setting.verifier = plain.verifier
    setting.__dict__["keys"] = plain.keys
    sender, message = next(
        (sender, data)
        for sender, data in recorded(setting)
        if kind_of(data) is kind and sender != VICTIM and data[8:14] == bytes(6)
    )

    def receive(data):
        """Return what a new delegate counts, sends and rejects after a message."""
        delegate = TimedDelegate(setting, VICTIM, MemoryStore(setting.pool.genesis))
        delegate.start(0)
        delegate.out.clear()
        delegate.receive(sender, data, 1)
        while (work := delegate.poll()) is not None:
            work.finish(work.run(), 2)
        counted = [rank for votes in delegate._votes.values() for rank in votes]
        sent = [sending for sending in delegate.out if sending.kind in VOTE_KINDS]
        return counted, sent, delegate.rejected.total()

    counted, sent, rejected = receive(message)
    expected = ([VICTIM], 1, 0) if kind is MessageKind.PROPOSAL else ([sender], 0, 0)
    assert (counted, len(sent), rejected) == expected
    body, end = 8 * (FIELD + 64), 8 * len(message)  # then transactions, or zeros after a signature
    for bit in (*range(8 * FIELD), *range(8 * FIELD, body, 7), *range(body, end, 97)):
        data = bytearray(message)
        data[bit // 8] ^= 1 << bit % 8
        counted, sent, rejected = receive(bytes(data))
        later = 8 <= bit // 8 < 14  # of another height or view: kept until then, or rejected
        assert (counted, sent) == ([], []), f"bit {bit}"
        assert rejected or later or kind_of(bytes(data)) is not kind, f"bit {bit}"


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rejected, cast = fuzz(make_setting(), count)
    sys.stdout.write(f"{count} messages, {cast} votes cast; rejected: {dict(rejected)}\n")


if __name__ == "__main__":
    main()
