"""A replay on real sockets: one process per node, on loopback or in namespaces of our own.

The parent stores the blocks, starts the nodes, kills the one that fails, lets faults happen, and
collects the outcomes. Every wait has an end. Knows processes, pipes and files; of what nodes say to
each other nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pqchain.errors import ChunksLost, PqchainError, UsageError
from pqchain.reencode.outcome import NodeOutcome, Outcome
from pqchain.reencode.protocol.node import PHASES
from pqchain.reencode.scenario import Fault, Scenario
from pqchain.reencode.storage import erasure
from pqchain.wire import identities
from pqchain.wire.drivers import child
from pqchain.wire.drivers.namespaces import Namespaces

_START_SECONDS = 60.0
"""Time for all processes to come up and connect."""

_QUIT_SECONDS = 10.0
_FILES_PER_NODE = 8


class _Child:
    """One node's process, seen from outside."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.process: asyncio.subprocess.Process
        self.address: tuple[str, int] | None = None
        self.connected = asyncio.Event()
        self.listening = asyncio.Event()
        self.settled = asyncio.Event()
        """Done, failed or dead."""
        self.dead = False
        self.outcome: NodeOutcome | None = None
        self.error = ""
        self.reading: asyncio.Task[None] | None = None

    def order(self, what: str, **more: Any) -> None:
        """Send an order; a process that is gone hears none."""
        stdin = self.process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write((json.dumps({"order": what, **more}) + "\n").encode())


