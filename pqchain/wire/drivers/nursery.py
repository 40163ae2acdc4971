"""One process that has imported what nodes need and becomes a node by each fork.

Importing takes a second of processor time, a fork milliseconds. The process is started with the
names of the modules; on its stdin, a socket, each byte comes with the stdin, stdout and stderr of a
node, and the number of the node's process goes back. It ends when the socket does. It opens
nothing and starts no threads, so that a fork has nothing to take over but code.
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
_NUMBER_BYTES = 8

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""A library of numpy would start as many as there are processors."""


@dataclass(eq=False)
class Process:
    """The process of one node and its two pipes, seen from outside."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    """Ends when the process does."""
    pid: int
    executed: asyncio.subprocess.Process | None = None
    """Itself, if it is no nursery's."""

    async def wait(self) -> None:
        """Wait for what is left when `stdout` has ended."""
        if self.executed is not None:
            await self.executed.wait()

    def kill(self) -> None:
        """End it at once; call this only while `stdout` has not ended."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@dataclass(eq=False)
class Nursery:
    """Starts nodes' processes while the block lasts."""

    modules: tuple[str, ...]
    """What is imported beforehand; what cannot be is left to the nodes."""
    _socket: socket.socket = field(init=False)
    _process: subprocess.Popen[bytes] = field(init=False)

    def __enter__(self) -> Nursery:
        self._socket, theirs = socket.socketpair()
        with theirs:
            # In a session of its own: Ctrl-C reaches whoever is in charge, who then ends the nodes.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pqchain.wire.drivers.nursery", *self.modules],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={**os.environ, **_ONE_THREAD},
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
        """Start a node's process that writes its errors to `log`. Raises PqchainError."""
        loop = asyncio.get_running_loop()
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        reader, writer = os.fdopen(ours_out, "rb"), os.fdopen(ours_in, "wb")
        try:
            pid = await asyncio.to_thread(self._fork, (theirs_in, theirs_out, log.fileno()))
        except BaseException:
            reader.close()
            writer.close()
            raise
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        stdout = asyncio.StreamReader(limit_bytes)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdout), reader)
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), writer
        )
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(pid, os.sched_getaffinity(0))  # ours may have changed since
        return Process(asyncio.StreamWriter(transport, protocol, None, loop), stdout, pid)

    def _fork(self, files: tuple[int, ...]) -> int:
        try:
            socket.send_fds(self._socket, [b"\0"], files)
            answer = self._socket.recv(_NUMBER_BYTES, socket.MSG_WAITALL)
        except OSError:
            answer = b""
        if len(answer) < _NUMBER_BYTES:
            raise PqchainError("the process that starts nodes is gone; see whether memory is short")
        return int.from_bytes(answer, "big")


def _serve(modules: Iterable[str]) -> bool:
    """Fork for each order. Returns True in a node, False when there are no more orders."""
    for name in modules:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()  # what is imported stays shared, as nobody looks at it any more
    own = socket.socket(fileno=os.dup(0))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that the dead need not be waited for
    while True:
        _, files, _, _ = socket.recv_fds(own, 1, 3)
        if not files:
            return False
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            own.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            return True
        for file in files:
            os.close(file)
        try:
            own.sendall(pid.to_bytes(_NUMBER_BYTES, "big"))
        except OSError:
            return False  # whoever asked is gone, and the node hears that too


if __name__ == "__main__" and _serve(sys.argv[1:]):
    child.main()
    sys.stdout.flush()
    # An orderly end would take all that was imported apart, and copy the memory that is shared.
    os._exit(0)
