"""Nodes on the workers of a local Dask cluster; tests/cluster has machines of their own."""

import asyncio
import os
import re
from collections.abc import Callable
from typing import Any

import pytest

from pqchain import checks, delegates, reencode, scheduler
from pqchain.chain.ledger import Ledger
from pqchain.consensus.network import named
from pqchain.errors import DataError, PqchainError, UsageError
from pqchain.reencode import runs
from pqchain.results import machine
from pqchain.wire.drivers import cluster
from pqchain.wire.drivers.cluster import Cluster, RemoteNode
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


@pytest.mark.parametrize("transport", ["tcp-tls", pytest.param("aioquic", marks=pytest.mark.long)])
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


@pytest.mark.long
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
    """Actor of a worker that replies what it is given."""

    def __init__(self, replies: Callable[..., Any]) -> None:
        self.replies = replies

    async def call(self, method: str, *values: Any) -> Any:
        return self.replies(method, *values)


def worker(replies: Callable[..., Any]) -> RemoteNode:
    node = RemoteNode(None, Cluster(scheduler="tcp://s:1"), 0, "tcp://w:1", described())
    node.actor = Actor(replies)
    return node


@pytest.mark.parametrize(
    "name",
    [
        "/tmp/a", "../a", "..", ".", "", ".hidden", "a/b", "a\\b", "a\0b", "a\nb", "a" * 101,
        "\ud800", "é",
    ],
)  # fmt: skip
def test_name_of_a_file_that_leaves_its_folder_is_rejected(tmp_path, name):
    files = {"log": b"", name: b""}
    with pytest.raises(DataError, match=r"the reply of worker tcp://w:1 to 'files' has a wrong"):
        asyncio.run(worker(lambda *_: f"value {checks.dumps(files)}").copy_files(tmp_path / "logs"))
    assert [path.name for path in tmp_path.rglob("*")] == ["logs", "0"]


def test_files_are_copied(tmp_path):
    files = {"log": bytes(10), "ledger.sqlite": bytes(range(256))}
    asyncio.run(worker(lambda *_: f"value {checks.dumps(files)}").copy_files(tmp_path))
    copied = {path.name: path.read_bytes() for path in (tmp_path / "0").iterdir()}
    assert copied == files


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
        ("files", "value [1]", "has a wrong part"),
        ("close", "value {}", "has a wrong part"),
        ("kill", "value [1]", "has a wrong part"),
        ("poll", "value [1]", "has a wrong part"),
    ],
)
def test_reply_of_a_worker_has_the_type_of_its_method(method, reply, message):
    with pytest.raises(PqchainError, match=message):
        asyncio.run(worker(lambda *values: reply).call(method))


NOW = 1.8e9
"""Time of day of the workers and the client, in seconds."""


def described(seconds: float = NOW) -> Any:
    """Return the description of a worker like this client."""
    facts = dict.fromkeys(("machine_id", "cpu_model", "python", "pqchain", "commit"), "")
    return [], seconds, "", {**facts, "cpu_count": 1, "load_per_processor": 0.0}


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (checks.dumps(described()), "^$"),
        (checks.dumps(described(NOW + 3600)), r"clock is 3\d\d\d s ahead; synchronize it"),
        (checks.dumps(described(NOW - 7200)), r"clock is 7\d\d\d s behind"),
        (ModuleNotFoundError("No module named 'pqchain'"), r"'pqchain'\); install pqchain"),
        (RuntimeError("odd"), r"check failed \(RuntimeError: odd\)"),
        ("{}", "its check failed .*its description has a wrong part"),
    ],
)
def test_unsuitable_worker_is_described_with_a_remedy(reply, problem):
    assert re.search(problem, "".join(cluster._checked(reply, NOW - 1, NOW + 1)[0]))


def test_worker_states_what_it_lacks(monkeypatch):
    ours = (cluster.VERSION, cluster._PYTHON, [], "tcp-tls")
    assert cluster.describe(*ours)[0] == []
    info = cluster.registry.TransportInfo
    monkeypatch.setattr(info, "unavailable_reason", lambda info: "needs aioquic")
    problems, *_ = cluster.describe("0.0.9", "3.9", ["none"], "aioquic")
    for text, part in zip(problems, [
        r"has pqchain .*, the client 0\.0\.9; install pqchain 0\.0\.9",
        r"has Python .*, the client 3\.9; install Python 3\.9",
        "lacks the native library none; run `make`",
        "cannot use the transport aioquic: needs aioquic",
    ], strict=True):  # fmt: skip
        assert re.search(part, text)
