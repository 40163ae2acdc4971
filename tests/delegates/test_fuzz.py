"""A part of `make fuzz-delegates`."""

from __future__ import annotations

import pytest

from pqchain.delegates.book import MemoryBook
from pqchain.delegates.messages import Kind, kind_of
from pqchain.delegates.runner import Runner
from pqchain.delegates.setting import Setting
from tests.delegates.fuzz import VICTIM, fuzz, recorded
from tests.delegates.trials import make_setting

pytestmark = pytest.mark.native

FIELD = 16
"""Before the body of a message is its header."""


def test_damaged_messages_do_no_harm():
    refused, cast = fuzz(make_setting(), 5000)
    assert cast > 0
    assert {"malformed", "stranger", "bad signature", "wrong root", "no quorum"} <= set(refused)


@pytest.mark.parametrize("kind", [Kind.PROPOSAL, Kind.VOTE, Kind.COMMIT])
def test_a_message_with_any_bit_flipped_is_not_counted(kind):
    """Of a block nothing vouches for proposer and time, unless it is signed or the next follows."""
    plain = make_setting()
    setting = Setting(plain.scenario.with_(signed_blocks=True), verifier=plain.verifier)
    setting.__dict__["directory"] = plain.directory
    sender, whole = next(
        each
        for each in recorded(setting)
        if kind_of(each[1]) is kind and each[0] != VICTIM and each[1][8:14] == bytes(6)
    )

    def heard(data):
        """Return what a fresh delegate counts and says after a message."""
        runner = Runner(setting, VICTIM, MemoryBook(setting.pool.genesis))
        runner.start(0)
        runner.out.clear()
        runner.receive(sender, data, 1)
        while (work := runner.poll()) is not None:
            work.done(work.run(), 2)
        counted = [rank for votes in runner._votes.values() for rank in votes]
        said = [sending for sending in runner.out if sending.kind in (Kind.VOTE, Kind.COMMIT)]
        return counted, said, runner.refused.total()

    counted, said, refused = heard(whole)
    assert (counted, len(said)) == (([VICTIM], 1) if kind is Kind.PROPOSAL else ([sender], 0))
    assert refused == 0
    body, end = 8 * (FIELD + 64), 8 * len(whole)  # then transactions, or zeros after a signature
    for place in (*range(8 * FIELD), *range(8 * FIELD, body, 7), *range(body, end, 97)):
        data = bytearray(whole)
        data[place // 8] ^= 1 << place % 8
        counted, said, refused = heard(bytes(data))
        later = 8 <= place // 8 < 14  # of another height or view: kept until then, or refused
        assert (counted, said) == ([], []), f"bit {place}"
        assert refused or later or kind_of(bytes(data)) is not kind, f"bit {place}"
