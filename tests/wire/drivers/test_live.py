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
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
    ):
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        command = [sys.executable, "-c", PROGRAM, str(port), str(tmp_path), *names]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    lines = [line for line in done.stdout.splitlines() if line]
    assert len(lines) == len(names) >= 3, done.stderr
    assert all(f"port {port}" in line and "Free the port" in line for line in lines)


def test_unavailable_namespaces_state_the_reason(monkeypatch):
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 1000)
    with pytest.raises(Unsupported, match=r"network namespaces need root\. Use loopback"):
        namespaces.Namespaces(5, Link())


class Silent:
    """A transport that does nothing."""

    def __init__(self):
        self.closed = []

    async def listen(self, host, port, deliver):
        return host, port

    async def shutdown(self):
        pass

    def close(self, session, reason, *, now):
        self.closed.append((session, reason))

    def __getattr__(self, name):
        return lambda *_, **__: 0


def test_events_before_the_start_are_kept_and_their_data_is_bounded(tmp_path, monkeypatch):
    silent = Silent()
    monkeypatch.setattr(registry.TransportInfo, "open", lambda info, settings: silent)
    parameters = {"nodes": 2}
    job = Job(nodes=2, factory="tests.wire.echo:build", parameters=parameters, transport="tcp-tls")

    async def main():
        (me,) = generate(1, algorithm="Ed25519")
        live = LiveNode(0, job, tmp_path, me, [])
        await live.listen("127.0.0.1")
        for session, data in [(7, b"")] + [(8, bytes(1 << 16))] * (MAX_UNREAD_BYTES // (1 << 16)):
            live._deliver(Opened(session, 1, True))
            live._deliver(Received(session, 1, data, False))
            assert not silent.closed
        live._deliver(Received(8, 1, b"more", False))
        assert silent.closed == [(8, "too much data before the start")]
        assert not live.node.connected
        live.start()
        assert live.node.connected and live.node._sessions == {1: 7}
        await live.shutdown()

    try:
        asyncio.run(main())
        # A full garbage collection within a turn would traverse them.
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
