"""Floods of a node: memory, connections, and the duration of an honest dial meanwhile.

    python -m tests.wire.flood [aioquic|native|tcp-tls|grpc] [COUNT]

QUIC is flooded with first datagrams, each a new Initial from a new address, as anybody can
send them: of random content to aioquic, and with a hello that can be read to native, which
keeps nothing of others. At TCP and gRPC go connections that begin a handshake, or send nothing at
all, and stay: from one host, then from eight. Endpoints without sockets are connected in memory.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import socket
import sys
import tempfile
import time
from pathlib import Path

from pqchain.wire.identity import generate
from pqchain.wire.session import Address, Closed, Opened
from pqchain.wire.transports import registry
from pqchain.wire.transports.aioquic import ALPN
from tests.wire.pair import Pair

HELLO = bytes.fromhex("1603010200010001fc0303")
"""A ClientHello that has only begun."""


def forged(rng: random.Random) -> bytes:
    """Return an Initial with random content."""
    head = b"\xc0\x00\x00\x00\x01\x08" + rng.randbytes(8) + b"\x08" + rng.randbytes(8) + b"\x00"
    left = 1200 - len(head) - 2
    return head + (left | 0x4000).to_bytes(2, "big") + rng.randbytes(left)


def hello() -> bytes:
    """Return an Initial that begins a handshake of an unknown client."""
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.connection import QuicConnection

    client = QuicConnection(configuration=QuicConfiguration(alpn_protocols=[ALPN]))
    client.connect(("127.0.0.1", 4433), now=0.0)
    ((data, _), *_) = client.datagrams_to_send(now=0.0)
    return data


def resident_mb() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def dialled(pair: Pair) -> float:
    """Dial from 0 to 1 and return the seconds until both are authenticated."""
    began = time.perf_counter()
    pair.endpoints[0].dial(1, early=False, now=pair.now)
    found = []
    while not found:
        pair.carry()
        found = [event for event in pair.endpoints[0].events() if isinstance(event, Opened)]
        if time.perf_counter() - began > 60:
            return float("inf")
    return time.perf_counter() - began


def endpoints(name: str, count: int) -> tuple[str, ...]:
    """Flood an endpoint in memory and return the report."""
    pair, rng = Pair(delay_seconds=0.0), random.Random(1)
    before, quiet = resident_mb(), dialled(pair)
    server, began = pair.endpoints[1], time.perf_counter()
    replies = 0
    for number in range(count):
        address = (f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}", 4433)
        server.receive(forged(rng), address, pair.now)
        replies += sum(len(data) for data, _ in server.datagrams(pair.now))
    seconds = time.perf_counter() - began
    return (
        f"{name}, {count} forged datagrams in {seconds:.1f} s",
        f"{len(server.sessions) - 1} connections kept",
        f"memory {before:.0f} MB before, {resident_mb():.0f} MB after",
        f"{replies / count:.0f} bytes sent back for each of 1200",
        f"an honest dial took {quiet * 1e3:.0f} ms before, {dialled(pair) * 1e3:.0f} ms after",
    )


class Dialler:
    """A server and an honest client of it, in this process, over sockets."""

    def __init__(self, name: str, folder: Path) -> None:
        row = registry.get(name)
        known = generate(2, algorithm="Ed25519", certificate_key=row.certificate_key)
        addresses: dict[int, Address] = {}
        self.addresses = addresses
        self.events: list[object] = []
        self.client, self.server = (
            row.open(
                registry.TransportSettings(
                    identity=each,
                    directory=[one.public for one in known],
                    addresses=addresses,
                    folder=folder,
                )
            )
            for each in known
        )

    async def listen(self) -> int:
        """Start, and return the server's port."""
        self.addresses[1] = await self.server.listen("127.0.0.1", 0, lambda event: None)
        await self.client.listen("127.0.0.1", 0, self.events.append)
        return self.addresses[1][1]

    async def dial(self) -> float:
        """Dial until it succeeds, close again, and return the seconds."""
        began = time.perf_counter()
        while time.perf_counter() - began < 60:
            self.events.clear()
            session = self.client.dial(1, early=False, now=0.0)
            while not self.events:
                await asyncio.sleep(0.001)
            if isinstance(self.events[0], Opened):
                seconds = time.perf_counter() - began
                self.client.close(session, "that was all", now=0.0)
                return seconds
            assert isinstance(self.events[0], Closed)
        return float("inf")

    async def shutdown(self) -> None:
        await self.client.shutdown()
        await self.server.shutdown()


def knock(datagrams: bool, port: int, count: int, hosts: int) -> None:
    """Send the flood: datagrams, or connections that are kept until input ends."""
    rng, kept = random.Random(1), []
    made = [hello() for _ in range(count if datagrams else 0)]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for number in range(count):
        if datagrams:
            each = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            each.bind((f"127.1.{number >> 8 & 255}.{number & 255}", 0))
            each.sendto(made[number], ("127.0.0.1", port))
            each.close()
            continue
        each = socket.socket()
        each.bind((f"127.0.0.{2 + number % hosts}", 0))
        each.settimeout(20)
        try:
            each.connect(("127.0.0.1", port))
            each.send(HELLO[: rng.randrange(len(HELLO) + 1)])
        except OSError:
            pass  # the server did not accept the connection
        kept.append(each)
    sys.stdout.write("done\n")
    sys.stdout.flush()
    sys.stdin.read()


async def over_sockets(name: str, count: int, hosts: int) -> tuple[str, ...]:
    """Flood a server over loopback from another process and return the report."""
    with tempfile.TemporaryDirectory() as folder:
        dialler = Dialler(name, Path(folder))
        port = await dialler.listen()
        quiet = await dialler.dial()
        before, opened = resident_mb(), descriptors()
        words = ("knock", str(name == "native"), str(port), str(count), str(hosts))
        flood = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.wire.flood", *words), stdin=-1, stdout=-1
        )
        assert flood.stdout is not None and flood.stdin is not None
        await flood.stdout.readline()
        began, done = time.perf_counter(), asyncio.ensure_future(flood.stdout.readline())
        most, held, during = before, opened, []
        while not done.done():
            during.append(await dialler.dial())
            most, held = max(most, resident_mb()), max(held, descriptors())
            await asyncio.wait([done], timeout=0.02)
        seconds = time.perf_counter() - began
        after = await dialler.dial()
        most = max(most, resident_mb())
        flood.stdin.close()
        await flood.wait()
        await dialler.shutdown()
    what = "first datagrams" if name == "native" else f"connections that stay, of {hosts} hosts"
    return (
        f"{name}, {count} {what} in {seconds:.1f} s",
        *((f"{held - opened} more descriptors at most",) if name != "native" else ()),
        f"memory {before:.0f} MB before, {most:.0f} MB at most",
        f"an honest dial took {quiet * 1e3:.0f} ms before, {max(during) * 1e3:.0f} ms at most of "
        f"{len(during)} meanwhile, {after * 1e3:.0f} ms after",
    )


def main() -> None:
    """Print the memory of the node before and after."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))
    if sys.argv[1:2] == ["knock"]:
        knock(sys.argv[2] == "True", *map(int, sys.argv[3:]))
        return
    name = sys.argv[1] if len(sys.argv) > 1 else "aioquic"
    if name == "aioquic":
        _say(endpoints(name, int(sys.argv[2]) if len(sys.argv) > 2 else 10_000))
        return
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000 if name == "native" else 3_000
    for hosts in (1,) if name == "native" else (1, 8):
        _say(asyncio.run(over_sockets(name, count, hosts)))


def _say(lines: tuple[str, ...]) -> None:
    sys.stdout.write("\n  ".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
