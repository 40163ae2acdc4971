"""QUIC endpoints in memory: authentication, 0-RTT and its replay."""

import pytest
from aioquic.quic.stream import QuicStream

from pqchain.errors import Unsupported
from pqchain.wire.session import Closed, Opened, Received
from pqchain.wire.transports import aioquic, aioquic_connection
from pqchain.wire.transports.aioquic import QuicEndpoint
from tests.wire.pair import NativePair, Pair, open_pair, unknown_identities


@pytest.fixture(params=["aioquic", "native"])
def pair(request):
    """Return a pair of each library."""
    return open_pair(request.param)


def test_both_sides_authenticate(pair):
    session = pair.connect()
    assert pair.events(0, Opened) == [Opened(session, 1, True)]
    assert pair.events(1, Opened) == [Opened(1, 0, False)]


def test_bytes_arrive_in_order_on_every_channel(pair):
    session = pair.connect()
    pair.events(1)
    client, payload = pair.client, bytes(range(256)) * 4000
    channels = [client.open(session) for _ in range(3)]
    for channel in channels:
        client.send(session, channel, memoryview(payload)[:500_000])
        client.send(session, channel, memoryview(payload)[500_000:], end=True)
    pair.run()
    came = pair.events(1, Received)
    assert {event.channel for event in came} == set(channels)
    for channel in channels:
        assert b"".join(event.data for event in came if event.channel == channel) == payload
        assert [e.end for e in came if e.channel == channel].count(True) == 1
    assert client.queued_bytes() == 0


def test_sending_waits_for_acknowledgement_beyond_the_window(pair):
    session = pair.connect()
    channel = pair.client.open(session)
    payload = bytes(3 * aioquic_connection.WINDOW_BYTES)
    pair.client.send(session, channel, payload, end=True)
    pair.carry()
    assert (
        pair.client.queued_bytes()
        >= 2 * aioquic_connection.WINDOW_BYTES - aioquic_connection.SLICE_BYTES
    )
    pair.run()
    assert pair.client.queued_bytes() == 0


def test_unknown_peer_is_rejected_without_an_event(pair):
    unknown_peer = unknown_identities(3)[2]
    pair.join(2, unknown_peer)
    session = pair.endpoints[2].dial(1, early=False, now=pair.now)
    pair.run()
    # The client has seen the certificate and opens the session; then it is closed.
    pair.endpoints[2].send(session, 0, b"give me chunks", end=True)
    pair.run()
    assert pair.events(1) == []
    closed = pair.events(2, Closed)
    assert [event.reason for event in closed] == ["no known identity was proven"]


def test_known_name_with_a_wrong_key_is_rejected(pair):
    impostor = unknown_identities(1)[0]
    assert impostor.index == 0
    pair.join(0, impostor)
    pair.client.dial(1, early=False, now=pair.now)
    pair.run()
    assert pair.events(1) == []


def test_server_with_another_certificate_is_rejected(pair):
    impostor = unknown_identities(2)[1]
    pair.join(1, impostor)
    pair.connect()
    assert [type(event) for event in pair.events(0)] == [Closed]
    assert pair.events(1) == []


def request_time(pair, *, early):
    """Return the one-way delays between dialling and the server's receipt of a request."""
    begun, client = pair.now, pair.client
    session = client.dial(1, early=early, now=pair.now)
    asked = False
    while not pair.events(1, Received):
        if not asked and any(isinstance(event, Opened) for event in pair.events(0)):
            client.send(session, client.open(session), b"request", end=True)
            asked = True
        pair.step()
    return round((pair.now - begun) / pair.delay_seconds)


@pytest.mark.parametrize("name", ["aioquic", "native"])
def test_0_rtt_saves_a_round_trip(name):
    pair = open_pair(name, delay_seconds=0.05)
    full = request_time(pair, early=False)
    pair.run()
    early = request_time(pair, early=True)
    # In one-way delays: hello, answer, request; against the request in the first flight.
    assert (full, early) == (3, 1)
    assert pair.early_sessions(1) == 1


@pytest.mark.parametrize("over", [False, True], ids=["while it lasts", "when it is over"])
def test_replayed_first_flight_does_nothing(over):
    pair = Pair()
    pair.connect()
    pair.events(1)
    pair.wire.clear()
    session = pair.client.dial(1, early=True, now=pair.now)
    pair.client.send(session, pair.client.open(session), b"request", end=True)
    pair.run()
    came = pair.events(1)
    assert [event.data for event in came if isinstance(event, Received)] == [b"request"]
    first = [data for at, by, _, data in pair.wire if by == 0 and at == pair.wire[0][0]]
    if over:
        pair.client.close(session, "enough", now=pair.now)
        pair.run(quiet_seconds=20)
        assert [type(event) for event in pair.events(1)] == [Closed]
    # An attacker replays the same bytes from another address.
    for data in first:
        pair.server.receive(data, ("127.0.0.1", 66), pair.now)
    answers = pair.server.datagrams(pair.now)
    assert pair.events(1) == []
    assert pair.early_sessions(1) == 1
    # It gets a handshake that it cannot complete, and at most three times its bytes.
    assert sum(len(data) for data, _ in answers) <= 3 * sum(map(len, first))


