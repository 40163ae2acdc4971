"""Delegates that run: messages a second in virtual time, starting many, what a transport costs.

Each case has a process of its own, so that its peak memory is its own. Exit code 1 if a bar is
missed:

    128 delegates in virtual time over plain     >= 20 000 messages a second
    32 delegates on loopback, one height         <= 20 s, processes' start and end included

Then: how much longer than a bare loop of C over its signatures a delegate of 32 takes for a block
of 1000 transactions with Falcon-512 and the votes on it, its own signatures included, on one
thread; how much longer a block takes over QUIC than over plain, on stars of several rates and
latencies, in virtual time; there nothing depends on the machine.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from harness import spread, table

from pqchain import delegates
from pqchain.consensus import Scenario, named
from pqchain.crypto import native
from pqchain.delegates import lockstep
from pqchain.delegates.messages import Kind, Message, encode
from pqchain.delegates.safety_store import MemoryStore
from pqchain.delegates.setting import Setting
from pqchain.delegates.timed_delegate import TimedDelegate
from pqchain.works import papers

LEAST_MESSAGES, MOST_SECONDS = 20_000, 20.0

STARS = [(5e6, 0.002), (1e8, 0.002), (1e9, 0.002), (1e8, 0.05)]
"""Bits per second and seconds of the links over which transports are compared."""


def scenario(**changes: Any) -> Scenario:
    """Return a scenario of the benchmark."""
    costs = papers.costs("pqdpol")
    return Scenario(algorithm="Dilithium2", costs=costs, vote_phases=2, **changes)


def in_virtual_time(nodes: int) -> list[str]:
    """Time the messages of two heights over plain."""
    one = scenario(nodes=nodes, network=named("mesh"), blocks=2)
    lockstep.run(one.with_(nodes=4))
    begun = time.process_time()
    done = lockstep.run(one)
    seconds = time.process_time() - begun
    rate = one.blocks * one.messages() / seconds
    fine = done.is_live and rate >= LEAST_MESSAGES
    return row(f"{nodes} delegates over plain", f"{rate:,.0f} messages/s", fine)


def on_loopback(nodes: int) -> list[str]:
    """Time one height of so many processes, from nothing to the end."""
    one = scenario(nodes=nodes, network=named("star"))
    begun = time.perf_counter()
    done = delegates.run(one, mode="loopback")
    seconds = time.perf_counter() - begun
    what = f"{seconds:.1f} s, of it {done.latency_seconds:.2f} s for the block"
    return row(f"{nodes} delegates on loopback", what, done.is_live and seconds <= MOST_SECONDS)


def over_bare_loop(nodes: int) -> list[str]:
    """Compare a delegate's height with the bare verification of what it verifies, in rounds."""
    falcon = Scenario(
        algorithm="Falcon-512", costs=papers.costs("pqdpol"), vote_phases=2, nodes=nodes,
        network=named("mesh"), block_bytes=1_652_500,
    )  # fmt: skip
    setting = Setting(falcon, modelled_clock=False)
    genesis, others = setting.pool.genesis, [rank for rank in range(nodes) if rank]
    proposer = setting.proposer(0, 0)
    block = setting.propose(genesis, 0, 0, proposer)
    digest, keys = block.hash(), setting.keys
    received = [(proposer, encode(Message(Kind.PROPOSAL, proposer, 0, 0, block.encode())))]
    checks = genesis.checks(block)
    columns = [[check.message, check.signature, check.public_key or b""] for check in checks]
    for kind in (Kind.VOTE, Kind.COMMIT):
        for rank in others:
            statement = Message(kind, rank, 0, 0, digest).statement(digest)
            signature = keys.sign(rank, statement)
            vote = Message(kind, rank, 0, 0, digest, signature)
            received.append((rank, encode(vote, field_bytes=setting.field_bytes(kind))))
            columns.append([statement, signature, keys.public_key(rank)])
    loop = native.plain_loop(keys.signer, *(list(each) for each in zip(*columns, strict=True)))
    assert loop is not None
    ratios = []
    for _ in range(21):
        delegate = TimedDelegate(setting, 0, MemoryStore(genesis), target=1)
        delegate.start(0)
        begun = time.process_time()
        for link, data in received:
            delegate.receive(link, data, 0)
            while (work := delegate.poll()) is not None:
                work.finish(work.run(), 0)
        whole = time.process_time() - begun
        assert delegate.is_complete or proposer == 0
        begun = time.process_time()
        loop()
        ratios.append(whole / (time.process_time() - begun))
    least, median, greatest = spread(ratios)
    what = f"{median:.3f} times the bare loop ({least:.3f} to {greatest:.3f})"
    votes = len(received) - 1
    return row(f"a height, {len(block.transactions)} transactions, {votes} votes", what, True)


def over_quic(rate: float, latency: float) -> list[str]:
    """Compare QUIC with plain on one star."""
    star = named("star", rate_bits_per_second=rate, latency_seconds=latency)
    one = scenario(nodes=7, network=star)
    done = delegates.run(one, mode="virtual", transport="native")
    plain, quic = done.plain_seconds, done.latency_seconds
    more = 100 * (quic / plain - 1)
    name = f"QUIC over plain, {rate / 1e6:g} Mb/s, {latency * 1e3:g} ms"
    return row(name, f"{1e3 * plain:.1f} -> {1e3 * quic:.1f} ms, {more:+.1f} %", True)


def row(case: str, result: str, fine: bool) -> list[str]:
    """Return a row of the table, with the peak memory of this process."""
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [case, result, f"{megabytes:.0f}", "" if fine else "missed"]


def main() -> int:
    """Run all cases and print the table."""
    sys.stdout.write(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    cases: list[tuple[Callable[..., list[str]], tuple[float, ...]]] = [
        (in_virtual_time, (128,)),
        (on_loopback, (32,)),
        (over_bare_loop, (32,)),
        *((over_quic, star) for star in STARS),
    ]
    rows = []
    for call, arguments in cases:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            rows.append(pool.submit(call, *arguments).result())
    sys.stdout.write(table(["case", "result", "MB", "bar"], rows) + "\n")
    return int(any(missed for *_, missed in rows))


if __name__ == "__main__":
    sys.exit(main())
