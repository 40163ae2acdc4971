"""A minimal node on every driver and transport: `pqchain.wire` is independent of protocols."""

from dataclasses import replace
from pathlib import Path

import pytest

from pqchain.errors import DataError, PqchainError, Unsupported, UsageError
from pqchain.wire.drivers import processes, virtual
from pqchain.wire.drivers.job import Job, NodeFailure
from pqchain.wire.drivers.link import Link
from pqchain.wire.drivers.virtual import CostModel
from pqchain.wire.transports import registry

ROOT = Path(__file__).parents[2]
COUNT, NODES = 5, 3
MODEL = CostModel(task_seconds=lambda task: 1e-6 * task.size, jitter_seconds=1e-3)


@pytest.fixture(autouse=True)
def importable(monkeypatch, tmp_path_factory):
    """Let the processes of nodes import this test's node and share byte code."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.getbasetemp() / "compiled"))


def echo(**changes):
    """Return the job of an echo mesh."""
    parameters = {"nodes": NODES, "count": COUNT, **changes.pop("parameters", {})}
    values = {"nodes": NODES, "identity": "Ed25519", "limit_seconds": 60.0, **changes}
    return Job(factory="tests.wire.echo:build", parameters=parameters, **values)


def assert_all_came_back(result, nodes=range(NODES)):
    for node in nodes:
        others = [peer for peer in range(NODES) if peer != node]
        each = result.nodes[node]
        assert (each.state, each.error) == ("done", None)
        came = [tuple(pair) for pair in each.report["back"]]
        assert came == [(peer, number) for peer in others for number in range(COUNT)]


def installed(name):
    """Return the name of a transport with a reason to skip it where it cannot be opened."""
    reason = registry.get(name).unavailable_reason()
    return pytest.param(name, marks=pytest.mark.skipif(bool(reason), reason=reason))


@pytest.mark.parametrize("name", registry.names(quic=True))
def test_echoes_on_a_virtual_clock_are_deterministic(name, tmp_path):
    job, progress = echo(transport=name), []
    first, second = (virtual.run(job, tmp_path, MODEL, progress=progress.append) for _ in range(2))
    assert_all_came_back(first)
    assert first == second
    assert sum(progress) == 2 * NODES * (NODES - 1) * COUNT
    slow = replace(job, link=Link(delay_seconds=0.5))
    assert virtual.run(slow, tmp_path, MODEL).connected > 1.0 > first.connected


def test_virtual_clock_adds_task_and_datagram_times(tmp_path):
    job, steady = echo(), replace(MODEL, jitter_seconds=0.0)
    ended = [
        max(node.report["ended"] for node in virtual.run(job, tmp_path, model).nodes)
        for model in (
            steady,
            replace(steady, datagram_seconds=1e-3),
            replace(steady, task_seconds=lambda task: 1.0),
        )
    ]
    assert ended[0] < 0.01 < ended[1]
    # The tasks of a node run sequentially.
    assert ended[2] == pytest.approx((NODES - 1) * COUNT, abs=0.1)


def test_driver_starts_nodes(tmp_path):
    result = virtual.run(echo(parameters={"waits": True}, begin=True), tmp_path, MODEL)
    assert_all_came_back(result)
    assert min(node.report["ended"] for node in result.nodes) > result.connected
    with pytest.raises(PqchainError, match=r"did not end within 2\.0 s of its modelled clock"):
        job = echo(parameters={"waits": True}, limit_seconds=2.0)
        virtual.run(job, tmp_path, MODEL)


def test_dead_node_is_not_waited_for_once_connected(tmp_path):
    gone = echo(
        parameters={"waits": True}, begin=True, limit_seconds=1.0,
        failures=(NodeFailure(node=1, trigger="connected"),), link=Link(delay_seconds=0.01),
    )  # fmt: skip
    with pytest.raises(PqchainError, match="did not end"):
        virtual.run(gone, tmp_path, MODEL)


@pytest.mark.parametrize("nodes", [(NODES,), (1, 1)])
def test_failures_are_of_different_nodes_of_the_job(nodes):
    with pytest.raises(UsageError, match=rf"of different nodes from 0 to 2; got \[{nodes[0]}"):
        echo(failures=tuple(map(NodeFailure, nodes)))


def test_node_error_keeps_its_class(tmp_path):
    job = echo(parameters={"refuses": 2})
    for result in (
        virtual.run(job, tmp_path, MODEL),
        processes.run(job, tmp_path),
    ):
        assert [node.state for node in result.nodes] == ["done", "done", "failed"]
        assert isinstance(result.failure, DataError)
        assert str(result.failure) == "node 2 does not like to answer"


@pytest.mark.parametrize("name", registry.names(quic=False))
def test_socket_transports_are_rejected_on_a_virtual_clock(name, tmp_path):
    with pytest.raises(Unsupported, match=f"must be native or aioquic .* got {name}"):
        virtual.run(echo(transport=name), tmp_path, MODEL)


@pytest.mark.parametrize("name", [installed(name) for name in registry.TRANSPORTS])
def test_echoes_arrive_between_processes(name, tmp_path):
    result = processes.run(echo(transport=name), tmp_path)
    assert_all_came_back(result)
    assert all(node.cpu_seconds >= 0 for node in result.nodes)
    assert result.identity == "Ed25519"


def test_failing_process_states_the_reason(tmp_path):
    job = replace(echo(), factory="tests.wire.echo:nothing")
    with pytest.raises(PqchainError, match=r"process of node . ended early: .*no attribute"):
        processes.run(job, tmp_path)
