"""Measure re-encoding at the paper's size, with limits for two idle processors.

Cases: ten blocks of 64 MB in virtual time, the first replayed twice and compared by bytes;
exchanges over loopback by the native transport, alternating with TCP with TLS; the cost of a
datagram without nodes; 64 MB through 5 % loss; small messages between nodes. Exit code 1 if a limit
is missed. The table has the load of the machine, because other processes lengthen wall time. With
other `--megabytes` or `--blocks`, only the equality of bytes is judged.
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
from pqchain.reencode import replays, runs
from pqchain.reencode.scenario import ReplayScenario, preset
from pqchain.wire.drivers import virtual as virtual_clock
from pqchain.wire.drivers.job import Job
from pqchain.wire.drivers.link import Link
from pqchain.wire.identity import generate
from pqchain.wire.session import Filled, Opened, Received, TransportSettings
from pqchain.wire.transports.native import NativeFabric

BLOCKS_SECONDS, BLOCK_SECONDS, LOOPBACK_SECONDS = 60.0, 8.0, 4.0
MEMORY_BYTES = 3e9
DATAGRAM_SECONDS = 6e-6
LOSS_SECONDS = 2 * 5.8
"""Twice the virtual time of a run of the same protocol: CUBIC, 5 % loss."""

MESSAGES_PER_SECOND = 100_000
VOTERS, VOTES = 21, 63_000
"""Number of nodes that all send to each other, and their approximate number of messages."""

TIMEOUTS = ("timeout_seconds", "stall_seconds", "give_up_seconds")
ROUNDS = 3
"""Rounds of alternating exchanges over sockets; medians are compared."""

Row = tuple[str, str, str, bool]
"""Case, measured value, limit, and whether it was met."""


def replay_in_virtual_time(scenario: ReplayScenario, folder: Path) -> tuple[str, float, float]:
    """Replay and save; return the digest of the files, wall seconds and processor seconds."""
    start, cpu_start = time.perf_counter(), time.process_time()
    result = replays.replay(scenario, progress=sys.stderr.isatty())
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    digest = hashlib.sha256()
    for table_, name in ((result.frame, "runs"), (result.nodes, "nodes")):
        path = results.save(table_, folder / f"{name}.csv")
        digest.update(path.read_bytes() + path.with_suffix(".json").read_bytes())
    return digest.hexdigest(), wall, cpu


def blocks(size: int, count: int) -> Iterator[Row]:
    """Replay one block twice, then all blocks."""
    paper = preset("paper", block_bytes=size, blocks=count, transport="native")
    digests = set()
    for _ in range(2):
        with tempfile.TemporaryDirectory(prefix="pqchain-") as name:
            digest, wall, cpu = replay_in_virtual_time(replace(paper, blocks=1), Path(name))
        digests.add(digest)
    same = len(digests) == 1
    yield "one block twice, files", "equal" if same else "DIFFERENT", "equal", same
    text = f"{wall:.1f} s, {cpu:.1f} s of a processor"
    yield "one block, virtual", text, f"{BLOCK_SECONDS:g} s", wall <= BLOCK_SECONDS
    with tempfile.TemporaryDirectory(prefix="pqchain-") as name:
        _, wall, cpu = replay_in_virtual_time(paper, Path(name))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    text = f"{wall:.1f} s, {cpu:.1f} s of a processor"
    yield f"{count} blocks, virtual", text, f"{BLOCKS_SECONDS:g} s", wall <= BLOCKS_SECONDS
    yield "memory", f"{memory / 1e9:.2f} GB", f"{MEMORY_BYTES / 1e9:g} GB", memory <= MEMORY_BYTES


def loopback(size: int) -> Iterator[Row]:
    """Exchange one block over sockets, by the native transport and by TCP with TLS, in turns."""
    spans: dict[str, list[float]] = {"tcp-tls": [], "native": []}
    cpu: dict[str, list[float]] = {"tcp-tls": [], "native": []}
    busy, complete = 0.0, True
    for _ in range(ROUNDS):
        for transport in spans:
            # Long timeouts, so that no node fails because the machine is busy.
            timeouts = dict.fromkeys(TIMEOUTS, 60.0)
            scenario = preset("paper", block_bytes=size, blocks=1, experiment="exchange",
                              mode="loopback", transport=transport, datagram_bytes=8952,
                              **timeouts)  # fmt: skip
            with tempfile.TemporaryDirectory(prefix="pqchain-") as name:
                runs.prepare(scenario, Path(name))
                outcome = runs.run(scenario, Path(name))
            if outcome.result.failure is not None:
                raise outcome.result.failure
            complete &= all(
                len(node.record.arrivals) == scenario.nodes - 1 for node in outcome.nodes
            )
            spans[transport].append(outcome.span_seconds)
            cpu[transport].append(outcome.cpu_seconds)
            busy = max(busy, outcome.result.machine_busy)
    for transport, times in spans.items():
        text = (
            f"{median(times):.2f} s ({min(times):.2f} to {max(times):.2f}), "
            f"{median(cpu[transport]):.1f} s of a processor, machine {busy:.0%} busy"
        )
        limit = f"{LOOPBACK_SECONDS:g} s" if transport == "native" else ""
        met = complete and (not limit or median(times) <= LOOPBACK_SECONDS)
        yield f"exchange, loopback, {transport}", text, limit, met
    ratio = median(spans["native"]) / median(spans["tcp-tls"])
    yield "native over TCP with TLS", f"{ratio:.2f}", "at most 1", ratio <= 1


def transfer(hosts: int, size: int, link: Link, congestion: str) -> tuple[float, float, int]:
    """Send `size` bytes from every host to every other.

    Returns virtual seconds, processor seconds, and the number of datagrams.
    """
    identities = generate(hosts, algorithm="Ed25519", seed=0)
    public, addresses = (
        [identity.public for identity in identities],
        dict.fromkeys(range(hosts), ("", 0)),
    )
    endpoints = [
        TransportSettings(identity=identity, directory=public, addresses=addresses, folder=Path(),
              congestion=congestion, window_bytes=link.window_bytes)
        for identity in identities
    ]  # fmt: skip
    fabric = NativeFabric(link.conditions(), endpoints)
    chunk = bytes(size)
    for at in range(hosts):
        host = fabric.start(at)
        for peer in range(hosts):
            if peer != at:
                host.dial(peer, early=False, now=0.0)
    opened, start, missing = 0, (0.0, 0.0, 0), hosts * (hosts - 1)
    now = 0.0
    while missing:
        for now, at, event in fabric.advance(3600.0):
            host = fabric.hosts[at]
            if isinstance(event, Opened) and event.dialled:
                opened += 1
                if opened == hosts * (hosts - 1):
                    start = now, time.process_time(), fabric.totals().sent
                    for sender in fabric.hosts.values():
                        for session, state in sender.sessions.items():
                            if state.dialled:
                                sender.send(session, sender.open(session), b"go", end=True)
            elif isinstance(event, Received):
                if event.data == b"go":
                    host.send(event.session, event.channel, b"!")
                    host.send(event.session, event.channel, chunk, end=True)
                else:
                    host.receive_into(event.session, event.channel, None, size, offset=1)
                    missing -= event.end
            elif isinstance(event, Filled):
                missing -= event.end
    costs = now - start[0], time.process_time() - start[1], fabric.totals().sent - start[2]
    fabric.close()
    return costs


def datagrams(size: int) -> Iterator[Row]:
    """Measure the cost of a datagram, and the transfer of `size` bytes through loss."""
    _, cpu, count = transfer(10, size // 7, Link(), "reno")
    cost = cpu / count
    text = f"{cost * 1e6:.2f} us ({count} datagrams)"
    yield "a datagram, virtual", text, f"{DATAGRAM_SECONDS * 1e6:g} us", cost <= DATAGRAM_SECONDS
    lossy = Link(loss=0.05)
    seconds, cpu, _ = transfer(2, size, lossy, "cubic")
    text = f"{seconds:.2f} virtual s, {cpu:.2f} s of a processor"
    yield "a pair, 5 % loss, CUBIC", text, f"{LOSS_SECONDS:g} virtual s", seconds <= LOSS_SECONDS


def messages() -> Iterator[Row]:
    """Measure how many small messages nodes exchange in virtual time per processor second.

    The limit applies to ten messages sent to each peer at once. A single message per peer and round
    costs a datagram and half an acknowledgement.
    """
    for batch in (10, 1):
        rounds = VOTES // (VOTERS * (VOTERS - 1) * batch)
        parameters = {"nodes": VOTERS, "rounds": rounds, "batch": batch}
        job = Job(nodes=VOTERS, factory="voters:build", parameters=parameters, transport="native",
                  identity="Ed25519", begin=True)  # fmt: skip
        model = virtual_clock.CostModel(task_seconds=lambda task: 0.0)
        with tempfile.TemporaryDirectory(prefix="pqchain-") as name:
            nodes = virtual_clock.run(job, Path(name), model).nodes
        starts, ends = zip(*(node.report["spent"] for node in nodes), strict=True)
        rate = rounds * VOTERS * (VOTERS - 1) * batch / (max(ends) - min(starts))
        case = "alone" if batch == 1 else f"{batch} to a peer at once"
        limit = MESSAGES_PER_SECOND if batch > 1 else 0
        yield (f"messages of 128 bytes, {case}", f"{rate:,.0f} per processor second",
               f"{limit:,}" if limit else "", rate >= limit)  # fmt: skip


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
    cells = [[*texts, "" if met else "MISSED"] for *texts, met in rows]
    print(table([f"blocks of {arguments.megabytes} MB", "measured", "limit", ""], cells))
    full_size = arguments.megabytes == 64 and arguments.blocks == 10
    judged = rows if full_size else [row for row in rows if row[2] == "equal"]
    return 0 if all(met for *_, met in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
