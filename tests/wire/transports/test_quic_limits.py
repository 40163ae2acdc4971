"""Bounds of the memory that a member can make a QUIC endpoint keep."""

import pytest

from pqchain.wire.session import Closed, Opened
from pqchain.wire.transports import aioquic_connection, limits
from pqchain.wire.transports.aioquic_connection import UNAUTHENTICATED_DATA_BYTES
from tests.wire.pair import Pair


@pytest.fixture
def pair():
    return Pair()


def opened(pair):
    """Dial from 0 to 1 and return the session."""
    session = pair.endpoints[0].dial(1, early=False, now=pair.now)
    pair.run()
    return session


def events(pair, index, kind):
    return [event for event in pair.endpoints[index].events() if isinstance(event, kind)]


@pytest.mark.parametrize("kind", ["pieces", "bytes"])
def test_session_with_a_non_reading_peer_is_closed(pair, monkeypatch, kind):
    """Counts waiting pieces, and bytes that only the queue keeps."""
    monkeypatch.setattr(limits, "MAX_QUEUED", 1000)
    monkeypatch.setattr(limits, "MAX_QUEUED_BYTES", 1 << 20)
    opened(pair)
    server = pair.endpoints[1]
    (there,) = events(pair, 1, Opened)
    data = bytes(10_000) if kind == "bytes" else memoryview(bytearray(10_000))
    queued = server.sessions[there.session].queued
    sent = 0
    while there.session in server.sessions:
        assert queued.pieces == sent <= 1000
        server.send(there.session, 0, data)
        sent += 1
    assert sent == (1001 if kind == "pieces" else (1 << 20) // 10_000 + 2)
    assert server.queued_bytes() == 0
    assert events(pair, 1, Closed) == [Closed(there.session, 0, limits.PEER_NOT_READING)]
    server.send(there.session, 0, data)
    assert server.queued_bytes() == 0
    pair.run()
    assert [event.reason for event in events(pair, 0, Closed)] == [limits.PEER_NOT_READING]


def test_bytes_passed_to_the_library_are_bounded(pair, monkeypatch):
    monkeypatch.setattr(aioquic_connection, "MAX_LIBRARY_BYTES", 1 << 20)
    monkeypatch.setattr(aioquic_connection, "SLICE_BYTES", 64 << 10)
    session = opened(pair)
    client = pair.endpoints[0]
    chunk = memoryview(bytearray(200_000))
    for _ in range(100):
        client.send(session, client.open(session), chunk, end=True)
    client.datagrams(pair.now)
    connection = client.sessions[session]
    held = sum(aioquic_connection.buffered_bytes(connection.quic, at) for at in connection.fed)
    assert 1 << 20 < held <= (1 << 20) + (64 << 10)
    assert client.queued_bytes() == 100 * len(chunk) - held


def test_session_with_too_many_open_streams_is_closed(pair, monkeypatch):
    monkeypatch.setattr(aioquic_connection, "MAX_UNAUTHENTICATED_CHANNELS", 50)
    monkeypatch.setattr(aioquic_connection, "MAX_CHANNELS", 100)
    session = opened(pair)
    client = pair.endpoints[0]
    for _ in range(120):
        client.send(session, client.open(session), b"half")
    pair.run()
    reason = "too many open streams"
    assert [event.reason for event in events(pair, 1, Closed)] == [reason]
    assert pair.endpoints[1].sessions == {}


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
        pair.endpoints[0].dirty[1] = next(iter(pair.endpoints[0].sessions.values()))
        pair.run()
    else:
        raise AssertionError("its room never ends")


def test_gaps_in_streams_are_bounded(pair, monkeypatch):
    monkeypatch.setattr("pqchain.wire.transports.aioquic_connection.MAX_CREDIT_BYTES", 20 << 20)
    opened(pair)
    (there,) = events(pair, 1, Opened)
    server = pair.endpoints[1].sessions[there.session].quic
    client = next(iter(pair.endpoints[0].sessions.values())).quic
    send_gaps(pair, client)
    assert sum(len(each.receiver._buffer) for each in server._streams.values()) <= 20 << 20


def test_gaps_before_authentication_are_bounded(pair, monkeypatch):
    """An unauthenticated client may make the server buffer 64 kB; a member its limit."""
    answered = aioquic_connection.Connection._check_answer
    monkeypatch.setattr(aioquic_connection.Connection, "_check_answer", lambda *_: None)
    opened(pair)
    assert events(pair, 1, Opened) == []
    (server,) = pair.endpoints[1].sessions.values()
    (client,) = pair.endpoints[0].sessions.values()
    send_gaps(pair, client.quic)
    held = sum(len(each.receiver._buffer) for each in server.quic._streams.values())
    assert 0 < held <= UNAUTHENTICATED_DATA_BYTES
    assert client.quic._remote_max_data == UNAUTHENTICATED_DATA_BYTES
    monkeypatch.setattr(aioquic_connection.Connection, "_check_answer", answered)
    session = opened(pair)
    assert len(events(pair, 1, Opened)) == 1
    allowed = pair.endpoints[0].sessions[session].quic._remote_max_data
    assert allowed == 4 * aioquic_connection.WINDOW_BYTES


def test_closed_session_frees_unacknowledged_data(pair):
    pair = pair
    opened(pair)
    (there,) = events(pair, 1, Opened)
    server = pair.endpoints[1]
    quic = server.sessions[there.session].quic
    for _ in range(10):
        server.send(there.session, server.open(there.session), bytes(100_000), end=True)
    server.datagrams(pair.now)
    server.close(there.session, "enough", now=pair.now)
    pair.carry()
    assert not quic._streams
    assert not any(space.sent_packets for space in quic._loss.spaces)
    assert there.session not in server._all
    pair.run()
    assert [event.reason for event in events(pair, 0, Closed)] == ["enough"]
