"""The mesh that `tests.wire.members` floods, its members, and the floods."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pqchain.consensus.network import named
from pqchain.consensus.scenario import Layout
from pqchain.consensus.scenario import Scenario as Consensus
from pqchain.delegates import messages
from pqchain.delegates.messages import Message, MessageKind
from pqchain.delegates.setting import Setting
from pqchain.errors import PqchainError
from pqchain.reencode.protocol.messages import pack
from pqchain.wire.drivers.job import Job
from pqchain.wire.drivers.live import UdpSocket
from pqchain.wire.identity import Identity
from pqchain.wire.session import Closed, Opened
from pqchain.wire.transports import registry
from tests.consensus.scenarios import table
from tests.reencode.mesh import small

NODES = 4
VICTIM, HOSTILE, HONEST = 3, 0, 1
"""The victim is the last, because of two delegates the first one dials."""

BLOCK_BYTES = 1_000_000

_AHEAD_BYTES = 1 << 20
"""What the flood lets wait in its own queues."""

_PIECE_BYTES = 1 << 16
_CHANNELS = 200
"""After so many channels the flood opens another session: gRPC allows 256."""

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
    if node == "delegate":
        inputs = Setting(consensus()).shared_inputs() if victim else None
        factory, parameters = "pqchain.delegates.node:build", {
            "scenario": consensus(), "inputs": inputs,
        }  # fmt: skip
    else:
        factory, parameters = "pqchain.reencode.protocol.node:build", {
            "scenario": asdict(reencoding()), "faults": {},
        }  # fmt: skip
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
        self.cut_off = self.sent_bytes = 0
        addresses = {VICTIM: ("127.0.0.1", port)}
        directory = [each.public for each in identities]
        row = registry.get(speaks)
        self.transport = row.open(mesh.settings(identities[index], directory, addresses, shared))
        self._udp = UdpSocket(self.transport) if row.endpoint else None

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

    async def send(self, session: int, channel: int, data: bytes, *, end: bool = False) -> bool:
        """Send when the window permits; return whether the session is open."""
        self.flush()
        while self.transport.queued_bytes() > _AHEAD_BYTES and session not in self.closed:
            await asyncio.sleep(0.0005)
            self.flush()
        if session in self.closed:
            return False
        with suppress(KeyError, PqchainError):
            self.transport.send(session, channel, data, end=end)
            self.sent_bytes += len(data)
        self.flush()
        await asyncio.sleep(0)
        return True


Channels = AsyncIterator[tuple[int, int]]


async def sessions(member: Member) -> AsyncIterator[int]:
    """Yield successive sessions."""
    while True:
        if (session := await member.dial()) is not None:
            yield session
        else:
            await asyncio.sleep(0.01)


async def channels(member: Member) -> Channels:
    """Yield channels endlessly, on a new session after a number of them."""
    async for session in sessions(member):
        for _ in range(_CHANNELS):
            if session in member.closed:
                break
            yield session, member.open(session)


def filled(message: bytes) -> bytes:
    """Return copies of one message of about the length of a piece."""
    return message * (_PIECE_BYTES // len(message) + 1)


def vote() -> bytes:
    """Return a vote of the hostile member for an invented block."""
    setting = Setting(consensus())
    message = Message(MessageKind.VOTE, HOSTILE, 0, 0, bytes(32))
    signature = setting.keys.sign(HOSTILE, message.statement(message.body))
    field = setting.field_bytes(MessageKind.VOTE)
    return messages.encode(Message(MessageKind.VOTE, HOSTILE, 0, 0, bytes(32), signature),
                           field_bytes=field)  # fmt: skip


def beat() -> bytes:
    return pack({"type": "beat", "number": 1, "since": 0.5, "queued": 0, "plan": None,
                 "failed": False, "stored": {}})  # fmt: skip


async def refused_frame(member: Member, node: str, block: str) -> None:
    """Send an invalid length and garbage after it."""
    async for session in sessions(member):
        channel, data = member.open(session), b"\xff" * 4
        while await member.send(session, channel, data):
            data = b"\xa5" * _PIECE_BYTES


async def half_messages(member: Member, node: str, block: str) -> None:
    """Send a valid length and most of the message on as many channels as possible."""
    count = BLOCK_BYTES * 9 // 10
    data = count.to_bytes(4, "big") + bytes(count * 9 // 10)
    async for session, channel in channels(member):
        await member.send(session, channel, data)


async def begun_messages(member: Member, node: str, block: str) -> None:
    """Send three bytes of a length on as many channels as possible."""
    async for session, channel in channels(member):
        await member.send(session, channel, b"\0\0\1")


async def valid(member: Member, node: str, block: str) -> None:
    """Send valid messages as fast as possible."""
    status = messages.encode(Message(MessageKind.STATUS, HOSTILE, 0, 0, b""))
    data = filled(status) + filled(vote()) if node == "delegate" else filled(beat())
    async for session in sessions(member):
        channel = member.open(session)
        while await member.send(session, channel, data):
            pass


async def deaf_requests(member: Member, node: str, block: str) -> None:
    """Request one chunk repeatedly on one channel; read nothing."""
    get = pack({"type": "get", "block": block, "epoch": 1, "index": VICTIM})
    data = filled(get)
    async for session in sessions(member):
        channel = member.open(session)
        while await member.send(session, channel, data):
            pass


async def deaf_channels(member: Member, node: str, block: str) -> None:
    """Request one chunk repeatedly on new channels; read nothing."""
    get = pack({"type": "get", "block": block, "epoch": 1, "index": VICTIM})
    async for session, channel in channels(member):
        await member.send(session, channel, get, end=True)


FLOODS: dict[str, tuple[Callable[..., Any], bool, tuple[str, ...]]] = {
    "refused-frame": (refused_frame, False, ("delegate", "reencode")),
    "half-messages": (half_messages, False, ("delegate", "reencode")),
    "begun-messages": (begun_messages, False, ("delegate", "reencode")),
    "valid": (valid, False, ("delegate", "reencode")),
    "deaf-valid": (valid, True, ("reencode",)),
    "deaf-requests": (deaf_requests, True, ("reencode",)),
    "deaf-channels": (deaf_channels, True, ("reencode",)),
}
"""Of each: what it does, whether it reads nothing, and at which nodes."""


def be_deaf(transport: str) -> str:
    """Make the transports of this process read nothing; return the transport."""
    if registry.get(transport).endpoint or transport == "native":
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
    if transport == "tcp-tls":
        from pqchain.wire.transports.tcp import _Connection

        connection_made = _Connection.connection_made

        def made_deaf(self: Any, made: Any) -> None:
            connection_made(self, made)
            made.pause_reading()

        _Connection.connection_made = made_deaf  # type: ignore[method-assign]
    else:
        from pqchain.wire.transports.grpc import Grpc

        async def read_nothing(*_: Any) -> None:
            await asyncio.Event().wait()

        Grpc._read = read_nothing  # type: ignore[method-assign]
    return transport


async def attack(
    transport: str, node: str, flood: str, port: str, shared: str, block: str = ""
) -> None:
    """Send the flood until killed."""
    logging.disable(logging.WARNING)
    act, deaf, _ = FLOODS[flood]
    speaks = be_deaf(transport) if deaf else transport
    member = Member(job(transport, node), speaks, HOSTILE, Path(shared), int(port))
    await member.listen()
    telling = asyncio.create_task(_tell(member))
    await act(member, node, block)
    await telling


async def _tell(member: Member) -> None:
    while True:
        if member.opened:
            sent_mb = (member.sent_bytes - member.transport.queued_bytes()) / 1e6
            say(
                {
                    "opened": len(member.opened),
                    "cut_off": member.cut_off,
                    "sent_mb": sent_mb,
                }
            )
        await asyncio.sleep(0.2)
