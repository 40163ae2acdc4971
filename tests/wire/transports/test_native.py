"""The native QUIC library: deterministic bytes, authentication and robustness."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pqchain import installation
from pqchain.errors import NativeLibraryBroken, PqchainError, Unsupported, UsageError
from pqchain.wire.session import Closed, Filled, Received
from pqchain.wire.transports import native_library, registry
from tests.wire.pair import NativePair

ROOT = Path(__file__).parents[3]
REASON = registry.get("native").unavailable_reason()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)


@pytest.fixture
def pair():
    return NativePair()


PROGRAM = """
import json, sys
from dataclasses import replace
from pathlib import Path
from pqchain.reencode import runs
from pqchain.reencode.scenario import Fault, Link, ReplayScenario
from pqchain.wire.drivers import virtual

one = ReplayScenario(
    transport="native", nodes=5, before=(3, 2), after=(2, 2), failed_node=4, block_bytes=300_000,
    heartbeat_seconds=0.2, timeout_seconds=0.4, failure_seconds=0.01, seed=7,
    link=Link(loss=0.02, bits_per_second=50e6, delay_seconds=2e-3), datagram_bytes=1452,
    faults=(Fault(node=1, kind="corrupt"),),
)
folder = Path(sys.argv[1])
runs.prepare(one, folder)
model = virtual.CostModel(
    task_seconds=lambda task: one.compute.seconds(task.kind, task.size), jitter_seconds=1e-3,
    seed=one.seed, digest=True,
)
result = virtual.run(runs.job(one), folder, model)
print(json.dumps([result.datagram_digest, result.lost_datagrams, [n.state for n in result.nodes],
                  result.connected, [n.report["ended"] for n in result.nodes]]))
"""


def test_datagrams_are_equal_in_every_process(tmp_path):
    """With losses and a fault, under two hash seeds."""
    said = []
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path / hash_seed)],
            capture_output=True, text=True, timeout=120, check=True, cwd=ROOT,
            env={"PYTHONHASHSEED": hash_seed, "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        said.append(json.loads(done.stdout))
    assert said[0] == said[1]
    digest, lost, states, *_ = said[0]
    assert len(digest) == 64
    assert lost > 0
    assert states == ["done"] * 4 + ["dead"]


def test_seed_determines_every_byte():
    """The keys of both hosts are fixed, so that only the seed differs."""
    digests, first = [], NativePair()
    for seed in (1, 1, 2):
        pair = NativePair(digest=True, seed=seed)
        pair.directory[:] = first.directory
        for index, identity in enumerate(first.identities):
            pair.join(index, identity)
        pair.connect()
        digests.append(pair.fabric.totals().digest)
    assert digests[0] == digests[1] != digests[2]


def asked(pair):
    """Let the client send a request; return both hosts with their sessions, and the channel."""
    session, there = pair.connected()
    client, server = pair.client, pair.server
    channel = client.open(session)
    client.send(session, channel, b"give")
    pair.run()
    return client, session, server, there, channel


def test_bytes_are_received_into_the_given_buffer(pair):
    client, session, server, there, channel = asked(pair)
    chunk = np.random.default_rng(1).integers(0, 256, 3_000_000, np.uint8)
    row = np.zeros(len(chunk), np.uint8)
    server.send(there, channel, b"head")
    pair.run()
    assert [event.data for event in pair.events(0)] == [b"head"]
    client.receive_into(session, channel, row.data, len(row), offset=4)
    server.send(there, channel, chunk.data)
    pair.run()
    assert client.memory.registered == {}
    server.send(there, channel, b"tail", end=True)
    pair.run()
    came = pair.events(0)
    assert sum(event.count for event in came if isinstance(event, Filled)) == len(row)
    assert [each.data for each in came if isinstance(each, Received)] == [b"tail"]
    assert came[-1].end
    assert np.array_equal(row, chunk)
    server.release_lent()
    assert server.memory.lent == {}


def test_changing_the_receive_buffer_loses_no_bytes():
    """Unreported bytes in the old buffer are reported with the following ones."""
    pair = NativePair(bits_per_second=20e6)
    session, there = pair.connected()
    channel, size = pair.client.open(session), 400_000
    pair.client.send(session, channel, b"!")
    pair.client.send(session, channel, bytes(size), end=True)
    count, offset, memory = 0, 1, bytearray(size)
    while count < size:
        pair.step()
        for event in pair.events(1):
            if isinstance(event, Received):
                count += len(event.data) - (event.data[:1] == b"!")
            elif isinstance(event, Filled):
                count += event.count
            # Another buffer for the rest, when a part has arrived.
            pair.now += 0.003
            pair._advance(pair.now)
            into = None if count > size // 2 else memoryview(memory)[count:]
            pair.server.receive_into(there, channel, into, size - count, offset=offset + count)
    assert count == size


def test_hosts_get_their_own_buffers_back():
    """Tokens were once counted per host and returned per handle, so that one freed another's."""
    pair = NativePair(3, bits_per_second=1e8)
    sessions = {at: pair.endpoints[at].dial(2, early=False, now=pair.now) for at in (0, 1)}
    pair.run()
    held = {}
    for at, session in sessions.items():
        # The second is ten times as long: it is still lent when the first one has been returned.
        data = held[at] = bytes([at + 1]) * (100_000 * 10**at)
        host = pair.endpoints[at]
        host.send(session, host.open(session), data, end=True)
    assert len(pair.fabric.memory.lent) == 2
    came = {}
    while came.get(1, 0) < 900_000:
        pair.step()
        for event in pair.events(2):
            if isinstance(event, Received):
                assert len(set(event.data)) == 1
                came[event.data[0] - 1] = came.get(event.data[0] - 1, 0) + len(event.data)
        for at in (0, 1):
            pair.endpoints[at].release_lent()
        lent = pair.fabric.memory.lent.values()
        # Data in flight is still lent.
        assert came.get(1, 0) >= 900_000 or any(view.obj is held[1] for view in lent)
    pair.run()
    pair.client.release_lent()
    assert not pair.fabric.memory.lent and came[0] == 100_000


