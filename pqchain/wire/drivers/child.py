"""The process of one node: orders come as JSON lines on stdin, reports go out on stdout.

Orders: "setup" (first), "start" with everyone's address, "begin", "quit".
Reports: "listening", "connected", "begun", "progress", "done" with the result, "error".
Knows one node and these two pipes, and nothing of the other processes. The only importer of uvloop.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from pqchain.errors import PqchainError
from pqchain.wire.drivers.job import Job, decode, encode
from pqchain.wire.drivers.live import LiveNode
from pqchain.wire.identity import Identity, PublicIdentity

LONGEST_LINE_BYTES = 64 << 20

_PROGRESS_STEP = 1 << 20
"""How much must have been done before a node says so again."""


def report(what: str, **more: Any) -> None:
    """Write one report."""
    sys.stdout.buffer.write(encode({"what": what, **more}))
    sys.stdout.flush()


async def _run(orders: asyncio.StreamReader) -> None:
    setup = decode(await orders.readline())
    job, own = Job.from_plain(setup["job"]), setup["identity"]
    directory = [PublicIdentity(**public) for public in setup["directory"]]
    identity = Identity(**{**own, "public": PublicIdentity(**own["public"])})
    live = LiveNode(identity.index, job, Path(setup["folder"]), identity, directory)
    host, port = await live.listen(setup["host"], setup["port"])
    report("listening", address=[host, port])
    watching: asyncio.Task[None] | None = None

    async def follow() -> None:
        nonlocal watching
        while line := await orders.readline():
            order = decode(line)
            if order["what"] == "start":
                for index, (host, port) in order["addresses"].items():
                    live.addresses[int(index)] = (host, port)
                live.start()
                watching = asyncio.create_task(_watch(live))
            elif order["what"] == "begin":
                live.begin()
            elif order["what"] == "quit":
                break

    try:
        await asyncio.wait_for(follow(), job.limit_seconds)
    finally:
        if watching is not None:
            watching.cancel()
        await live.shut()


async def _watch(live: LiveNode) -> None:
    awaited = ["connected", "begun"]
    reported = 0
    while True:
        await live.changed.wait()
        live.changed.clear()
        node = live.node
        if node.progress - reported > _PROGRESS_STEP:
            report("progress", count=node.progress - reported)
            reported = node.progress
        for what in [what for what in awaited if getattr(node, what)]:
            awaited.remove(what)
            report(what)
        if node.done:
            report("done", result=live.result())
            return


async def _main() -> None:
    loop = asyncio.get_running_loop()
    orders = asyncio.StreamReader(limit=LONGEST_LINE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    try:
        await _run(orders)
    except PqchainError as error:
        report("error", message=str(error))
    except asyncio.TimeoutError:
        report("error", message="the run did not end in time")


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
