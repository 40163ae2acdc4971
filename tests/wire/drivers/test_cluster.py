"""Nodes on the workers of a local Dask cluster; tests/cluster has machines of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pqchain import checks, delegates, reencode, scheduler
from pqchain.chain.ledger import Ledger
from pqchain.consensus.network import named
from pqchain.errors import DataError, PqchainError, UsageError
from pqchain.installation import VERSION
from pqchain.reencode import runs
from pqchain.results import machine
from pqchain.wire.drivers import cluster, cluster_machines
from pqchain.wire.drivers.cluster import Cluster
from pqchain.wire.drivers.cluster_calls import Worker
from pqchain.wire.drivers.job import Job
from tests.consensus.scenarios import scenario
from tests.reencode.mesh import small

pytest.importorskip("dask.distributed")

ECHO = {"nodes": 3, "count": 2, "waits": False, "refuses": -1}


@pytest.fixture(scope="module")
def address():
    """Scheduler of a local cluster with two workers."""
    from dask.distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True,
        dashboard_address="127.0.0.1:0", silence_logs=50,
    ) as made:  # fmt: skip
        yield made.scheduler_address


def node_processes() -> list[int]:
    """Return the processes of nodes that workers of this test have started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().split(b"\0")
            environment = path.with_name("environ").read_bytes()
        except OSError:
            continue
        if b"pqchain.wire.drivers.child" in command and b"DASK" in environment:
            found.append(int(path.parent.name))
    return found


def echo(transport: str, **changes) -> Job:
    return Job(nodes=3, factory="tests.wire.echo:build", parameters=ECHO, transport=transport,
               identity="Ed25519", **changes)  # fmt: skip


@pytest.mark.parametrize("transport", ["tcp-tls", "aioquic"])
def test_nodes_share_workers_and_see_one_clock(address, transport):
    result = cluster.run(echo(transport), Cluster(scheduler=address, nodes_per_worker=2))
    assert [node.state for node in result.nodes] == ["done"] * 3
    facts = result.cluster
    assert (facts["workers"], facts["computers"]) == (2, 1)
    assert [row["nodes"] for row in facts["machines"]] == [[0, 2], [1]]
    here = machine.provenance()["machine_id"]
    assert {row["machine_id"] for row in facts["machines"]} == {here}
    # Both workers have the clock of this computer, so the true offset is 0.
    (_, other) = facts["machines"]
    assert abs(other["clock_offset_seconds"]) <= other["clock_error_seconds"] < 1.0
    assert result.nodes[1].clock_offset_seconds == other["clock_offset_seconds"]
    assert facts["clock_error_seconds"] == other["clock_error_seconds"]
    assert [(link["from"], link["to"]) for link in facts["links"]] == [(0, 1), (1, 0)]
    for link in facts["links"]:
        assert link["round_trip_seconds"] > 0 and link["bits_per_second"] > 1e6


def test_blocks_are_made_on_the_workers(address, monkeypatch):
    # The client must not make a block: only the workers' processes may.
    monkeypatch.setattr(reencode.ReplayScenario, "block", None)
    one = small(mode="cluster", nodes=3, before=(2, 1), after=(1, 1), failed_node=2,
                timeout_seconds=2.0, give_up_seconds=10.0, transport="aioquic")  # fmt: skip
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
    job = Job(nodes=2, factory="tests.wire.echo:build", parameters={**ECHO, "nodes": 2, "none": 1},
              transport="tcp-tls", identity="Ed25519")  # fmt: skip
    with pytest.raises(PqchainError, match=r"process of node \d ended early: .*'none'"):
        cluster.run(job, Cluster(scheduler=address))
    assert node_processes() == []


def test_too_few_workers_are_reported(address):
    with pytest.raises(UsageError, match=r"3 nodes with at most 1 per worker need 3 workers; .* 2"):
        cluster.run(echo("tcp-tls"), Cluster(scheduler=address))


def test_port_in_use_is_reported_with_its_worker(address):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        first = taken.getsockname()[1]
        with pytest.raises(UsageError, match=rf"listen on 127.0.0.1 port {first}: .*--first"):
            cluster.run(
                echo("tcp-tls"),
                Cluster(scheduler=address, nodes_per_worker=2, first_port=first),
            )


