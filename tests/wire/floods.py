"""Floods of a node by a member of its mesh: the node's memory, and an honest dial meanwhile.

The victim is a real node of a delegate or of re-encoding, in a separate process, driven as
`wire.drivers` drives it. The flood is another, authenticated process; it dials again whenever it is
disconnected. The calling process is an honest member that dials the victim again and again.
Loopback only; a flood ends early when the victim has grown by `STOP_MB`.
"""

import asyncio
import json
import logging
import os
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pqchain.consensus.network import named
from pqchain.consensus.scenario import Layout
from pqchain.consensus.scenario import Scenario as Consensus
from pqchain.delegates import messages
from pqchain.delegates.messages import Message, MessageKind
from pqchain.delegates.setting import Setting
from pqchain.errors import PqchainError
from pqchain.reencode import runs
from pqchain.reencode.protocol.messages import pack
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.drivers.job import Job
from pqchain.wire.drivers.live import LiveNode, UdpSocket
from pqchain.wire.identity import Identity
from pqchain.wire.session import Closed, Endpoint, Opened
from pqchain.wire.transports import registry
from tests.consensus.scenarios import table
from tests.reencode.mesh import small

NODES = 4
VICTIM, HOSTILE, HONEST = 3, 0, 1
"""The victim is the last, because of two delegates the first one dials."""

BLOCK_BYTES = 1_000_000

STOP_MB = 600.0

_START_SECONDS = 30.0
"""How long the flood may take to begin, on a busy machine."""

_AHEAD_BYTES = 1 << 20
"""What the flood lets wait in its own queues."""

_PIECE_BYTES = 1 << 16
_CHANNELS = 200
"""After so many channels the flood opens another session."""

_VIEW_SECONDS = 1000.0


def consensus() -> Consensus:
    """Return delegates that stay in the first view, so that only the flood is processed."""
    return Consensus(
        algorithm="Dilithium2", costs=table(), nodes=NODES, network=named("mesh"), vote_phases=2,
        view_timeout_seconds=_VIEW_SECONDS, layout=Layout(data_bytes=0),
        block_bytes=BLOCK_BYTES, blocks=1,
    )  # fmt: skip


def reencoding() -> Any:
    """Return nodes that wait without timeouts."""
    return small(
        nodes=NODES, before=(2, 2), after=(2, 1), block_bytes=BLOCK_BYTES, timeout_seconds=500.0,
        failed_node=1, streams="single",
    )  # fmt: skip


def job(transport: str, node: str, *, victim: bool = False) -> Job:
    """Return the mesh; only the victim needs the transactions, which take time to sign."""
    factory, parameters = "pqchain.reencode.protocol.node:build", {
        "scenario": asdict(reencoding()), "faults": {},
    }  # fmt: skip
    if node == "delegate":
        inputs = Setting(consensus()).shared_inputs() if victim else None
        factory = "pqchain.delegates.node:build"
        parameters = {"scenario": consensus(), "inputs": inputs}
    return Job(
        nodes=NODES, factory=factory, parameters=parameters, transport=transport,
        identity="Ed25519",
    )  # fmt: skip


def known(shared: Path) -> list[Identity]:
    """Return the identities that the processes share."""
    return list(pickle.loads((shared / "identities").read_bytes()))


