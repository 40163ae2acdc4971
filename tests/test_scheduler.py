"""Independent tasks give the same results on a Dask cluster as without it."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest

from pqchain import scheduler
from pqchain.commands.main import main
from pqchain.errors import DataError, PqchainError, UsageError
from pqchain.scheduler import run_tasks
from pqchain_conform import mutants, suite

pytest.importorskip("dask.distributed")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def address():
    """Scheduler of a cluster whose workers are threads of this process."""
    from dask.distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp",
        dashboard_address="127.0.0.1:0", silence_logs=50,
    ) as made:  # fmt: skip
        yield made.scheduler_address


def _sum(base: list[int], number: int) -> int:
    return sum(base) + number


def _lacks_a_module() -> None:
    raise ModuleNotFoundError("No module named 'numpy'")


def test_tasks_return_their_positions_and_share_a_value(address):
    tasks = [(number,) for number in range(20)]
    results = dict(run_tasks(_sum, tasks, address=address, shared=([1, 2],)))
    assert results == {number: number + 3 for number in range(20)}


_RUN: list[int] = []


class _Pickled:
    def __reduce__(self):
        return (_note, (1,))


def _note(number: int) -> None:
    _RUN.append(number)


def _is_worker() -> bool:
    return threading.current_thread() is not threading.main_thread()


def _texts(number: int) -> int:
    return str(number) if _is_worker() else number  # type: ignore[return-value]


def test_wrong_result_is_named_with_its_worker(address):
    with pytest.raises(DataError, match=r"result 0 of _texts from worker .* integer; got '7'"):
        list(run_tasks(_texts, [(7,)], address=address))


def test_pickled_result_is_refused_and_not_read(address, monkeypatch):
    # Workers run this function, which the scheduler's client replaces by the same name.
    monkeypatch.setattr(scheduler, "as_json", lambda *arguments: _Pickled())
    with pytest.raises(DataError, match="result 0 of _sum from worker tcp://127"):
        list(run_tasks(_sum, [([], 1)], address=address))
    assert _RUN == []


@pytest.mark.parametrize(
    "peer", ["tcp://10.1.2.3:8786", "tcp://0.0.0.0:1", "tcp://[2001:db8::1]:1"]
)
def test_other_computers_need_tls_or_a_prefix(peer):
    for own in ("tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1"):
        scheduler._check_connection(own, own)
        with pytest.raises(UsageError, match=rf"must use TLS; got {re.escape(peer)}.*insecure-tcp"):
            scheduler._check_connection(own, own, peer)
    scheduler._check_connection(f"insecure-{peer}", peer, peer)
    scheduler._check_connection("tls://10.1.2.3:1", "tls://10.1.2.3:1")
    with pytest.raises(UsageError, match="must use TLS"):
        scheduler._check_connection("tls://10.1.2.3:1", peer)


def test_missing_module_of_a_worker_is_reported(address):
    with pytest.raises(PqchainError, match=r"run _lacks_a_module; got No module named 'numpy'"):
        list(run_tasks(_lacks_a_module, [()], address=address))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://192.0.2.1:8786", r"must use TLS; got tcp://192\.0\.2\.1:8786"),
        ("nonsense", "no Dask scheduler answers at 'nonsense'"),
    ],
)
def test_commands_report_a_scheduler_that_cannot_be_used(address, message, capsys, monkeypatch):
    monkeypatch.setattr(suite, "vectors", lambda *names, **options: ())

    def caught(*_, scheduler, **options):
        return list(run_tasks(_sum, [], address=scheduler))

    monkeypatch.setattr(mutants, "caught", caught)
    assert main(["conform", "mutants", "--algorithm", "ML-DSA-44", "--scheduler", address]) == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.long
def test_mutants_equal_those_of_this_process(address, monkeypatch):
    algorithm = "ML-DSA-44"
    known = mutants.mutants(algorithm)
    few = dict(list(known.items())[:2])
    monkeypatch.setattr(mutants, "mutants", lambda name: few)
    vectors = suite.vectors([algorithm])[::40]
    here = mutants.caught({"ours": vectors})
    there = mutants.caught({"ours": vectors}, scheduler=address)
    pd.testing.assert_frame_equal(here, there)
    assert here["mutant"].nunique() == 2


@pytest.mark.long
def test_simulated_seeds_equal_those_of_one_process(address):
    command = [sys.executable, "tests/delegates/trials.py", "60"]
    here, there = (
        subprocess.run(
            [*command, *options], cwd=ROOT, env={"PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, check=True,
        ).stdout
        for options in ([], ["--scheduler", address])
    )  # fmt: skip
    assert here == there
    assert here.startswith("60 seeds, 0 failed")
