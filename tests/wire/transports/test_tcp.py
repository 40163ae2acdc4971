"""TLS over TCP: known nodes communicate, unknown ones get nothing; floods are bounded."""

import asyncio
import gc
import socket
import struct

import pytest

from pqchain.wire.session import Closed, Opened, Received
from pqchain.wire.transports import limits, tcp
from tests.wire.pair import UNKNOWN, Mesh, until


@pytest.fixture
def mesh(tmp_path):
    return Mesh("tcp-tls", tmp_path)


def test_both_sides_authenticate_and_channels_alternate(mesh):
    async def main():
        client, session, _, there = await mesh.connect()
        assert mesh.of(0, Opened) == [Opened(session, 1, True)]
        assert mesh.of(1, Opened) == [Opened(there, 0, False)]
        first, second = client.open(session), client.open(session)
        # More than the system buffers, so that some data waits.
        client.send(session, first, bytes(32_000_000), end=True)
        client.send(session, second, b"short", end=True)

        def ends():
            return [event.channel for event in mesh.of(1, Received) if event.end]

        await until(lambda: len(ends()) == 2)
        # The short one does not wait for the long one.
        assert ends() == [second, first]
        assert len(mesh.received(1)) == 32_000_000 + len(b"short")
        await mesh.shutdown()

    asyncio.run(main())


def test_known_nodes_exchange_bytes_and_unknown_ones_get_nothing(mesh, monkeypatch):
    async def main():
        await mesh.listen(1, UNKNOWN)
        with monkeypatch.context() as patch:
            patch.setattr(tcp, "_CONNECT_SECONDS", 1.0)
            session = mesh.nodes[UNKNOWN].dial(1, early=False, now=0.0)
            await until(lambda: mesh.events[UNKNOWN])
        node = mesh.nodes[UNKNOWN]
        if session in node.sessions:
            node.send(session, node.open(session), b"give me chunks", end=True)
        await until(lambda: mesh.of(UNKNOWN, Closed))
        assert mesh.events[1] == []

        await mesh.listen(0)
        session = await mesh.dial()
        channel = mesh.nodes[0].open(session)
        mesh.nodes[0].send(session, channel, bytes(3_000_000), end=True)
        await until(lambda: len(mesh.received(1)) == 3_000_000)
        (there,) = mesh.of(1, Opened)
        assert there.peer == 0 and not there.dialled
        mesh.nodes[1].send(there.session, 1, b"thanks", end=True)
        await until(lambda: mesh.received(0) == b"thanks")
        await mesh.nodes[0].shutdown()
        await until(lambda: mesh.of(1, Closed))
        await mesh.shutdown()

    asyncio.run(main())


@pytest.mark.long
@pytest.mark.parametrize("whole_node", [False, True])
def test_session_that_the_peer_ends_leaves_no_task(mesh, whole_node):
    async def main():
        errors = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: errors.append(context))
        client, session, server, there = await mesh.connect()
        for channel in [client.open(session) for _ in range(5)]:
            client.send(session, channel, b"the first half of a message")
        await until(lambda: len(mesh.events[1]) == 6)
        if whole_node:
            await server.shutdown()
        else:
            server.close(there, "done", now=0.0)
        await until(lambda: mesh.of(0, Closed))
        await mesh.shutdown()
        # A task that waits forever is collected as garbage, which the loop reports as an error.
        mesh.nodes.clear()
        for _ in range(5):
            gc.collect()
            await asyncio.sleep(0.01)
        assert not errors, errors

    asyncio.run(main())


def test_no_key_remains_on_disk(mesh):
    async def main():
        mesh.open(0)

    asyncio.run(main())
    assert list(mesh.folder.iterdir()) == []


def knocked(address, host, count):
    """Return silent connections of a host."""
    found = []
    for _ in range(count):
        found.append(socket.socket())
        found[-1].bind((host, 0))
        found[-1].connect(address)
        found[-1].setblocking(False)
    return found


def turned_away(clients):
    """Count connections closed by the peer."""

    def closed(client):
        try:
            return client.recv(1) == b""
        except BlockingIOError:
            return False
        except ConnectionError:
            return True

    return sum(map(closed, clients))


