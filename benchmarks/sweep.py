"""Run a thousand scenarios by processes and by Dask, also with a killed worker.

Prints the time and the SHA-256 of the CSV of each variant. Exit code 1 if a digest differs from
that of a single process, or if no worker was killed during a run.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import pandas as pd
from harness import table

from pqchain.consensus import Faults, Scenario, grid, sweep
from pqchain.works import papers

BATCH = 10


def scenarios() -> list[Scenario]:
    """Return a thousand scenarios over networks, sizes, seeds and algorithms, with losses."""
    return grid(
        papers.costs("pqdpol"),
        algorithms=["Dilithium2", "Dilithium5", "Falcon-512", "Falcon-1024"],
        exponents=[2, 3, 4, 5, 6],
        networks=["csma", "star", "mesh", "regions", "gossip"],
        seeds=range(10),
        faults=Faults(crashed=(1,), loss_probability=0.01),
        view_timeout_seconds=30.0,
    )


def kill_during_run(victim: Callable[[], int]) -> list[float]:
    """Kill a process two seconds after the start of a run; return a list that receives the time."""
    kills: list[float] = []

    def kill() -> None:
        os.kill(victim(), signal.SIGKILL)
        kills.append(time.perf_counter())

    timer = threading.Timer(2.0, kill)
    timer.daemon = True
    timer.start()
    return kills


def main() -> int:
    """Run, compare and print; return the exit code."""
    from dask.distributed import LocalCluster

    cases = scenarios()
    rows, digests, missed = [], set(), []

    def note(name: str, run: Callable[[], pd.DataFrame], kills: list[float] | None = None) -> None:
        start = time.perf_counter()
        frame = run()
        taken = time.perf_counter() - start
        digest = hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()
        digests.add(digest)
        killed = "" if kills is None else f"{kills[0] - start:.1f} s" if kills else "not killed"
        if kills is not None and not kills:
            missed.append(name)
        rows.append([name, f"{taken:.1f}", f"{len(cases) / taken:.0f}", killed, digest[:16]])

    note("one process", lambda: sweep(cases, workers=1))
    note("pool of 2", lambda: sweep(cases, workers=2, batch=BATCH))
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
        silence_logs=50,
    ) as cluster:  # fmt: skip
        address = cluster.scheduler_address
        note("Dask, 2 workers", lambda: sweep(cases, scheduler=address, batch=BATCH))
        kills = kill_during_run(lambda: int(cluster.workers[0].pid))
        note(
            "Dask, 2 workers, one killed",
            lambda: sweep(cases, scheduler=address, batch=BATCH),
            kills,
        )
    head = [f"{len(cases)} scenarios", "seconds", "scenarios/s", "killed after", "SHA-256 of CSV"]
    print(table(head, rows))
    same = len(digests) == 1
    print("\nequal bytes" if same else "\nthe bytes differ", *missed)
    return 0 if same and not missed else 1


if __name__ == "__main__":
    sys.exit(main())
