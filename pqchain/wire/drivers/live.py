"""Driver of one node on real sockets with asyncio, and the main program of a node's process.

The process reads requests from stdin and writes reports to stdout. Requests: "setup" (first),
"start" with the addresses of all nodes, "begin"; the end of stdin stops the node. Reports:
"listening", "connected", "begun", "progress", "done" with the result, "error".

With names of modules as arguments the program is a fork server, which imports them and forks one
node per request: an import takes a second of processor time, a fork milliseconds. Its stdin is a
socket: each request is one byte with the file descriptors of the node's stdin, stdout and stderr;
the answer is the node's process id. It ends when the socket is closed. It opens no files and starts
no threads, so that a fork inherits only code.

Only this module imports uvloop. Modules below it read no clock: they get the time of the monotonic
clock. It is not the event loop's: uvloop's has the resolution of a millisecond and is read once per
turn of the loop.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from pqchain.errors import PqchainError, UsageError
from pqchain.wire.drivers.job import (
    MAX_LINE_BYTES,
    PID_BYTES,
    Job,
    NodeResult,
    decode,
    decode_setup,
    encode,
)
from pqchain.wire.identity import Identity, PublicIdentity
from pqchain.wire.session import Address, Deliver, Endpoint, Event, Received
from pqchain.wire.transports import registry
from pqchain.wire.transports.limits import MAX_UNREAD_BYTES

_PROGRESS_SECONDS = 1.0
"""Minimum time between two progress reports. On a cluster a report takes milliseconds of processor
time on several machines, which would slow the nodes down."""

# Requested socket buffer in bytes; the system may grant less.
_SOCKET_BYTES = 4 << 20


class UdpSocket(asyncio.DatagramProtocol):
    """UDP socket of an endpoint; call `flush_soon` after calls that make the endpoint send."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._loop = asyncio.get_running_loop()
        self._deliver: Deliver = lambda event: None
        self._socket: asyncio.DatagramTransport
        self._timer: asyncio.TimerHandle | None = None
        self._flushing = False

    async def listen(self, host: str, port: int, deliver: Deliver) -> Address:
        """Open the socket and return its address."""
        self._deliver = deliver
        self._socket, _ = await self._loop.create_datagram_endpoint(
            lambda: self, local_addr=(host, port), family=socket.AF_INET
        )
        raw = self._socket.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SOCKET_BYTES)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SOCKET_BYTES)
        name = raw.getsockname()
        return str(name[0]), int(name[1])

    async def shutdown(self) -> None:
        """Send remaining datagrams and close the socket."""
        self._flush()
        if self._timer is not None:
            self._timer.cancel()
        self._socket.close()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Process a datagram; replies to a burst are sent together."""
        self.endpoint.receive(data, (addr[0], addr[1]), monotonic())
        self.flush_soon()

    def error_received(self, exc: Exception) -> None:
        """Ignore ICMP errors of a stopped peer's port; QUIC itself detects a lost peer."""

    def flush_soon(self) -> None:
        """Schedule one flush after the callbacks that are already pending."""
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
        for data, address in self.endpoint.datagrams(monotonic()):
            self._socket.sendto(data, address)
        # Building datagrams can cause events too.
        self._deliver_all()
        due = self.endpoint.timer()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._on_timer)

    def _deliver_all(self) -> None:
        for event in self.endpoint.events():
            self._deliver(event)

    def _on_timer(self) -> None:
        self._timer = None
        self.endpoint.handle_timer(monotonic())
        self.flush_soon()


class LiveNode:
    """One node with its transport, run on the event loop."""

    def __init__(
        self,
        index: int,
        job: Job,
        folder: Path,
        identity: Identity,
        directory: Sequence[PublicIdentity],
    ) -> None:
        self.addresses: dict[int, Address] = {}
        """Address of every node; must be filled before `start`."""
        self.index = index
        if job.processors:
            # Before any thread is created, because threads inherit the affinity.
            os.sched_setaffinity(0, job.processors)
        self._loop = asyncio.get_running_loop()
        settings = job.settings(identity, directory, self.addresses, folder)
        transport = registry.get(job.transport).open(settings)
        self._udp = UdpSocket(transport) if isinstance(transport, Endpoint) else None
        self._listener = self._udp or transport
        self.node = job.node(index, transport, folder)
        # One thread: a node's tasks are sequential, and codec and hashes release the GIL.
        self._workers = ThreadPoolExecutor(1)
        self._timer: asyncio.Handle | None = None
        self._due = math.inf
        """Time of the pending timer; uvloop's handles do not provide it."""
        self._transport = transport
        self._early_bytes = 0
        self._early: list[Event] | None = []
        """Events received before `start`, from peers that started earlier; None after it."""
        self._cpu_begun = self._cpu_done = math.nan
        self._cpu_steps: list[float] = []
        self._steps, self._progress = job.steps, 0
        self.changed = asyncio.Event()
        """Event that is set after every transport event, task and timer."""

    async def listen(self, host: str, port: int = 0) -> Address:
        """Start to listen and return the address. Raises UsageError if the address is unusable."""
        try:
            return await self._listener.listen(host, port, self._deliver)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host} port {port}: {error.strerror or error}. Free the port, "
                "choose an address of this machine, or raise the limit of open files (ulimit -n)."
            ) from error

    def start(self) -> None:
        """Start the node, which dials every peer in `addresses`."""
        # A full collection of modules and set-up data takes 50 ms in one turn of the loop.
        gc.freeze()
        self.node.start(monotonic())
        early, self._early = self._early or [], None
        for event in early:
            self.node.handle(event, monotonic())
        self._advance()

    def begin(self) -> None:
        """Begin the node's work, once all nodes are connected."""
        self.node.begin(monotonic())
        self._advance()

    async def shutdown(self) -> None:
        """Close everything."""
        if self._timer is not None:
            self._timer.cancel()
        await self._listener.shutdown()
        self._workers.shutdown(wait=False, cancel_futures=True)

    def result(self) -> NodeResult:
        """Return the node's result so far."""
        seconds, steps = self._cpu_done - self._cpu_begun, tuple(self._cpu_steps)
        return NodeResult.of(self.index, self.node, cpu_seconds=seconds, cpu_steps=steps)

    def _deliver(self, event: Event) -> None:
        if self._early is None:
            self.node.handle(event, monotonic())
            self._advance()
            return
        self._early.append(event)
        self._early_bytes += _size(event)
        # Nothing reads these bytes before the start, so a peer could fill the memory.
        if self._early_bytes > MAX_UNREAD_BYTES:
            reason = "too much data before the start"
            self._transport.close(event.session, reason, now=monotonic())
            self._early = [other for other in self._early if other.session != event.session]
            self._early_bytes = sum(map(_size, self._early))

    def _advance(self) -> None:
        if (task := self.node.poll(monotonic())) is not None:
            future = self._loop.run_in_executor(self._workers, task.outcome)
            future.add_done_callback(self._task_finished)
        if self.node.begun and math.isnan(self._cpu_begun):
            self._cpu_begun = time.process_time()
        if self._steps and (steps := self.node.progress - self._progress) > 0:
            self._cpu_steps += steps * [time.process_time() - self._cpu_begun]
            self._progress += steps
        if self.node.done and math.isnan(self._cpu_done):
            self._cpu_done = time.process_time()
        due = self.node.timer()
        # A later time needs no new timer: the pending one fires first, and then sets the next.
        if due is not None and due < self._due:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._due = self._loop.call_at(due, self._on_timer), due
        if self._udp is not None:
            self._udp.flush_soon()
        self.changed.set()

    def _task_finished(self, future: asyncio.Future[object]) -> None:
        if not future.cancelled():
            self.node.finished(future.result(), monotonic())
            self._advance()

    def _on_timer(self) -> None:
        self._timer, self._due = None, math.inf
        self.node.handle_timer(monotonic())
        self._advance()


