"""Driver with one process per node, on loopback or in network namespaces.

On loopback a fork server forks the processes; it can serve several jobs. Every wait has a timeout.
"""

from __future__ import annotations

import asyncio
import math
import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from time import monotonic
from typing import IO, Any

from pqchain.errors import PqchainError, UsageError
from pqchain.wire.drivers.child import MAX_LINE_BYTES
from pqchain.wire.drivers.fork_server import ForkServer, Process
from pqchain.wire.drivers.job import Job, NodeFailure, NodeResult, Progress, Result, decode, encode
from pqchain.wire.drivers.namespaces import Namespaces
from pqchain.wire.identity import Identity
from pqchain.wire.transports import registry

_START_SECONDS = 60.0
"""Timeout in seconds for all processes to start, and again to connect."""

_QUIT_SECONDS = 10.0
_FILES_PER_NODE = 8

_REPORTS = {"listening": "did not start", "connected": "did not connect", "done": "did not end"}
"""Reports that every process must send, with the error text if one is late."""


@dataclass(eq=False)
class _Child:
    index: int
    process: Process
    reports: dict[str, asyncio.Future[Any]]
    """Report of each kind in `_REPORTS`; an error if the process ended early, None if killed."""
    reading: asyncio.Task[None] = field(init=False)
    dead: bool = False

    def request(self, kind: str, value: Any = None) -> None:
        self.process.stdin.write(encode(kind, value))

    @property
    def result(self) -> NodeResult:
        result: NodeResult = self.reports["done"].result()
        return NodeResult(node=self.index) if self.dead else result

    async def quit(self) -> None:
        self.process.stdin.close()
        await asyncio.wait([self.reading], timeout=_QUIT_SECONDS)
        self.kill()
        await asyncio.wait([self.reading], timeout=1)
        await self.process.wait()

    def kill(self) -> None:
        if not self.reading.done():
            self.process.kill()


