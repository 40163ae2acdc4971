"""Orders to the processes of all nodes of a job, and their reports; every wait has a timeout.

The processes may be on this machine (`processes`) or on others (`cluster`).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol

from pqchain.errors import DataError, PqchainError
from pqchain.wire.drivers.job import Job, NodeFailure, NodeResult, Progress, Result, decode, encode

_CONNECT_SECONDS = 60.0
"""Timeout in seconds for all nodes to connect."""

_REPORTS = {"listening": "did not start", "connected": "did not connect", "done": "did not end"}
"""Reports that every process must send, with the error text if one is late."""

Ticks = list[tuple[int, int]]
"""Idle and total clock ticks of all processors of each machine; zeros where unknown."""


class NodeProcess(Protocol):
    """Process of one node, whose setup has been sent."""

    @property
    def lost(self) -> bool:
        """Whether the machine of the process was lost, and the process with it."""

    def write(self, line: bytes) -> None:
        """Send a request to the node."""

    async def readline(self) -> bytes:
        """Return the node's next report, or b"" after the end of the process."""

    async def kill(self) -> float:
        """Kill the process; return the time on its machine's monotonic clock, NaN if it is lost."""

    async def stop(self, reading: asyncio.Task[None]) -> None:
        """End the process; `reading` ends after `readline` has returned b""."""

    async def last_log_line(self) -> str:
        """Return the last line that the process wrote to stderr; "" if there is none."""


@dataclass(eq=False)
class _Child:
    index: int
    process: NodeProcess
    reports: dict[str, asyncio.Future[Any]]
    """Report of each kind in `_REPORTS`; an error if the process ended early, None if killed."""
    reading: asyncio.Task[None] = field(init=False)
    dead: bool = False

    def request(self, kind: str, value: Any = None) -> None:
        self.process.write(encode(kind, value))

    @property
    def result(self) -> NodeResult:
        result: NodeResult = self.reports["done"].result()
        return NodeResult(node=self.index) if self.dead else result


@dataclass(eq=False)
class Mesh:
    """Run of a job, whose nodes' processes `launch` starts."""

    job: Job
    launch: Callable[[int, int], Awaitable[NodeProcess]]
    """Start the process of a node, listening on a port (0: any), and send its setup."""
    ticks: Callable[[], Awaitable[Ticks]]
    identity: str
    """Signature algorithm of the nodes' identities."""
    progress: Progress
    start_seconds: float = 60.0
    """Timeout for all processes to start."""
    children: dict[int, _Child] = field(default_factory=dict)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    connected: bool = False
    failure_times: dict[int, float] = field(default_factory=dict)

    async def run(self) -> Result:
        """Run the job; return its result, with times of each node's machine."""
        job, loop = self.job, asyncio.get_running_loop()
        failures: list[asyncio.Task[None]] = []
        try:
            for index in range(job.nodes):
                await self._spawn(index)
            await self._wait_for_all("listening", self.start_seconds)
            self._start(*self.children.values())
            await self._wait_for_all("connected", _CONNECT_SECONDS)
            self.connected, connected, ticks = True, monotonic(), await self.ticks()
            if job.begin:
                for child in self.children.values():
                    child.request("begin")
            failures = [loop.create_task(self._fail_node(failure)) for failure in job.failures]
            # Awaited again, because nodes restarted after the first wait have new reports.
            await self._wait_for_all("done", job.limit_seconds)
            await asyncio.gather(*failures)
            await self._wait_for_all("done", job.limit_seconds)
            busy = _busy(ticks, await self.ticks())
        finally:
            for task in failures:
                task.cancel()
            await asyncio.gather(
                *(child.process.stop(child.reading) for child in self.children.values())
            )
        return Result(
            nodes=tuple(self.children[index].result for index in range(job.nodes)),
            connected=connected,
            failure_times=self.failure_times,
            identity=self.identity,
            machine_busy=busy,
        )

    async def _wait_for_all(self, kind: str, seconds: float) -> None:
        reports = {child.index: child.reports[kind] for child in self.children.values()}
        await asyncio.wait(reports.values(), timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        late = [index for index, report in reports.items() if not report.done()]
        for report in reports.values():
            if report.done():
                report.result()
        if late:
            raise PqchainError(
                f"nodes {late} {_REPORTS[kind]} within {seconds:g} s. Use smaller blocks or fewer "
                "nodes, or stop other programs that keep the processors busy."
            )

    async def _spawn(self, index: int, port: int = 0) -> _Child:
        process = await self.launch(index, port)
        reports = {kind: asyncio.get_running_loop().create_future() for kind in _REPORTS}
        child = self.children[index] = _Child(index, process, reports)
        child.reading = asyncio.create_task(self._read(child))
        return child

    def _start(self, *children: _Child) -> None:
        addresses = {
            index: child.reports["listening"].result() for index, child in self.children.items()
        }
        for child in children:
            child.request("start", addresses)

    async def _read(self, child: _Child) -> None:
        error = ""
        try:
            while line := await child.process.readline():
                kind, value = decode(line)
                if kind == "begun":
                    self.begun.set()
                elif kind == "progress":
                    self.progress(value)
                elif kind == "error":
                    error = value
                elif (
                    kind not in _REPORTS
                    or child.reports[kind].done()
                    or (kind == "done" and value.node != child.index)
                ):
                    raise DataError(f"node {child.index} must report {kind!r} once, and as itself")
                else:
                    child.reports[kind].set_result(value)
            # A machine that is lost during the protocol is a node that dies: others recover.
            if child.process.lost and not child.reports["done"].done():
                child.dead = child.dead or self.connected
                error = "its worker was lost before all nodes were connected"
            why = error or await child.process.last_log_line() or "its log is empty"
            failure = PqchainError(f"the process of node {child.index} ended early: {why}")
        except PqchainError as lost:
            failure = lost
        for report in child.reports.values():
            if report.done():
                continue
            if child.dead:
                report.set_result(None)
            else:
                report.set_exception(failure)
                report.exception()  # mark as retrieved, else asyncio logs a warning

    async def _fail_node(self, failure: NodeFailure) -> None:
        if failure.trigger == "begun":
            await self.begun.wait()
        await asyncio.sleep(failure.after_seconds)
        child = self.children[failure.node]
        child.dead = True
        self.failure_times[failure.node] = await child.process.kill()
        if failure.down_seconds is None:
            return
        await asyncio.sleep(failure.down_seconds)
        # The same port, because the other nodes keep the address.
        restarted = await self._spawn(failure.node, child.reports["listening"].result()[1])
        await asyncio.wait_for(restarted.reports["listening"], self.start_seconds)
        self._start(restarted)
        if self.job.begin:
            restarted.request("begin")


def _busy(before: Ticks, after: Ticks) -> float:
    """Return the utilization of the busiest machine, from 0 to 1; NaN if unknown."""
    spans = [
        (idle - idle_before, total - total_before)
        for (idle_before, total_before), (idle, total) in zip(before, after, strict=False)
    ]
    return max((1 - idle / total for idle, total in spans if total > 0), default=math.nan)
