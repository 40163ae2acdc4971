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
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from pqchain.errors import PqchainError, UsageError
from pqchain.wire.drivers.job import (
    MAX_LINE_BYTES,
    PID_BYTES,
    Job,
    Progress,
    Result,
    Setup,
    encode,
    encode_setup,
)
from pqchain.wire.drivers.mesh import Call, Mesh, blocking
from pqchain.wire.drivers.namespaces import Namespaces
from pqchain.wire.transports import registry

_PROGRAM = [sys.executable, "-m", "pqchain.wire.drivers.live"]
_QUIT_SECONDS = 10.0
_POLL_SECONDS = 5.0
_FILES_PER_NODE = 8

# OpenBLAS, which numpy loads, would start a thread per processor.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}


@dataclass(eq=False)
class ForkServer:
    """Context manager that runs the fork server (`live.serve`), which starts nodes' processes."""

    modules: tuple[str, ...]
    """Modules to import before forking; a failed import is ignored and repeated in the nodes."""
    _socket: socket.socket = field(init=False)
    _process: subprocess.Popen[bytes] = field(init=False)

    def __enter__(self) -> ForkServer:
        self._socket, other_end = socket.socketpair()
        with other_end:
            # In a session of its own: Ctrl-C reaches only the parent, which then stops the nodes.
            self._process = subprocess.Popen(
                [*_PROGRAM, *self.modules],
                stdin=other_end.fileno(),
                stdout=subprocess.DEVNULL,
                env={**os.environ, **_ENVIRONMENT},
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        try:
            self._process.wait(_QUIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def fork(self, files: Sequence[int]) -> int:
        """Return the process id of a new node with these files as stdin, stdout and stderr.

        Blocks for some milliseconds. Raises PqchainError if the fork server has ended.
        """
        try:
            socket.send_fds(self._socket, [b"\0"], files)
            answer = self._socket.recv(PID_BYTES, socket.MSG_WAITALL)
        except OSError:
            answer = b""
        if len(answer) < PID_BYTES:
            raise PqchainError("the fork server has ended. Check whether memory is short.")
        pid = int.from_bytes(answer, "big")
        if hasattr(os, "sched_setaffinity"):
            # The fork server may have been started with another affinity than this process has now.
            os.sched_setaffinity(pid, os.sched_getaffinity(0))
        return pid


@dataclass(eq=False)
class LocalProcess:
    """Process of a node on this machine; `Mesh` calls its methods by name."""

    pid: int
    requests: asyncio.WriteTransport
    lines: asyncio.StreamReader
    log: Path
    executed: subprocess.Popen[bytes] | None
    """The child process; None if the fork server has forked the node, and reaps it."""

    @property
    def ended(self) -> bool:
        """Whether the process has ended, so that its id may belong to another process."""
        # The end of a forked process is known from the end of its reports, once they are read.
        return self.lines.at_eof() if self.executed is None else self.executed.poll() is not None

    async def call(self, method: str, *values: Any) -> Any:
        """Call a method by its name."""
        return await getattr(self, method)(*values)

    async def write(self, line: bytes) -> None:
        """Send a request to the node."""
        self.requests.write(line)

    async def poll(self) -> bytes:
        """Return the node's next report, empty if there is none within `_POLL_SECONDS`.

        The last one is "ended" with the last line of its log.
        """
        try:
            line = await asyncio.wait_for(self.lines.readline(), _POLL_SECONDS)
        except asyncio.TimeoutError:
            return b""
        log = [] if line else self.log.read_text(errors="replace").splitlines()
        return line or encode("ended", log[-1] if log else "")

    async def kill(self) -> float:
        """Kill the process, if it has not ended; return the time of the monotonic clock."""
        time = monotonic()
        if not self.ended:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        return time

    async def stop(self) -> None:
        """End the process; kill it if it does not end in time."""
        self.requests.close()
        end = monotonic() + _QUIT_SECONDS
        while not self.ended and monotonic() < end:
            await asyncio.sleep(0.01)
        await self.kill()
        if self.executed is not None:
            await asyncio.to_thread(self.executed.wait)

    async def ticks(self) -> tuple[int, int]:
        """Return idle and total clock ticks of all processors; zeros where they are unavailable."""
        try:
            first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
        except OSError:
            return 0, 0
        numbers = [int(text) for text in first.split()[1:9]]
        return numbers[3] + numbers[4], sum(numbers)


async def start(
    setup: Setup, fork_server: ForkServer | None = None, prefix: Sequence[str] = ()
) -> LocalProcess:
    """Start a node and send its setup.

    Without a fork server it is a new program; `prefix` is a command that runs it, or empty.
    """
    _, folder, *_ = setup
    folder.mkdir(parents=True, exist_ok=True)
    path, loop = folder / "log", asyncio.get_running_loop()
    # Pipes: a socket would be reset, and reading it fail, if a process dies before it has read all.
    node_stdin, stdin = os.pipe()
    stdout, node_stdout = os.pipe()
    writer, reader = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
    try:
        with path.open("ab") as log:
            executed = None
            if fork_server is not None:
                # On a thread, because the fork server's answer would block the event loop.
                files = node_stdin, node_stdout, log.fileno()
                pid = await asyncio.to_thread(fork_server.fork, files)
            else:
                executed = subprocess.Popen(
                    [*prefix, *_PROGRAM],
                    stdin=node_stdin,
                    stdout=node_stdout,
                    stderr=log,
                    start_new_session=True,
                )
                pid = executed.pid
    except BaseException:
        reader.close()
        writer.close()
        raise
    finally:
        os.close(node_stdin)
        os.close(node_stdout)
    lines = asyncio.StreamReader(MAX_LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), reader)
    requests, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, writer)
    requests.write(encode_setup(setup))
    return LocalProcess(pid, requests, lines, path, executed)


def open_fork_server(job: Job) -> ForkServer:
    """Return a fork server that imports the modules of the job's nodes when it is entered."""
    info = registry.get(job.transport)
    modules = {"uvloop", job.factory.partition(":")[0]}
    modules.add(f"{registry.__package__}.{info.module or info.name}")
    # Unpickling a parameter imports the modules of its class and of its fields' classes.
    for value in job.parameters.values():
        names = [field.name for field in fields(value)] if is_dataclass(value) else []
        parts = [value, *(getattr(value, name) for name in names)]
        modules |= {type(part).__module__ for part in parts}
    return ForkServer(tuple(sorted(modules)))


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

        async def launch(index: int) -> Call:
            host = "127.0.0.1" if namespaces is None else namespaces.host(index)
            setup = (job, folder / str(index), identities[index], directory, (host, 0))
            prefix = () if namespaces is None else namespaces.prefix(index)
            return (await start(setup, None if shaped else fork_server, prefix)).call

        mesh = Mesh(job, launch, identities[0].public.algorithm, progress)
        return blocking(mesh.run)()
