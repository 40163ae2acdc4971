"""Resumable sweeps of many scenarios on many processors or machines, with identical results.

Scenarios are run in batches by a pool of processes or by the workers of a Dask scheduler. Results
are stored under the scenarios' identifiers, so an interrupted sweep can be resumed. They are
returned in the order of the scenarios, so they do not depend on which worker ran what.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence, Set
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from pqchain import installation
from pqchain.checks import integer
from pqchain.consensus import model, runs
from pqchain.consensus.model import Engine
from pqchain.consensus.network import Network, named
from pqchain.consensus.scenario import SCHEMA_VERSION, Scenario
from pqchain.costs import CostTable
from pqchain.errors import DataError, PqchainError, UnknownName
from pqchain.results import checksum
from pqchain.results.files import check_writable
from pqchain.scheduler import run_tasks

BATCH = 50
"""Scenarios per task; schedulers handle some hundreds of tasks per second."""

ATTEMPTS = 5
"""Maximum number of process pools of a sweep, of which the next is started when a process dies.

A Dask scheduler limits attempts by its setting `distributed.scheduler.allowed-failures`.
"""

Row = dict[str, Any]

_LINE = b'{"schema_version": '
"""First bytes of each line of a store."""

_MAX_LINE_BYTES = 1 << 20
"""Maximum length of a line of a store: some hundred times a row."""


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
    store: str | Path | None = None,
    batch: int = BATCH,
    progress: bool = False,
) -> pd.DataFrame:
    """Run scenarios; return a frame of the contract "consensus", one row per scenario in order.

    `workers` is the number of processes on this machine: by default one per processor; 1 runs
    everything in this process. `scheduler` ("tls://host:port") uses the workers of Dask instead,
    which need this package installed; some of their rows are computed again here. `store` is a file
    of results by identifier; scenarios in it are not run again. A scenario that an engine cannot
    run is a row with status "unsupported". Raises UsageError, Unsupported without Dask, DataError
    for a file that is not a store and for a worker's wrong row, and PqchainError if workers die
    repeatedly.
    """
    if engine not in model.ENGINES:
        raise UnknownName("engine", engine, model.ENGINES)
    integer("batch", batch, least=1)
    if workers is not None:
        integer("workers", workers, least=1)
    identified = [(scenario.identifier, scenario) for scenario in scenarios]
    known = {} if store is None else _read_store(Path(store), {name for name, _ in identified})
    pending = list({name: scenario for name, scenario in identified if name not in known}.values())
    tasks: list[_Task] = [
        (pending[first : first + batch], engine) for first in range(0, len(pending), batch)
    ]
    # For a single scenario the progress bar counts blocks instead.
    counts_blocks = len(pending) == 1 and scheduler is None
    batches: Iterator[list[Row]]
    if scheduler is not None:
        results = run_tasks(run_batch, tasks, address=scheduler, size=batch, check=_check_rows)
        batches = (rows for _, rows in results)
    elif len(tasks) < 2 or workers == 1:
        batches = (run_batch(*task, progress=progress and counts_blocks) for task in tasks)
    else:
        batches = _with_processes(tasks, min(workers or os.cpu_count() or 1, len(tasks)))
    with tqdm(total=len(pending), disable=counts_blocks or not progress, unit="scenario") as bar:
        for rows in batches:
            # Stored batch by batch, so that an interruption loses only the batches in progress.
            _append(store, rows)
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


def _check_rows(task: _Task, rows: list[Row]) -> tuple[_Task, list[Row]]:
    """Return a random scenario of a batch with its row. Raises DataError for rows of another."""
    scenarios, engine = task
    known = ("scenario", "costs", "seed", *runs.GROUP)
    expected = [runs.failed(scenario, PqchainError()) for scenario in scenarios]
    if [[row.get(name) for name in known] for row in rows] != [
        [row[name] for name in known] for row in expected
    ] or any(row.keys() != runs.SWEEP.columns.keys() for row in rows):
        raise DataError("there must be one row for each scenario, in order")
    runs.SWEEP.frame(rows)
    number = secrets.randbelow(len(rows))
    return ([scenarios[number]], engine), [rows[number]]


def _with_processes(tasks: list[_Task], workers: int) -> Iterator[list[Row]]:
    """Run tasks in a pool of processes; when a process dies, pending tasks go to a new pool."""
    pending, attempts = dict(enumerate(tasks)), 0
    # Spawn, not fork: a fork does not copy the threads of compiled code.
    context = multiprocessing.get_context("spawn")
    while pending:
        # A pool whose process died cannot be used again, so each attempt starts a new one.
        with ProcessPoolExecutor(workers, mp_context=context) as pool:
            futures = {pool.submit(run_batch, *task): number for number, task in pending.items()}
            try:
                while futures:
                    for future in wait(futures, return_when=FIRST_COMPLETED).done:
                        rows = future.result()
                        del pending[futures.pop(future)]
                        yield rows
            except BrokenProcessPool as error:
                attempts += 1
                if attempts >= ATTEMPTS:
                    raise PqchainError(
                        f"worker processes died repeatedly: {attempts} pools lost a process, and "
                        f"{len(pending)} batches are not done ({error}). Use fewer workers, or "
                        "smaller scenarios if memory ran out; in a script, call sweep under "
                        "`if __name__ == '__main__':`."
                    ) from error


def _read_store(store: Path, wanted: Set[str]) -> dict[str, Row]:
    """Return the stored rows of the scenarios in `wanted`; truncate an incomplete last line.

    Creates the store's folder if needed. Raises DataError for a file that is not a store.
    """
    # A store that cannot be written raises its error here, before the runs.
    if not store.exists():
        store.parent.mkdir(parents=True, exist_ok=True)
        check_writable(store)
        return {}
    known: dict[str, Row] = {}
    complete_bytes = 0
    for number, line in enumerate(installation.read_lines(store, _MAX_LINE_BYTES), start=1):
        # An interruption may leave the start of a line; any other text is an error below.
        if not line.endswith(b"\n") and line[: len(_LINE)] == _LINE[: len(line)]:
            with store.open("r+b") as file:
                file.truncate(complete_bytes)
            break
        complete_bytes += len(line)
        where, remedy = f"line {number} of {store}", "give another file, or delete this one"
        entry = checksum.loads(line, where, remedy)
        try:
            row, version, name = entry["row"], entry["schema_version"], entry["row"]["scenario"]
        except (KeyError, TypeError):
            raise DataError(f"{where} is not a result of a sweep; {remedy}") from None
        # Rows of another schema version are results of another model: computed again.
        if version == SCHEMA_VERSION and name in wanted:
            known[name] = {key: math.nan if value is None else value for key, value in row.items()}
    return known


def _append(store: str | Path | None, rows: Iterable[Row]) -> None:
    if store is None:
        return
    with Path(store).open("ab") as file:
        for row in rows:
            # JSON has no NaN, the only value that differs from itself.
            plain = {name: None if value != value else value for name, value in row.items()}
            entry = {"schema_version": SCHEMA_VERSION, "row": plain}
            file.write(checksum.dumps(entry).encode() + b"\n")
