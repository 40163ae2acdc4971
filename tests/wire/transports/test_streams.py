"""Transports on their own sockets: known nodes communicate, unknown ones get nothing.

    python -m tests.wire.transports.test_streams tcp-tls|grpc CHECK

Each check runs in a separate process, because gRPC's threads are unsafe in a process that forks.
"""

import asyncio
import gc
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pqchain.wire.session import Closed, Opened, Received
from pqchain.wire.transports import registry, sockets
from tests.wire.pair import UNKNOWN, Mesh, until


async def known_nodes_only(mesh: Mesh) -> None:
    """Known nodes exchange bytes, unknown ones get nothing."""
    await mesh.listen(1, UNKNOWN)
    patience, sockets._CONNECT_SECONDS = sockets._CONNECT_SECONDS, 1.0
    session = mesh.nodes[UNKNOWN].dial(1, early=False, now=0.0)
    await until(lambda: mesh.events[UNKNOWN])
    sockets._CONNECT_SECONDS = patience
    node = mesh.nodes[UNKNOWN]
    if session in node.sessions:
        node.send(session, node.open(session), b"give me chunks", end=True)
    await until(lambda: mesh.of(UNKNOWN, Closed))
    assert mesh.events[1] == []
    await mesh.nodes.pop(UNKNOWN).shutdown()

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


async def peer_ended(mesh: Mesh, whole_node: bool = False) -> None:
    """A session or a node that the peer ends leaves no task waiting."""
    errors: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
    await mesh.listen(1, 0)
    session = await mesh.dial()
    for channel in [mesh.nodes[0].open(session) for _ in range(5)]:
        mesh.nodes[0].send(session, channel, b"the first half of a message")
    await until(lambda: len(mesh.events[1]) == 6)
    if whole_node:
        await mesh.nodes[1].shutdown()
    else:
        mesh.nodes[1].close(mesh.events[1][0].session, "done", now=0.0)
    await until(lambda: sum(event.end for event in mesh.of(0, Received)) == 5 or mesh.of(0, Closed))
    await mesh.shutdown()
    # A task that waits forever is collected as garbage, which the loop reports as an error.
    mesh.nodes.clear()
    for _ in range(5):
        gc.collect()
        await asyncio.sleep(0.01)
    assert not errors, errors


def _connections(port: int) -> int:
    """Count the connections of this process at a port."""
    links = [path for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    owned = {str(path.readlink()) for path in links}
    names = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
    rows = [line.split() for name in names for line in name.read_text("ascii").splitlines()[1:]]
    established = (row for row in rows if row[1].endswith(f"{port:04X}") and row[3] == "01")
    return sum(f"socket:[{row[9]}]" in owned for row in established)


async def grpc_is_bounded(mesh: Mesh) -> None:
    """Headers of calls and connections in a flood are limited; an honest dial succeeds."""
    import grpc

    from pqchain.wire.transports import grpc as ours

    ours.MAX_CONNECTIONS, ours.HANDSHAKE_SECONDS = 40, 1.0
    await mesh.listen(1, 0)
    connection = mesh.nodes[0].sessions[await mesh.dial()].connection
    call = connection.stream_stream("/pqchain.Node/Channel")(metadata=[("more", "x" * 100_000)])
    try:
        await call.read()
    except grpc.RpcError as error:
        assert error.code().name == "RESOURCE_EXHAUSTED"
    else:
        raise AssertionError("a header of 100 kB was accepted")
    knocking = []
    for _ in range(ours.MAX_CONNECTIONS + 50):
        knocking.append(socket.socket())
        knocking[-1].connect(mesh.addresses[1])
    await asyncio.sleep(0.3)
    assert 0 < _connections(mesh.addresses[1][1]) <= ours.MAX_CONNECTIONS
    await mesh.dial()


async def node_ended(mesh: Mesh) -> None:
    await peer_ended(mesh, whole_node=True)


CHECKS = (known_nodes_only, peer_ended, node_ended, grpc_is_bounded)


@pytest.mark.parametrize(
    ("name", "check"),
    [
        (name, check.__name__)
        for check in CHECKS
        for name in (("grpc",) if check is grpc_is_bounded else ("tcp-tls", "grpc"))
    ],
)
def test_transport_on_sockets(name, check):
    if reason := registry.get(name).unavailable_reason():
        pytest.skip(reason)
    done = subprocess.run(
        [sys.executable, "-m", "tests.wire.transports.test_streams", name, check],
        capture_output=True, text=True, timeout=120, check=False, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


async def main() -> None:
    """Run the check of the arguments."""
    mesh = Mesh(sys.argv[1])
    (check,) = (check for check in CHECKS if check.__name__ == sys.argv[2])
    await check(mesh)
    await mesh.shutdown()


if __name__ == "__main__":
    asyncio.run(main())