class _Mesh:
    """All processes of one replay."""

    def __init__(
        self, scenario: Scenario, folder: Path, *, progress: Callable[[int], None], log: bool
    ) -> None:
        self.scenario = scenario
        self.folder = folder
        self.progress = progress
        self.log = log
        self.identities = identities.generate(
            scenario.nodes,
            algorithm=scenario.identity,
            certificate_key="ed25519" if scenario.transport == "aioquic" else "p256",
        )
        self.children: dict[int, _Child] = {}
        self.begun = asyncio.Event()
        self.failed_at = float("nan")
        self.namespaces: Namespaces | None = None
        self.ticks: list[tuple[int, int]] = []
        self.faults: list[asyncio.Task[None]] = []

    async def run(self) -> Outcome:
        """Run the replay and return what the nodes say."""
        scenario = self.scenario
        loop = asyncio.get_running_loop()
        try:
            for index in range(scenario.nodes):
                await self._spawn(index)
            await self._all(_START_SECONDS, "did not start", lambda each: each.listening)
            self._start(self.children.values())
            await self._all(_START_SECONDS, "did not connect", lambda each: each.connected)
            self.ticks.append(_ticks())
            if scenario.experiment == "exchange":
                for each in self.children.values():
                    each.order("exchange")
            else:
                await asyncio.sleep(scenario.failure_seconds)
                self.failed_at = loop.time()
                self._kill(self.children[scenario.failed_node])
            self.faults = [loop.create_task(self._strike(fault)) for fault in scenario.faults]
            await self._all(scenario.limit_seconds, "did not end", lambda each: each.settled)
            await asyncio.gather(*self.faults)
            await self._all(scenario.limit_seconds, "did not end", lambda each: each.settled)
            self.ticks.append(_ticks())
        finally:
            for task in self.faults:
                task.cancel()
            await self._quit()
        return self._outcome()

    async def _all(
        self, seconds: float, what: str, event: Callable[[_Child], asyncio.Event]
    ) -> None:
        """Wait for something of every living child."""

        async def one(each: _Child) -> None:
            waits = [
                asyncio.ensure_future(event(each).wait()),
                asyncio.ensure_future(each.process.wait()),
            ]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                if not event(each).is_set() and not each.dead:
                    if each.reading is not None:
                        await asyncio.wait([each.reading], timeout=1)
                    why = each.error or self._last_words(each.index)
                    raise PqchainError(f"the process of node {each.index} ended early: {why}")
            finally:
                for wait in waits:
                    wait.cancel()

        jobs = [one(each) for each in self.children.values() if not each.dead]
        try:
            await asyncio.wait_for(_together(jobs), seconds)
        except asyncio.TimeoutError:
            late = [each.index for each in self.children.values()
                    if not each.dead and not event(each).is_set()]  # fmt: skip
            raise PqchainError(
                f"nodes {late} {what} within {seconds:g} s; use smaller blocks or fewer nodes, or "
                "see that nothing else keeps the processors busy"
            ) from None

    async def _spawn(self, index: int, port: int = 0) -> None:
        """Start the process of a node and tell it who it is."""
        scenario, folder = self.scenario, self.folder / str(index)
        folder.mkdir(parents=True, exist_ok=True)
        prefix = self.namespaces.prefix(index) if self.namespaces is not None else []
        host = self.namespaces.host(index) if self.namespaces is not None else "127.0.0.1"
        each = self.children[index] = _Child(index)
        with (folder / "log").open("ab") as log:
            each.process = await asyncio.create_subprocess_exec(
                *prefix, sys.executable, "-m", "pqchain.wire.drivers.child",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
                limit=64 << 20,
            )  # fmt: skip
        kinds = {fault.node: fault.kind for fault in scenario.faults}
        misbehaves = kinds.get(index, "")
        each.order(
            "setup", scenario=asdict(scenario), index=index, folder=str(folder), host=host,
            port=port, log=self.log,
            misbehaves=misbehaves if misbehaves in ("corrupt", "stall") else "",
            identity=child.identity_to_plain(self.identities[index]),
            directory=[child.public_to_plain(identity.public) for identity in self.identities],
        )  # fmt: skip
        each.reading = asyncio.get_running_loop().create_task(self._read(each))

    def _start(self, children: Any) -> None:
        """Tell children where everyone is."""
        addresses = {index: each.address for index, each in self.children.items()}
        for each in children:
            each.order("start", addresses=addresses)

    async def _read(self, each: _Child) -> None:
        """Take the reports of one child."""
        assert each.process.stdout is not None
        while line := await each.process.stdout.readline():
            message = json.loads(line)
            what = message["report"]
            if what == "listening":
                each.address = (message["address"][0], message["address"][1])
                each.listening.set()
            elif what == "connected":
                each.connected.set()
            elif what == "begun":
                self.begun.set()
            elif what == "bytes":
                self.progress(message["count"])
            elif what == "done":
                plain = message["outcome"]
                each.outcome = NodeOutcome(**{**plain, "arrivals": tuple(plain["arrivals"])})
                each.settled.set()
            elif what == "error":
                each.error = message["message"]

    async def _strike(self, fault: Fault) -> None:
        """Let a fault happen; corrupting and stalling nodes do so from the start."""
        if fault.kind not in ("die", "restart"):
            return
        await self.begun.wait()
        await asyncio.sleep(fault.after_seconds)
        each = self.children[fault.node]
        self._kill(each)
        if fault.kind == "restart":
            port = each.address[1] if each.address is not None else 0
            await asyncio.sleep(fault.down_seconds)
            await self._spawn(fault.node, port)
            fresh = self.children[fault.node]
            await asyncio.wait_for(fresh.listening.wait(), _START_SECONDS)
            self._start([fresh])
            if self.scenario.experiment == "exchange":
                fresh.order("exchange")

    def _kill(self, each: _Child) -> None:
        """Let a node die without a word."""
        each.dead = True
        each.settled.set()
        if each.process.returncode is None:
            each.process.kill()

    async def _quit(self) -> None:
        """End every process that we started, politely first."""
        for each in self.children.values():
            each.order("quit")
        waits = [asyncio.ensure_future(each.process.wait()) for each in self.children.values()]
        if waits:
            await asyncio.wait(waits, timeout=_QUIT_SECONDS)
        for each in self.children.values():
            if each.process.returncode is None:
                each.process.kill()
                await each.process.wait()
            if each.process.stdin is not None:
                each.process.stdin.close()
            if each.reading is not None:
                await asyncio.wait([each.reading], timeout=1)

    def _last_words(self, index: int) -> str:
        """Return the last line that a process has written to its log."""
        lines = (self.folder / str(index) / "log").read_text(errors="replace").splitlines()
        return lines[-1] if lines else "it said nothing"

    def _outcome(self) -> Outcome:
        """Put what the nodes said on one scale."""
        nodes, failure = [], None
        found = [each.outcome for each in self.children.values() if each.outcome is not None]
        began = min((n.begun_seconds for n in found if n.begun_seconds == n.begun_seconds),
                    default=float("nan"))  # fmt: skip
        ends = [n.begun_seconds + n.wall_seconds for n in found if n.state == "done"]
        for index, each in sorted(self.children.items()):
            node = each.outcome
            if node is None or each.dead:
                nodes.append(_dead(index))
                continue
            nodes.append(
                replace(
                    node,
                    noticed_seconds=node.noticed_seconds - self.failed_at,
                    begun_seconds=node.begun_seconds - began,
                )
            )
            if node.error and failure is None:
                lost = "are within reach" in node.error
                failure = ChunksLost(node.error) if lost else PqchainError(node.error)
        scenario = self.scenario
        return Outcome(
            scenario=scenario,
            nodes=tuple(nodes),
            span_seconds=max(ends, default=float("nan")) - began,
            engine=erasure.ReedSolomon(*scenario.before, engine=scenario.engine).engine,
            identity=self.identities[0].public.algorithm,
            processors=os.cpu_count() or 1,
            machine_busy=_busy(*self.ticks),
            failure=failure,
        )