def say(what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Member:
    """A member's transport, without a node."""

    def __init__(self, mesh: Job, speaks: str, index: int, shared: Path, port: int) -> None:
        identities = known(shared)
        self.closed: set[int] = set()
        self.opened: set[int] = set()
        self.cut_off = 0
        addresses = {VICTIM: ("127.0.0.1", port)}
        directory = [each.public for each in identities]
        row = registry.get(speaks)
        self.transport = row.open(mesh.settings(identities[index], directory, addresses, shared))
        self._udp = UdpSocket(self.transport) if isinstance(self.transport, Endpoint) else None

    async def listen(self) -> None:
        await (self._udp or self.transport).listen("127.0.0.1", 0, self._deliver)

    async def shutdown(self) -> None:
        await (self._udp or self.transport).shutdown()

    def _deliver(self, event: Any) -> None:
        if isinstance(event, Opened):
            self.opened.add(event.session)
        elif isinstance(event, Closed):
            self.cut_off += event.session in self.opened
            self.closed.add(event.session)

    def flush(self) -> None:
        if self._udp is not None:
            self._udp.flush_soon()

    async def dial(self) -> int | None:
        """Return an open session, or None if the victim rejects it."""
        session = self.transport.dial(VICTIM, early=False, now=asyncio.get_running_loop().time())
        self.flush()
        while session not in self.opened | self.closed:
            await asyncio.sleep(0.001)
        return session if session in self.opened else None

    def open(self, session: int) -> int:
        """Return a channel, an inactive one if the session has just ended."""
        with suppress(KeyError, PqchainError):
            return int(self.transport.open(session))
        self.closed.add(session)
        return 0

    async def send(self, session: int, channel: int, data: bytes) -> bool:
        """Send when the window permits; return whether the session is open."""
        self.flush()
        while self.transport.queued_bytes() > _AHEAD_BYTES and session not in self.closed:
            await asyncio.sleep(0.0005)
            self.flush()
        if session in self.closed:
            return False
        with suppress(KeyError, PqchainError):
            self.transport.send(session, channel, data)
        self.flush()
        await asyncio.sleep(0)
        return True


async def sessions(member: Member) -> AsyncIterator[int]:
    """Yield successive sessions."""
    while True:
        if (session := await member.dial()) is not None:
            yield session
        else:
            await asyncio.sleep(0.01)


def vote() -> bytes:
    """Return a vote of the hostile member for an invented block."""
    setting = Setting(consensus())
    message = Message(MessageKind.VOTE, HOSTILE, 0, 0, bytes(32))
    signature = setting.keys.sign(HOSTILE, message.statement(message.body))
    field = setting.field_bytes(MessageKind.VOTE)
    return messages.encode(replace(message, signature=signature), field_bytes=field)


def content(flood: str, node: str, block: str) -> list[bytes]:
    """Return the messages that a flood repeats."""
    if flood == "half-messages":
        count = BLOCK_BYTES * 9 // 10
        return [count.to_bytes(4, "big") + bytes(count * 9 // 10)]
    if flood == "refused-frame":
        return [b"\xa5"]
    if flood == "deaf-requests":
        return [pack({"type": "get", "block": block, "epoch": 1, "index": VICTIM})]
    if node == "delegate":
        return [messages.encode(Message(MessageKind.STATUS, HOSTILE, 0, 0, b"")), vote()]
    return [pack({"type": "beat", "number": 1, "since": 0.5, "queued": 0, "plan": None,
                  "failed": False, "stored": {}})]  # fmt: skip


async def send_flood(member: Member, flood: str, node: str, block: str) -> None:
    """Repeat messages on one channel; half messages on as many channels as possible."""
    data = b"".join(
        message * (_PIECE_BYTES // len(message) + 1) if flood != "half-messages" else message
        for message in content(flood, node, block)
    )
    # An invalid length, followed by garbage.
    first = b"\xff" * 4 if flood == "refused-frame" else b""
    async for session in sessions(member):
        for _ in range(_CHANNELS):
            channel = member.open(session)
            is_open = await member.send(session, channel, first + data)
            while is_open and flood != "half-messages":
                is_open = await member.send(session, channel, data)
            if not is_open:
                break


FLOODS = {
    "refused-frame": ("delegate", "reencode"),
    "half-messages": ("delegate", "reencode"),
    "valid": ("delegate", "reencode"),
    "deaf-requests": ("reencode",),
}
"""Nodes at which each flood is tried; a "deaf" one reads nothing."""


def be_deaf(transport: str) -> str:
    """Make the transports of this process read nothing; return the transport."""
    if registry.get(transport).quic:
        # The receive window is never renewed; acknowledgements continue.
        from aioquic.quic.configuration import QuicConfiguration
        from aioquic.quic.connection import QuicConnection

        QuicConnection._write_connection_limits = lambda *_, **__: None  # type: ignore[method-assign]
        QuicConnection._write_stream_limits = lambda *_, **__: None  # type: ignore[method-assign]
        made = QuicConfiguration.__init__

        def small_windows(self: Any, *given: Any, **more: Any) -> None:
            windows = {"max_data": 2048, "max_stream_data": 2048}
            made(self, *given, **{**more, **windows})

        QuicConfiguration.__init__ = small_windows  # type: ignore[method-assign]
        return "aioquic"
    from pqchain.wire.transports.tcp import _Connection

    connection_made = _Connection.connection_made

    def made_deaf(self: Any, made: Any) -> None:
        connection_made(self, made)
        made.pause_reading()

    _Connection.connection_made = made_deaf  # type: ignore[method-assign]
    return transport


async def attack(
    transport: str, node: str, flood: str, port: str, shared: str, block: str = ""
) -> None:
    """Send the flood until killed; print the numbers of sessions opened and cut off."""
    logging.disable(logging.WARNING)
    speaks = be_deaf(transport) if flood.startswith("deaf") else transport
    member = Member(job(transport, node), speaks, HOSTILE, Path(shared), int(port))
    await member.listen()
    flooding = asyncio.create_task(send_flood(member, flood, node, block))
    while not flooding.done():
        if member.opened:
            say({"opened": len(member.opened), "cut_off": member.cut_off})
        await asyncio.sleep(0.2)
    await flooding


def memory_mb(row: str = "VmRSS") -> float:
    """Return the memory of this process, or with VmHWM its peak."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.partition(f"{row}:")[2].split()[0]) / 1e3


async def victim(transport: str, node: str, shared: str) -> None:
    """Print the port; after a line of stdin, measure until the next one."""
    logging.disable(logging.WARNING)  # a line for each disconnection of the flood
    mesh = job(transport, node, victim=True)
    identities = known(Path(shared))
    directory = [each.public for each in identities]
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        if node == "reencode":
            runs.prepare(reencoding(), Path(folder))
        own = Path(folder) / str(VICTIM)
        live = LiveNode(VICTIM, mesh, own, identities[VICTIM], directory)
        _, port = await live.listen("127.0.0.1")
        live.addresses.update(dict.fromkeys(range(NODES), ("127.0.0.1", 9)))
        live.start()
        if node == "delegate":
            live.begin()
        block = ""
        if node == "reencode":
            (manifest,) = ChunkStore(own).manifests()
            block = manifest.block_hash
        say({"port": port, "block": block})
        orders = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
        await orders.readline()
        before = memory_mb()
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        ended = threading.Event()
        guard = threading.Thread(target=_guard, args=(before, ended))
        guard.start()
        await orders.readline()
        ended.set()
        guard.join()
        say({"grown": memory_mb("VmHWM") - before})
        await live.shutdown()


def _guard(before: float, ended: threading.Event) -> None:
    """End this process rather than fill the machine's memory."""
    while not ended.wait(0.02):
        if (grown := memory_mb() - before) > STOP_MB:
            say({"grown": grown})
            os._exit(3)


@asynccontextmanager
async def child(*words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run this module in another process, and kill it afterwards."""
    program = (sys.executable, "-m", "tests.wire.floods", *words)
    quiet = asyncio.subprocess.DEVNULL if words[0] == "attack" else None
    process = await asyncio.create_subprocess_exec(*program, stdin=-1, stdout=-1, stderr=quiet)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def measure(transport: str, node: str, flood: str, seconds: float) -> dict[str, float]:
    """Return the effects of a flood on the victim."""
    mesh = job(transport, node)
    with tempfile.TemporaryDirectory() as shared:
        (Path(shared) / "identities").write_bytes(pickle.dumps(mesh.identities()))
        async with child("victim", transport, node, shared) as hurt:
            assert hurt.stdin is not None and hurt.stdout is not None
            at = json.loads(await hurt.stdout.readline())
            member = Member(mesh, transport, HONEST, Path(shared), at["port"])
            await member.listen()
            dials = [await _dialled(member)]
            hurt.stdin.write(b"begin\n")
            names = (transport, node, flood, str(at["port"]), shared, at["block"])
            report = asyncio.ensure_future(hurt.stdout.readline())
            async with child("attack", *names) as hostile:
                assert hostile.stdout is not None
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(hostile.stdout.readline(), _START_SECONDS)
                began = time.monotonic()
                while time.monotonic() - began < seconds and not report.done():
                    dials.append(await _dialled(member))
                    await asyncio.sleep(0.2)
                hostile.kill()
                said = (await hostile.stdout.read()).decode().splitlines()
            with suppress(ConnectionError):
                hurt.stdin.write(b"end\n")
                await hurt.stdin.drain()
            found = json.loads(await report)
            await member.shutdown()
    counts = json.loads(said[-1]) if said else {"opened": 0, "cut_off": 0}
    return {**found, "dial": max(dials), **counts}


async def _dialled(member: Member) -> float:
    """Dial until it succeeds, for 10 s at most, and close again; return the seconds."""
    began = time.perf_counter()
    while time.perf_counter() - began < 10:
        with suppress(asyncio.TimeoutError):
            session = await asyncio.wait_for(member.dial(), 10)
            if session is not None:
                taken = time.perf_counter() - began
                member.transport.close(session, "that was all", now=0.0)
                member.flush()
                return taken
    return float("inf")


if __name__ == "__main__":
    try:
        # As the processes of nodes do, where it is installed.
        from uvloop import run
    except ImportError:
        from asyncio import run
    run({"victim": victim, "attack": attack}[sys.argv[1]](*sys.argv[2:]))
