"""A node on real sockets: the same node, driven by asyncio. One process runs one node.

Reads the event loop's clock and the process's processor time; nothing below it reads either.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from pqchain.errors import Unsupported, UsageError
from pqchain.reencode.outcome import NodeOutcome
from pqchain.reencode.protocol.node import Node
from pqchain.reencode.scenario import Scenario
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.identities import Identity, PublicIdentity
from pqchain.wire.session import Address, Deliver, Event, Transport
from pqchain.wire.transports.quic import Library, QuicEndpoint, write_qlog

_SOCKET_BYTES = 4 << 20
"""Receive buffer that we ask the system for; it may give less."""


class LiveTransport(Transport, Protocol):
    """A transport with sockets."""

    async def listen(self, host: str, port: int, deliver: Deliver) -> Address:
        """Begin to listen, on a port that the system chooses if it is 0; return the address."""

    async def shut(self) -> None:
        """Close everything."""


class UdpQuic(asyncio.DatagramProtocol):
    """A QuicEndpoint behind one UDP socket."""

    def __init__(self, endpoint: QuicEndpoint) -> None:
        """Take the endpoint; `listen` gives it a socket."""
        self._endpoint = endpoint
        self._loop = asyncio.get_running_loop()
        self._deliver: Deliver = lambda event: None
        self._socket: asyncio.DatagramTransport
        self._timer: asyncio.TimerHandle | None = None
        self._flushing = False

    async def listen(self, host: str, port: int, deliver: Deliver) -> Address:
        """Open the socket."""
        import socket

        self._deliver = deliver
        opened, _ = await self._loop.create_datagram_endpoint(
            lambda: self, local_addr=(host, port), family=socket.AF_INET
        )
        self._socket = opened
        raw = opened.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SOCKET_BYTES)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BYTES)
        name = raw.getsockname()
        return str(name[0]), int(name[1])

    async def shut(self) -> None:
        """Send what is left and close the socket."""
        self._flush()
        if self._timer is not None:
            self._timer.cancel()
        self._socket.close()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Take a datagram in; what follows from a burst of them is sent once."""
        self._endpoint.receive(data, (addr[0], addr[1]), self._loop.time())
        self._soon()

    def error_received(self, exc: Exception) -> None:
        """Ignore that a dead node's port refuses: QUIC finds out by itself."""

    def dial(self, peer: int, *, early: bool, now: float) -> int:
        """Begin a session."""
        self._soon()
        return self._endpoint.dial(peer, early=early, now=now)

    def open(self, session: int) -> int:
        """Open a channel."""
        return self._endpoint.open(session)

    def send(self, session: int, channel: int, data: Any, *, end: bool = False) -> None:
        """Queue bytes."""
        self._endpoint.send(session, channel, data, end=end)
        self._soon()

    def stop(self, session: int, channel: int) -> None:
        """Want no more of a channel."""
        self._endpoint.stop(session, channel)
        self._soon()

    def close(self, session: int, reason: str, *, now: float) -> None:
        """End a session."""
        self._endpoint.close(session, reason, now=now)
        self._soon()

    def queued_bytes(self) -> int:
        """Return what waits."""
        return self._endpoint.queued_bytes()

    def _soon(self) -> None:
        """Flush once, after what is at hand."""
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Tell events, send datagrams, set the timer."""
        self._flushing = False
        for event in self._endpoint.events():
            self._deliver(event)
        if self._socket.is_closing():
            return
        for data, address in self._endpoint.datagrams(self._loop.time()):
            self._socket.sendto(data, address)
        for event in self._endpoint.events():
            self._deliver(event)
        due = self._endpoint.timer()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = self._loop.call_at(due, self._timed)

    def _timed(self) -> None:
        """Let the endpoint's timers act."""
        self._timer = None
        self._endpoint.handle_timer(self._loop.time())
        self._soon()


def open_transport(
    scenario: Scenario,
    identity: Identity,
    directory: Sequence[PublicIdentity],
    addresses: Mapping[int, Address],
    folder: Path,
    *,
    log: bool = False,
) -> tuple[LiveTransport, QuicEndpoint | None]:
    """Return the scenario's transport, and its endpoint if that can write a log.

    Raises Unsupported if the library of the transport is not installed.
    """
    if scenario.transport in ("aioquic", "qh3"):
        library = _quic(scenario.transport)
        endpoint = QuicEndpoint(
            identity, directory, addresses, library, datagram_bytes=scenario.datagram_bytes,
            congestion=scenario.congestion, log=log,
        )  # fmt: skip
        return UdpQuic(endpoint), endpoint if library.logger else None
    if scenario.transport == "tcp-tls":
        from pqchain.wire.transports.tcp import TcpTls

        return TcpTls(identity, directory, addresses, folder), None
    try:
        from pqchain.wire.transports.grpc import Grpc
    except ImportError as error:
        raise Unsupported(
            f"the transport grpc needs grpcio, which cannot be imported ({error}): "
            "pip install grpcio"
        ) from error
    return Grpc(identity, directory, addresses), None


