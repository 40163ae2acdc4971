"""The process of one node: orders come as JSON lines on stdin, reports go out on stdout.

Orders: "setup" (first), "start" with everyone's address, "exchange", "quit".
Reports: "listening", "connected", "begun", "bytes" that came, "done" with the outcome, "error".
Knows one node and these two pipes, and nothing of the other processes. The only importer of uvloop.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pqchain.errors import PqchainError
from pqchain.reencode import scenario as scenarios
from pqchain.wire.drivers.live import LiveNode
from pqchain.wire.identities import Identity, PublicIdentity

_TOLD_BYTES = 1 << 20
"""How much must have come before a node says so again."""


def report(what: str, **more: Any) -> None:
    """Write one report."""
    sys.stdout.write(json.dumps({"report": what, **more}) + "\n")
    sys.stdout.flush()


async def _run(orders: asyncio.StreamReader) -> None:
    """Follow orders until the end of them, or of the time."""
    setup = json.loads(await orders.readline())
    scenario = scenarios.from_plain(setup["scenario"])
    live = LiveNode(
        setup["index"], scenario, Path(setup["folder"]),
        identity_from_plain(setup["identity"]),
        [public_from_plain(public) for public in setup["directory"]],
        misbehaves=setup["misbehaves"], log=setup["log"],
    )  # fmt: skip
    host, port = await live.listen(setup["host"], setup["port"])
    report("listening", address=[host, port])
    watching: asyncio.Task[None] | None = None

    async def follow() -> None:
        nonlocal watching
        while line := await orders.readline():
            order = json.loads(line)
            if order["order"] == "start":
                live.addresses.update(
                    {int(at): (str(h), int(p)) for at, (h, p) in order["addresses"].items()}
                )
                live.start()
                watching = asyncio.create_task(_watch(live))
            elif order["order"] == "exchange":
                live.begin_exchange()
            elif order["order"] == "quit":
                break

    try:
        await asyncio.wait_for(follow(), scenario.limit_seconds)
    finally:
        if watching is not None:
            watching.cancel()
        await live.shut()


async def _watch(live: LiveNode) -> None:
    """Report what the node comes to."""
    connected = begun = False
    told = 0
    while True:
        await live.changed.wait()
        live.changed.clear()
        received = live.node.record.received_bytes
        if received - told > _TOLD_BYTES:
            report("bytes", count=received - told)
            told = received
        if not connected and live.node.connected:
            connected = True
            report("connected")
        if not begun and live.node.record.begun is not None:
            begun = True
            report("begun")
        if live.node.done:
            report("done", outcome=asdict(live.outcome()))
            return


async def _main() -> None:
    loop = asyncio.get_running_loop()
    orders = asyncio.StreamReader(limit=64 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    try:
        await _run(orders)
    except PqchainError as error:
        report("error", message=str(error))
    except asyncio.TimeoutError:
        report("error", message="the replay did not end in time")


def identity_to_plain(identity: Identity) -> dict[str, Any]:
    """Return a whole identity as JSON; for pipes to our own children only."""
    return {
        "public": public_to_plain(identity.public),
        "certificate_key_pem": _text(identity.certificate_key_pem),
        "secret_key": _text(identity.secret_key),
    }


def identity_from_plain(plain: dict[str, Any]) -> Identity:
    """Return the identity of such JSON."""
    return Identity(
        public=public_from_plain(plain["public"]),
        certificate_key_pem=base64.b64decode(plain["certificate_key_pem"]),
        secret_key=base64.b64decode(plain["secret_key"]),
    )


def public_to_plain(public: PublicIdentity) -> dict[str, Any]:
    """Return a public identity as JSON."""
    return {
        "index": public.index,
        "certificate_pem": _text(public.certificate_pem),
        "certificate_der": _text(public.certificate_der),
        "algorithm": public.algorithm,
        "public_key": _text(public.public_key),
    }


def public_from_plain(plain: dict[str, Any]) -> PublicIdentity:
    """Return the public identity of such JSON."""
    return PublicIdentity(
        index=plain["index"],
        certificate_pem=base64.b64decode(plain["certificate_pem"]),
        certificate_der=base64.b64decode(plain["certificate_der"]),
        algorithm=plain["algorithm"],
        public_key=base64.b64decode(plain["public_key"]),
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


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