def test_cluster_needs_a_scheduler(tmp_path, monkeypatch):
    monkeypatch.setattr(scheduler, "CONNECT_SECONDS", 1)
    with pytest.raises(UsageError, match=r"needs a scheduler; got None.*--scheduler tls://"):
        runs.run(small(mode="cluster"), tmp_path)
    with pytest.raises(UsageError, match=r"no Dask scheduler answers at 'tcp://127\.0"):
        runs.run(small(mode="cluster"), tmp_path, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(UsageError, match="first_port"):
        Cluster(scheduler="tcp://127.0.0.1:1", first_port=70_000)


@dataclass
class Actor:
    """Actor of a worker that replies what it is given; it counts the calls."""

    replies: Callable[..., Any]
    calls: int = 0

    async def call(self, method: str, *values: Any) -> Any:
        self.calls += 1
        return self.replies(method, *values)


def worker(replies: Callable[..., Any]) -> Worker:
    return Worker(0, "tcp://w:1", None, "tcp://s:1", {0: 0}, described(), Actor(replies))  # type: ignore[arg-type]


def copied(folder: Path, names: list[str], size: int = 10, more: int = 0) -> Worker:
    """Copy a worker's files of this size, of which it sends `more` than requested; return it."""

    def replies(method: str, index: int, *values: Any) -> str:
        if method == "file_names":
            return f"value {checks.dumps(names)}"
        _, start, count = values
        return f"value {checks.dumps(bytes(min(count, size - start) + more))}"

    made = worker(replies)
    asyncio.run(cluster._copy_files(made, folder))
    return made


def test_files_are_copied_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_PIECE_BYTES", 4)
    assert copied(tmp_path, ["log", "ledger.sqlite"]).actor.calls == 1 + 2 * 3
    assert [path.read_bytes() for path in sorted((tmp_path / "0").iterdir())] == [bytes(10)] * 2


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


def test_number_and_size_of_files_are_limited(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="at most 1000 files"):
        copied(tmp_path, [f"file{number}" for number in range(1001)])
    monkeypatch.setattr(cluster, "_PIECE_BYTES", 4)
    monkeypatch.setattr(cluster, "MAX_LOG_BYTES", 100)
    copied(tmp_path, ["a", "b"], size=50)
    with pytest.raises(
        DataError, match=r"the files of node 0 of .* at most 100 bytes; got more in b"
    ):
        copied(tmp_path, ["a", "b"], size=51)
    with pytest.raises(DataError, match="got more in a"):
        copied(tmp_path, ["a"], size=10**18)
    with pytest.raises(DataError, match="got more in a"):
        copied(tmp_path, ["a"], more=1)


@pytest.mark.parametrize(
    ("method", "reply", "message"),
    [
        ("ticks", "value [1,2]", ""),
        ("ticks", 'error "UsageError: no such node"', "^no such node$"),
        ("ticks", "value [1]", "the reply of worker tcp://w:1 to 'ticks' has a wrong part"),
        ("ticks", "value null", "has a wrong part"),
        ("ticks", "error 5", "has a wrong part"),
        ("ticks", 'error "SystemExit: 1"', "has a wrong part"),
        ("ticks", 'error "UnknownName: a"', "has a wrong part"),
        ("ticks", {"value": 1}, "cannot be read"),
        ("kill", "value 1e999", "cannot be read"),
        ("read", 'value [["0","line"]]', "has a wrong part"),
        ("close", "value {}", "has a wrong part"),
        ("measure", 'value {"round_trip_seconds":1}', "has a wrong part"),
    ],
)
def test_reply_of_a_worker_has_the_type_of_its_method(method, reply, message):
    called = worker(lambda *values: reply).call(method)
    if not message:
        assert asyncio.run(called) == (1, 2)
        return
    with pytest.raises(PqchainError, match=message):
        asyncio.run(called)


def test_worker_reports_its_own_nodes_only():
    async def read(key: int) -> bytes | PqchainError:
        reports = iter(["value []", f'value [[{key},"line"]]', 'error "stopped"'])
        made, other = worker(lambda method: next(reports)), worker(lambda method: "")
        launcher = cluster._Launcher([made, other])
        for number, each in enumerate((made, other)):
            launcher.processes[number] = cluster._RemoteProcess(each, number, number)
        await launcher.read(made)
        return launcher.processes[0].reports.get_nowait()

    assert asyncio.run(read(0)) == b"line"
    for key in (1, 2, -1):
        assert "must report its own nodes only" in str(asyncio.run(read(key)))


NOW = 1.8e9
"""Time of day of the workers and the client, in seconds."""


def described(**changes):
    """Return the description of a worker like this client."""
    return {
        "version": VERSION, "python": cluster_machines.platform.python_version_tuple()[:2],
        "libraries": ["quic"], "transports": {}, "seconds": NOW, **changes,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("description", "problem"),
    [
        (described(version="0.0.9"), r"has pqchain 0\.0\.9, the client .*; install pqchain"),
        (described(python=("3", "9")), r"has Python 3\.9, the client .*; use 3\."),
        (described(libraries=[]), r"lacks the native library quic; run `make` there"),
        (described(transports={"grpc": "needs grpcio"}), r"transport grpc: needs grpcio"),
        (described(seconds=NOW + 3600), r"clock is 3\d\d\d s ahead; synchronize it"),
        (described(seconds=NOW - 7200), r"clock is 7\d\d\d s behind"),
        (ModuleNotFoundError("No module named 'pqchain'"), r"'pqchain'\); install pqchain"),
        (RuntimeError("odd"), r"check failed \(RuntimeError: odd\)"),
    ],
)
def test_unsuitable_worker_is_described_with_a_remedy(description, problem):
    import re

    (text,) = cluster_machines._problems(description, {"quic"}, NOW, NOW)
    assert re.search(problem, text)


def test_suitable_worker_has_no_problems():
    assert cluster_machines._problems(described(), {"quic"}, NOW - 1, NOW + 1) == []
