"""Sweeps give equal bytes for any executor and after crashes."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pqchain.consensus import Faults, Scenario, grid, named, sweep
from pqchain.consensus.network import NAMES
from pqchain.errors import DataError, PqchainError, UsageError
from pqchain.scheduler import run_tasks
from pqchain.works import papers
from tests.consensus.scenarios import scenario

MODULE = sys.modules["pqchain.consensus.sweeps"]
COSTS = papers.costs("pqdpol")


@pytest.fixture(scope="module")
def cases() -> list[Scenario]:
    """Scenarios of every network; two are not live, one exceeds the reference engine."""
    small = grid(
        COSTS,
        algorithms=["Falcon-512", "Dilithium2"],
        exponents=[1, 3],
        networks=NAMES,
        seeds=[0, 1],
    )
    stuck = [scenario(network=named("mesh"), view_timeout_seconds=1.0, max_views=2,
                      faults=Faults(crashed=(0, 1, 2)), seed=seed) for seed in (0, 1)]  # fmt: skip
    return [*small, *stuck, scenario(nodes=2048, network=named("mesh"))]


@pytest.fixture(scope="module")
def expected(cases: list[Scenario]) -> bytes:
    """Results of a single process."""
    return _bytes(sweep(cases, workers=1, engine="simpy"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A local Dask cluster of two processes."""
    from dask.distributed import LocalCluster

    # Any dashboard port: another test process may run a cluster at the same time.
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True,
        dashboard_address="127.0.0.1:0", silence_logs=50,
    ) as made:  # fmt: skip
        yield made


def _bytes(frame: Any) -> bytes:
    return bytes(frame.to_csv(index=False), "utf-8")


@pytest.mark.long
def test_processes_and_dask_give_the_same_bytes(cases, expected, cluster):
    by_processes = sweep(cases, workers=2, batch=7, engine="simpy")
    by_dask = sweep(cases, scheduler=cluster.scheduler_address, batch=5, engine="simpy")
    assert _bytes(by_processes) == _bytes(by_dask) == expected
    assert by_dask["status"].tolist().count("unsupported") == 1
    assert (~by_dask["is_live"]).sum() == 3


@pytest.mark.long
def test_killed_dask_worker_loses_nothing(cases, expected, cluster, monkeypatch) -> None:
    def kill(*tasks: Any, **options: Any) -> Iterator[Any]:
        for number, reply in enumerate(run_tasks(*tasks, **options)):
            if number == 0:
                os.kill(int(cluster.workers[0].pid), signal.SIGKILL)
            yield reply

    monkeypatch.setattr(MODULE, "run_tasks", kill)
    frame = sweep(cases, scheduler=cluster.scheduler_address, batch=3, engine="simpy")
    assert _bytes(frame) == expected


def test_progress_counts_blocks_or_scenarios(capsys):
    case, other = scenario(blocks=3), scenario(seed=1)
    for scenarios, count, unit in (([case], "3/3 ", "block"), ([case, other], "2/2 ", "scenario")):
        sweep(scenarios, workers=1, progress=True)
        bar = capsys.readouterr().err
        assert count in bar and unit in bar
    sweep([scenario(blocks=3)])
    assert capsys.readouterr().err == ""


def _fails(log: str) -> None:
    with Path(log).open("a") as file:
        file.write("run\n")
    raise ValueError("a defect")


@pytest.mark.long
def test_exception_is_not_retried(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(MODULE, "run_batch", _fails)
    log = tmp_path / "log"
    pool = MODULE._with_processes([(log,)], 1)
    dask = run_tasks(_fails, [(log,)], address=cluster.scheduler_address)
    for count, batches in enumerate((pool, dask), start=1):
        with pytest.raises(ValueError, match="a defect"):
            list(batches)
        assert log.read_text().count("run") == count


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.pop(),
        lambda rows: rows.append(rows[0]),
        lambda rows: rows.reverse(),
        lambda rows: rows[0].update(scenario=rows[1]["scenario"]),
        lambda rows: rows[1].update(nodes=2**20),
        lambda rows: rows[1].update(latency_seconds="fast"),
        lambda rows: rows[1].update(more=1),
        lambda rows: rows[1].pop("views"),
    ],
)
def test_rows_of_other_scenarios_or_types_are_rejected(change: Callable[[Any], Any]) -> None:
    batch = [scenario(seed=seed) for seed in (0, 1)], "fast"
    rows = MODULE.run_batch(*batch)
    MODULE._check_rows(batch, rows)
    change(rows)
    with pytest.raises(DataError):
        MODULE._check_rows(batch, rows)


def test_dead_process_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "run_batch", os._exit)
    with pytest.raises(PqchainError, match="a worker process died"):
        list(MODULE._with_processes([(3,), (4,)], 1))


def test_bad_options_are_rejected() -> None:
    for option, value, message in (
        ("engine", "slow", r"'slow'.*fast, simpy"),
        ("batch", 0, r"batch must be .* got 0"),
        ("workers", 0, r"workers must be .* got 0"),
    ):
        with pytest.raises(UsageError, match=message):
            sweep([scenario()], **{option: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "address", ["foo", "nonsense:/1", "bar://host:1", "tcp://host:99999", "tls://host:1"]
)
def test_invalid_address_is_rejected_without_a_client(address, monkeypatch):
    from dask import distributed

    monkeypatch.setattr(distributed, "Client", lambda *positional, **named: pytest.fail("was made"))
    with pytest.raises(UsageError, match=rf"no Dask scheduler answers at '{address}'"):
        sweep([scenario()], scheduler=address)


def test_grid_has_every_combination() -> None:
    made = grid(COSTS, algorithms=["Falcon-512"], exponents=[2, 6], delegates=[None, 8], seeds=[3])
    assert [(case.nodes, case.delegates) for case in made] == [(4, 4), (4, 4), (64, 64), (64, 8)]
    assert sweep(made, workers=1)["delegates"].tolist() == [4, 4, 64, 8]
