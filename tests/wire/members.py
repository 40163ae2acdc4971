"""Floods by a member of the mesh: the victim's memory, its longest turn, an honest dial meanwhile.

    python -m tests.wire.members [--transport T] [--flood F] [--node N] [--seconds S]

The victim is a real node of a delegate or of re-encoding, in a separate process, driven as
`wire.drivers` drives it. The flood (`hostile`) is another, authenticated process; it dials
again whenever it is disconnected. This process is an honest member that dials the victim again and
again. Exit code 1 if a goal is missed. Loopback only; a flood ends early when the victim has grown
by `STOP_MB`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import pickle
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from pqchain.reencode import runs
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire.drivers.job import Job
from pqchain.wire.drivers.live import LiveNode
from pqchain.wire.transports import registry
from tests.wire.hostile import (
    FLOODS,
    HONEST,
    NODES,
    VICTIM,
    Member,
    attack,
    job,
    known,
    reencoding,
    say,
)

GROWTH_MB, DIAL_SECONDS, TURN_SECONDS = 64.0, 1.0, 0.05
"""What the victim may grow by, an honest dial take, and a turn of its event loop."""

STOP_MB = 600.0

_START_SECONDS = 30.0
"""How long the flood may take to begin, on a busy machine."""


def memory_mb(row: str = "VmRSS") -> float:
    """Return the memory of this process, or with VmHWM its peak."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return int(text.partition(f"{row}:")[2].split()[0]) / 1e3


class Turns:
    """Measurement of event loop turns: processor time, and time between ticks of a millisecond."""

    def __init__(self) -> None:
        self.busy = self.late = 0.0
        self._loop = asyncio.get_running_loop()
        self._mark()

    def _mark(self) -> None:
        self._at, self._cpu = time.perf_counter(), time.thread_time()
        self._loop.call_later(0.001, self._tick)

    def _tick(self) -> None:
        self.busy = max(self.busy, time.thread_time() - self._cpu)
        self.late = max(self.late, time.perf_counter() - self._at)
        self._mark()


async def victim(transport: str, node: str, shared: str) -> None:
    """Print the port, then for every line of stdin the measurements since the last."""
    logging.disable(logging.WARNING)  # a line for each disconnection of the flood
    mesh = job(transport, node, victim=True)
    identities = known(Path(shared))
    directory = [each.public for each in identities]
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        if node == "reencode":
            runs.prepare(reencoding(), Path(folder))
        own = Path(folder) / str(VICTIM)
        live = LiveNode(VICTIM, mesh, own, identities[VICTIM], directory)
        _, port = await live.listen("127.0.0.1")
        live.addresses.update(dict.fromkeys(range(NODES), ("127.0.0.1", 9)))
        live.start()
        if node == "delegate":
            live.begin()
        block = ""
        if node == "reencode":
            (manifest,) = ChunkStore(own).manifests()
            block = manifest.block_hash
        say({"port": port, "block": block})
        orders = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
        while await orders.readline():
            turns, before = Turns(), memory_mb()
            with suppress(OSError):
                Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
            ended = threading.Event()
            guard = threading.Thread(target=_guard, args=(before, ended))
            guard.start()
            await orders.readline()
            ended.set()
            guard.join()
            grown = memory_mb("VmHWM") - before
            say({"grown": grown, "busy": turns.busy, "late": turns.late})
        await live.shutdown()


def _guard(before: float, ended: threading.Event) -> None:
    """End this process rather than fill the machine's memory."""
    while not ended.wait(0.02):
        if (grown := memory_mb() - before) > STOP_MB:
            say({"grown": grown, "busy": float("nan"), "late": float("nan")})
            os._exit(3)


async def measure(transport: str, node: str, flood: str, seconds: float) -> dict[str, float]:
    """Return the effects of a flood on the victim."""
    with tempfile.TemporaryDirectory() as shared:
        mesh = job(transport, node)
        (Path(shared) / "identities").write_bytes(pickle.dumps(mesh.identities()))
        hurt = await _child("victim", transport, node, shared)
        try:
            return await _measured(hurt, mesh, (transport, node, flood), seconds, Path(shared))
        finally:
            if hurt.returncode is None:
                hurt.kill()
                await hurt.wait()


