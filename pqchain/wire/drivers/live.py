"""A node on real sockets, driven by asyncio. One process runs one node.

Reads the event loop's clock and the process's processor time; nothing below it reads either.
"""

from __future__ import annotations

import asyncio
import gc
import json
import math
import os
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pqchain.errors import UsageError
from pqchain.wire.drivers.job import Job, NodeResult
from pqchain.wire.identity import Identity, PublicIdentity
from pqchain.wire.session import Address, Deliver, Endpoint, Event, Listener, Received
from pqchain.wire.transports import registry
from pqchain.wire.transports.limits import MOST_UNREAD_BYTES

_SOCKET_BYTES = 4 << 20
"""Receive buffer that we ask the system for; it may give less."""


class UdpSocket(asyncio.DatagramProtocol):
    """A UDP socket before an endpoint; call `flush_soon` when the endpoint was asked to send."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._loop = asyncio.get_running_loop()
        self._deliver: Deliver = lambda event: None
        self._socket: asyncio.DatagramTransport
        self._timer: asyncio.TimerHandle | None = None
        self._flushing = False

    async def listen(self, host: str, port: int, deliver: Deliver) -> Address:
        """Open the socket."""
        self._deliver = deliver
        self._socket, _ = await self._loop.create_datagram_endpoint(
            lambda: self, local_addr=(host, port), family=socket.AF_INET
        )
        raw = self._socket.get_extra_info("socket")
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
        self.endpoint.receive(data, (addr[0], addr[1]), self._loop.time())
        self.flush_soon()

    def error_received(self, exc: Exception) -> None:
        """Ignore that a dead node's port refuses: QUIC finds out by itself."""

    def flush_soon(self) -> None:
        """Send once, after what is at hand."""
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        try:
            self._deliver_all()
        finally:
            self._flushing = False
        if self._socket.is_closing():
            return
        for data, address in self.endpoint.datagrams(self._loop.time()):
            self._socket.sendto(data, address)
        self._deliver_all()
        due = self.endpoint.timer()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._timed)

    def _deliver_all(self) -> None:
        for event in self.endpoint.events():
            self._deliver(event)

    def _timed(self) -> None:
        self._timer = None
        self.endpoint.handle_timer(self._loop.time())
        self.flush_soon()


class LiveNode:
    """A node, its transport and the event loop."""

    def __init__(
        self,
        index: int,
        job: Job,
        folder: Path,
        identity: Identity,
        directory: Sequence[PublicIdentity],
    ) -> None:
        self.addresses: dict[int, Address] = {}
        """Where everyone listens; to be filled before `start`."""
        self.index = index
        self._folder = folder
        if job.processors:
            os.sched_setaffinity(0, job.processors)  # before a thread is made, which inherits it
        self._loop = asyncio.get_running_loop()
        transport = job.open(identity, directory, self.addresses, folder)
        self._udp = UdpSocket(transport) if registry.get(job.speaks(index)).endpoint else None
        self._listener: Listener = self._udp or transport
        self.node = job.node(index, transport, folder)
        # One thread: a node's tasks follow each other. Codec and hashes leave the interpreter.
        self._workers = ThreadPoolExecutor(1)
        self._timer: asyncio.Handle | None = None
        self._due = math.inf
        """When the timer rings; uvloop's handles do not tell."""
        self._started = False
        self._transport = transport
        self._early_bytes = 0
        self._early: list[Event] = []
        """What happened before the start: who starts sooner dials those who have not yet."""
        self._cpu_begun = self._cpu_done = math.nan
        self._cpu_steps: list[float] = []
        self._steps, self._progress = job.steps, 0
        self.changed = asyncio.Event()
        """Set whenever something has happened."""

    async def listen(self, host: str, port: int = 0) -> Address:
        """Begin to listen. Raises UsageError if the address cannot be used."""
        try:
            return await self._listener.listen(host, port, self._deliver)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host} port {port}: {error.strerror or error}; free the port, "
                "choose an address of this machine, or raise the limit of open files (ulimit -n)"
            ) from error

    def start(self) -> None:
        """Dial everyone in `addresses`."""
        # A full collection of modules and set-up data takes 50 ms, in one turn of the loop.
        gc.freeze()
        self._started = True
        self.node.start(self._loop.time())
        for event in self._early:
            self.node.handle(event, self._loop.time())
        self._next()

    def begin(self) -> None:
        """Begin the work, now that all are connected."""
        self.node.begin(self._loop.time())
        self._next()

    async def shut(self) -> None:
        """Close everything; write the log if there is one."""
        if self._timer is not None:
            self._timer.cancel()
        await self._listener.shut()
        self._workers.shutdown(wait=False, cancel_futures=True)
        if self._udp is not None and (log := self._udp.endpoint.qlog()) is not None:
            path = self._folder / f"node-{self.index}.qlog"
            path.write_text(json.dumps(log), encoding="utf-8")

    def result(self) -> NodeResult:
        """Return what became of the node so far."""
        return NodeResult.of(
            self.index,
            self.node,
            cpu_seconds=self._cpu_done - self._cpu_begun,
            cpu_steps=tuple(self._cpu_steps),
        )

    def _deliver(self, event: Event) -> None:
        if self._started:
            self.node.handle(event, self._loop.time())
            self._next()
            return
        self._early.append(event)
        if isinstance(event, Received):
            self._early_bytes += len(event.data)
            if self._early_bytes > MOST_UNREAD_BYTES:
                self._give_up(event.session)

    def _give_up(self, session: int) -> None:
        """Close a session that has sent too much before the start, and keep nothing of it."""
        self._transport.close(session, "too much before the start", now=self._loop.time())
        self._early = [event for event in self._early if event.session != session]
        received = [event for event in self._early if isinstance(event, Received)]
        self._early_bytes = sum(len(event.data) for event in received)

    def _next(self) -> None:
        """Run the next task, set the timer, note when work begins and ends."""
        if (task := self.node.poll()) is not None:
            self.node.started(self._loop.time())
            future = self._loop.run_in_executor(self._workers, task.outcome)
            future.add_done_callback(self._finished)
        if self.node.begun and math.isnan(self._cpu_begun):
            self._cpu_begun = time.process_time()
        if self._steps and (grown := self.node.progress - self._progress) > 0:
            self._cpu_steps += grown * [time.process_time() - self._cpu_begun]
            self._progress += grown
        if self.node.done and math.isnan(self._cpu_done):
            self._cpu_done = time.process_time()
        due = self.node.timer()
        if due is not None and due < self._due:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._due = self._loop.call_at(due, self._timed), due
        if self._udp is not None:
            self._udp.flush_soon()
        self.changed.set()

    def _finished(self, future: asyncio.Future[object]) -> None:
        if not future.cancelled():
            self.node.finished(future.result(), self._loop.time())
            self._next()

    def _timed(self) -> None:
        self._timer, self._due = None, math.inf
        self.node.handle_timer(self._loop.time())
        self._next()
