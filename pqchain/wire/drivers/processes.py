"""Driver with one process per node, on loopback or in network namespaces.

On loopback a fork server forks the processes; it can serve several jobs.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from time import monotonic
from typing import IO, Any

from pqchain.errors import UsageError
from pqchain.wire.drivers.child import MAX_LINE_BYTES
from pqchain.wire.drivers.fork_server import ForkServer, Process
from pqchain.wire.drivers.job import Job, Progress, Result, encode_setup
from pqchain.wire.drivers.mesh import Mesh, Ticks
from pqchain.wire.drivers.namespaces import Namespaces
from pqchain.wire.transports import registry

_QUIT_SECONDS = 10.0
_FILES_PER_NODE = 8


@dataclass(eq=False)
class LocalProcess:
    """Process of a node on this machine, a `mesh.NodeProcess`."""

    process: Process
    log: Path
    lost: bool = False

    def write(self, line: bytes) -> None:
        """Send a request to the node."""
        self.process.stdin.write(line)

    async def readline(self) -> bytes:
        """Return the node's next report, or b"" after the end of the process."""
        return await self.process.stdout.readline()

    async def kill(self) -> float:
        """Kill the process, which has not ended; return the time of the monotonic clock."""
        time = monotonic()
        if not self.process.stdout.at_eof():
            self.process.kill()
        return time

    async def stop(self, reading: asyncio.Task[None]) -> None:
        """End the process; kill it if it does not end in time."""
        self.process.stdin.close()
        await asyncio.wait([reading], timeout=_QUIT_SECONDS)
        if not reading.done():
            self.process.kill()
        await asyncio.wait([reading], timeout=1)
        await self.process.wait()

    async def last_log_line(self) -> str:
        """Return the last line that the process wrote to stderr; "" if there is none."""
        return next(reversed(self.log.read_text(errors="replace").splitlines()), "")


async def execute(prefix: list[str], log: IO[bytes]) -> Process:
    """Start a node's process as a new program; `prefix` is a command that runs it, or empty."""
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


def ticks() -> tuple[int, int]:
    """Return idle and total clock ticks of all processors; zeros where they are unavailable."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return 0, 0
    numbers = [int(text) for text in first.split()[1:9]]
    return numbers[3] + numbers[4], sum(numbers)


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
        if shaped:
            fork_server = None
        elif fork_server is None:
            fork_server = stack.enter_context(open_fork_server(job))
        identities = job.identities()
        directory = [identity.public for identity in identities]

        async def launch(index: int, port: int) -> LocalProcess:
            node_folder = folder / str(index)
            node_folder.mkdir(parents=True, exist_ok=True)
            path, host = node_folder / "log", "127.0.0.1"
            with path.open("ab") as log:
                if namespaces is not None:
                    host = namespaces.host(index)
                    process = await execute(namespaces.prefix(index), log)
                else:
                    assert fork_server is not None
                    process = await fork_server.start(log, MAX_LINE_BYTES)
            setup = (job, node_folder, identities[index], directory, (host, port))
            process.stdin.write(encode_setup(*setup))
            return LocalProcess(process, path)

        async def read_ticks() -> Ticks:
            return [ticks()]

        mesh = Mesh(job, launch, read_ticks, identities[0].public.algorithm, progress)
        return run_until_complete(mesh.run())
