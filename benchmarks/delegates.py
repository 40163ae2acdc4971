"""Measure executed delegates: message rate, start of many processes, and cost of a transport.

Each case runs in a separate process, so that peak memory is measured per case. Exit code 1 if a
limit is missed:

    128 delegates in virtual time over the plain transport     >= 20,000 messages per second
    32 delegates on loopback, one height                       <= 20 s, with process start and end

Two comparisons have no limit. The first is the time that one of 32 delegates takes for a block of
1000 transactions with Falcon-512 and its votes, on one thread, divided by that of a plain C loop
over the same signatures. The second is the time of a block over QUIC and over the plain transport,
on stars of several rates and latencies, in virtual time, where nothing depends on the machine.
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
from pqchain.delegates.messages import Message, MessageKind, encode
from pqchain.delegates.setting import Setting
from pqchain.delegates.stores import MemoryStore
from pqchain.delegates.timed_delegate import TimedDelegate
from pqchain.works import papers

MIN_MESSAGES_PER_SECOND, MAX_SECONDS = 20_000, 20.0

STARS = [(5e6, 0.002), (1e8, 0.002), (1e9, 0.002), (1e8, 0.05)]
"""Links on which transports are compared: bits per second and latency in seconds."""


def benchmark_scenario(**changes: Any) -> Scenario:
    """Return a scenario of the benchmark."""
    costs = papers.costs("pqdpol")
    return Scenario(algorithm="Dilithium2", costs=costs, vote_phases=2, **changes)


def in_virtual_time(nodes: int) -> list[str]:
    """Measure the message rate of two heights over the plain transport."""
    scenario = benchmark_scenario(nodes=nodes, network=named("mesh"), blocks=2)
    lockstep.run(scenario.with_(nodes=4))
    start = time.process_time()
    result = lockstep.run(scenario)
    seconds = time.process_time() - start
    rate = scenario.blocks * scenario.messages() / seconds
    met = result.is_live and rate >= MIN_MESSAGES_PER_SECOND
    return row(f"{nodes} delegates over plain", f"{rate:,.0f} messages/s", met)


def on_loopback(nodes: int) -> list[str]:
    """Measure one height of `nodes` processes, with process start and end."""
    scenario = benchmark_scenario(nodes=nodes, network=named("star"))
    start = time.perf_counter()
    result = delegates.run(scenario, mode="loopback")
    seconds = time.perf_counter() - start
    text = f"{seconds:.1f} s, of which the block takes {result.latency_seconds:.2f} s"
    return row(f"{nodes} delegates on loopback", text, result.is_live and seconds <= MAX_SECONDS)


def plain_loop_ratio(nodes: int) -> list[str]:
    """Compare a delegate's height with a plain C loop over the same signatures."""
    falcon = Scenario(
        algorithm="Falcon-512", costs=papers.costs("pqdpol"), vote_phases=2, nodes=nodes,
        network=named("mesh"), block_bytes=1_652_500,
    )  # fmt: skip
    setting = Setting(falcon, modelled_clock=False)
    genesis, others = setting.pool.genesis, [rank for rank in range(nodes) if rank]
    proposer = setting.proposer(0, 0)
    block = setting.propose(genesis, 0, 0, proposer)
    digest, keys = block.hash(), setting.keys
    messages = [(proposer, encode(Message(MessageKind.PROPOSAL, proposer, 0, 0, block.encode())))]
    checks = genesis.checks(block)
    columns = [[check.message, check.signature, check.public_key or b""] for check in checks]
    for kind in (MessageKind.VOTE, MessageKind.COMMIT):
        for rank in others:
            statement = Message(kind, rank, 0, 0, digest).statement(digest)
            signature = keys.sign(rank, statement)
            vote = Message(kind, rank, 0, 0, digest, signature)
            messages.append((rank, encode(vote, field_bytes=setting.field_bytes(kind))))
            columns.append([statement, signature, keys.public_key(rank)])
    loop = native.plain_loop(keys.signer, *(list(column) for column in zip(*columns, strict=True)))
    assert loop is not None
    ratios = []
    for _ in range(21):
        delegate = TimedDelegate(setting, 0, MemoryStore(genesis), target=1)
        delegate.start(0)
        start = time.process_time()
        for link, data in messages:
            delegate.receive(link, data, 0)
            while (work := delegate.poll()) is not None:
                work.finish(work.run(), 0)
        seconds = time.process_time() - start
        assert delegate.is_complete or proposer == 0
        start = time.process_time()
        loop()
        ratios.append(seconds / (time.process_time() - start))
    least, median, greatest = spread(ratios)
    text = f"{median:.3f} times the plain loop ({least:.3f} to {greatest:.3f})"
    votes = len(messages) - 1
    return row(f"a height, {len(block.transactions)} transactions, {votes} votes", text, True)


def over_quic(rate: float, latency: float) -> list[str]:
    """Compare QUIC with the plain transport on one star."""
    star = named("star", rate_bits_per_second=rate, latency_seconds=latency)
    scenario = benchmark_scenario(nodes=7, network=star)
    result = delegates.run(scenario, mode="virtual", transport="native")
    plain, quic = result.plain_seconds, result.latency_seconds
    increase = 100 * (quic / plain - 1)
    name = f"QUIC over plain, {rate / 1e6:g} Mb/s, {latency * 1e3:g} ms"
    return row(name, f"{1e3 * plain:.1f} -> {1e3 * quic:.1f} ms, {increase:+.1f} %", True)


def row(case: str, result: str, met: bool) -> list[str]:
    """Return a row of the table, with the peak memory of this process."""
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [case, result, f"{megabytes:.0f}", "" if met else "missed"]


def main() -> int:
    """Run all cases and print the table."""
    sys.stdout.write(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors\n")
    cases: list[tuple[Callable[..., list[str]], tuple[float, ...]]] = [
        (in_virtual_time, (128,)),
        (on_loopback, (32,)),
        (plain_loop_ratio, (32,)),
        *((over_quic, star) for star in STARS),
    ]
    rows = []
    for call, arguments in cases:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            rows.append(pool.submit(call, *arguments).result())
    sys.stdout.write(table(["case", "result", "MB", "limit"], rows) + "\n")
    return int(any(missed for *_, missed in rows))


if __name__ == "__main__":
    sys.exit(main())
