"""Encoding of messages, byte by byte."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.chain.encoding import Reader
from pqchain.delegates import messages
from pqchain.delegates.messages import Frames, Message, MessageKind, statement
from pqchain.errors import Malformed
from tests.delegates.doubles import make_setting

VOTE = Message(MessageKind.VOTE, 3, 5, 1, bytes(range(32)), b"signed")

_MESSAGES = st.builds(
    Message,
    kind=st.sampled_from(MessageKind),
    sender=st.integers(0, 2**24 - 1),
    height=st.integers(0, 2**32 - 1),
    view=st.integers(0, 2**16 - 1),
    body=st.binary(min_size=32, max_size=32),
    signature=st.binary(max_size=20),
)


def test_vote_encoding_is_pinned() -> None:
    data = messages.encode(VOTE, field_bytes=8)
    assert data.hex() == (
        "00000034" "03" "000003" "00000005" "0001" "0006"
        + bytes(range(32)).hex() + b"signed".hex() + "0000"
    )  # fmt: skip
    assert len(data) == messages.VOTE_BYTES + 8
    assert messages.VOTE_BYTES == messages.HEADER_BYTES + messages.HASH_BYTES == 48


@given(message=_MESSAGES, bit=st.integers(0, 8 * 60 - 1))
def test_flipped_bit_changes_or_invalidates_a_message(message: Message, bit: int) -> None:
    data = bytearray(messages.encode(message, field_bytes=20))
    data[bit // 8 % len(data)] ^= 1 << bit % 8
    try:
        other = messages.decode(bytes(data), field_bytes=20)
    except Malformed:
        return
    assert other != message
    assert messages.encode(other, field_bytes=20) == bytes(data)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"short", "at least 16 bytes; got 5"),
        (messages.encode(VOTE, field_bytes=8)[:-1], "length field must be"),
        (b"\0\0\0\x0c\x0b" + bytes(11), "kind must be one of .*; got 11"),
        (
            messages.encode(VOTE, field_bytes=6)[:-6][:14] + b"\0\x09" + bytes(32),
            "length field must be",
        ),
        (messages.encode(Message(MessageKind.VOTE, 0, 0, 0, bytes(31))), "body of 31 bytes"),
    ],
)
def test_malformed_messages_are_rejected(data: bytes, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        messages.decode(data, field_bytes=8 if "length" in why else 0)


@given(cuts=st.lists(st.integers(0, 300), max_size=10))
def test_messages_decode_from_any_fragmentation(cuts: list[int]) -> None:
    expected = [messages.encode(Message(MessageKind.STATUS, n, 0, 0, bytes(n))) for n in range(9)]
    stream, frames, received = b"".join(expected), Frames(1000), []
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    for start, end in pairwise(edges):
        received += frames.feed(stream[start:end])
    assert received == expected


@pytest.mark.parametrize(
    ("begin", "why"),
    [
        ((997).to_bytes(4, "big"), "16 to 1000 bytes; got 1001"),
        (b"\xff" * 4, "got 4294967299"),
        ((11).to_bytes(4, "big"), "16 to 1000 bytes; got 15"),
        ((12).to_bytes(4, "big") + b"\x0b", "unknown kind 11"),
    ],
)
def test_oversized_messages_are_not_buffered(begin: bytes, why: str) -> None:
    frames = Frames(1000)
    vote = messages.encode(VOTE, field_bytes=8)
    assert frames.feed(vote[:30]) == []
    assert len(frames._partial) == 30
    with pytest.raises(Malformed, match=why):
        frames.feed(vote[30:] + begin + bytes(5000))
    assert len(frames._partial) == 0


def test_signature_padding_must_be_zero() -> None:
    data = messages.encode(VOTE, field_bytes=8)
    with pytest.raises(Malformed, match="padding of a signature must be zero"):
        messages.decode(data[:-1] + b"\1", field_bytes=8)


@pytest.mark.parametrize("order", [(1, 1), (2, 1)])
def test_ranks_of_votes_are_unique_and_sorted(order: tuple[int, int]) -> None:
    parts = [rank.to_bytes(3, "big") + bytes(2) for rank in order]
    with pytest.raises(Malformed, match=rf"ranks must ascend; got 1 after {order[0]}"):
        messages.decode_votes(Reader(b"\0\2" + b"".join(parts)))


@pytest.mark.native
def test_quorum_is_valid_for_its_block_only() -> None:
    setting, digest, kind = make_setting(), bytes(32), MessageKind.COMMIT
    votes = {
        rank: setting.keys.sign(rank, statement(kind, rank, 0, 1, digest)) for rank in range(5)
    }
    assert setting.is_quorum(votes, kind, 0, 1, digest)
    assert not setting.is_quorum({r: votes[r] for r in range(4)}, kind, 0, 1, digest)
    assert not setting.is_quorum(votes | {9: b""}, kind, 0, 1, digest)
    for other in (
        (MessageKind.VOTE, 0, 1, digest),
        (kind, 1, 1, digest),
        (kind, 0, 2, digest),
        (kind, 0, 1, bytes([1]) + bytes(31)),
    ):
        assert not setting.is_quorum(votes, *other)