def _ticks() -> tuple[int, int]:
    """Return the idle and all ticks of all processors so far; zeros where Linux does not tell."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return 0, 0
    ticks = [int(text) for text in first.split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def _busy(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Return the share of ticks between that were not idle."""
    total = after[1] - before[1]
    return 1 - (after[0] - before[0]) / total if total else float("nan")


async def _together(jobs: list[Coroutine[Any, Any, None]]) -> None:
    """Run all, and stop all when one fails."""
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _dead(index: int) -> NodeOutcome:
    """Return the outcome of a node that cannot tell any more."""
    nothing = float("nan")
    return NodeOutcome(
        node=index, state="dead", error="", noticed_seconds=nothing, begun_seconds=nothing,
        seconds=dict.fromkeys(PHASES, 0.0), work=dict.fromkeys(PHASES, 0.0), wall_seconds=0.0,
        cpu_seconds=nothing, received_bytes=0, wasted_bytes=0, arrivals=(), verified_blocks=0,
        early_sessions=0,
    )  # fmt: skip


def run(
    scenario: Scenario,
    folder: Path,
    *,
    progress: Callable[[int], None] = lambda count: None,
    log: bool = False,
) -> Outcome:
    """Replay on sockets; `pqchain.wire.drivers.virtual.prepare` must have filled `folder`.

    Raises UsageError if too few files may be open, Unsupported if namespaces cannot be made, and
    PqchainError if a process does not come up or does not end in time.
    """
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(scenario.nodes * _FILES_PER_NODE, 4 * scenario.nodes + 32)
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        raise UsageError(
            f"this process may open {allowed} files, {scenario.nodes} nodes need {wanted}; "
            f"raise the limit: ulimit -n {wanted}"
        )
    with ExitStack() as stack:
        mesh_namespaces = None
        if scenario.mode == "netns":
            mesh_namespaces = stack.enter_context(Namespaces(scenario.nodes, scenario.link))

        async def main() -> Outcome:
            mesh = _Mesh(scenario, folder, progress=progress, log=log)
            mesh.namespaces = mesh_namespaces
            return await mesh.run()

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(main())
        # A notebook's thread has a loop already, which cannot wait for another one.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, main()).result()
