"""Nodes on real sockets: one process per node, on loopback or in namespaces of our own.

The parent starts the nodes, lets them die as the job says, and collects what became of them. Every
wait has an end.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pqchain.errors import PqchainError, UsageError
from pqchain.wire.drivers.child import LONGEST_LINE_BYTES
from pqchain.wire.drivers.job import Job, NodeResult, Progress, Result, Strike, decode, encode
from pqchain.wire.drivers.namespaces import Namespaces
from pqchain.wire.session import Address

_START_SECONDS = 60.0
"""Time for all processes to come up and connect."""

_QUIT_SECONDS = 10.0
_FILES_PER_NODE = 8


class _Child:
    """One node's process, seen from outside."""

    process: asyncio.subprocess.Process
    reading: asyncio.Task[None]

    def __init__(self, index: int, log: Path) -> None:
        self.index = index
        self.address: Address = ("", 0)
        self.listening = asyncio.Event()
        self.connected = asyncio.Event()
        self.settled = asyncio.Event()
        """Done, failed or dead."""
        self.result = NodeResult(node=index)
        self.dead = False
        self.error = ""
        self._log = log

    async def launch(self, prefix: list[str]) -> None:
        with self._log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(*prefix, sys.executable, "-m", "pqchain.wire.drivers.child"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                limit=LONGEST_LINE_BYTES,
            )

    def order(self, what: str, **more: Any) -> None:
        """Send an order; a process that is gone hears none."""
        stdin = self.process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(encode({"what": what, **more}))

    def kill(self) -> None:
        """Let the node die without a word."""
        self.dead = True
        self.result = NodeResult(node=self.index)
        self.settled.set()
        if self.process.returncode is None:
            self.process.kill()

    async def reached(self, event: asyncio.Event) -> None:
        """Wait for an event. Raises PqchainError if the process ends first, and is not dead."""
        waits = [asyncio.ensure_future(each) for each in (event.wait(), self.process.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if not event.is_set() and not self.dead:
                await asyncio.wait([self.reading], timeout=1)
                lines = self._log.read_text(errors="replace").splitlines()
                why = self.error or (lines[-1] if lines else "it wrote nothing")
                raise PqchainError(f"the process of node {self.index} ended early: {why}")
        finally:
            for wait in waits:
                wait.cancel()

    async def quit(self) -> None:
        """End the process, politely first."""
        self.order("quit")
        try:
            await asyncio.wait_for(self.process.wait(), _QUIT_SECONDS)
        except asyncio.TimeoutError:
            self.process.kill()
            await self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        await asyncio.wait([self.reading], timeout=1)


class _Mesh:
    """All processes of one job."""

    def __init__(
        self, job: Job, folder: Path, namespaces: Namespaces | None, progress: Progress
    ) -> None:
        self.job = job
        self.folder = folder
        self.namespaces = namespaces
        self.progress = progress
        self.identities = job.identities()
        self.children: dict[int, _Child] = {}
        self.begun = asyncio.Event()
        self.struck: dict[int, float] = {}

    async def run(self) -> Result:
        job, loop = self.job, asyncio.get_running_loop()
        strikes: list[asyncio.Task[None]] = []
        try:
            for index in range(job.nodes):
                await self._spawn(index)
            await self._all("listening", _START_SECONDS, "did not start")
            self._start(*self.children.values())
            await self._all("connected", _START_SECONDS, "did not connect")
            connected, ticks = loop.time(), _ticks()
            if job.begin:
                for child in self.children.values():
                    child.order("begin")
            strikes = [loop.create_task(self._strike(strike)) for strike in job.strikes]
            await self._all("settled", job.limit_seconds, "did not end")
            await asyncio.gather(*strikes)
            await self._all("settled", job.limit_seconds, "did not end")
            busy = _busy(ticks, _ticks())
        finally:
            for task in strikes:
                task.cancel()
            await asyncio.gather(*(child.quit() for child in self.children.values()))
        return Result(
            nodes=tuple(self.children[index].result for index in range(job.nodes)),
            connected=connected,
            struck=self.struck,
            identity=self.identities[0].public.algorithm,
            machine_busy=busy,
        )

    async def _all(self, event: str, seconds: float, what: str) -> None:
        living = [child for child in self.children.values() if not child.dead]
        waits = [asyncio.ensure_future(child.reached(getattr(child, event))) for child in living]
        try:
            await asyncio.wait_for(asyncio.gather(*waits), seconds)
        except asyncio.TimeoutError:
            late = [at.index for at in living if not (at.dead or getattr(at, event).is_set())]
            raise PqchainError(
                f"nodes {late} {what} within {seconds:g} s; use smaller blocks or fewer nodes, or "
                "see that nothing else keeps the processors busy"
            ) from None
        finally:  # of which one may have failed
            for wait in waits:
                wait.cancel()

    async def _spawn(self, index: int, port: int = 0) -> None:
        folder = self.folder / str(index)
        folder.mkdir(parents=True, exist_ok=True)
        apart = self.namespaces
        child = _Child(index, folder / "log")
        await child.launch([] if apart is None else apart.prefix(index))
        child.reading = asyncio.get_running_loop().create_task(self._read(child))
        self.children[index] = child
        child.order(
            "setup",
            job=self.job,
            folder=str(folder),
            host="127.0.0.1" if apart is None else apart.host(index),
            port=port,
            identity=self.identities[index],
            directory=[identity.public for identity in self.identities],
        )

    def _start(self, *children: _Child) -> None:
        addresses = {index: child.address for index, child in self.children.items()}
        for child in children:
            child.order("start", addresses=addresses)

    async def _read(self, child: _Child) -> None:
        assert child.process.stdout is not None
        while line := await child.process.stdout.readline():
            message = decode(line)
            what = message["what"]
            if what == "listening":
                host, port = message["address"]
                child.address = (host, port)
                child.listening.set()
            elif what == "connected":
                child.connected.set()
            elif what == "begun":
                self.begun.set()
            elif what == "progress":
                self.progress(message["count"])
            elif what == "done" and not child.dead:
                child.result = NodeResult(**message["result"])
                child.settled.set()
            elif what == "error":
                child.error = message["message"]

    async def _strike(self, strike: Strike) -> None:
        if strike.when == "begun":
            await self.begun.wait()
        await asyncio.sleep(strike.after_seconds)
        child = self.children[strike.node]
        self.struck[strike.node] = asyncio.get_running_loop().time()
        child.kill()
        if strike.down_seconds is None:
            return
        await asyncio.sleep(strike.down_seconds)
        await self._spawn(strike.node, child.address[1])
        fresh = self.children[strike.node]
        await asyncio.wait_for(fresh.listening.wait(), _START_SECONDS)
        self._start(fresh)
        if self.job.begin:
            fresh.order("begin")


def _ticks() -> tuple[int, int]:
    """Return the idle and all ticks of all processors so far; zeros where Linux does not tell."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return 0, 0
    ticks = [int(text) for text in first.split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def _busy(before: tuple[int, int], after: tuple[int, int]) -> float:
    total = after[1] - before[1]
    return 1 - (after[0] - before[0]) / total if total else float("nan")


def run(
    job: Job, folder: Path, *, shaped: bool = False, progress: Progress = lambda count: None
) -> Result:
    """Run a job on sockets, in namespaces with its link if `shaped`; node i has `folder/i`.

    Raises UsageError if too few files may be open, Unsupported if namespaces cannot be made, and
    PqchainError if a process does not come up or does not end in time.
    """
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(job.nodes * _FILES_PER_NODE, 4 * job.nodes + 32)
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        raise UsageError(
            f"this process may open {allowed} files, {job.nodes} nodes need {wanted}; "
            f"raise the limit: ulimit -n {wanted}"
        )
    with ExitStack() as stack:
        namespaces = stack.enter_context(Namespaces(job.nodes, job.link)) if shaped else None
        mesh = _Mesh(job, folder, namespaces, progress)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(mesh.run())
        # A notebook's thread has a loop already, which cannot wait for another one.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, mesh.run()).result()