def test_ticket_is_valid_once():
    pair = Pair()
    pair.connect()
    tickets = pair.client._received_tickets
    copy = tickets.pop_newest(1, pair.now)
    tickets.add(copy, 1, pair.now)
    pair.connect(early=True)
    assert pair.early_sessions(1) == 1
    while tickets.pop_newest(1, pair.now):
        pass
    tickets.add(copy, 1, pair.now)
    pair.connect(early=True)
    # The copy was not accepted; the session was authenticated by the challenge.
    assert pair.early_sessions(1) == 1
    assert len(pair.events(1, Opened)) == 3


def test_0_rtt_falls_back_if_the_server_has_no_ticket(pair):
    pair.connect()
    pair.join(1, pair.identities[1])
    session = pair.client.dial(1, early=True, now=pair.now)
    pair.client.send(session, pair.client.open(session), b"request", end=True)
    pair.run()
    came = pair.events(1)
    assert [type(event) for event in came] == [Opened, Received]
    assert came[0].peer == 0
    assert came[1].data == b"request"


@pytest.mark.parametrize("garbage", [b"", b"\x40" + bytes(30), bytes(1200), b"\xc0" * 1300])
def test_garbage_is_ignored(pair, garbage):
    if isinstance(pair, NativePair):
        pair.call("tap", True)
        pair.inject(3, 1, garbage)
        pair.run()
        # At most a stateless reset or a version negotiation.
        assert all(len(data) < max(len(garbage), 100) for *_, data in pair.tapped())
    else:
        pair.server.receive(garbage, ("127.0.0.1", 9), 0.0)
        assert pair.server.datagrams(0.0) == []
    assert pair.events(1) == []


def test_close_notifies_only_the_peer(pair):
    session = pair.connect()
    pair.events(0)
    pair.events(1)
    pair.client.close(session, "enough", now=pair.now)
    pair.run(quiet_seconds=20)
    assert pair.events(0, Closed) == []
    assert [event.reason for event in pair.events(1, Closed)] == ["enough"]
    pair.client.send(session, 0, b"into the void")


def test_data_after_a_peer_close_is_lost(pair):
    session = pair.connect()
    channel = pair.client.open(session)
    pair.events(0)
    pair.events(1)
    pair.server.close(1, "enough", now=pair.now)
    pair.carry()
    pair.client.send(session, channel, b"into the void", end=True)
    if session in pair.client.sessions:
        pair.client.send(session, pair.client.open(session), bytes(1_000_000), end=True)
    pair.run(quiet_seconds=20)
    assert [event.reason for event in pair.events(0, Closed)] == ["enough"]
    assert pair.events(1) == []


def test_stopped_channel_accepts_no_data(pair):
    session = pair.connect()
    channel = pair.client.open(session)
    pair.client.send(session, channel, b"request", end=True)
    pair.run()
    pair.events(1)
    pair.server.send(1, channel, bytes(20_000_000))
    pair.carry()
    pair.client.stop(session, channel)
    pair.run()
    pair.server.send(1, channel, b"more", end=True)
    pair.run()
    assert pair.server.queued_bytes() == 0


def test_stream_order_within_a_packet_is_deterministic():
    """aioquic moves served streams to the end, in the order of a set."""
    orders, kept = set(), []
    for _ in range(50):
        streams = [QuicStream(stream_id=4 * number) for number in range(40, 20, -3)]
        kept.append(streams[::2])  # so that the next ones get other addresses
        orders.add(tuple(stream.stream_id for stream in set(streams)))
    assert len(orders) == 1


def test_too_long_datagrams_for_an_old_library_are_rejected(monkeypatch):
    pair = Pair()
    monkeypatch.setattr(aioquic, "MAX_DATAGRAM_BYTES", 1500)
    with pytest.raises(Unsupported, match="datagram_bytes must be at most 1500"):
        QuicEndpoint(pair.settings(pair.identities[0], datagram_bytes=8952))


def test_hundreds_of_sequential_channels_work(pair):
    session = pair.connect()
    pair.events(1)
    for _ in range(220):
        channel = pair.client.open(session)
        pair.client.send(session, channel, b"request", end=True)
        pair.run()
        assert [event.channel for event in pair.events(1, Received)][-1] == channel
        pair.server.send(1, channel, b"thanks", end=True)
        pair.run()
        assert b"".join(event.data for event in pair.events(0, Received)) == b"thanks"
