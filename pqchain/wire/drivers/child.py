"""Main program of one node's process: stdin is a socket with requests and the node's reports.

Requests: "setup" (first), "start" with the addresses of all nodes, "begin"; the end of the requests
stops the node. Reports: "listening", "connected", "begun", "progress", "done" with the result,
"error". Only this module imports uvloop.
"""

from __future__ import annotations

import asyncio
import math
import socket
from functools import partial
from time import monotonic
from typing import Any

from pqchain.errors import PqchainError
from pqchain.wire.drivers.job import MAX_LINE_BYTES, decode, decode_setup, encode
from pqchain.wire.drivers.live import LiveNode

_PROGRESS_SECONDS = 1.0
"""Minimum time between two progress reports. On a cluster a report takes milliseconds of processor
time on several machines, which would slow the nodes down."""


async def _run(requests: asyncio.StreamReader, reports: asyncio.StreamWriter) -> None:
    job, folder, identity, directory, address = decode_setup(await requests.readline())
    live = LiveNode(identity.index, job, folder, identity, directory)
    reports.write(encode("listening", await live.listen(*address)))
    reporting = asyncio.create_task(_report_progress(live, reports))
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
    main: asyncio.Task[Any] | None,
    reports: asyncio.StreamWriter,
    loop: asyncio.AbstractEventLoop,
    context: dict[str, Any],
) -> None:
    loop.default_exception_handler(context)
    error = context.get("exception")
    # Stop the node, else the parent would wait in vain. Socket errors are caused by peers and are
    # not faults of this node.
    if error is not None and not isinstance(error, OSError):
        why = f"{type(error).__name__}: {error}. See its log for the traceback."
        reports.write(encode("error", why))
        if main is not None:
            main.cancel()


async def _report_progress(live: LiveNode, reports: asyncio.StreamWriter) -> None:
    # A node that fails early is done before it is connected.
    expected = ["connected", "begun", "done"]
    reported, due = 0, -math.inf
    while True:
        await live.changed.wait()
        live.changed.clear()
        node = live.node
        if node.progress > reported and (monotonic() >= due or node.done):
            reports.write(encode("progress", node.progress - reported))
            reported, due = node.progress, monotonic() + _PROGRESS_SECONDS
        for kind in [kind for kind in expected if getattr(node, kind)]:
            expected.remove(kind)
            reports.write(encode(kind, live.result() if kind == "done" else None))


async def _main() -> None:
    requests, reports = await asyncio.open_unix_connection(
        sock=socket.socket(fileno=0), limit=MAX_LINE_BYTES
    )
    handler = partial(_report_exception, asyncio.current_task(), reports)
    asyncio.get_running_loop().set_exception_handler(handler)
    try:
        await _run(requests, reports)
    except PqchainError as error:
        reports.write(encode("error", str(error)))
    except asyncio.CancelledError:
        pass  # reported by `_report_exception`
    reports.write_eof()
    await reports.drain()


def main() -> None:
    """Run the node on uvloop if it is installed, otherwise on asyncio's event loop."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(_main())
    else:
        uvloop.run(_main())


if __name__ == "__main__":
    main()