@dataclass(eq=False)
class _Mesh:
    job: Job
    identities: list[Identity]
    folder: Path
    namespaces: Namespaces | None
    fork_server: ForkServer | None
    """Set if and only if there are no namespaces."""
    progress: Progress
    children: dict[int, _Child] = field(default_factory=dict)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    failure_times: dict[int, float] = field(default_factory=dict)

    async def run(self) -> Result:
        job, loop = self.job, asyncio.get_running_loop()
        failures: list[asyncio.Task[None]] = []
        try:
            for index in range(job.nodes):
                await self._spawn(index)
            await self._wait_for_all("listening", _START_SECONDS)
            self._start(*self.children.values())
            await self._wait_for_all("connected", _START_SECONDS)
            connected, ticks = monotonic(), _ticks()
            if job.begin:
                for child in self.children.values():
                    child.request("begin")
            failures = [loop.create_task(self._fail_node(failure)) for failure in job.failures]
            # Awaited again, because nodes restarted after the first wait have new reports.
            await self._wait_for_all("done", job.limit_seconds)
            await asyncio.gather(*failures)
            await self._wait_for_all("done", job.limit_seconds)
            idle, total = (now - then for now, then in zip(_ticks(), ticks, strict=True))
        finally:
            for task in failures:
                task.cancel()
            await asyncio.gather(*(child.quit() for child in self.children.values()))
        return Result(
            nodes=tuple(self.children[index].result for index in range(job.nodes)),
            connected=connected,
            failure_times=self.failure_times,
            identity=self.identities[0].public.algorithm,
            machine_busy=1 - idle / total if total else math.nan,
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
        folder = self.folder / str(index)
        folder.mkdir(parents=True, exist_ok=True)
        host = "127.0.0.1"
        with (folder / "log").open("ab") as log:
            if self.fork_server is not None:
                process = await self.fork_server.start(log, MAX_LINE_BYTES)
            else:
                assert self.namespaces is not None
                host = self.namespaces.host(index)
                process = await _execute(self.namespaces.prefix(index), log)
        reports = {kind: asyncio.get_running_loop().create_future() for kind in _REPORTS}
        child = self.children[index] = _Child(index, process, reports)
        child.reading = asyncio.create_task(self._read(child, folder / "log"))
        directory = [identity.public for identity in self.identities]
        child.request("setup", (self.job, folder, self.identities[index], directory, (host, port)))
        return child

    def _start(self, *children: _Child) -> None:
        addresses = {
            index: child.reports["listening"].result() for index, child in self.children.items()
        }
        for child in children:
            child.request("start", addresses)

    async def _read(self, child: _Child, log: Path) -> None:
        error = ""
        while line := await child.process.stdout.readline():
            kind, value = decode(line)
            if kind == "begun":
                self.begun.set()
            elif kind == "progress":
                self.progress(value)
            elif kind == "error":
                error = value
            else:
                child.reports[kind].set_result(value)
        log_lines = log.read_text(errors="replace").splitlines()
        why = error or (log_lines[-1] if log_lines else "its log is empty")
        for report in child.reports.values():
            if report.done():
                continue
            if child.dead:
                report.set_result(None)
            else:
                text = f"the process of node {child.index} ended early: {why}"
                report.set_exception(PqchainError(text))
                report.exception()  # mark as retrieved, else asyncio logs a warning

    async def _fail_node(self, failure: NodeFailure) -> None:
        if failure.trigger == "begun":
            await self.begun.wait()
        await asyncio.sleep(failure.after_seconds)
        child = self.children[failure.node]
        self.failure_times[failure.node] = monotonic()
        child.dead = True
        child.kill()
        if failure.down_seconds is None:
            return
        await asyncio.sleep(failure.down_seconds)
        # The same port, because the other nodes keep the address.
        restarted = await self._spawn(failure.node, child.reports["listening"].result()[1])
        await asyncio.wait_for(restarted.reports["listening"], _START_SECONDS)
        self._start(restarted)
        if self.job.begin:
            restarted.request("begin")


async def _execute(prefix: list[str], log: IO[bytes]) -> Process:
    process = await asyncio.create_subprocess_exec(
        *(*prefix, sys.executable, "-m", "pqchain.wire.drivers.child"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
        limit=MAX_LINE_BYTES,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    return Process(process.stdin, process.stdout, process.pid, process)


def open_fork_server(*jobs: Job) -> ForkServer:
    """Return a fork server that imports the modules of these jobs' nodes when it is entered."""
    modules = {"uvloop", "pqchain.wire.drivers.live"}
    for job in jobs:
        modules.add(job.factory.partition(":")[0])
        infos = [registry.get(job.transport_of(index)) for index in range(job.nodes)]
        modules |= {f"{registry.__package__}.{info.module or info.name}" for info in infos}
        # Unpickling a parameter imports the modules of its class and of its fields' classes.
        for value in job.parameters.values():
            names = [field.name for field in fields(value)] if is_dataclass(value) else []
            parts = [value, *(getattr(value, name) for name in names)]
            modules |= {type(part).__module__ for part in parts}
    return ForkServer(tuple(sorted(modules)))


def _ticks() -> tuple[int, int]:
    """Return idle and total clock ticks of all processors; zeros where they are unavailable."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return 0, 0
    ticks = [int(text) for text in first.split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def run(
    job: Job,
    folder: Path,
    *,
    shaped: bool = False,
    progress: Progress = lambda count: None,
    fork_server: ForkServer | None = None,
) -> Result:
    """Run a job on loopback or, if `shaped`, in namespaces with its link; node i uses `folder/i`.

    `fork_server` is an entered fork server, for several jobs. Raises UsageError if the limit of
    open files is too low, Unsupported if namespaces cannot be created, and PqchainError if a
    process does not start or end in time.
    """
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = max(job.nodes * _FILES_PER_NODE, 4 * job.nodes + 32)
    if allowed != resource.RLIM_INFINITY and allowed < needed:
        raise UsageError(
            f"the limit of open files must be at least {needed} for {job.nodes} nodes; got "
            f"{allowed}. Raise it: ulimit -n {needed}"
        )
    with ExitStack() as stack:
        namespaces = stack.enter_context(Namespaces(job.nodes, job.link)) if shaped else None
        if shaped:
            fork_server = None
        elif fork_server is None:
            fork_server = stack.enter_context(open_fork_server(job))
        mesh = _Mesh(job, job.identities(), folder, namespaces, fork_server, progress)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(mesh.run())
        # A notebook's thread already runs an event loop, which cannot wait for another one.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, mesh.run()).result()
