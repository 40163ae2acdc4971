"""The same node on sockets, a process each: it completes, and what is stored is what should be."""

import asyncio
import socket
import subprocess
import sys

import pytest

from pqchain.errors import PqchainError, Unsupported, UsageError
from pqchain.reencode.scenario import Fault
from pqchain.wire.drivers import live as live_module
from pqchain.wire.drivers import namespaces, processes, virtual
from pqchain.wire.session import Opened
from tests.reencode.mesh import LARGE, small, stored


@pytest.fixture(autouse=True)
def compiled(monkeypatch, tmp_path_factory):
    """Let all processes share compiled modules: where none are kept, each would compile its own."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.getbasetemp() / "compiled"))


def survived(one, folder, dead):
    """Return whether every living node holds its own chunk of the new epoch, and nothing else."""
    living = [node for node in range(one.nodes) if node not in dead]
    return [stored(folder, node) for node in living] == [[(2, [n])] for n in range(len(living))]


def run(one, folder):
    virtual.prepare(one, folder)
    return processes.run(one, folder)


def live(**changes):
    """Return a scenario with patience for a busy machine."""
    values = {"mode": "loopback", "timeout_seconds": 2.0, "stall_seconds": 10.0,
              "give_up_seconds": 10.0, "limit_seconds": 90.0, **changes}  # fmt: skip
    return small(**values)


def three(**changes):
    """Return a scenario of three nodes, so that few processes start."""
    return live(**{"nodes": 3, "before": (2, 1), "after": (1, 1), "failed_node": 2, **changes})


@pytest.mark.parametrize("transport", ["aioquic", "qh3", "tcp-tls", "grpc"])
def test_a_mesh_of_processes_re_encodes(transport, tmp_path):
    if transport == "qh3":
        pytest.importorskip("qh3", reason="qh3 is not installed: the dev extra has it")
    one = three(transport=transport, block_bytes=300_000)
    outcome = run(one, tmp_path)
    assert outcome.failure is None
    assert [node.state for node in outcome.nodes] == ["done"] * 2 + ["dead"]
    assert survived(one, tmp_path, {2})
    for node in outcome.working:
        assert node.verified_blocks == 1
        assert node.cpu_seconds > 0
        assert sum(node.seconds.values()) == pytest.approx(node.wall_seconds)
    # The leader plans because it has noticed; the other may be done by its plan before it notices.
    leader, follower = outcome.working
    assert leader.noticed_seconds > 1
    assert not follower.noticed_seconds <= 1
    assert outcome.verdict.startswith("bound by")


def test_a_restarted_process_catches_up_while_another_corrupts(tmp_path):
    one = live(
        block_bytes=3_000_000, datagram_bytes=LARGE, streams="single",
        faults=(Fault(node=1, kind="restart", down_seconds=0.2), Fault(node=2, kind="corrupt")),
    )  # fmt: skip
    outcome = run(one, tmp_path)
    assert outcome.failure is None
    assert survived(one, tmp_path, {4})


def test_processes_that_die_and_stall_in_the_exchange(tmp_path):
    faults = (Fault(node=1, kind="die", after_seconds=0.01), Fault(node=2, kind="stall"))
    one = live(
        nodes=6, before=(2, 4), after=(1, 3), failed_node=5, faults=faults, stall_seconds=1.0,
        block_bytes=2_000_000, datagram_bytes=LARGE,
    )  # fmt: skip
    assert run(one, tmp_path).failure is None
    assert [stored(tmp_path, node) for node in (0, 2, 3)] == [[(2, [n])] for n in (0, 2, 3)]


def test_everyone_asks_everyone_over_grpc(tmp_path):
    outcome = run(three(experiment="exchange", transport="grpc", blocks=2), tmp_path)
    assert [len(node.arrivals) for node in outcome.nodes] == [4] * 3


def test_too_few_files_are_refused_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(processes.resource, "getrlimit", lambda which: (20, 20))
    with pytest.raises(UsageError, match=r"may open 20 files, 5 nodes need 52.*ulimit -n 52"):
        processes.run(live(), tmp_path)


def test_a_process_that_cannot_start_says_why(tmp_path):
    one = three()
    virtual.prepare(one, tmp_path)
    (manifest,) = (tmp_path / "1").glob("*/1/manifest.json")
    manifest.write_text("{")
    with pytest.raises(PqchainError, match=r"process of node 1 ended early: .*is no manifest"):
        processes.run(one, tmp_path)


def test_a_port_in_use_is_named():
    program = """
import asyncio, sys
from pathlib import Path
from pqchain.crypto import certificates
from pqchain.errors import UsageError
from pqchain.wire.drivers.live import LiveNode
from pqchain.reencode.scenario import preset
async def main():
    me, other = certificates.generate(2, algorithm="Ed25519", certificate_key="p256")
    for transport in ("aioquic", "tcp-tls", "grpc"):
        one = preset("quick", mode="loopback", transport=transport)
        node = LiveNode(0, one, Path(sys.argv[2]), me, [me.public, other.public])
        try:
            await node.listen("127.0.0.1", int(sys.argv[1]))
        except UsageError as error:
            print(error)
asyncio.run(main())
"""
    with socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        port = tcp.getsockname()[1]
        with socket.socket(type=socket.SOCK_DGRAM) as udp:
            udp.bind(("127.0.0.1", port))
            done = subprocess.run(
                [sys.executable, "-c", program, str(port), "."],
                capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line]
    assert len(lines) == 3, done.stderr
    assert all(f"port {port}" in line and "free the port" in line for line in lines)


def test_namespaces_say_why_they_cannot_be_made(monkeypatch):
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 1000)
    assert namespaces.reason() == "network namespaces need root"
    with pytest.raises(Unsupported, match="need root; use loopback or virtual"):
        namespaces.Namespaces(5, small().link)


@pytest.mark.skipif(bool(namespaces.reason()), reason=f"netns: {namespaces.reason()}")
def test_namespaces_come_and_go(tmp_path):
    one = three(mode="netns", transport="tcp-tls")
    assert run(one, tmp_path).failure is None
    assert survived(one, tmp_path, {2})
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False)
    assert f"pq{processes.os.getpid()}-" not in left.stdout


class Silent:
    """A transport that does nothing."""

    async def listen(self, host, port, deliver):
        return host, port

    async def shut(self):
        pass

    def __getattr__(self, name):
        return lambda *_, **__: 0


def test_sessions_that_come_before_the_start_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(live_module, "open_transport", lambda *_, **__: (Silent(), None))

    async def main():
        node = live_module.LiveNode(0, three(), tmp_path, None, [])
        await node.listen("127.0.0.1")
        node._deliver(Opened(7, 1, False))
        assert node.node._peers.of(7) is None
        node.start()
        assert node.node._peers.of(7).index == 1
        await node.shut()

    asyncio.run(main())
