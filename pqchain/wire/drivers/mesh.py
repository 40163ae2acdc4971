"""Requests to the processes of all nodes of a job, and their reports; every wait has a timeout.

The processes may be on this machine (`processes`) or on others (`cluster`).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import wraps
from time import monotonic
from typing import Any, ParamSpec

from pqchain.errors import DataError, PqchainError
from pqchain.wire.drivers.job import Job, NodeFailure, NodeResult, Progress, Result, decode, encode

_Arguments = ParamSpec("_Arguments")

_CONNECT_SECONDS = 60.0
"""Timeout in seconds for all nodes to connect."""

_REPORTS = {"listening": "did not start", "connected": "did not connect", "done": "did not end"}
"""Reports that every process must send, with the error text if one is late."""


def blocking(
    function: Callable[_Arguments, Coroutine[Any, Any, Result]],
) -> Callable[_Arguments, Result]:
    """Make a coroutine function one that runs to its end, also where an event loop runs."""

    @wraps(function)
    def run(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> Result:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(function(*arguments, **options))
        # A notebook's thread already runs an event loop, which cannot wait for another one.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, function(*arguments, **options)).result()

    return run


Call = Callable[..., Awaitable[Any]]
"""Function (method, *values) that calls a method of a `processes.LocalProcess` on any machine."""


@dataclass(eq=False)
class NodeProcess:
    """Process of one node, whose setup has been sent."""

    index: int
    call: Call
    reports: dict[str, asyncio.Future[Any]] = field(
        default_factory=lambda: {kind: asyncio.Future() for kind in _REPORTS}
    )
    """Report of each kind in `_REPORTS`; an error if the process ended early, None if killed."""
    reading: asyncio.Task[None] = field(init=False)
    dead: bool = False


@dataclass(eq=False)
class Mesh:
    """Run of a job, whose nodes' processes `launch` starts."""

    job: Job
    launch: Callable[[int], Awaitable[Call]]
    """Start the process of a node, and send its setup."""
    identity: str
    """Signature algorithm of the nodes' identities."""
    progress: Progress
    start_seconds: float = 60.0
    """Timeout for all processes to start."""
    processes: dict[int, NodeProcess] = field(default_factory=dict)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    connected: bool = False
    failure_times: dict[int, float] = field(default_factory=dict)

    async def run(self) -> Result:
        """Run the job; return its result, with times of each node's machine."""
        job = self.job
        failures: list[asyncio.Task[None]] = []
        try:
            for index in range(job.nodes):
                process = self.processes[index] = NodeProcess(index, await self.launch(index))
                process.reading = asyncio.create_task(self._read(process))
            await self._wait_for_all("listening", self.start_seconds)
            listening = {at: node.reports["listening"] for at, node in self.processes.items()}
            await self._request("start", {at: done.result() for at, done in listening.items()})
            await self._wait_for_all("connected", _CONNECT_SECONDS)
            self.connected, connected, ticks = True, monotonic(), await self._ticks()
            if job.begin:
                await self._request("begin", None)
            failures = [asyncio.create_task(self._fail_node(failure)) for failure in job.failures]
            await self._wait_for_all("done", job.limit_seconds)
            await asyncio.gather(*failures)
            ended = await self._ticks()
        finally:
            for task in failures:
                task.cancel()
            # The machine of a process, or the connection to it, may be lost.
            stopping = [process.call("stop") for process in self.processes.values()]
            await asyncio.gather(*stopping, return_exceptions=True)
            for process in self.processes.values():
                process.reading.cancel()
        nodes = [
            NodeResult(node=index) if process.dead else process.reports["done"].result()
            for index, process in sorted(self.processes.items())
        ]
        idle_shares = [
            (idle - idle_before) / (total - total_before)
            for (idle_before, total_before), (idle, total) in zip(ticks, ended, strict=True)
            if total > total_before
        ]
        return Result(
            nodes=tuple(nodes),
            connected=connected,
            failure_times=self.failure_times,
            identity=self.identity,
            machine_busy=1 - min(idle_shares, default=math.nan),
        )

    async def _ticks(self) -> list[tuple[int, int]]:
        return await asyncio.gather(*(process.call("ticks") for process in self.processes.values()))

    async def _wait_for_all(self, kind: str, seconds: float) -> None:
        reports = {index: process.reports[kind] for index, process in self.processes.items()}
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

    async def _request(self, kind: str, value: Any) -> None:
        line = encode(kind, value)
        await asyncio.gather(*(node.call("write", line) for node in self.processes.values()))

    async def _read(self, process: NodeProcess) -> None:
        error, reports = "", process.reports
        try:
            while True:
                if not (line := await process.call("poll")):
                    continue
                kind, value = decode(line)
                if kind in ("ended", "lost"):
                    break
                if kind == "begun":
                    self.begun.set()
                elif kind == "progress":
                    self.progress(value)
                elif kind == "error":
                    error = value
                elif (
                    kind not in _REPORTS
                    or reports[kind].done()
                    or (kind == "done" and value.node != process.index)
                ):
                    raise DataError(f"node {process.index} must report {kind!r} once, as itself")
                else:
                    reports[kind].set_result(value)
            # A machine that is lost during the protocol is a node that dies: others recover.
            if kind == "lost" and self.connected and not reports["done"].done():
                process.dead = True
            why = error or value or "its log is empty"
            failure = PqchainError(f"the process of node {process.index} ended early: {why}")
        except PqchainError as wrong:
            failure = wrong
        # Else the run would wait in vain; too long a line, for example, is a ValueError.
        except (OSError, ValueError) as wrong:
            failure = PqchainError(f"cannot read the reports of node {process.index}: {wrong}")
        for future in reports.values():
            if future.done():
                continue
            if process.dead:
                future.set_result(None)
            else:
                future.set_exception(failure)
                future.exception()  # mark as retrieved, else asyncio logs a warning

    async def _fail_node(self, failure: NodeFailure) -> None:
        if failure.trigger == "begun":
            await self.begun.wait()
        await asyncio.sleep(failure.after_seconds)
        process = self.processes[failure.node]
        process.dead = True
        self.failure_times[failure.node] = await process.call("kill")
