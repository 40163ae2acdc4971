"""Messages are read completely from any fragmentation of a channel; nodes agree on a placement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain.errors import DataError
from pqchain.reencode.protocol.messages import Confirmations, MessageParser, Placement, pack


@given(cuts=st.lists(st.integers(1, 40), max_size=30), chunk=st.binary(max_size=60))
def test_messages_and_chunks_decode_from_any_fragmentation(cuts, chunk):
    wire = (pack({"type": "chunk", "bytes": len(chunk)}) + chunk + pack({"type": "end"})) * 2
    pieces, at = [], 0
    for cut in [*cuts, len(wire)]:
        pieces.append(wire[at : at + cut])
        at += cut
    reader, told, memory = MessageParser(), [], []
    for piece in pieces:
        for item in reader.feed(piece):
            if isinstance(item, dict):
                told.append(item)
                if item["type"] == "chunk" and item["bytes"]:
                    memory.append(bytearray(item["bytes"]))
                    reader.expect(item["bytes"], memoryview(memory[-1]))
    assert told == [{"type": "chunk", "bytes": len(chunk)}, {"type": "end"}] * 2
    assert all(each == chunk for each in memory)


@given(cuts=st.lists(st.integers(1, 40), max_size=30), chunk=st.binary(min_size=1, max_size=60),
       room=st.integers(1, 70))  # fmt: skip
def test_short_buffer_is_refilled(cuts, chunk, room):
    reader, taken, at = MessageParser(), [], 0
    window = memoryview(bytearray(room))
    reader.expect(len(chunk), window, full=lambda part: taken.append(bytes(part)))
    for cut in [*cuts, len(chunk)]:
        piece = chunk[at : at + cut]
        assert sum(reader.feed(piece)) == len(piece)
        at += len(piece)
    assert b"".join(taken) == chunk and not reader.left
    assert all(len(part) == room for part in taken[:-1])


def test_transport_refills_a_short_buffer():
    reader, taken = MessageParser(), []
    window = memoryview(bytearray(4))
    reader.expect(6, window, full=lambda part: taken.append(bytes(part)))
    assert (reader.free, reader.registered) == (4, False)
    window[:4] = b"abcd"
    reader.registered = True
    reader.filled(4)
    assert (reader.free, reader.registered, taken) == (2, False, [b"abcd"])
    with pytest.raises(DataError, match="bytes of a chunk must be at most 2; got 3"):
        reader.filled(3)


@pytest.mark.parametrize(
    "wire",
    [
        b"\xff\xff\xff\xff....",
        b"\0\0\0\x02[]",
        b"\0\0\0\x02{!",
        b"\0\0\0\x01\xff",
        (1 << 17).to_bytes(4, "big") + b"[" * (1 << 17),
    ],
    ids=range(5),
)
def test_invalid_messages_are_rejected(wire):
    with pytest.raises(DataError):
        list(MessageParser().feed(wire))


@pytest.mark.parametrize("length", [0, (1 << 20) - 3, 1 << 20, 2**32 - 1])
def test_invalid_length_is_rejected_at_once(length):
    """A length of zero once made a reader loop forever."""
    with pytest.raises(DataError, match=f"must have 1 to 1048572 bytes; got {length}"):
        list(MessageParser().feed(length.to_bytes(4, "big") + b"more"))


def test_later_epoch_wins_then_lower_leader():
    placements = [Placement(2, 1, (0, 1)), Placement(3, 4, (0, 1)), Placement(2, 0, (0, 2))]
    assert sorted(placements, key=lambda each: each.rank) == [placements[i] for i in (0, 2, 1)]
    assert Placement(2, 1, (0, 1)).agrees(Placement(2, 5, (0, 1)))
    assert not Placement(2, 1, (0, 1)).agrees(Placement(2, 1, (1, 0)))


def test_all_nodes_must_confirm_the_same_placement():
    told = Confirmations()
    assert told.agree(0, [1], []) and not told.agree(0, [], ["a"])
    told.add(0, "a", "x")
    assert told.agree(0, [], ["a"]) and not told.agree(0, [1], ["a"])
    told.add(1, "a", "y")
    assert not told.agree(0, [1], ["a"])
    told.add(1, "a", "x")
    assert told.agree(0, [1], ["a"]) and not told.agree(0, [1], ["a", "b"])
    assert told.of(1) == {"a": "x"}
