"""Fork server: a process that has imported the nodes' modules and forks one node per request.

An import takes a second of processor time, a fork milliseconds. The process is started with the
names of the modules. Its stdin is a socket: each request is one byte with the file descriptors of
the node's stdin, stdout and stderr; the answer is the node's process id. The process ends when the
socket is closed. It opens no files and starts no threads, so that a fork inherits only code.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from pqchain.errors import PqchainError
from pqchain.wire.drivers import child

_QUIT_SECONDS = 10.0
_PID_BYTES = 8

# OpenBLAS, which numpy loads, would start a thread per processor.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}


@dataclass(eq=False)
class Process:
    """Handle of one node's process and its two pipes; `stdout` ends when the process ends."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    pid: int
    executed: asyncio.subprocess.Process | None = None
    """The asyncio process if the node was not forked by a fork server."""

    async def wait(self) -> None:
        """Reap the process after `stdout` has ended; do nothing for a forked process."""
        if self.executed is not None:
            await self.executed.wait()

    def kill(self) -> None:
        """Kill the process; call this only while `stdout` has not ended."""
        # After the end of `stdout` the process id may belong to another process.
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@dataclass(eq=False)
class ForkServer:
    """Context manager that runs the fork server, which starts the nodes' processes."""

    modules: tuple[str, ...]
    """Modules to import before forking; a failed import is ignored and repeated in the nodes."""
    _socket: socket.socket = field(init=False)
    _process: subprocess.Popen[bytes] = field(init=False)

    def __enter__(self) -> ForkServer:
        self._socket, other_end = socket.socketpair()
        with other_end:
            # In a session of its own: Ctrl-C reaches only the parent, which then stops the nodes.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pqchain.wire.drivers.fork_server", *self.modules],
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

    async def start(self, log: IO[Any], limit_bytes: int) -> Process:
        """Start a node's process that writes its errors to `log`; return its handle.

        `limit_bytes` is the maximum length of a line that the node writes to stdout. Raises
        PqchainError if the fork server has ended.
        """
        loop = asyncio.get_running_loop()
        node_stdin, stdin = os.pipe()
        stdout, node_stdout = os.pipe()
        reader, writer = os.fdopen(stdout, "rb"), os.fdopen(stdin, "wb")
        try:
            # On a thread, because the fork server's answer would block the event loop.
            pid = await asyncio.to_thread(self._fork, (node_stdin, node_stdout, log.fileno()))
        except BaseException:
            reader.close()
            writer.close()
            raise
        finally:
            os.close(node_stdin)
            os.close(node_stdout)
        output = asyncio.StreamReader(limit_bytes)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(output), reader)
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), writer
        )
        if hasattr(os, "sched_setaffinity"):
            # The fork server may have been started with another affinity than this process has now.
            os.sched_setaffinity(pid, os.sched_getaffinity(0))
        return Process(asyncio.StreamWriter(transport, protocol, None, loop), output, pid)

    def _fork(self, files: tuple[int, ...]) -> int:
        try:
            socket.send_fds(self._socket, [b"\0"], files)
            answer = self._socket.recv(_PID_BYTES, socket.MSG_WAITALL)
        except OSError:
            answer = b""
        if len(answer) < _PID_BYTES:
            raise PqchainError("the fork server has ended. Check whether memory is short.")
        return int.from_bytes(answer, "big")


def _serve(modules: Iterable[str]) -> bool:
    """Fork for each request; return True in a forked node, and False after the last request."""
    for name in modules:
        with suppress(ImportError):
            importlib.import_module(name)
    # Garbage collection would write to the imported objects and so copy their shared pages.
    gc.freeze()
    requests = socket.socket(fileno=os.dup(0))
    # The system reaps the nodes, so that none remains a zombie.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        try:
            _, files, _, _ = socket.recv_fds(requests, 1, 3)
        except ConnectionResetError:
            return False  # the parent has ended without reading the last answer
        if not files:
            return False
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            return True
        for file in files:
            os.close(file)
        try:
            requests.sendall(pid.to_bytes(_PID_BYTES, "big"))
        except OSError:
            return False  # the parent has ended; the node notices the end of its stdin


if __name__ == "__main__" and _serve(sys.argv[1:]):
    child.main()
    sys.stdout.flush()
    # A normal interpreter exit would release all imported modules, and so copy the shared pages.
    os._exit(0)
