"""Effects of connection floods and endless headers on a gRPC server; prints JSON."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path

import grpc

from pqchain.wire.identity import generate
from pqchain.wire.session import Opened
from pqchain.wire.transports import grpc as ours
from pqchain.wire.transports.registry import TransportSettings

HEADER_BYTES = 100_000


def connections(port: int) -> int:
    """Count the connections of this process at a port."""
    links = [each for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    owned = {str(each.readlink()) for each in links}
    names = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
    rows = [line.split() for name in names for line in name.read_text("ascii").splitlines()[1:]]
    established = (row for row in rows if row[1].endswith(f"{port:04X}") and row[3] == "01")
    return sum(f"socket:[{row[9]}]" in owned for row in established)


async def dialled(client: ours.Grpc, events: list[object]) -> bool:
    """Dial until it succeeds, as a node does."""
    for _ in range(10):
        events.clear()
        client.dial(1, early=False, now=0.0)
        while not events:
            await asyncio.sleep(0.01)
        if isinstance(events[0], Opened):
            return True
    return False


async def endless_header(client: ours.Grpc) -> str:
    """Call with a header that is too long; return the server's answer."""
    (session,) = client.sessions.values()
    assert session.connection is not None
    call = session.connection.stream_stream("/pqchain.Node/Channel")(
        metadata=[("more", "x" * HEADER_BYTES)]
    )
    try:
        await call.read()
    except grpc.RpcError as error:
        return str(error.code().name)
    return "taken"


async def main() -> None:
    known = generate(2, algorithm="Ed25519", certificate_key="p256")
    directory, addresses = [each.public for each in known], {}
    events: list[object] = []

    def opened(index: int) -> ours.Grpc:
        settings = TransportSettings(
            identity=known[index], directory=directory, addresses=addresses, folder=Path()
        )
        return ours.Grpc(settings)

    server, client = opened(1), opened(0)
    host, port = addresses[1] = await server.listen("127.0.0.1", 0, lambda event: None)
    await client.listen("127.0.0.1", 0, events.append)
    assert await dialled(client, events)
    refused = await endless_header(client)
    knocking = []
    for _ in range(ours.MAX_CONNECTIONS + 50):
        knocking.append(socket.socket())
        knocking[-1].connect((host, port))
    await asyncio.sleep(0.3)
    held = connections(port)
    again = await dialled(client, events)
    said = {"header": refused, "held": held, "most": ours.MAX_CONNECTIONS, "dialled": again}
    sys.stdout.write(json.dumps(said))
    await client.shutdown()
    await server.shutdown()


if __name__ == "__main__":
    ours.MAX_CONNECTIONS, ours.HANDSHAKE_SECONDS = 40, 1.0
    asyncio.run(main())
