"""Fork server: a process that has imported the nodes' modules and forks one node per request.

An import takes a second of processor time, a fork milliseconds. The process is started with the
names of the modules. Its stdin is a socket: each request is one byte with the descriptors of the
node's socket and log; the answer is the node's process id. The process ends when the socket is
closed. It opens no files and starts no threads, so that a fork inherits only code.
"""

from __future__ import annotations

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

from pqchain.errors import PqchainError
from pqchain.wire.drivers import child

_QUIT_SECONDS = 10.0
_PID_BYTES = 8

# OpenBLAS, which numpy loads, would start a thread per processor.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}


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

    def fork(self, *files: int) -> int:
        """Return the process id of a new node with these descriptors of its socket and its log.

        Blocks for some milliseconds. Raises PqchainError if the fork server has ended.
        """
        try:
            socket.send_fds(self._socket, [b"\0"], files)
            answer = self._socket.recv(_PID_BYTES, socket.MSG_WAITALL)
        except OSError:
            answer = b""
        if len(answer) < _PID_BYTES:
            raise PqchainError("the fork server has ended. Check whether memory is short.")
        pid = int.from_bytes(answer, "big")
        if hasattr(os, "sched_setaffinity"):
            # The fork server may have been started with another affinity than this process has now.
            os.sched_setaffinity(pid, os.sched_getaffinity(0))
        return pid


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
    # An OSError, here or below: the parent has ended. A node notices the end of its stdin.
    with suppress(OSError):
        while files := socket.recv_fds(requests, 1, 2)[1]:
            pid = os.fork()
            if not pid:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                requests.close()
                os.dup2(files[0], 0)
                os.dup2(files[1], 2)
            for file in files:
                os.close(file)
            if not pid:
                return True
            requests.sendall(pid.to_bytes(_PID_BYTES, "big"))
    return False


if __name__ == "__main__" and _serve(sys.argv[1:]):
    child.main()
    # A normal interpreter exit would release all imported modules, and so copy the shared pages.
    os._exit(0)
