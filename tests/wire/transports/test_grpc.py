"""gRPC between nodes: known nodes communicate, unknown ones get nothing."""

import asyncio
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="grpcio is not installed: the dev extra has it")

PROGRAM = """
import asyncio, json
from pathlib import Path
from pqchain.wire.identity import generate
from pqchain.wire.transports.grpc import Grpc
from pqchain.wire.transports import sockets
from pqchain.wire.transports.registry import TransportSettings
from pqchain.wire.session import Received

def opened_at(identity, directory, addresses):
    return Grpc(TransportSettings(
        identity=identity, directory=directory, addresses=addresses, folder=Path()
    ))

async def wait(events, kind):
    for _ in range(1000):
        if any(type(event).__name__ == kind for event in events):
            return True
        await asyncio.sleep(0.01)
    return False

async def main():
    known = generate(2, algorithm="Ed25519", certificate_key="p256")
    unknown_peer = generate(1, algorithm="Ed25519", certificate_key="p256")[0]
    directory, addresses, told = [each.public for each in known], {}, []
    server = opened_at(known[1], directory, addresses)
    addresses[1] = await server.listen("127.0.0.1", 0, told.append)

    outside, events = opened_at(unknown_peer, directory, addresses), []
    await outside.listen("127.0.0.1", 0, events.append)
    patience, sockets._CONNECT_SECONDS = sockets._CONNECT_SECONDS, 1.0
    session = outside.dial(1, early=False, now=0.0)
    while not events:
        await asyncio.sleep(0.01)
    sockets._CONNECT_SECONDS = patience
    if type(events[0]).__name__ == "Opened":
        outside.send(session, outside.open(session), b"give me chunks", end=True)
        assert await wait(events, "Closed")
    strange = [type(event).__name__ for event in told]
    await outside.shutdown()

    client, events = opened_at(known[0], directory, addresses), []
    await client.listen("127.0.0.1", 0, events.append)
    session = client.dial(1, early=False, now=0.0)
    assert await wait(events, "Opened")
    channel = client.open(session)
    client.send(session, channel, bytes(3_000_000), end=True)
    while sum(len(e.data) for e in told if isinstance(e, Received)) < 3_000_000:
        await asyncio.sleep(0.01)
    opened = next(event for event in told if type(event).__name__ == "Opened")
    server.send(opened.session, 1, b"thanks", end=True)
    assert await wait(events, "Received")
    await client.shutdown()
    assert await wait(told, "Closed")
    await server.shutdown()
    answer = b"".join(event.data for event in events if isinstance(event, Received))
    print(json.dumps({"unknown_peer": strange, "peer": opened.peer, "answer": answer.decode()}))

asyncio.run(main())
"""


def test_known_nodes_talk_and_unknown_ones_get_nothing():
    # In a separate process: gRPC's threads are unsafe in a process that forks.
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"unknown_peer": [], "peer": 0, "answer": "thanks"}


ENDED_BY_PEER = """
import asyncio, gc, sys
from pathlib import Path
from pqchain.wire.identity import generate
from pqchain.wire.transports.grpc import Grpc
from pqchain.wire.transports.registry import TransportSettings
from pqchain.wire.session import Received

async def until(condition):
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("not within 10 s")

async def main():
    errors = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
    known = generate(2, algorithm="Ed25519", certificate_key="p256")
    directory, addresses, told, events = [each.public for each in known], {}, [], []
    client, server = [Grpc(TransportSettings(
        identity=identity, directory=directory, addresses=addresses, folder=Path()
    )) for identity in known]
    addresses[1] = await server.listen("127.0.0.1", 0, told.append)
    await client.listen("127.0.0.1", 0, events.append)
    session = client.dial(1, early=False, now=0.0)
    await until(lambda: events)
    for channel in [client.open(session) for _ in range(5)]:
        client.send(session, channel, b"the first half of a message")
    await until(lambda: len(told) == 6)
    if sys.argv[1] == "session":
        server.close(told[0].session, "done", now=0.0)
    else:
        await server.shutdown()
    await until(lambda: sum(event.end for event in events if isinstance(event, Received)) == 5)
    await client.shutdown()
    await server.shutdown()
    del client, server
    for _ in range(5):
        gc.collect()
        await asyncio.sleep(0.01)
    assert not errors, errors

asyncio.run(main())
"""


