"""Main program of one node's process; it reads requests from stdin and writes reports to stdout.

Requests: "setup" (first), "start" with the addresses of all nodes, "begin"; the end of stdin stops
the node. Reports: "listening", "connected", "begun", "progress", "done" with the result, "error".
Only this module imports uvloop.

With names of modules as arguments the program is a fork server, which imports them and forks one
node per request: an import takes a second of processor time, a fork milliseconds. Its stdin is a
socket: each request is one byte with the file descriptors of the node's stdin, stdout and stderr;
the answer is the node's process id. It ends when the socket is closed. It opens no files and starts
no threads, so that a fork inherits only code.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import math
import os
import signal
import socket
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any

from pqchain.errors import PqchainError
from pqchain.wire.drivers.job import MAX_LINE_BYTES, PID_BYTES, decode, decode_setup, encode
from pqchain.wire.drivers.live import LiveNode

_PROGRESS_SECONDS = 1.0
"""Minimum time between two progress reports. On a cluster a report takes milliseconds of processor
time on several machines, which would slow the nodes down."""


def report(kind: str, value: Any = None) -> None:
    """Write one report to stdout."""
    sys.stdout.buffer.write(encode(kind, value))
    sys.stdout.flush()


async def _run() -> None:
    requests, loop = asyncio.StreamReader(limit=MAX_LINE_BYTES), asyncio.get_running_loop()
    loop.set_exception_handler(partial(_report_exception, asyncio.current_task()))
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(requests), sys.stdin)
    job, folder, identity, directory, address = decode_setup(await requests.readline())
    live = LiveNode(identity.index, job, folder, identity, directory)
    report("listening", await live.listen(*address))
    reporting = asyncio.create_task(_report_progress(live))
    try:
        while line := await requests.readline():
            kind, value = decode(line)
            if kind == "start":
                live.addresses.update(value)
                live.start()
            elif kind == "begin":
                live.begin()
    finally:
        reporting.cancel()
        await live.shutdown()


def _report_exception(
    main: asyncio.Task[Any] | None, loop: asyncio.AbstractEventLoop, context: dict[str, Any]
) -> None:
    loop.default_exception_handler(context)
    error = context.get("exception")
    # Stop the node, else the parent would wait in vain. Socket errors are caused by peers and are
    # not faults of this node.
    if error is not None and not isinstance(error, OSError):
        report("error", f"{type(error).__name__}: {error}. See its log for the traceback.")
        if main is not None:
            main.cancel()


async def _report_progress(live: LiveNode) -> None:
    # A node that fails early is done before it is connected.
    expected = ["connected", "begun", "done"]
    reported, due = 0, -math.inf
    while True:
        await live.changed.wait()
        live.changed.clear()
        node = live.node
        if node.progress > reported and (monotonic() >= due or node.done):
            report("progress", node.progress - reported)
            reported, due = node.progress, monotonic() + _PROGRESS_SECONDS
        for kind in [kind for kind in expected if getattr(node, kind)]:
            expected.remove(kind)
            report(kind, live.result() if kind == "done" else None)


async def _main() -> None:
    try:
        await _run()
    except PqchainError as error:
        report("error", str(error))
    except asyncio.CancelledError:
        pass  # reported by `_report_exception`


def main() -> None:
    """Run the node on uvloop if it is installed, otherwise on asyncio's event loop."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(_main())
    else:
        uvloop.run(_main())


def serve(modules: Iterable[str]) -> bool:
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
        while files := socket.recv_fds(requests, 1, 3)[1]:
            pid = os.fork()
            if not pid:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                requests.close()
                for number, file in enumerate(files):
                    os.dup2(file, number)
            for file in files:
                os.close(file)
            if not pid:
                return True
            requests.sendall(pid.to_bytes(PID_BYTES, "big"))
    return False


if __name__ == "__main__":
    if not sys.argv[1:]:
        main()
    elif serve(sys.argv[1:]):
        main()
        sys.stdout.flush()
        # A normal interpreter exit would release all imported modules, and so copy shared pages.
        os._exit(0)