async def _child(*words: str) -> asyncio.subprocess.Process:
    program = (sys.executable, "-m", "tests.wire.members", *words)
    quiet = asyncio.subprocess.DEVNULL if words[0] == "attack" else None
    return await asyncio.create_subprocess_exec(*program, stdin=-1, stdout=-1, stderr=quiet)


async def _measured(
    hurt: asyncio.subprocess.Process,
    mesh: Job,
    names: tuple[str, str, str],
    seconds: float,
    shared: Path,
) -> dict[str, float]:
    assert hurt.stdin is not None and hurt.stdout is not None
    at = json.loads(await hurt.stdout.readline())
    member = Member(mesh, mesh.transport, HONEST, shared, at["port"])
    await member.listen()
    await _dialled(member)
    hurt.stdin.write(b"begin\n")
    hostile = await _child("attack", *names, str(at["port"]), str(shared), at["block"])
    assert hostile.stdout is not None
    try:
        report = asyncio.ensure_future(hurt.stdout.readline())
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(hostile.stdout.readline(), _START_SECONDS)
        dials, began = [], time.monotonic()
        while time.monotonic() - began < seconds and not report.done():
            dials.append(await _dialled(member))
            await asyncio.sleep(0.2)
    finally:
        with suppress(ProcessLookupError):
            hostile.kill()
        said = (await hostile.stdout.read()).decode().splitlines()
        await hostile.wait()
    with suppress(ConnectionError):
        hurt.stdin.write(b"end\n")
        await hurt.stdin.drain()
    found = json.loads(await report)
    await member.shutdown()
    counts = json.loads(said[-1]) if said else {"opened": 0, "cut_off": 0, "sent_mb": 0.0}
    return {**found, "dial": max(dials, default=float("nan")), **counts}


async def _dialled(member: Member) -> float:
    """Dial until it succeeds, for 10 s at most, and close again; return the seconds."""
    began = time.perf_counter()
    while time.perf_counter() - began < 10:
        with suppress(asyncio.TimeoutError):
            session = await asyncio.wait_for(member.dial(), 10)
            if session is not None:
                taken = time.perf_counter() - began
                member.transport.close(session, "that was all", now=0.0)
                member.flush()
                return taken
    return float("inf")


def main() -> None:
    """Run floods and print a row for each."""
    if sys.argv[1:2] == ["victim"]:
        _run(victim(*sys.argv[2:]))
        return
    if sys.argv[1:2] == ["attack"]:
        _run(attack(*sys.argv[2:]))
        return
    parser = argparse.ArgumentParser(prog="python -m tests.wire.members")
    parser.add_argument("--transport", choices=registry.TRANSPORTS)
    parser.add_argument("--flood", choices=FLOODS)
    parser.add_argument("--node", choices=("delegate", "reencode"))
    parser.add_argument("--seconds", type=float, default=8.0)
    given = parser.parse_args()
    missed = 0
    heads = (
        "transport",
        "node",
        "flood",
        "sent MB",
        "grown MB",
        "turn ms",
        "late ms",
        "dial s",
        "cut off",
    )
    sys.stdout.write("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads) + "\n")
    for transport in [given.transport] if given.transport else registry.TRANSPORTS:
        for flood in [given.flood] if given.flood else FLOODS:
            for node in [given.node] if given.node else FLOODS[flood][2]:
                found = asyncio.run(measure(transport, node, flood, given.seconds))
                sys.stdout.write(
                    f"| {transport} | {node} | {flood} | {found['sent_mb']:.1f} | "
                    f"{found['grown']:.0f} | "
                    f"{found['busy'] * 1e3:.0f} | {found['late'] * 1e3:.0f} | "
                    f"{found['dial']:.2f} | {found['cut_off']} of {found['opened']} |\n"
                )
                sys.stdout.flush()
                missed += not (
                    found["grown"] <= GROWTH_MB
                    and found["busy"] <= TURN_SECONDS
                    and found["dial"] <= DIAL_SECONDS
                )
    sys.exit(1 if missed else 0)


def _run(program: Any) -> None:
    """Run as the processes of nodes do: on uvloop where that is installed."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(program)
    else:
        uvloop.run(program)


if __name__ == "__main__":
    main()