def test_silent_clients_are_bounded_and_block_nobody(mesh):
    async def main():
        _, _, server, _ = await mesh.connect()
        clients, expected = [], 0
        for host in ("127.0.0.2", "127.0.0.3", "127.0.0.4"):
            clients += knocked(mesh.addresses[1], host, 100)
            expected = min(expected + tcp.MAX_PER_HOST, tcp.MAX_HALF_OPEN)
            await until(lambda: turned_away(clients) == len(clients) - expected)  # noqa: B023
            assert len(server._handshakes) == expected
            assert len(server.admission._half_open) == expected
        session = await mesh.dial()
        assert mesh.of(0, Opened)[1:] == [Opened(session, 1, True)]
        await until(lambda: len(server.sessions) == 2)  # TLS: the client is done first
        await mesh.shutdown()
        assert server._handshakes == {}
        await until(lambda: turned_away(clients) == len(clients))
        for each in clients:
            each.close()

    asyncio.run(main())


def test_slow_authentication_times_out(mesh, monkeypatch):
    monkeypatch.setattr(tcp, "HANDSHAKE_SECONDS", 0.1)

    async def main():
        await mesh.listen(1)
        server, clients = mesh.nodes[1], knocked(mesh.addresses[1], "127.0.0.1", 4)
        for each in clients[:2]:
            each.send(bytes.fromhex("1603010200010001fc0303"))
        # A client may see the end before the server has updated its state.
        await until(lambda: turned_away(clients) == 4 and not server._handshakes)
        assert (server._handshakes, server.admission._half_open, mesh.events[1]) == ({}, {}, [])
        await mesh.shutdown()
        for each in clients:
            each.close()

    asyncio.run(main())


def test_non_reading_member_is_disconnected(mesh, monkeypatch):
    monkeypatch.setattr(limits, "MAX_QUEUED", 1000)

    async def main():
        client, session, server, there = await mesh.connect()
        client.sessions[session]._transport.pause_reading()
        line = server.sessions[there]
        most, data = 0, memoryview(bytearray(60_000))
        while there in server.sessions and most <= limits.MAX_QUEUED:
            server.send(there, 1, data)
            most = max(most, line.queued.pieces)
            await asyncio.sleep(0)
        assert line.queued.bytes == 0
        await until(lambda: mesh.of(1, Closed))
        assert mesh.of(1, Closed) == [Closed(there, 0, limits.PEER_NOT_READING)]
        await mesh.shutdown()

    asyncio.run(main())


@pytest.mark.parametrize("length", [2**32 - 1, (64 << 10) + 1])
def test_endless_frame_ends_the_session(mesh, length):
    async def main():
        client, session, *_ = await mesh.connect()
        client.sessions[session]._transport.write(struct.pack("!IIB", 1, length, 0))
        await until(lambda: mesh.of(1, Closed))
        assert mesh.of(1, Received) == []
        await mesh.shutdown()

    asyncio.run(main())


class Pausable:
    """A connection that records whether reading is paused."""

    def __init__(self, certificate):
        self.reads, self.aborted = True, False
        self._certificate = certificate

    def get_extra_info(self, name):
        return self

    def getpeercert(self, *, binary_form):
        return self._certificate

    def pause_reading(self):
        self.reads = False

    def resume_reading(self):
        self.reads = True

    def is_closing(self):
        return self.aborted

    def abort(self):
        self.aborted = True


def test_flood_is_delivered_in_many_turns_with_backpressure(mesh, monkeypatch):
    """One piece takes a complete turn, so the test does not depend on a clock."""
    monkeypatch.setattr(tcp, "TURN_SECONDS", 1.0)
    now = [0.0]
    monkeypatch.setattr(tcp.time, "perf_counter", lambda: now[0])

    async def main():
        owner = mesh.open(1)
        told = []

        def deliver(event):
            told.append(event)
            now[0] += 1.0

        owner.deliver = deliver
        lines = [tcp._Connection(owner, session, None) for session in (1, 2)]
        connections = [Pausable(mesh.known[0].public.certificate_der) for _ in lines]
        for line, connection in zip(lines, connections, strict=True):
            line.connection_made(connection)
        told.clear()
        await asyncio.sleep(0)
        frame = struct.pack("!IIB", 5, 60_000, 1) + bytes(60_000)
        for line in lines:
            line.data_received(frame + frame[:40_000])
        assert len(told) == 1
        assert [each.reads for each in connections] == [False, False]
        turns = 0
        while not all(each.reads for each in connections):
            turns, count = turns + 1, len(told)
            await asyncio.sleep(0)
            assert len(told) <= count + 1
        assert turns >= 5
        for session in (1, 2):
            came = [event for event in told if event.session == session]
            assert [len(event.data) for event in came] == [32_768, 60_000 - 32_768, 32_768]
            assert [event.end for event in came] == [False, True, False]
        for line in lines:
            line.data_received(frame[40_000:])
            line.connection_lost(None)
        assert sum(len(event.data) for event in told if isinstance(event, Received)) == 4 * 60_000
        assert isinstance(told[-1], Closed)

    asyncio.run(main())
