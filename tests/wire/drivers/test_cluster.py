"""Nodes on the workers of a local Dask cluster; tests/cluster has machines of their own."""

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pqchain import checks, delegates, reencode, scheduler
from pqchain.chain.ledger import Ledger
from pqchain.consensus.network import named
from pqchain.errors import DataError, PqchainError, UsageError
from pqchain.reencode import runs
from pqchain.results import machine
from pqchain.wire.drivers import cluster, cluster_worker
from pqchain.wire.drivers.cluster import Cluster, Worker
from pqchain.wire.drivers.job import Job
from tests.consensus.scenarios import scenario
from tests.reencode.mesh import small
from tests.wire.drivers.test_processes import children

pytest.importorskip("dask.distributed")


@pytest.fixture(scope="module")
def address():
    """Scheduler of a local cluster with two workers."""
    from dask.distributed import LocalCluster

    options = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PQCHAIN_TEST", str(os.getpid()))
        with LocalCluster(n_workers=2, threads_per_worker=1, **options) as made:
            yield made.scheduler_address


def echo(transport: str = "tcp-tls", nodes: int = 3, **changes: Any) -> Job:
    parameters = {"nodes": nodes, "count": 2, "waits": False, "refuses": -1, **changes}
    return Job(nodes=nodes, factory="tests.wire.echo:build", parameters=parameters,
               transport=transport, identity="Ed25519")  # fmt: skip


@pytest.mark.parametrize("transport", ["tcp-tls", "aioquic"])
def test_nodes_share_workers_and_see_one_clock(address, transport):
    result = cluster.run(echo(transport), Cluster(scheduler=address, nodes_per_worker=2))
    assert [node.state for node in result.nodes] == ["done"] * 3
    assert 0 <= result.machine_busy <= 1
    facts = result.cluster
    assert (facts["workers"], facts["computers"]) == (2, 1)
    assert [row["nodes"] for row in facts["machines"]] == [[0, 2], [1]]
    here = machine.provenance()["machine_id"]
    assert {row["machine_id"] for row in facts["machines"]} == {here}
    # Both workers have the clock of this computer, so the true offset is 0.
    for row in facts["machines"]:
        assert abs(row["clock_offset_seconds"]) <= row["clock_error_seconds"] < 1.0
    offsets = [row["clock_offset_seconds"] for row in facts["machines"]]
    assert [node.clock_offset_seconds for node in result.nodes] == [*offsets, offsets[0]]
    errors = [row["clock_error_seconds"] for row in facts["machines"]]
    assert facts["clock_error_seconds"] == sum(errors)


def test_blocks_are_made_on_the_workers(address, monkeypatch):
    # The client must not make a block: only the workers' processes may.
    monkeypatch.setattr(reencode.ReplayScenario, "block", None)
    one = small(mode="cluster", nodes=3, before=(2, 1), after=(1, 1), failed_node=2,
                timeout_seconds=2.0, give_up_seconds=10.0, transport="tcp-tls")  # fmt: skip
    placed = Cluster(scheduler=address, nodes_per_worker=2)
    replay = reencode.replay(one, scheduler=placed)
    assert replay.frame["status"].tolist() == ["ok"]
    assert replay.nodes["state"].tolist() == ["done", "done", "dead"]
    assert replay.nodes["verified_blocks"].tolist() == [1, 1, 0]
    assert replay.frame.attrs["provenance"]["cluster"]["workers"] == 2
    (noticed, _, _) = replay.nodes["noticed_seconds"]
    assert noticed > 1


@pytest.mark.native
def test_delegates_agree_on_a_cluster(address, tmp_path):
    case = scenario(nodes=2, blocks=2, block_bytes=8000, network=named("star"))
    run = delegates.run(case, mode="cluster", scheduler=address, log=tmp_path)
    assert run.is_live and run.is_safe and run.kind == "measured"
    here = delegates.run(case, mode="loopback")
    assert (run.sent_messages, run.transactions) == (here.sent_messages, here.transactions)
    assert 0 < run.latency_seconds < 60
    for number in "01":
        with Ledger.open(tmp_path / number / "ledger.sqlite") as ledger:
            assert ledger.state.height >= 2


def test_failing_node_is_named_and_its_processes_end(address):
    with pytest.raises(PqchainError, match=r"process of node \d ended early: .*'none'"):
        cluster.run(echo(nodes=2, none=1), Cluster(scheduler=address))
    assert children() == []


