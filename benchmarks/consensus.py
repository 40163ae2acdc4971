"""Measure the speed of the consensus engines: rounds of votes, gossip, and the SimPy reference.

Each case runs in a separate process, so that peak memory is measured per case. The fast engine is
compiled, or loaded from its cache, before the measurement. Costs are those of Dilithium2 in the
PQ-DPoL paper; any others would do. Exit code 1 if a median misses its limit:

    a round of votes, all to all, 1024 delegates     <= 0.05 s
    the same, 16384 delegates (2.7e8 messages)       <= 15 s
    gossip of a block to 2^20 nodes                  <= 2 s
    the SimPy reference                              >= 100,000 messages per second

Limits assume four idle processors; the load at the start is printed.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from harness import spread, table

from pqchain.consensus import Scenario, named
from pqchain.consensus.engines import fast, simulate
from pqchain.consensus.engines.rows import HAS_NUMBA
from pqchain.consensus.model import single_view
from pqchain.consensus.view import NEVER, Outcome, View
from pqchain.works import papers

KIB_PER_MIB = 1024


@dataclass(frozen=True)
class Case:
    """A timed case with its limits."""

    name: str
    law: str
    nodes: int
    delegates: int
    rounds: int
    max_seconds: float = float("inf")
    min_messages_per_second: float = 0.0
    reference: bool = False


CASES = (
    Case("votes, mesh", "mesh", 1024, 1024, 15, max_seconds=0.05),
    Case("votes, regions", "regions", 1024, 1024, 15, max_seconds=0.05),
    Case("votes, star", "star", 1024, 1024, 15),
    Case("votes, mesh", "mesh", 16384, 16384, 1, max_seconds=15.0),
    Case("votes, regions", "regions", 16384, 16384, 1, max_seconds=15.0),
    Case("gossip, 4 delegates", "gossip", 2**20, 4, 3, max_seconds=2.0),
    Case("gossip, 1024 delegates", "gossip", 2**20, 1024, 3, max_seconds=2.0),
    Case("SimPy, mesh", "mesh", 64, 64, 15, min_messages_per_second=1e5, reference=True),
    Case("SimPy, mesh", "mesh", 256, 256, 5, min_messages_per_second=1e5, reference=True),
    Case("SimPy, regions", "regions", 256, 256, 5, reference=True),
)


def view(case: Case, nodes: int, delegates: int) -> tuple[Scenario, View]:
    """Return a scenario with one phase of votes, and its first view."""
    scenario = Scenario(
        algorithm="Dilithium2",
        costs=papers.costs("pqdpol"),
        nodes=nodes,
        delegates=delegates,
        network=named(case.law),
        exchange="broadcast",
        vote_phases=1,
    )
    return scenario, single_view(scenario)


def measure(case: Case) -> tuple[list[float], int, float]:
    """Return the seconds of each round, the messages of one, and peak memory in MiB."""
    play: Callable[..., list[tuple[int, Outcome]]] = simulate.play if case.reference else fast.play
    # Both sizes of rows, so that everything is compiled before the measurement.
    for count in (8, 300) if not case.reference else (8,):
        play(view(case, count, min(count, case.delegates))[1])
    scenario, first_view = view(case, case.nodes, case.delegates)
    samples = []
    for _ in range(case.rounds):
        start = time.perf_counter()
        outcome = play(first_view)[0][1]
        samples.append(time.perf_counter() - start)
    if (outcome.final_ns >= NEVER).any():
        raise AssertionError(f"{case.name}: a delegate has no final block")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_PER_MIB
    return samples, scenario.messages(), peak


def main() -> int:
    """Measure and print; return the exit code."""
    if not HAS_NUMBA:
        sys.exit("numba is not installed; run `pip install numba`")
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start\n")
    context = multiprocessing.get_context("spawn")
    rows, missed = [], []
    for case in CASES:
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            samples, messages, peak = pool.submit(measure, case).result()
        least, median, greatest = spread(samples)
        rate = messages / median
        limit, met = "", True
        if case.max_seconds < float("inf"):
            limit, met = f"<= {case.max_seconds:g} s", median <= case.max_seconds
        if case.min_messages_per_second:
            limit, met = (
                f">= {case.min_messages_per_second:.0e} /s",
                rate >= case.min_messages_per_second,
            )
        if not met:
            missed.append(f"{case.name}, {case.nodes} nodes")
        times = [f"{value:.4g}" for value in (least, median, greatest)]
        verdict = "" if not limit else "met" if met else "missed"
        rows.append([case.name, str(case.nodes), f"{messages:.3g}", *times, f"{rate:.3g}",
                     f"{peak:.0f}", limit, verdict])  # fmt: skip
    head = ["case", "nodes", "messages", "least s", "median s", "greatest s", "messages/s",
            "peak MiB", "limit", "verdict"]  # fmt: skip
    print(table(head, rows))
    if missed:
        print(f"\nmissed: {'; '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