def test_early_bytes_are_copied_into_a_later_buffer(pair):
    client, session, server, there, channel = asked(pair)
    chunk = bytes(range(256)) * 800
    server.send(there, channel, chunk[:50_000])
    pair.carry()
    pair.run()
    # 50,000 bytes were reported as received; the node reads them later.
    row = bytearray(len(chunk))
    came = b"".join(event.data for event in pair.events(0, Received))
    assert came == chunk[:50_000]
    row[: len(came)] = came
    client.receive_into(session, channel, memoryview(row), len(row), offset=0)
    server.send(there, channel, chunk[50_000:], end=True)
    pair.run()
    assert sum(event.count for event in pair.events(0, Filled)) == 154_800
    assert row == chunk


def test_released_buffer_is_not_written(pair):
    client, session, server, there, channel = asked(pair)
    row = bytearray(1_000_000)
    client.receive_into(session, channel, memoryview(row), len(row), offset=0)
    server.send(there, channel, b"\1" * 400_000)
    pair.run()
    assert sum(event.count for event in pair.events(0)) <= 400_000
    before = bytes(row)
    assert before.count(1) == 400_000
    client.receive_into(session, channel, None, 600_000, offset=400_000)
    server.send(there, channel, b"\2" * 600_000, end=True)
    pair.run()
    assert sum(event.count for event in pair.events(0)) >= 600_000
    assert bytes(row) == before
    client.stop(session, channel)
    assert client.memory.registered == {}


def test_unauthenticated_peer_times_out(monkeypatch):
    pair = NativePair(delay_seconds=0.1)
    monkeypatch.setattr(
        "pqchain.wire.transports.authentication.Session._check_answer", lambda *_: None
    )
    pair.client.dial(1, early=False, now=0.0)
    pair.run(quiet_seconds=15)
    assert pair.events(1) == []
    assert pair.server.sessions == {}
    closed = pair.events(0)
    assert [each.reason for each in closed] == ["no proof of identity in time"]
    assert pair.now > 10


def test_excess_data_before_authentication_disconnects(monkeypatch):
    pair = NativePair()
    monkeypatch.setattr(
        "pqchain.wire.transports.authentication.Session._check_answer", lambda *_: None
    )
    session = pair.client.dial(1, early=False, now=0.0)
    pair.carry()
    pair.client.send(session, pair.client.open(session), bytes(200_000), end=True)
    pair.run(quiet_seconds=2)
    assert pair.events(1) == []
    assert pair.server.sessions == {}
    closed = [each.reason for each in pair.events(0, Closed)]
    assert closed == ["too much before a proof of identity"]


@pytest.mark.long
def test_hundred_thousand_invalid_datagrams_change_nothing(pair):
    session, there = pair.connected()
    pair.call("tap", True)
    channel = pair.client.open(session)
    pair.client.send(session, channel, b"before")
    pair.run()
    real = [data for _, _, to, data in pair.tapped() if to == 1]
    pair.call("tap", False)
    draws = np.random.default_rng(5)
    pair.events(1)
    for number in range(100_000):
        if number % 2:
            data = draws.bytes(int(draws.integers(1, 1500)))
        else:
            damaged = bytearray(real[number % len(real)])
            damaged[int(draws.integers(len(damaged)))] ^= int(draws.integers(1, 256))
            data = bytes(damaged)
        pair.inject(0 if number % 3 else 3, 1, data)
        if number % 1000 == 999:
            pair.carry()
    pair.run()
    assert pair.events(1) == []
    pair.client.send(session, channel, b"after", end=True)
    pair.run()
    assert b"".join(event.data for event in pair.events(1)) == b"after"
    assert set(pair.server.sessions) == {there}


