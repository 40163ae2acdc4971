"""Quorums that convince, and those that do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.chain.encoding import Reader
from pqchain.delegates import certificates
from pqchain.delegates.messages import Kind, statement
from pqchain.errors import Malformed
from tests.delegates.trials import Hashed

DIGEST = bytes(32)


@given(votes=st.dictionaries(st.integers(0, 2**24 - 1), st.binary(max_size=40), max_size=9))
def test_what_is_written_is_read(votes: dict[int, bytes]) -> None:
    reader = Reader(certificates.write(votes))
    assert certificates.read(reader) == votes
    assert not reader.remaining


@pytest.mark.parametrize("order", [(1, 1), (2, 1)])
def test_a_rank_stands_once_and_in_order(order: tuple[int, int]) -> None:
    parts = [rank.to_bytes(3, "big") + bytes(2) for rank in order]
    with pytest.raises(Malformed, match=rf"rank 1 after rank {order[0]}; expected a higher one"):
        certificates.read(Reader(b"\0\2" + b"".join(parts)))


@pytest.mark.parametrize(
    ("changes", "convinces"),
    [
        ({}, True),
        ({"quorum": 6}, False),
        ({"view": 2}, False),
        ({"kind": Kind.VOTE}, False),
        ({"height": 1}, False),
        ({"digest": bytes([1]) + bytes(31)}, False),
        ({"votes": {9: b""}}, False),
    ],
)
def test_a_quorum_convinces_of_what_it_voted_for(changes: dict, convinces: bool) -> None:
    directory = Hashed()
    votes = {
        rank: directory.sign(rank, statement(Kind.COMMIT, rank, 0, 1, DIGEST)) for rank in range(5)
    }
    votes |= changes.get("votes", {})
    asked = {"kind": Kind.COMMIT, "height": 0, "view": 1, "digest": DIGEST, "quorum": 5}
    asked |= {name: value for name, value in changes.items() if name != "votes"}
    assert certificates.convinces(votes, directory=directory, **asked) is convinces