def _size(event: Event) -> int:
    return len(event.data) if isinstance(event, Received) else 0


def _report(kind: str, value: Any = None) -> None:
    sys.stdout.buffer.write(encode(kind, value))
    sys.stdout.flush()


async def _run() -> None:
    requests, loop = asyncio.StreamReader(limit=MAX_LINE_BYTES), asyncio.get_running_loop()
    loop.set_exception_handler(partial(_report_exception, asyncio.current_task()))
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(requests), sys.stdin)
    job, folder, identity, directory, address = decode_setup(await requests.readline())
    live = LiveNode(identity.index, job, folder, identity, directory)
    _report("listening", await live.listen(*address))
    reporting = asyncio.create_task(_report_progress(live))
    try:
        while line := await requests.readline():
            kind, value = decode(line)
            if kind == "start":
                live.addresses.update(value)
                live.start()
            elif kind == "begin":
                live.begin()
    finally:
        reporting.cancel()
        await live.shutdown()


def _report_exception(
    main: asyncio.Task[Any] | None, loop: asyncio.AbstractEventLoop, context: dict[str, Any]
) -> None:
    loop.default_exception_handler(context)
    error = context.get("exception")
    # Stop the node, else the parent would wait in vain. Socket errors are caused by peers and are
    # not faults of this node.
    if error is not None and not isinstance(error, OSError):
        _report("error", f"{type(error).__name__}: {error}. See its log for the traceback.")
        if main is not None:
            main.cancel()


async def _report_progress(live: LiveNode) -> None:
    # A node that fails early is done before it is connected.
    expected = ["connected", "begun", "done"]
    reported, due = 0, -math.inf
    while True:
        await live.changed.wait()
        live.changed.clear()
        node = live.node
        if node.progress > reported and (monotonic() >= due or node.done):
            _report("progress", node.progress - reported)
            reported, due = node.progress, monotonic() + _PROGRESS_SECONDS
        for kind in [kind for kind in expected if getattr(node, kind)]:
            expected.remove(kind)
            _report(kind, live.result() if kind == "done" else None)


async def _main() -> None:
    try:
        await _run()
    except PqchainError as error:
        _report("error", str(error))
    except asyncio.CancelledError:
        pass  # reported by `_report_exception`


def main() -> None:
    """Run the node on uvloop if it is installed, otherwise on asyncio's event loop."""
    with suppress(ImportError):
        import uvloop

        return uvloop.run(_main())
    return asyncio.run(_main())


def serve(modules: Iterable[str]) -> bool:
    """Fork for each request; return True in a forked node, and False after the last request."""
    for name in modules:
        with suppress(ImportError):
            importlib.import_module(name)
    # Garbage collection would write to the imported objects and so copy their shared pages.
    gc.freeze()
    requests = socket.socket(fileno=os.dup(0))
    # The system reaps the nodes, so that none remains a zombie.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # An OSError, here or below: the parent has ended. A node notices the end of its stdin.
    with suppress(OSError):
        while files := socket.recv_fds(requests, 1, 3)[1]:
            pid = os.fork()
            if not pid:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                requests.close()
                for number, file in enumerate(files):
                    os.dup2(file, number)
            for file in files:
                os.close(file)
            if not pid:
                return True
            requests.sendall(pid.to_bytes(PID_BYTES, "big"))
    return False


if __name__ == "__main__":
    if not sys.argv[1:]:
        main()
    elif serve(sys.argv[1:]):
        main()
        sys.stdout.flush()
        # A normal interpreter exit would release all imported modules, and so copy shared pages.
        os._exit(0)
