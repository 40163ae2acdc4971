"""Processes of nodes: one message where they cannot start, and nothing left where one ends."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pqchain.errors import PqchainError
from pqchain.wire.drivers import processes
from pqchain.wire.drivers.job import Job
from pqchain.wire.drivers.processes import ForkServer

pytestmark = pytest.mark.native


def fails_at_once(index, transport, folder):
    raise PqchainError(f"node {index} has no wish to live")


def breaks_at_once(index, transport, folder):
    raise RuntimeError("unexpected")


class Breaks:
    """A node that works until it is asked to begin, and then has a mistake in it."""

    error = None
    connected, begun, done, progress = True, False, False, 0

    def __init__(self, index, transport, folder):
        self.timed = None

    def start(self, now):
        """Dial no peer."""

    def begin(self, now):
        self.timed = now

    def poll(self):
        return None

    def timer(self):
        return self.timed

    def handle(self, event, now):
        """Hear nothing."""

    def handle_timer(self, now):
        raise ZeroDivisionError("a mistake")


class Late(Breaks):
    """A node whose first timers are due already, as happens where the processors are busy."""

    def begin(self, now):
        self.begun, self.timed = True, now - 1

    def handle_timer(self, now):
        self.progress += 1
        self.timed = now - 1
        self.done = self.progress == 5

    def report(self):
        return {"rings": self.progress}


def job(factory, **more):
    return Job(nodes=2, factory=f"tests.wire.drivers.test_fork_server:{factory}", begin=True,
               transport="tcp-tls", identity="Ed25519", limit_seconds=30, **more)  # fmt: skip


def children():
    """Return the living processes that a fork_server of ours made."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"pqchain.wire.drivers.child" in path.read_bytes():
                environment = path.with_name("environ").read_bytes()
                if f"PQCHAIN_TEST={os.getpid()}".encode() in environment:
                    found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def wait(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("factory", "why"),
    [
        ("fails_at_once", "ended early: node 0 has no wish to live"),
        ("breaks_at_once", "ended early: RuntimeError: unexpected"),
        ("Breaks", "ended early: ZeroDivisionError: a mistake. See its log"),
    ],
)
def test_dead_node_is_reported_once_and_cleaned_up(factory, why, tmp_path, monkeypatch):
    monkeypatch.setenv("PQCHAIN_TEST", str(os.getpid()))
    with pytest.raises(PqchainError, match=r"^the process of node [01] ended early: ") as caught:
        processes.run(job(factory), tmp_path)
    assert why.replace("node 0", "node") in str(caught.value).replace(
        "node 0 has", "node has"
    ).replace("node 1 has", "node has")
    wait(lambda: not children())


def test_overdue_timers_fire(tmp_path):
    # uvloop gives handles of another kind for those.
    result = processes.run(job("Late"), tmp_path)
    assert [node.report for node in result.nodes] == [{"rings": 5}] * 2


def test_one_fork_server_runs_several_jobs_and_its_end_is_reported(tmp_path):
    one = job("Late")
    with processes.open_fork_server(one) as fork_server:
        for _ in range(2):
            assert processes.run(one, tmp_path, fork_server=fork_server).failure is None
        fork_server._process.kill()
        fork_server._process.wait()
        with pytest.raises(PqchainError, match="the fork server has ended"):
            processes.run(one, tmp_path, fork_server=fork_server)


def test_fork_server_ends_without_message_if_its_answer_is_not_read(capfd):
    with ForkServer(("json",)) as fork_server, Path(os.devnull).open("r+") as null:
        socket.send_fds(fork_server._socket, [b"\0"], [null.fileno()] * 3)
        assert fork_server._socket.recv(1, socket.MSG_PEEK)
    assert fork_server._process.returncode == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "how", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.long)]
)
def test_interruption_leaves_no_process_or_partial_file(how, tmp_path):
    output = tmp_path / "runs.csv"
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = "consensus --mode loopback --transport tcp-tls --algorithm Dilithium2"
    more = ["--nodes", "4", "--blocks", "100", "--output", str(output), "--json"]
    running = subprocess.Popen(
        [sys.executable, "-m", "pqchain", *command.split(), *more],
        env={**os.environ, "PQCHAIN_TEST": str(os.getpid()), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # In the background of a script SIGINT is ignored, and whatever starts there ignores it too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        wait(lambda: len(children()) == 5)
        running.send_signal(how)
        said, errors = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == (130 if how is signal.SIGINT else -signal.SIGKILL)
    assert said == b""
    assert b"Traceback" not in errors
    wait(lambda: not children())
    assert not output.exists()
    if how is signal.SIGINT:  # only the system cleans up after SIGKILL
        assert list(temporary.iterdir()) == []
