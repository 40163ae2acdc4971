"""Bounds of the memory that unauthenticated clients and members can make QUIC endpoints keep."""

import random
from types import SimpleNamespace

import pytest

from pqchain.wire.session import Closed, Opened
from pqchain.wire.transports import aioquic_connection, limits
from pqchain.wire.transports.admission import MAX_HALF_OPEN, Admission
from pqchain.wire.transports.aioquic import MAX_TICKET_SECONDS, MAX_TICKETS, Tickets
from pqchain.wire.transports.aioquic_connection import UNAUTHENTICATED_DATA_BYTES
from tests.wire.pair import Pair, forged


@pytest.fixture
def pair():
    return Pair()


@pytest.mark.parametrize("kind", ["pieces", "bytes"])
def test_session_with_a_non_reading_peer_is_closed(pair, monkeypatch, kind):
    """Counts waiting pieces, and bytes that only the queue keeps."""
    monkeypatch.setattr(limits, "MAX_QUEUED", 1000)
    monkeypatch.setattr(limits, "MAX_QUEUED_BYTES", 1 << 20)
    _, there = pair.connected()
    data = bytes(10_000) if kind == "bytes" else memoryview(bytearray(10_000))
    queued = pair.server.sessions[there].queued
    sent = 0
    while there in pair.server.sessions:
        assert queued.pieces == sent <= 1000
        pair.server.send(there, 0, data)
        sent += 1
    assert sent == (1001 if kind == "pieces" else (1 << 20) // 10_000 + 2)
    assert pair.server.queued_bytes() == 0
    assert pair.events(1, Closed) == [Closed(there, 0, limits.PEER_NOT_READING)]
    pair.server.send(there, 0, data)
    assert pair.server.queued_bytes() == 0
    pair.run()
    assert [event.reason for event in pair.events(0, Closed)] == [limits.PEER_NOT_READING]


def test_bytes_passed_to_the_library_are_bounded(pair, monkeypatch):
    monkeypatch.setattr(aioquic_connection, "MAX_LIBRARY_BYTES", 1 << 20)
    monkeypatch.setattr(aioquic_connection, "SLICE_BYTES", 64 << 10)
    session = pair.connect()
    chunk = memoryview(bytearray(200_000))
    for _ in range(100):
        pair.client.send(session, pair.client.open(session), chunk, end=True)
    pair.client.datagrams(pair.now)
    connection = pair.client.sessions[session]
    held = sum(aioquic_connection.buffered_bytes(connection.quic, at) for at in connection.fed)
    assert 1 << 20 < held <= (1 << 20) + (64 << 10)
    assert pair.client.queued_bytes() == 100 * len(chunk) - held


def test_session_with_too_many_open_streams_is_closed(pair, monkeypatch):
    monkeypatch.setattr(aioquic_connection, "MAX_UNAUTHENTICATED_CHANNELS", 50)
    monkeypatch.setattr(aioquic_connection, "MAX_CHANNELS", 100)
    session = pair.connect()
    for _ in range(120):
        pair.client.send(session, pair.client.open(session), b"half")
    pair.run()
    reason = "too many open streams"
    assert [event.reason for event in pair.events(1, Closed)] == [reason]
    assert pair.server.sessions == {}


def send_gaps(pair, client):
    """Repeatedly send the last permitted byte and never the first one."""
    for _ in range(200):
        stream = client.get_next_available_stream_id()
        client.send_stream_data(stream, b"x")
        sender = client._streams[stream].sender
        room = min(client._streams[stream].max_stream_data_remote,
                   client._remote_max_data - client._remote_max_data_used)  # fmt: skip
        if room < 2:
            break
        sender._buffer_start = sender._buffer_stop - 1 + room - 1
        sender._buffer_stop = sender._buffer_start + 1
        sender._pending = type(sender._pending)([range(sender._buffer_start, sender._buffer_stop)])
        pair.client.dirty[1] = next(iter(pair.client.sessions.values()))
        pair.run()
    else:
        raise AssertionError("its room never ends")


def test_gaps_in_streams_are_bounded(pair, monkeypatch):
    monkeypatch.setattr("pqchain.wire.transports.aioquic_connection.MAX_CREDIT_BYTES", 20 << 20)
    _, there = pair.connected()
    server = pair.server.sessions[there].quic
    client = next(iter(pair.client.sessions.values())).quic
    send_gaps(pair, client)
    assert sum(len(each.receiver._buffer) for each in server._streams.values()) <= 20 << 20


def test_gaps_before_authentication_are_bounded(pair, monkeypatch):
    """An unauthenticated client may make the server buffer 64 kB; a member its limit."""
    answered = aioquic_connection.Connection._check_answer
    monkeypatch.setattr(aioquic_connection.Connection, "_check_answer", lambda *_: None)
    pair.connect()
    assert pair.events(1, Opened) == []
    (server,) = pair.server.sessions.values()
    (client,) = pair.client.sessions.values()
    send_gaps(pair, client.quic)
    held = sum(len(each.receiver._buffer) for each in server.quic._streams.values())
    assert 0 < held <= UNAUTHENTICATED_DATA_BYTES
    assert client.quic._remote_max_data == UNAUTHENTICATED_DATA_BYTES
    monkeypatch.setattr(aioquic_connection.Connection, "_check_answer", answered)
    session = pair.connect()
    assert len(pair.events(1, Opened)) == 1
    allowed = pair.client.sessions[session].quic._remote_max_data
    assert allowed == 4 * aioquic_connection.WINDOW_BYTES


def test_closed_session_frees_unacknowledged_data(pair):
    _, there = pair.connected()
    quic = pair.server.sessions[there].quic
    for _ in range(10):
        pair.server.send(there, pair.server.open(there), bytes(100_000), end=True)
    pair.server.datagrams(pair.now)
    pair.server.close(there, "enough", now=pair.now)
    pair.carry()
    assert not quic._streams
    assert not any(space.sent_packets for space in quic._loss.spaces)
    assert there not in pair.server._all
    pair.run()
    assert [event.reason for event in pair.events(0, Closed)] == ["enough"]


def test_overflow_evicts_the_oldest_of_the_busiest_host():
    admission = Admission(max_half_open=6, max_per_host=4)
    for session, host in enumerate(("first", "busy", "busy", "busy", "quiet", "busy")):
        assert admission.add(session, host) is None
    assert admission.add(6, "busy") == 1
    assert admission.add(7, "another") == 2
    admission.remove(3)
    assert admission.add(8, "another") is None
    assert admission.add(9, "quiet") == 5


def test_flood_is_bounded_and_blocks_nobody(pair):
    rng, server = random.Random(1), pair.server
    for number in range(MAX_HALF_OPEN + 50):
        server.receive(forged(rng), (f"10.0.{number >> 8}.{number & 255}", 7), pair.now)
        server.datagrams(pair.now)
    assert len(server.sessions) == len(server._all) == MAX_HALF_OPEN
    assert len(server._by_id) <= 3 * MAX_HALF_OPEN
    session = pair.client.dial(1, early=False, now=pair.now)
    for _ in range(20):
        pair.carry()
        if opened := pair.events(0, Opened):
            break
    assert opened == [Opened(session, 1, True)]


def ticket(label: bytes) -> SimpleNamespace:
    """Return a ticket with a label, as aioquic has it."""
    return SimpleNamespace(ticket=label)


def test_tickets_are_valid_once_the_newest_first():
    tickets = Tickets()
    for label, peer in ((b"a", 1), (b"b", 1), (b"c", 2)):
        tickets.add(ticket(label), peer, 0.0)
    assert tickets.pop_newest(1, 0.0) == ticket(b"b")
    assert tickets.pop(b"a", 1.0) == (ticket(b"a"), 1)
    assert tickets.pop(b"a", 1.0) == tickets.pop(b"unknown", 1.0) == (None, None)
    assert tickets.pop_newest(1, 0.0) is tickets.pop_newest(3, 0.0) is None


def test_number_and_age_of_tickets_are_limited():
    tickets = Tickets()
    tickets.add(ticket(b"other"), 2, 0.0)
    for number in range(MAX_TICKETS + 1):
        tickets.add(ticket(b"%d" % number), 1, 5.0)
    assert tickets.pop(b"0", 5.0) == (None, None)
    assert tickets.pop(b"1", 5.0 + MAX_TICKET_SECONDS) == (ticket(b"1"), 1)
    assert tickets.pop(b"other", 0.0) == (ticket(b"other"), 2)
    assert tickets.pop(b"2", 5.1 + MAX_TICKET_SECONDS) == (None, None)
    assert tickets.pop_newest(1, 5.1 + MAX_TICKET_SECONDS) is None
