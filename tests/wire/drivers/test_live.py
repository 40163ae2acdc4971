"""A node on sockets: unavailable addresses, and data before its start."""

import asyncio
import gc
import socket
import subprocess
import sys

import pytest

from pqchain.errors import Unsupported
from pqchain.wire.drivers import namespaces
from pqchain.wire.drivers.job import Job
from pqchain.wire.drivers.link import Link
from pqchain.wire.drivers.live import LiveNode
from pqchain.wire.identity import generate
from pqchain.wire.session import Opened, Received
from pqchain.wire.transports import registry
from pqchain.wire.transports.limits import MAX_UNREAD_BYTES

PROGRAM = """
import asyncio, sys
from pathlib import Path
from pqchain.errors import UsageError
from pqchain.wire.drivers.job import Job
from pqchain.wire.drivers.live import LiveNode

async def main():
    for transport in sys.argv[3:]:
        job = Job(nodes=2, factory="tests.wire.echo:build", parameters={"nodes": 2},
                  transport=transport, identity="Ed25519")
        me, other = job.identities()
        node = LiveNode(0, job, Path(sys.argv[2]), me, [me.public, other.public])
        try:
            await node.listen("127.0.0.1", int(sys.argv[1]))
        except UsageError as error:
            print(error)

asyncio.run(main())
"""


def test_port_in_use_is_named(tmp_path):
    infos = registry.TRANSPORTS.values()
    names = [info.name for info in infos if not info.unavailable_reason()]
    with socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        port = tcp.getsockname()[1]
        with socket.socket(type=socket.SOCK_DGRAM) as udp:
            udp.bind(("127.0.0.1", port))
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, str(port), str(tmp_path), *names],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
    lines = [line for line in done.stdout.splitlines() if line]
    assert len(lines) == len(names) >= 4, done.stderr
    assert all(f"port {port}" in line and "Free the port" in line for line in lines)


def test_unavailable_namespaces_state_the_reason(monkeypatch):
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 1000)
    assert namespaces.unavailable_reason() == "network namespaces need root"
    with pytest.raises(Unsupported, match=r"need root\. Use loopback or virtual"):
        namespaces.Namespaces(5, Link())


class Silent:
    """A transport that does nothing."""

    async def listen(self, host, port, deliver):
        return host, port

    async def shutdown(self):
        pass

    def __getattr__(self, name):
        return lambda *_, **__: 0


def test_sessions_before_the_start_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(registry.TransportInfo, "open", lambda info, settings: Silent())
    job = Job(
        nodes=2, factory="tests.wire.echo:build", parameters={"nodes": 2}, transport="tcp-tls"
    )

    async def main():
        (me,) = generate(1, algorithm="Ed25519")
        live = LiveNode(0, job, tmp_path, me, [])
        await live.listen("127.0.0.1")
        live._deliver(Opened(7, 1, True))
        assert not live.node.connected
        live.start()
        assert live.node.connected
        await live.shutdown()

    try:
        asyncio.run(main())
        assert (
            gc.get_freeze_count() > 10_000
        )  # a full garbage collection within a turn would traverse them
    finally:
        gc.unfreeze()


def test_data_before_the_start_is_bounded(tmp_path, monkeypatch):
    closed = []
    silent = Silent()
    silent.close = lambda session, reason, *, now: closed.append((session, reason))
    monkeypatch.setattr(registry.TransportInfo, "open", lambda info, settings: silent)
    job = Job(
        nodes=3, factory="tests.wire.echo:build", parameters={"nodes": 3}, transport="tcp-tls"
    )

    async def main():
        (me,) = generate(1, algorithm="Ed25519")
        live = LiveNode(0, job, tmp_path, me, [])
        await live.listen("127.0.0.1")
        live._deliver(Opened(7, 1, True))
        live._deliver(Opened(8, 2, True))
        live._deliver(Received(7, 1, b"kept", False))
        for _ in range(MAX_UNREAD_BYTES >> 16):
            live._deliver(Received(8, 1, bytes(1 << 16), False))
        assert closed == [(8, "too much data before the start")]
        assert [event.session for event in live._early] == [7, 7]
        await live.shutdown()

    asyncio.run(main())
