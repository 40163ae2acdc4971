"""A part of `make fuzz-delegates`."""

from __future__ import annotations

import pytest

from pqchain.delegates.messages import VOTE_KINDS, MessageKind, kind_of
from pqchain.delegates.setting import Setting
from pqchain.delegates.stores import MemoryStore
from pqchain.delegates.timed_delegate import TimedDelegate
from tests.delegates.doubles import make_setting
from tests.delegates.fuzz import VICTIM, fuzz, recorded

pytestmark = pytest.mark.native

FIELD = 16
"""Length of a message's header in bytes."""


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
    setting = Setting(plain.scenario.with_(signed_blocks=True), verifier=plain.verifier)
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