@pytest.mark.parametrize("ended", ["session", "node"])
def test_calls_that_the_peer_ends_leave_no_task_waiting(ended):
    # Such a task was collected as garbage later, which ended the node's process with an error.
    done = subprocess.run(
        [sys.executable, "-c", ENDED_BY_PEER, ended],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_floods_and_headers_are_bounded():
    done = subprocess.run(
        [sys.executable, "-m", "tests.wire.transports.grpc_flood"],
        capture_output=True, text=True, timeout=120, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["header"] == "RESOURCE_EXHAUSTED"
    assert 0 < said["held"] <= said["most"]
    assert said["dialled"]


def test_listening_beyond_loopback_logs_a_warning(tmp_path, caplog, monkeypatch):
    from pqchain.wire.identity import generate
    from pqchain.wire.transports import grpc
    from pqchain.wire.transports.registry import TransportSettings

    monkeypatch.setattr(grpc.grpc, "ssl_server_credentials", lambda *_, **__: 1 / 0)

    async def listen(host):
        (known,) = generate(1, algorithm="Ed25519", certificate_key="p256")
        settings = TransportSettings(
            identity=known, directory=[known.public], addresses={}, folder=tmp_path
        )
        with pytest.raises(ZeroDivisionError):
            await grpc.Grpc(settings).listen(host, 0, lambda event: None)

    with caplog.at_level(logging.WARNING, logger="pqchain.wire"):
        asyncio.run(listen("127.0.0.1"))
        assert caplog.messages == []
        asyncio.run(listen("10.0.0.1"))
    assert "in total and not per host" in caplog.messages[0]


def test_non_reading_member_is_disconnected(tmp_path, monkeypatch):
    from pqchain.wire.identity import generate
    from pqchain.wire.session import Closed
    from pqchain.wire.transports import grpc, limits
    from pqchain.wire.transports.registry import TransportSettings

    monkeypatch.setattr(limits, "MAX_QUEUED", 100)

    async def main():
        (known,) = generate(1, algorithm="Ed25519", certificate_key="p256")
        node = grpc.Grpc(
            TransportSettings(
                identity=known, directory=[known.public], addresses={}, folder=tmp_path
            )
        )
        told = []
        node.deliver = told.append
        session = node.sessions[7] = grpc._Session(node, 7, peer=0)
        number, channel = session.add_channel()
        for _ in range(102):
            node.send(7, number, b"more")
        assert node.sessions == {}
        assert channel.queued == limits.Queued()
        await asyncio.sleep(0)
        assert told == [Closed(7, 0, "the other side reads nothing")]
        assert [message async for message in channel.messages()] == []

    asyncio.run(main())


def run_with_node(tmp_path, check):
    """Run a coroutine with a node that listens nowhere."""
    from pqchain.wire.identity import generate
    from pqchain.wire.transports import grpc
    from pqchain.wire.transports.registry import TransportSettings

    async def main():
        known = generate(2, algorithm="Ed25519", certificate_key="p256")
        directory = [each.public for each in known]
        settings = TransportSettings(
            identity=known[0], directory=directory, addresses={}, folder=tmp_path
        )
        await asyncio.wait_for(check(grpc, grpc.Grpc(settings)), 60)

    asyncio.run(main())


def test_buffered_messages_per_session_are_bounded(tmp_path):
    async def check(grpc, node):
        session = grpc._Session(node, 7, peer=1)
        channels = [session.add_channel()[1] for _ in range(3 * grpc.MAX_SENDING)]
        for channel in channels:
            channel.put(bytes(100), True)
        calls = [channel.messages() for channel in channels]
        sending = [asyncio.ensure_future(call.__anext__()) for call in calls]
        for count in (1, 2, 3):
            for _ in range(10):
                await asyncio.sleep(0)
            ready = [at for at, task in enumerate(sending) if task.done()]
            assert len(ready) == count * grpc.MAX_SENDING
            for at in ready[-grpc.MAX_SENDING :]:  # the library has sent them
                with pytest.raises(StopAsyncIteration):
                    await calls[at].__anext__()

    run_with_node(tmp_path, check)


def test_connections_per_peer_are_bounded(tmp_path):
    class Aborted(Exception):
        pass

    class Context:
        def __init__(self, certificate, number):
            self.certificate, self.number = certificate, number

        def auth_context(self):
            return {"x509_pem_cert": [self.certificate]}

        def peer(self):
            return f"ipv4:127.0.0.1:{self.number}"

        async def abort(self, code, details):
            raise Aborted(details)

    async def requests():
        await asyncio.Event().wait()
        yield b""

    async def check(grpc, node):
        certificate = node.directory[1].certificate_pem

        def call(number):
            called = node._handle_call(requests(), Context(certificate, number))
            return asyncio.ensure_future(called.__anext__())

        most = grpc.MAX_PER_PEER
        calls = [call(number) for number in range(most + 1) for _ in range(3)]
        refused, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_EXCEPTION)
        while len(refused := {task for task in calls if task.done()}) < 3:
            await asyncio.sleep(0)
        assert refused == set(calls[-3:])
        assert {str(task.exception()) for task in refused} == {"too many connections"}
        assert len(node.sessions) == most
        first, *_ = node.sessions.values()
        channels = [*first.channels.values()]
        node.close(first.number, "enough", now=0.0)
        ended = []
        while len(first.channels) > 0:
            await asyncio.sleep(0)
            ended.append(sum(not channel.queue.empty() for channel in channels))
        assert max(ended) == 1
        another = call(most + 1)
        while len(node.sessions) < most:
            await asyncio.sleep(0)
        for task in [*calls, another]:
            task.cancel()
        await asyncio.gather(*calls, another, return_exceptions=True)

    run_with_node(tmp_path, check)
