"""Requests to the processes of all nodes of a job, and their reports; every wait has a timeout.

The processes may be on this machine (`processes`) or on others (`cluster`).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from pqchain.errors import DataError, PqchainError
from pqchain.wire.drivers.job import Job, NodeFailure, NodeResult, Progress, Result, decode, encode

_CONNECT_SECONDS = 60.0
"""Timeout in seconds for all nodes to connect."""

_REPORTS = {"listening": "did not start", "connected": "did not connect", "done": "did not end"}
"""Reports that every process must send, with the error text if one is late."""


class NodeProcess(Protocol):
    """Process of one node, whose setup has been sent."""

    lost: bool
    """Whether the machine of the process was lost, and the process with it."""

    async def write(self, line: bytes) -> None:
        """Send a request to the node."""

    async def readline(self) -> bytes:
        """Return the node's next report; the last one is "ended" with the reason, if known."""

    async def kill(self) -> float:
        """Kill the process; return the time on its machine's monotonic clock, NaN if it is lost."""

    async def stop(self, reading: asyncio.Task[None]) -> None:
        """End the process; `reading` ends after `readline` has returned "ended"."""


@dataclass(eq=False)
class _Child:
    index: int
    process: NodeProcess
    reports: dict[str, asyncio.Future[Any]]
    """Report of each kind in `_REPORTS`; an error if the process ended early, None if killed."""
    reading: asyncio.Task[None] = field(init=False)
    dead: bool = False

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
            await self._start(*self.children.values())
            await self._wait_for_all("connected", _CONNECT_SECONDS)
            self.connected, connected, ticks = True, monotonic(), _ticks()
            if job.begin:
                await self._request("begin", None, *self.children.values())
            failures = [loop.create_task(self._fail_node(failure)) for failure in job.failures]
            # Awaited again, because nodes restarted after the first wait have new reports.
            await self._wait_for_all("done", job.limit_seconds)
            await asyncio.gather(*failures)
            await self._wait_for_all("done", job.limit_seconds)
            idle, total = (end - begin for begin, end in zip(ticks, _ticks(), strict=True))
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
            machine_busy=1 - idle / total if total > 0 else math.nan,
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
                "nodes, or stop other programs that keep the processors busy. On several machines, "
                "open the nodes' ports in the firewalls between them (--first-port)."
            )

    async def _spawn(self, index: int, port: int = 0) -> _Child:
        process = await self.launch(index, port)
        reports = {kind: asyncio.get_running_loop().create_future() for kind in _REPORTS}
        child = self.children[index] = _Child(index, process, reports)
        child.reading = asyncio.create_task(self._read(child))
        return child

    async def _start(self, *children: _Child) -> None:
        addresses = {
            index: child.reports["listening"].result() for index, child in self.children.items()
        }
        await self._request("start", addresses, *children)

    async def _request(self, kind: str, value: Any, *children: _Child) -> None:
        await asyncio.gather(*(child.process.write(encode(kind, value)) for child in children))

    async def _read(self, child: _Child) -> None:
        error = ""
        try:
            while (report := decode(await child.process.readline()))[0] != "ended":
                kind, value = report
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
            why = error or report[1] or "its log is empty"
            failure = PqchainError(f"the process of node {child.index} ended early: {why}")
        except PqchainError as lost:
            failure = lost
        for future in child.reports.values():
            if future.done():
                continue
            if child.dead:
                future.set_result(None)
            else:
                future.set_exception(failure)
                future.exception()  # mark as retrieved, else asyncio logs a warning

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
        await self._start(restarted)
        if self.job.begin:
            await self._request("begin", None, restarted)


def _ticks() -> tuple[int, int]:
    """Return idle and total clock ticks of all processors; zeros where they are unavailable."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return 0, 0
    numbers = [int(text) for text in first.split()[1:9]]
    return numbers[3] + numbers[4], sum(numbers)
