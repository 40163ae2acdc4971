"""Re-encoding at the paper's size, and what it may take on two processors without other work.

Ten blocks of 64 MB on the virtual clock, each replayed by itself; the first of them twice, to the
byte; exchanges over loopback by the native transport, in turns with TCP with TLS; what a datagram
costs without nodes; 64 MB through 5 % of loss; small messages between nodes. Exit code 1 if a bound
is missed; the table says how busy the machine was, because others' work counts in wall time.
`--megabytes` and `--blocks` make it smaller, and then only sameness is judged.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from harness import table

from pqchain import results
from pqchain.reencode import replay, runs
from pqchain.reencode.scenario import Scenario, preset
from pqchain.wire.drivers import virtual as virtual_clock
from pqchain.wire.drivers.job import Job
from pqchain.wire.drivers.link import Link
from pqchain.wire.identity import generate
from pqchain.wire.session import Filled, Opened, Received
from pqchain.wire.transports.native import NativeFabric
from pqchain.wire.transports.registry import Place

TEN_SECONDS, ONE_SECONDS, LOOPBACK_SECONDS = 60.0, 8.0, 4.0
MEMORY_BYTES = 3e9
DATAGRAM_SECONDS = 6e-6
LOSS_SECONDS = 2 * 5.8
"""Twice the virtual time that a trial of the same protocol took: CUBIC, 5 % of loss."""

MESSAGES = 100_000
VOTERS, VOTES = 21, 63_000
"""Nodes that all talk to each other, and about how many messages they send in all."""

PATIENCE = ("timeout_seconds", "stall_seconds", "give_up_seconds")
ROUNDS = 3
"""Of the exchanges over sockets, in turns; medians are compared."""

Row = tuple[str, str, str, bool]
"""What, measured, asked, whether it was reached."""


def virtual(one: Scenario, folder: Path) -> tuple[str, float, float]:
    """Replay and save; return a hash of the files, wall and processor seconds."""
    begun, cpu = time.perf_counter(), time.process_time()
    frame = replay.replay(one, progress=sys.stderr.isatty())
    taken, used = time.perf_counter() - begun, time.process_time() - cpu
    digest = hashlib.sha256()
    for each, name in ((frame, "runs"), (frame.attrs["nodes"], "nodes")):
        path = results.save(each, folder / f"{name}.csv")
        digest.update(path.read_bytes() + path.with_suffix(".json").read_bytes())
    return digest.hexdigest(), taken, used


def blocks(size: int, count: int) -> Iterator[Row]:
    """Replay one block twice, then all."""
    paper = preset("paper", block_bytes=size, blocks=count, transport="native")
    digests = set()
    for _ in range(2):
        with tempfile.TemporaryDirectory(prefix="pqchain-") as name:
            digest, wall, used = virtual(replace(paper, blocks=1), Path(name))
        digests.add(digest)
    same = len(digests) == 1
    yield "one block twice, files", "the same" if same else "DIFFER", "the same", same
    shown = f"{wall:.1f} s, {used:.1f} s of a processor"
    yield "one block, virtual", shown, f"{ONE_SECONDS:g} s", wall <= ONE_SECONDS
    with tempfile.TemporaryDirectory(prefix="pqchain-") as name:
        _, wall, used = virtual(paper, Path(name))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    shown = f"{wall:.1f} s, {used:.1f} s of a processor"
    yield f"{count} blocks, virtual", shown, f"{TEN_SECONDS:g} s", wall <= TEN_SECONDS
    yield "memory", f"{memory / 1e9:.2f} GB", f"{MEMORY_BYTES / 1e9:g} GB", memory <= MEMORY_BYTES


def loopback(size: int) -> Iterator[Row]:
    """Exchange one block over sockets, by the native transport and by TCP with TLS, in turns."""
    spans: dict[str, list[float]] = {"tcp-tls": [], "native": []}
    used: dict[str, list[float]] = {"tcp-tls": [], "native": []}
    busy, complete = 0.0, True
    for _ in range(ROUNDS):
        for transport in spans:
            # Patience, so that on a busy machine nobody is taken for dead.
            patient = dict.fromkeys(PATIENCE, 60.0)
            one = preset("paper", block_bytes=size, blocks=1, experiment="exchange",
                         mode="loopback", transport=transport, datagram_bytes=8952,
                         **patient)  # fmt: skip
            with tempfile.TemporaryDirectory(prefix="pqchain-") as name:
                runs.prepare(one, Path(name))
                outcome = runs.run(one, Path(name))
            if outcome.result.failure is not None:
                raise outcome.result.failure
            complete &= all(len(node.record.arrivals) == one.nodes - 1 for node in outcome.nodes)
            spans[transport].append(outcome.span_seconds)
            used[transport].append(outcome.cpu_seconds)
            busy = max(busy, outcome.result.machine_busy)
    for transport, times in spans.items():
        shown = (
            f"{median(times):.2f} s ({min(times):.2f} to {max(times):.2f}), "
            f"{median(used[transport]):.1f} s of a processor, machine {busy:.0%} busy"
        )
        asked = f"{LOOPBACK_SECONDS:g} s" if transport == "native" else ""
        fine = complete and (not asked or median(times) <= LOOPBACK_SECONDS)
        yield f"exchange, loopback, {transport}", shown, asked, fine
    ratio = median(spans["native"]) / median(spans["tcp-tls"])
    yield "native over TCP with TLS", f"{ratio:.2f}", "1 at most", ratio <= 1


def moved(hosts: int, size: int, link: Link, congestion: str) -> tuple[float, float, int]:
    """Let every host send that much to every other; return virtual and processor seconds.

    The third is the number of datagrams.
    """
    own = generate(hosts, algorithm="Ed25519", seed=0)
    public, addresses = [each.public for each in own], dict.fromkeys(range(hosts), ("", 0))
    places = [
        Place(identity=each, directory=public, addresses=addresses, folder=Path(),
              congestion=congestion, window_bytes=link.window_bytes)
        for each in own
    ]  # fmt: skip
    fabric = NativeFabric(link.conditions(), places)
    chunk = bytes(size)
    for at in range(hosts):
        host = fabric.start(at)
        for peer in range(hosts):
            if peer != at:
                host.dial(peer, early=False, now=0.0)
    opened, begun, left = 0, (0.0, 0.0, 0), hosts * (hosts - 1)
    now = 0.0
    while left:
        for now, at, event in fabric.advance(3600.0):
            host = fabric.hosts[at]
            if isinstance(event, Opened) and event.dialled:
                opened += 1
                if opened == hosts * (hosts - 1):
                    begun = now, time.process_time(), fabric.totals().sent
                    for each in fabric.hosts.values():
                        for session, there in each.sessions.items():
                            if there.dialled:
                                each.send(session, each.open(session), b"go", end=True)
            elif isinstance(event, Received):
                if event.data == b"go":
                    host.send(event.session, event.channel, b"!")
                    host.send(event.session, event.channel, chunk, end=True)
                else:
                    host.place(event.session, event.channel, None, size, offset=1)
                    left -= event.end
            elif isinstance(event, Filled):
                left -= event.end
    spent = now - begun[0], time.process_time() - begun[1], fabric.totals().sent - begun[2]
    fabric.close()
    return spent


def datagrams(size: int) -> Iterator[Row]:
    """Say what a datagram costs, and how 64 MB get through loss."""
    _, used, count = moved(10, size // 7, Link(), "reno")
    each = used / count
    shown = f"{each * 1e6:.2f} us ({count} datagrams)"
    yield "a datagram, virtual", shown, f"{DATAGRAM_SECONDS * 1e6:g} us", each <= DATAGRAM_SECONDS
    lossy = Link(loss=0.05)
    took, used, count = moved(2, size, lossy, "cubic")
    shown = f"{took:.2f} virtual s, {used:.2f} s of a processor"
    yield "a pair, 5 % loss, CUBIC", shown, f"{LOSS_SECONDS:g} virtual s", took <= LOSS_SECONDS


def messages() -> Iterator[Row]:
    """Say how many small messages a second of a processor nodes exchange on the virtual clock.

    Once ten for one peer are sent together, which is what is asked for. Once each waits for what
    came of the one before and is alone: there it costs a datagram and half an acknowledgement.
    """
    for each in (10, 1):
        rounds = VOTES // (VOTERS * (VOTERS - 1) * each)
        parameters = {"nodes": VOTERS, "rounds": rounds, "each": each}
        job = Job(nodes=VOTERS, factory="voters:build", parameters=parameters, transport="native",
                  identity="Ed25519", begin=True)  # fmt: skip
        model = virtual_clock.Model(task_seconds=lambda task: 0.0)
        with tempfile.TemporaryDirectory(prefix="pqchain-") as name:
            nodes = virtual_clock.run(job, Path(name), model).nodes
        begun, ended = zip(*(node.report["spent"] for node in nodes), strict=True)
        rate = rounds * VOTERS * (VOTERS - 1) * each / (max(ended) - min(begun))
        what = "alone" if each == 1 else f"{each} to a peer at once"
        asked = MESSAGES if each > 1 else 0
        yield (f"messages of 128 bytes, {what}", f"{rate:,.0f} a second of a processor",
               f"{asked:,}" if asked else "", rate >= asked)  # fmt: skip


def main() -> int:
    """Replay and print; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=64, help="size of a block")
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--only", choices=("blocks", "loopback", "datagrams", "messages"))
    arguments = parser.parse_args()
    size = arguments.megabytes * 1_000_000
    parts = {
        "blocks": lambda: blocks(size, arguments.blocks),
        "loopback": lambda: loopback(size),
        "datagrams": lambda: datagrams(size),
        "messages": messages,
    }
    rows: list[Row] = []
    for name, part in parts.items():
        if arguments.only in (None, name):
            rows += part()
    cells = [[what, found, asked, "" if fine else "MISSED"] for what, found, asked, fine in rows]
    print(table([f"blocks of {arguments.megabytes} MB", "here", "asked", ""], cells))
    whole = arguments.megabytes == 64 and arguments.blocks == 10
    judged = rows if whole else [row for row in rows if row[2] == "the same"]
    return 0 if all(fine for *_, fine in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
