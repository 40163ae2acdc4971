"""Main program of one node's process: requests on stdin, reports on stdout, one per line.

Requests: "setup" (first), "start" with the addresses of all nodes, "begin"; the end of stdin stops
the node. Reports: "listening", "connected", "begun", "progress", "done" with the result, "error".
Only this module imports uvloop.
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from typing import Any

from pqchain.errors import PqchainError
from pqchain.wire.drivers.job import decode, encode
from pqchain.wire.drivers.live import LiveNode

LONGEST_LINE_BYTES = 64 << 20

_PROGRESS_STEP = 1 << 20
"""Increase of `Node.progress` between two progress reports."""


def report(what: str, value: Any = None) -> None:
    """Write one report to stdout."""
    sys.stdout.buffer.write(encode(what, value))
    sys.stdout.flush()


async def _run() -> None:
    orders, loop = asyncio.StreamReader(limit=LONGEST_LINE_BYTES), asyncio.get_running_loop()
    loop.set_exception_handler(partial(_fail, asyncio.current_task()))
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    _, (job, folder, identity, directory, address) = decode(await orders.readline())
    live = LiveNode(identity.index, job, folder, identity, directory)
    report("listening", await live.listen(*address))
    watching = asyncio.create_task(_watch(live))
    try:
        while line := await orders.readline():
            what, value = decode(line)
            if what == "start":
                live.addresses.update(value)
                live.start()
            elif what == "begin":
                live.begin()
    finally:
        watching.cancel()
        await live.shut()


def _fail(
    running: asyncio.Task[Any] | None, loop: asyncio.AbstractEventLoop, context: dict[str, Any]
) -> None:
    """Report an unhandled exception and stop the node; the parent would wait for it in vain."""
    loop.default_exception_handler(context)
    error = context.get("exception")
    # Socket errors are caused by peers and are not faults of this node.
    if error is not None and not isinstance(error, OSError):
        report("error", f"{type(error).__name__}: {error}; its log says where")
        if running is not None:
            running.cancel()


async def _watch(live: LiveNode) -> None:
    # A node that fails early is done before it is connected.
    awaited = ["connected", "begun", "done"]
    reported = 0
    while True:
        await live.changed.wait()
        live.changed.clear()
        node = live.node
        if node.progress - reported > _PROGRESS_STEP:
            report("progress", node.progress - reported)
            reported = node.progress
        for what in [what for what in awaited if getattr(node, what)]:
            awaited.remove(what)
            report(what, live.result() if what == "done" else None)


async def _main() -> None:
    try:
        await _run()
    except PqchainError as error:
        report("error", str(error))
    except asyncio.CancelledError:
        pass  # reported by `_fail`


def main() -> None:
    """Run the node on uvloop where that is installed, else on asyncio's own loop."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(_main())
    else:
        uvloop.run(_main())


if __name__ == "__main__":
    main()
