"""Limits of the gRPC transport; `test_streams` has what all transports on sockets share."""

import asyncio
import logging

import pytest

from pqchain.wire.session import Closed
from pqchain.wire.transports import limits
from tests.wire.pair import Mesh

pytest.importorskip("grpc", reason="grpcio is not installed: the dev extra has it")


def run_with_node(check):
    """Run a coroutine with the module of the transport and a node that listens nowhere."""
    from pqchain.wire.transports import grpc

    async def main():
        await asyncio.wait_for(check(grpc, Mesh("grpc").open(0)), 60)

    asyncio.run(main())


def test_listening_beyond_loopback_logs_a_warning(caplog, monkeypatch):
    async def check(grpc, node):
        monkeypatch.setattr(grpc.grpc, "ssl_server_credentials", lambda *_, **__: 1 / 0)
        for host, messages in (("127.0.0.1", 0), ("10.0.0.1", 1)):
            with pytest.raises(ZeroDivisionError):
                await node.listen(host, 0, lambda event: None)
            assert len(caplog.messages) == messages

    with caplog.at_level(logging.WARNING, logger="pqchain.wire"):
        run_with_node(check)
    assert "in total and not per host" in caplog.messages[0]


def test_non_reading_member_is_disconnected(monkeypatch):
    monkeypatch.setattr(limits, "MAX_QUEUED", 100)

    async def check(grpc, node):
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

    run_with_node(check)


def test_buffered_messages_per_session_are_bounded():
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

    run_with_node(check)


def test_connections_per_peer_are_bounded():
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

    run_with_node(check)
