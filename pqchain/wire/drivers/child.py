"""The process of one node: orders come in lines on stdin, reports go out on stdout.

Orders: "setup" (first), "start" with everyone's address, "begin"; the end of stdin ends the node.
Reports: "listening", "connected", "begun", "progress", "done" with the result, "error".
Knows one node and these two pipes, and nothing of the other processes. The only importer of uvloop.
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
"""How much must have been done before a node says so again."""


def report(what: str, value: Any = None) -> None:
    """Write one report."""
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
    """End a node in which something went wrong that nobody foresaw; nobody would wait for it."""
    loop.default_exception_handler(context)
    error = context.get("exception")
    if error is not None and not isinstance(error, OSError):  # what a peer does is no fault of ours
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
        pass  # `_fail` has said why


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
