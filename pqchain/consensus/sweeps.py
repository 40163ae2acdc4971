"""Sweeps of many scenarios on many processors or machines, with identical results.

Scenarios are run in batches by a pool of processes or by the workers of a Dask scheduler. Results
are returned in the order of the scenarios, so they do not depend on which worker ran what.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from itertools import product
from typing import Any

import pandas as pd
from tqdm import tqdm

from pqchain.checks import integer
from pqchain.consensus import model, runs
from pqchain.consensus.model import Engine
from pqchain.consensus.network import Network, named
from pqchain.consensus.scenario import Scenario
from pqchain.costs import CostTable
from pqchain.errors import DataError, PqchainError, UnknownName
from pqchain.scheduler import run_tasks

BATCH = 50
"""Scenarios per task; schedulers handle some hundreds of tasks per second."""

Row = dict[str, Any]


def grid(
    costs: CostTable,
    *,
    algorithms: Iterable[str],
    exponents: Iterable[int] = (1, 2, 3, 4, 5),
    networks: Iterable[str | Network] = ("paper-serial",),
    delegates: Iterable[int | None] = (None,),
    seeds: Iterable[int] = (0,),
    **fields: Any,
) -> list[Scenario]:
    """Return a scenario for every combination of the values; `fields` are set in every scenario.

    Nodes are powers of 2 with these `exponents`. None in `delegates` means all nodes, and so does a
    number above that of the nodes.
    """
    chosen = [named(law) if isinstance(law, str) else law for law in networks]
    return [
        Scenario(
            algorithm=name,
            costs=costs,
            nodes=2**exponent,
            delegates=None if count is None else min(count, 2**exponent),
            network=network,
            seed=seed,
            **fields,
        )
        for name, exponent, network, count, seed in product(
            algorithms, exponents, chosen, delegates, seeds
        )
    ]


def sweep(
    scenarios: Iterable[Scenario],
    *,
    engine: Engine = "fast",
    workers: int | None = None,
    scheduler: str | None = None,
    batch: int = BATCH,
    progress: bool = False,
) -> pd.DataFrame:
    """Run scenarios; return a frame of the contract "consensus", one row per scenario in order.

    `workers` is the number of processes on this machine: by default one per processor; 1 runs
    everything in this process. `scheduler` ("tls://host:port") uses the workers of Dask instead,
    which need this package installed. A scenario that an engine cannot run is a row with status
    "unsupported". Raises UsageError, Unsupported without Dask, DataError for a worker's wrong row,
    and PqchainError if a worker dies.
    """
    if engine not in model.ENGINES:
        raise UnknownName("engine", engine, model.ENGINES)
    integer("batch", batch, least=1)
    if workers is not None:
        integer("workers", workers, least=1)
    identified = [(scenario.identifier, scenario) for scenario in scenarios]
    pending, known = list(dict(identified).values()), dict[str, Row]()
    tasks: list[_Task] = [
        (pending[first : first + batch], engine) for first in range(0, len(pending), batch)
    ]
    # For a single scenario the progress bar counts blocks instead.
    counts_blocks = len(pending) == 1 and scheduler is None
    batches: Iterator[list[Row]]
    if scheduler is not None:
        replies = run_tasks(run_batch, tasks, address=scheduler, check=_check_rows)
        batches = (rows for _, rows in replies)
    elif len(tasks) < 2 or workers == 1:
        batches = (run_batch(*task, progress=progress and counts_blocks) for task in tasks)
    else:
        batches = _with_processes(tasks, min(workers or os.cpu_count() or 1, len(tasks)))
    with tqdm(total=len(pending), disable=counts_blocks or not progress, unit="scenario") as bar:
        for rows in batches:
            known.update((row["scenario"], row) for row in rows)
            bar.update(len(rows))
    return runs.SWEEP.frame(known[name] for name, _ in identified)


def run_batch(
    scenarios: Sequence[Scenario], engine: Engine, *, progress: bool = False
) -> list[Row]:
    """Run scenarios in order and return their result rows; workers call this function."""
    rows = []
    for scenario in scenarios:
        try:
            run = model.run(scenario, engine=engine, progress=progress)
            rows.append(run.record(runs.SWEEP))
        except PqchainError as error:
            rows.append(runs.failed(scenario, error))
    return rows


_Task = tuple[list[Scenario], Engine]
"""Arguments of `run_batch`."""


def _check_rows(task: _Task, rows: list[Row]) -> None:
    scenarios, _ = task
    known = ("scenario", "costs", "seed", *runs.GROUP)
    expected = [runs.failed(scenario, PqchainError()) for scenario in scenarios]
    if [[row.get(name) for name in known] for row in rows] != [
        [row[name] for name in known] for row in expected
    ] or any(row.keys() != runs.SWEEP.columns.keys() for row in rows):
        raise DataError("there must be one row for each scenario, in order")
    runs.SWEEP.frame(rows)


def _with_processes(tasks: list[_Task], workers: int) -> Iterator[list[Row]]:
    """Run tasks in a pool of processes."""
    # Spawn, not fork: a fork does not copy the threads of compiled code.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = [pool.submit(run_batch, *task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool as error:
            raise PqchainError(
                f"a worker process died ({error}). Run the sweep again with fewer workers, or with "
                "smaller scenarios if memory ran out; in a script, call sweep under "
                "`if __name__ == '__main__':`."
            ) from error
        finally:
            # An error of one batch must not wait for the others.
            pool.shutdown(wait=False, cancel_futures=True)
