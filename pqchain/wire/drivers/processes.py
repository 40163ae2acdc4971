"""Driver with one process per node, on loopback or in network namespaces.

On loopback a fork server forks the processes; it can serve several jobs.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from pqchain.errors import UsageError
from pqchain.wire.drivers.fork_server import ForkServer
from pqchain.wire.drivers.job import (
    MAX_LINE_BYTES,
    Job,
    Progress,
    Result,
    encode,
    encode_setup,
)
from pqchain.wire.drivers.mesh import Mesh
from pqchain.wire.drivers.namespaces import Namespaces
from pqchain.wire.transports import registry

_QUIT_SECONDS = 10.0
_FILES_PER_NODE = 8


@dataclass(eq=False)
class LocalProcess:
    """Process of a node on this machine, a `mesh.NodeProcess`."""

    pid: int
    reports: asyncio.StreamReader
    requests: asyncio.StreamWriter
    log: Path
    executed: subprocess.Popen[bytes] | None
    """The child process; None if the fork server has forked the node, and reaps it."""
    lost: bool = False

    async def write(self, line: bytes) -> None:
        """Send a request to the node."""
        self.requests.write(line)

    async def readline(self) -> bytes:
        """Return the node's next report, "ended" with the last line of its log at the end."""
        if line := await self.reports.readline():
            return line
        self.requests.close()
        lines = self.log.read_text(errors="replace").splitlines()
        return encode("ended", lines[-1] if lines else "")

    async def kill(self) -> float:
        """Kill the process, if it has not ended; return the time of the monotonic clock."""
        time = monotonic()
        # After the end of the reports the process id may belong to another process.
        if not self.reports.at_eof():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        return time

    async def stop(self, reading: asyncio.Task[None]) -> None:
        """End the process; kill it if it does not end in time."""
        with suppress(OSError):
            self.requests.write_eof()
        await asyncio.wait([reading], timeout=_QUIT_SECONDS)
        if not reading.done():
            await self.kill()
        await asyncio.wait([reading], timeout=1)
        if self.executed is not None:
            self.executed.wait()


async def start(
    setup: Sequence[Any], folder: Path, fork_server: ForkServer | None, prefix: Sequence[str] = ()
) -> LocalProcess:
    """Start a node, whose log is in `folder`, and send its `setup`.

    Without a fork server it is a new program; `prefix` is a command that runs it, or empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path, executed = folder / "log", None
    ours, other_end = socket.socketpair()
    try:
        with other_end, path.open("ab") as log:
            if fork_server is not None:
                # On a thread, because the fork server's answer would block the event loop.
                pid = await asyncio.to_thread(fork_server.fork, other_end.fileno(), log.fileno())
            else:
                executed = subprocess.Popen(
                    [*prefix, sys.executable, "-m", "pqchain.wire.drivers.child"],
                    stdin=other_end.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    start_new_session=True,
                )
                pid = executed.pid
    except BaseException:
        ours.close()
        raise
    reports, requests = await asyncio.open_unix_connection(sock=ours, limit=MAX_LINE_BYTES)
    requests.write(encode_setup(*setup))
    return LocalProcess(pid, reports, requests, path, executed)


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


def run_until_complete(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on an event loop of its own, also where this thread already runs one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    # A notebook's thread already runs an event loop, which cannot wait for another one.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


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
        if fork_server is None and not shaped:
            fork_server = stack.enter_context(open_fork_server(job))
        identities = job.identities()
        directory = [identity.public for identity in identities]

        async def launch(index: int, port: int) -> LocalProcess:
            host = "127.0.0.1" if namespaces is None else namespaces.host(index)
            path, address = folder / str(index), (host, port)
            setup = (job, path, identities[index], directory, address)
            if namespaces is not None:
                return await start(setup, path, None, namespaces.prefix(index))
            return await start(setup, path, fork_server)

        mesh = Mesh(job, launch, identities[0].public.algorithm, progress)
        return run_until_complete(mesh.run())