def test_cluster_needs_enough_workers_and_a_scheduler(address, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=r"3 nodes with at most 1 per worker need 3 workers; .* 2"):
        cluster.run(echo(), Cluster(scheduler=address))
    monkeypatch.setattr(scheduler, "CONNECT_SECONDS", 1)
    with pytest.raises(UsageError, match=r"needs a scheduler; got None.*--scheduler tls://"):
        runs.run(small(mode="cluster"), tmp_path)
    with pytest.raises(UsageError, match=r"no Dask scheduler answers at 'tcp://127\.0"):
        runs.run(small(mode="cluster"), tmp_path, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(UsageError, match="first_port"):
        Cluster(scheduler="tcp://127.0.0.1:1", first_port=70_000)


class Actor:
    """Actor of a worker that replies what it is given; it counts the calls."""

    def __init__(self, replies: Callable[..., Any]) -> None:
        self.replies, self.calls = replies, 0

    async def call(self, key: int | None, method: str, *values: Any) -> Any:
        self.calls += 1
        return self.replies(method, *values)


def worker(replies: Callable[..., Any]) -> Worker:
    return Worker("tcp://w:1", None, "tcp://s:1", {0: 0}, described(), Actor(replies))


def copied(folder: Path, names: list[str], size: int = 10, more: int = 0) -> Worker:
    """Copy a worker's files of this size, of which it sends `more` than requested; return it."""

    def replies(method: str, index: int, *values: Any) -> str:
        if method == "file_names":
            return f"value {checks.dumps(names)}"
        _, start, count = values
        return f"value {checks.dumps(bytes(min(count, size - start) + more))}"

    made = worker(replies)
    asyncio.run(made.copy_files(folder))
    return made


@pytest.mark.parametrize(
    "name",
    [
        "/tmp/a", "../a", "..", ".", "", ".hidden", "a/b", "a\\b", "a\0b", "a\nb", "a" * 101,
        "\ud800", "é",
    ],
)  # fmt: skip
def test_name_of_a_file_that_leaves_its_folder_is_rejected(tmp_path, name):
    with pytest.raises(DataError, match=r"tcp://w:1 (must have at most 1000|.* Invalid JSON)"):
        copied(tmp_path / "logs", ["log", name])
    assert [path.name for path in tmp_path.rglob("*")] == ["logs", "0"]


def test_files_are_copied_in_pieces_and_limited(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="at most 1000 files"):
        copied(tmp_path, [f"file{number}" for number in range(1001)])
    monkeypatch.setattr(cluster, "_PIECE_BYTES", 4)
    monkeypatch.setattr(cluster, "MAX_LOG_BYTES", 100)
    assert copied(tmp_path, ["log", "ledger.sqlite"]).actor.calls == 1 + 2 * 3
    assert [path.read_bytes() for path in sorted((tmp_path / "0").iterdir())] == [bytes(10)] * 2
    copied(tmp_path, ["a", "b"], size=50)
    for names, size, more, last in [("ab", 51, 0, "b"), ("a", 10**18, 0, "a"), ("a", 10, 1, "a")]:
        limit = rf"the files of node 0 of .* at most 100 bytes; got more in {last}"
        with pytest.raises(DataError, match=limit):
            copied(tmp_path, list(names), size, more)


@pytest.mark.parametrize(
    ("method", "reply", "message"),
    [
        ("clock", 'error "UsageError: no such node"', "^no such node$"),
        ("clock", "value [1]", "the reply of worker tcp://w:1 to 'clock' has a wrong part"),
        ("clock", "value null", "has a wrong part"),
        ("clock", "error 5", "has a wrong part"),
        ("clock", 'error "SystemExit: 1"', "has a wrong part"),
        ("clock", 'error "UnknownName: a"', "has a wrong part"),
        ("clock", {"value": 1}, "cannot be read"),
        ("clock", "value 1e999", "cannot be read"),
        ("file_names", "value [1]", "has a wrong part"),
        ("close", "value {}", "has a wrong part"),
    ],
)
def test_reply_of_a_worker_has_the_type_of_its_method(method, reply, message):
    with pytest.raises(PqchainError, match=message):
        asyncio.run(worker(lambda *values: reply).call(method))
    for name in ("kill", "poll"):
        with pytest.raises(DataError, match="has a wrong part"):
            asyncio.run(worker(lambda *values: "value [1]").call(name, key=0))


NOW = 1.8e9
"""Time of day of the workers and the client, in seconds."""


def described(**changes: Any) -> Any:
    """Return the description of a worker like this client."""
    return {"problems": [], "seconds": NOW, **changes}


@pytest.mark.parametrize(
    ("description", "problem"),
    [
        (described(), "^$"),
        (described(seconds=NOW + 3600), r"clock is 3\d\d\d s ahead; synchronize it"),
        (described(seconds=NOW - 7200), r"clock is 7\d\d\d s behind"),
        (ModuleNotFoundError("No module named 'pqchain'"), r"'pqchain'\); install pqchain"),
        (RuntimeError("odd"), r"check failed \(RuntimeError: odd\)"),
    ],
)
def test_unsuitable_worker_is_described_with_a_remedy(description, problem):
    assert re.search(problem, "".join(cluster._problems(description, NOW - 1, NOW + 1)))


def test_worker_states_what_it_lacks(monkeypatch):
    ours = (cluster_worker.VERSION, cluster_worker.python_version(), [], ["tcp-tls"])
    assert cluster_worker.describe(*ours)["problems"] == []
    info = cluster_worker.registry.TransportInfo
    monkeypatch.setattr(info, "unavailable_reason", lambda info: "needs aioquic")
    problems = cluster_worker.describe("0.0.9", "3.9", ["none"], ["native", "aioquic"])["problems"]
    for text, part in zip(problems, [
        r"has pqchain .*, the client 0\.0\.9; install pqchain 0\.0\.9",
        r"has Python .*, the client 3\.9; use 3\.9", "lacks the native library none; run `make`",
        "cannot use the transport aioquic: needs aioquic",
    ], strict=True):  # fmt: skip
        assert re.search(part, text)
