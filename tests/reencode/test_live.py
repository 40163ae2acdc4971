"""Nodes in processes on sockets complete and store the right chunks."""

import os
import subprocess

import pytest

from pqchain.wire.drivers import namespaces
from pqchain.wire.transports import registry
from tests.reencode.mesh import run, small, stored


@pytest.fixture(autouse=True)
def compiled(monkeypatch, tmp_path_factory):
    """Let all processes share byte code; otherwise each would compile it again."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.getbasetemp() / "compiled"))


def assert_survived(one, folder, dead):
    """Check that every running node stores its chunk of the new epoch and nothing else."""
    living = [node for node in range(one.nodes) if node not in dead]
    assert [stored(folder, node) for node in living] == [[(2, [n])] for n in range(len(living))]


def live(**changes):
    """Return a scenario with timeouts for a busy machine."""
    values = {"mode": "loopback", "timeout_seconds": 2.0, "stall_seconds": 10.0,
              "give_up_seconds": 10.0, "limit_seconds": 90.0, **changes}  # fmt: skip
    return small(**values)


def three(**changes):
    """Return a scenario of three nodes, so that few processes start."""
    return live(**{"nodes": 3, "before": (2, 1), "after": (1, 1), "failed_node": 2, **changes})


@pytest.mark.parametrize(
    "transport",
    [
        # QUIC in Python also runs in a mesh of three libraries below.
        pytest.param(name, marks=[] if name == "native" else pytest.mark.long)
        for name in registry.TRANSPORTS
    ],
)
def test_mesh_of_processes_reencodes(transport, tmp_path):
    if reason := registry.get(transport).unavailable_reason():
        pytest.skip(reason)
    one = three(transport=transport, block_bytes=300_000)
    outcome = run(one, tmp_path)
    assert outcome.result.failure is None
    assert [node.state for node in outcome.nodes] == ["done"] * 2 + ["dead"]
    assert_survived(one, tmp_path, {2})
    for node in outcome.working:
        assert node.record.verified_blocks == 1
        assert node.cpu_seconds > 0
        assert node.record.wall_seconds == pytest.approx(node.record.ended - node.record.begun)
    # The leader has noticed the loss; the other may finish its plan before noticing.
    leader, follower = outcome.working
    assert leader.noticed_seconds > 1
    assert not follower.noticed_seconds <= 1
    assert outcome.run_row()["verdict"].startswith("bound by")


@pytest.mark.skipif(
    bool(namespaces.unavailable_reason()), reason=f"netns: {namespaces.unavailable_reason()}"
)
def test_namespaces_are_created_and_removed(tmp_path):
    one = three(mode="netns", transport="tcp-tls")
    assert run(one, tmp_path).result.failure is None
    assert_survived(one, tmp_path, {2})
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False)
    assert f"pq{os.getpid()}-" not in left.stdout