def _quic(name: str) -> Library:
    """Return a QUIC library. Raises Unsupported if it is not installed."""
    if name == "aioquic":
        from pqchain.wire.transports.aioquic import AIOQUIC

        return AIOQUIC
    try:
        from pqchain.wire.transports.qh3 import QH3
    except ImportError as error:
        raise Unsupported(
            f"the transport qh3 needs qh3, which cannot be imported ({error}): pip install qh3"
        ) from error
    return QH3


class LiveNode:
    """A node, its transport and the event loop."""

    def __init__(
        self,
        index: int,
        scenario: Scenario,
        folder: Path,
        identity: Identity,
        directory: Sequence[PublicIdentity],
        *,
        misbehaves: str = "",
        log: bool = False,
    ) -> None:
        """Open the transport; `misbehaves` is "corrupt", "stall" or nothing."""
        self.addresses: dict[int, Address] = {}
        self._scenario = scenario
        self._folder = folder
        self._loop = asyncio.get_running_loop()
        self._transport, self._endpoint = open_transport(
            scenario, identity, directory, self.addresses, folder, log=log
        )
        self._log = log
        self.node = Node(
            index, scenario, ChunkStore(folder, synchronise=scenario.synchronise),
            self._transport, corrupt=misbehaves == "corrupt", stall=misbehaves == "stall",
        )  # fmt: skip
        # One thread: a node's tasks follow each other. Codec and hashes leave the interpreter.
        self._workers = ThreadPoolExecutor(1)
        self._timer: asyncio.TimerHandle | None = None
        self._started = False
        self._early: list[Event] = []
        """What happened before the start: who starts sooner dials those who have not yet."""
        self._processor = [float("nan")] * 2
        self.changed = asyncio.Event()
        """Set whenever something has happened."""

    async def listen(self, host: str, port: int = 0) -> Address:
        """Begin to listen. Raises UsageError if the address cannot be used."""
        try:
            return await self._transport.listen(host, port, self._deliver)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host} port {port}: {error.strerror or error}; free the port, "
                "choose an address of this machine, or raise the limit of open files (ulimit -n)"
            ) from error

    def start(self) -> None:
        """Dial everyone in `addresses`."""
        self._started = True
        self.node.start(self._loop.time())
        early, self._early = self._early, []
        for event in early:
            self.node.handle(event, self._loop.time())
        self._next()

    def begin_exchange(self) -> None:
        """Begin the first experiment."""
        self.node.begin_exchange(self._loop.time())
        self._next()

    async def shut(self) -> None:
        """Close everything."""
        if self._timer is not None:
            self._timer.cancel()
        await self._transport.shut()
        self._workers.shutdown(wait=False, cancel_futures=True)
        if self._log and self._endpoint is not None:
            write_qlog(self._endpoint, self._folder / f"node-{self.node.index}.qlog")

    def outcome(self) -> NodeOutcome:
        """Return what was recorded; times count from the node's own beginning."""
        record = self.node.record
        return NodeOutcome(
            node=self.node.index,
            state="failed" if self.node.error else "done" if self.node.done else "cut off",
            error=str(self.node.error or ""),
            noticed_seconds=record.noticed if record.noticed is not None else float("nan"),
            begun_seconds=record.begun if record.begun is not None else float("nan"),
            seconds=dict(record.seconds),
            work=dict(record.work),
            wall_seconds=sum(record.seconds.values()),
            cpu_seconds=self._processor[1] - self._processor[0],
            received_bytes=record.received_bytes,
            wasted_bytes=record.wasted_bytes,
            arrivals=tuple(record.arrivals),
            verified_blocks=record.verified_blocks,
            early_sessions=record.early_sessions,
        )

    def _deliver(self, event: Event) -> None:
        """Hand an event to the node."""
        if not self._started:
            self._early.append(event)
            return
        self.node.handle(event, self._loop.time())
        self._next()

    def _next(self) -> None:
        """Run the next task, set the timer, note when work begins and ends."""
        task = self.node.poll()
        if task is not None:
            self.node.started(self._loop.time())
            future = self._loop.run_in_executor(self._workers, task.outcome)
            future.add_done_callback(self._finished)
        record = self.node.record
        if record.begun is not None and self._processor[0] != self._processor[0]:
            self._processor[0] = time.process_time()
        if self.node.done and self._processor[1] != self._processor[1]:
            self._processor[1] = time.process_time()
        due = self.node.timer()
        if due is not None and (self._timer is None or self._timer.cancelled()):
            self._timer = self._loop.call_at(due, self._timed)
        self.changed.set()

    def _finished(self, future: asyncio.Future[object]) -> None:
        """Hand the result of a task to the node."""
        if not future.cancelled():
            self.node.finished(future.result(), self._loop.time())
            self._next()

    def _timed(self) -> None:
        """Let the node's timer act."""
        self._timer = None
        self.node.handle_timer(self._loop.time())
        self._next()