def test_lost_host_is_named_and_others_continue(pair):
    session, _ = pair.connected()
    pair.fabric.stop(1)
    with pytest.raises(UsageError, match="host 1 is not running"):
        pair.call("open", 1, 1, 0)
    pair.client.send(session, pair.client.open(session), bytes(100_000), end=True)
    # After the idle time the session is over.
    pair.run(quiet_seconds=60)
    assert [type(event) for event in pair.events(0)] == [Closed]


def test_restart_is_detected_at_once(pair):
    """The key of stateless resets follows from the identity, so it outlives a restart."""
    session, _ = pair.connected()
    pair.join(1, pair.identities[1])
    begun = pair.now
    pair.client.send(session, pair.client.open(session), b"still there?", end=True)
    pair.step()
    assert [event.reason for event in pair.events(0)] == ["reset by peer"]
    assert pair.now - begun < 3 * pair.delay_seconds


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("open", (10**6, 0, 1, 0), "handle must be an open one; got 1000000"),
        ("open", (None, 99, 1, 0), "host must be from 0 to 3; got 99"),
        ("open", (None, 0, 77, 0), "session 77 has ended"),
        ("send", (None, 0, "session", 1, b"x", 1, 0), "stream 1 was not opened for writing"),
        ("send", (None, 0, "session", 4, b"x", 1, 0), "stream 4 was not opened for writing"),
        ("send", (None, 0, "session", 0, None, 5, 0), "null"),
        ("place", (None, 0, "session", 0, 0, None, -1), "length must be at most"),
        ("start", (None, b"", 0, b"", 0), "numbers must have 13 entries; got 0"),
        ("start", (None, np.arange(13, dtype=np.uint64).tobytes(), 13, b"", 0), "; got 1"),
        ("network", (np.zeros(10, np.uint64).tobytes(), 10), "number of hosts must be from 1 to"),
        ("prove", (None, 0, "session", 2**40), "got 1099511627776"),
        ("close", (None, 0, "session", 2**33, None, 0), "got 8589934592"),
        ("port", (None,), "must be that of a socket"),
        ("events", (None, None, 4, None, 4), "room for 4 events of 4 bytes"),
        ("free", (123456,), "handle must be an open one; got 123456"),
    ],
)  # fmt: skip
def test_invalid_arguments_are_rejected(pair, name, arguments, message):
    session, _ = pair.connected()
    real = {None: pair.fabric.handle, "session": session}
    first, *rest = arguments
    given = [pair.fabric.handle if first is None else first]
    given += [real[each] if isinstance(each, str) else each for each in rest]
    with pytest.raises(UsageError, match=message):
        pair.fabric._library.call(name, *given)
    # The host still works.
    assert pair.client.open(session) == 0


def test_freed_handle_is_none(pair):
    pair.fabric.close()
    with pytest.raises(UsageError, match="must be an open one"):
        pair.fabric.advance(1.0)


def test_invalid_identity_is_rejected(pair):
    library, settings = pair.fabric._library, np.array([0, 1452, 0, 1, 1, 1, 10**9, *[1] * 6], "u8")
    key = (0).to_bytes(4, "little") + (4).to_bytes(4, "little") + b"junk"
    for identity, message in ((key, "host 0 has no certificate"), (key[:9], "truncated")):
        with pytest.raises(UsageError, match=message):
            library.call(
                "start", pair.fabric.handle, settings.tobytes(), 13, identity, len(identity)
            )
    with pytest.raises(UsageError, match="the identity of host 0"):
        both = key + key
        library.call("start", pair.fabric.handle, settings.tobytes(), 13, both, len(both))


def test_missing_library_states_the_reason(monkeypatch, tmp_path):
    native_library.load.cache_clear()
    monkeypatch.setattr(installation, "folders", lambda: [tmp_path])
    with pytest.raises(Unsupported, match="was not built: install cargo"):
        native_library.load()
    place = tmp_path / "_native/quic"
    place.mkdir(parents=True)
    (place / "reason.txt").write_text("it was built with PQCHAIN_QUIC=off\n")
    assert registry.get("native").unavailable_reason().endswith("PQCHAIN_QUIC=off, and run make")
    assert registry.default() == "aioquic"
    (place / "lib").mkdir()
    (place / "lib/libpqchain_quic.so").write_bytes(b"no library")
    assert registry.default() == "native"  # only a missing library is replaced
    with pytest.raises(NativeLibraryBroken, match=r"digest are missing .* Install it again"):
        native_library.load()


def test_address_in_use_is_an_oserror():
    library = native_library.load()
    with pytest.raises(PqchainError, match="must be an IP address and a port"):
        numbers = native_library.integers(0, 1452, 0, 1, 1, 1, 10**9, *[1] * 6)
        key = (0).to_bytes(8, "little")
        library.call("socket", *numbers, key, len(key), b"nowhere", 7)
