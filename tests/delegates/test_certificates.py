"""Encoding and verification of quorums."""

from __future__ import annotations

import pytest

from pqchain.chain.encoding import Reader
from pqchain.delegates import certificates
from pqchain.delegates.messages import MessageKind, statement
from pqchain.errors import Malformed
from tests.delegates.doubles import HashKeys

DIGEST = bytes(32)


@pytest.mark.parametrize("order", [(1, 1), (2, 1)])
def test_ranks_are_unique_and_sorted(order: tuple[int, int]) -> None:
    parts = [rank.to_bytes(3, "big") + bytes(2) for rank in order]
    with pytest.raises(Malformed, match=rf"ranks must ascend; got 1 after {order[0]}"):
        certificates.decode(Reader(b"\0\2" + b"".join(parts)))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"quorum": 6}, False),
        ({"view": 2}, False),
        ({"kind": MessageKind.VOTE}, False),
        ({"height": 1}, False),
        ({"digest": bytes([1]) + bytes(31)}, False),
        ({"votes": {9: b""}}, False),
    ],
)
def test_quorum_is_valid_for_its_block_only(changes: dict, expected: bool) -> None:
    keys, kind = HashKeys(), MessageKind.COMMIT
    votes = {rank: keys.sign(rank, statement(kind, rank, 0, 1, DIGEST)) for rank in range(5)}
    votes |= changes.get("votes", {})
    arguments = {"kind": kind, "height": 0, "view": 1, "digest": DIGEST, "quorum": 5}
    arguments |= {name: value for name, value in changes.items() if name != "votes"}
    assert certificates.is_quorum(votes, keys=keys, **arguments) is expected
