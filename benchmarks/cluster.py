"""Compare runs on a Dask cluster with runs between namespaces, and one worker with four.

Ten workers have a network namespace each, and the scheduler an eleventh (tests/cluster). Both modes
share this computer's processors and unshaped links, so that their results should agree. Prints a
mean with its 95 % interval for re-encoding of 64 MB and for six cells of delegates, the time that
each mode takes per run beyond the run itself, and the speed-up of a sweep and of the simulation of
delegates. Exit code 1 if two intervals do not overlap, or if results differ that must be equal.
Needs root.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median
from typing import Any

import pandas as pd
from harness import table

from pqchain.results.statistics import half_width
from tests.cluster.machines import Machines

PARTS = ["reencoding", "delegates", "speed-up"]

MODES = ("netns", "cluster")

PQCHAIN = [sys.executable, "-m", "pqchain"]


def timed(machines: Machines, mode: str, options: list[str]) -> tuple[Any, float]:
    """Run a command in a mode; return its JSON and its duration in seconds."""
    command = [*PQCHAIN, *options, "--json", "--mode", mode]
    if mode == "cluster":
        command = ["ip", "netns", "exec", machines.hub, *command, "--scheduler", machines.address]
    start = time.perf_counter()
    text = machines.run_here(command)
    return json.loads(text), time.perf_counter() - start


def alternating(rounds: int) -> Iterator[str]:
    """Yield both modes once per round, in changing order: a drift of the speed affects both."""
    for number in range(rounds):
        yield from MODES[:: -1 if number % 2 else 1]


def interval(values: list[float]) -> tuple[float, float]:
    """Return median and half-width of its 95 % interval; NaN below six values."""
    return median(values), half_width(values)


def overlap(first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Return whether two intervals overlap."""
    return abs(first[0] - second[0]) <= first[1] + second[1]


def compare_reencoding(machines: Machines, rounds: int, repeats: int, block_bytes: int) -> bool:
    """Print totals of re-encoding and the overhead of each mode; return whether they agree."""
    options = ["reencode", "--block-bytes", str(block_bytes)]
    # An unshaped link, as that between the workers.
    commands = {"netns": [*options, "--bits-per-second", "1e10"], "cluster": options}
    start_seconds = {mode: timed(machines, mode, command)[1] for mode, command in commands.items()}
    totals: dict[str, list[float]] = {mode: [] for mode in commands}
    run_seconds: dict[str, list[float]] = {mode: [] for mode in commands}
    spans: dict[str, list[float]] = {mode: [] for mode in commands}
    for mode in alternating(rounds):
        command = [*commands[mode], "--repeats", str(repeats)]
        data, seconds = timed(machines, mode, command)
        totals[mode] += [run["total_seconds"] for run in data["runs"]]
        spans[mode] += [run["span_seconds"] for run in data["runs"]]
        run_seconds[mode].append((seconds - start_seconds[mode]) / (repeats - 1))
    rows = []
    for mode in commands:
        mean, half = interval(totals[mode])
        whole_seconds, span_seconds = fmean(run_seconds[mode]), fmean(spans[mode])
        rows.append([
            mode, f"{mean:.3f} +- {half:.3f}", f"{whole_seconds:.2f}",
            f"{whole_seconds - span_seconds:.2f}",
        ])  # fmt: skip
    head = [f"{block_bytes} B, {rounds * repeats} runs", "total s", "s per run", "beyond the run s"]
    print(table(head, rows))
    return overlap(*map(interval, totals.values()))


def compare_delegates(machines: Machines, rounds: int, blocks: int) -> bool:
    """Print mean latencies of six cells of delegates over runs; return whether they agree.

    The intervals are those of runs, not of the blocks of a run: the computer's speed changes from
    run to run.
    """
    options = ["consensus", "--algorithm", "Falcon-512,Dilithium2", "--nodes", "2,4,8"]
    options += ["--blocks", str(blocks), "--network", "star", "--delay-seconds", "0"]
    options += ["--bits-per-second", "1e10"]
    latencies: dict[tuple[str, int], dict[str, list[float]]] = {}
    for mode in alternating(rounds):
        for cell in timed(machines, mode, options)[0]["runs"]:
            modes = latencies.setdefault((cell["algorithm"], cell["nodes"]), {})
            modes.setdefault(mode, []).append(cell["latency_seconds"])
    rows, agree = [], True
    for (name, nodes), modes in latencies.items():
        intervals = [interval(modes[mode]) for mode in MODES]
        texts = [f"{1e3 * mean:.1f} +- {1e3 * half:.1f}" for mean, half in intervals]
        agree &= overlap(*intervals)
        rows.append([name, str(nodes), *texts, "yes" if overlap(*intervals) else "no"])
    head = ["scheme", "nodes", "netns ms", "cluster ms", "intervals overlap"]
    print(f"\n{blocks} blocks, {rounds} runs")
    print(table(head, rows))
    return agree


def speed_up(machines: Machines, seeds: int) -> bool:
    """Print times on one and on four workers; return whether all results are equal."""
    sweep = [
        *PQCHAIN, "consensus", "--algorithm", "Dilithium2,Dilithium5,Falcon-512,Falcon-1024",
        "--exponents", "2..6", "--network", "csma,star,mesh,regions,gossip", "--seeds", "0..9",
        "--engine", "simpy",
    ]  # fmt: skip
    trials = [sys.executable, "tests/delegates/trials.py", str(seeds)]
    rows, digests = [], {"sweep": set(), "simulation": set()}
    for workers in (0, 1, 4):
        if workers:
            machines.keep_workers(workers)
        where = ["ip", "netns", "exec", machines.hub] if workers else []
        scheduler = ["--scheduler", machines.address] if workers else []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "sweep.csv"
            alone = [] if workers else ["--workers", "1"]
            start = time.perf_counter()
            machines.run_here([*where, *sweep, *scheduler, *alone, "--output", str(path)])
            between = time.perf_counter()
            text = machines.run_here([*where, *trials, *scheduler])
            end = time.perf_counter()
            digests["sweep"].add(hashlib.sha256(path.read_bytes()).hexdigest())
            count = len(pd.read_csv(path))
        digests["simulation"].add(text)
        label = f"{workers} worker{'s'[: workers > 1]}" if workers else "without Dask"
        rows.append([label, f"{between - start:.1f}", f"{end - between:.1f}"])
    print(table(["", f"{count} scenarios, s", f"{seeds} simulated seeds, s"], rows))
    return all(len(results) == 1 for results in digests.values())


def main() -> int:
    """Run all comparisons; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=int, default=4, help="rounds of re-encoding in each mode")
    parser.add_argument("--delegate-rounds", type=int, default=6, help="runs of delegates a mode")
    parser.add_argument("--repeats", type=int, default=4, help="runs in a round, from 2")
    parser.add_argument("--block-bytes", type=int, default=64_000_000)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=1000)
    arguments = parser.parse_args()
    agree = same = True
    with tempfile.TemporaryDirectory() as folder, Machines(10, Path(folder)) as machines:
        if "reencoding" in arguments.parts:
            sizes = arguments.rounds, arguments.repeats, arguments.block_bytes
            agree &= compare_reencoding(machines, *sizes)
        if "delegates" in arguments.parts:
            agree &= compare_delegates(machines, arguments.delegate_rounds, arguments.blocks)
        if "speed-up" in arguments.parts:
            same = speed_up(machines, arguments.seeds)
    print("\nintervals overlap" if agree else "\nintervals do not overlap")
    print("results are equal" if same else "results differ")
    return 0 if agree and same else 1


if __name__ == "__main__":
    sys.exit(main())
