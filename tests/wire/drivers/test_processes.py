"""Processes of nodes: reports, one message where they fail, and nothing left where one ends."""

import asyncio
import base64
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pqchain.errors import DataError, PqchainError
from pqchain.wire.drivers import processes
from pqchain.wire.drivers.job import Job, NodeResult, decode, encode
from pqchain.wire.drivers.mesh import Mesh
from pqchain.wire.drivers.processes import ForkServer


def job(factory: str, **more) -> Job:
    return Job(nodes=2, factory=f"{__name__}:{factory}", begin=True, transport="tcp-tls",
               identity="Ed25519", limit_seconds=30, **more)  # fmt: skip


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

    def poll(self, now):
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


def fails_at_once(index, transport, folder):
    raise PqchainError("no wish to live")


def breaks_at_once(index, transport, folder):
    raise RuntimeError("unexpected")


def children() -> list[int]:
    """Return the living processes of nodes that this test has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"pqchain.wire.drivers.live" in path.read_bytes():
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
        ("fails_at_once", "no wish to live"),
        ("breaks_at_once", "RuntimeError: unexpected"),
        ("Breaks", "ZeroDivisionError: a mistake. See its log"),
    ],
)
def test_dead_node_is_reported_once_and_cleaned_up(factory, why, tmp_path, monkeypatch):
    monkeypatch.setenv("PQCHAIN_TEST", str(os.getpid()))
    with pytest.raises(PqchainError, match=rf"^the process of node [01] ended early: {why}"):
        processes.run(job(factory), tmp_path)
    wait(lambda: not children())


def test_one_fork_server_runs_several_jobs_and_its_end_is_reported(tmp_path):
    one = job("Late")
    with processes.open_fork_server(one) as fork_server:
        for _ in range(2):
            result = processes.run(one, tmp_path, fork_server=fork_server)
            # uvloop gives handles of another kind for overdue timers.
            assert [node.report for node in result.nodes] == [{"rings": 5}] * 2
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


@pytest.mark.long
@pytest.mark.native
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interruption_leaves_no_process_or_partial_file(how, tmp_path):
    output, temporary = tmp_path / "runs.csv", tmp_path / "temporary"
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
        printed, errors = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == (130 if how is signal.SIGINT else -signal.SIGKILL)
    assert printed == b""
    assert b"Traceback" not in errors
    wait(lambda: not children())
    assert not output.exists()
    if how is signal.SIGINT:  # only the system cleans up after SIGKILL
        assert list(temporary.iterdir()) == []


def test_processes_run_within_an_event_loop_and_report_progress_once_per_second(tmp_path):
    count, progress, start = 50, [], time.monotonic()
    echo = Job(
        nodes=2, factory="tests.wire.echo:build", identity="Ed25519", transport="tcp-tls",
        parameters={"nodes": 2, "count": count},
    )  # fmt: skip

    async def cell() -> None:
        processes.run(echo, tmp_path, progress=progress.append)

    asyncio.run(cell())
    assert sum(progress) == 2 * count
    # The first and the last report of a node are not delayed.
    assert len(progress) <= 2 * (2 + time.monotonic() - start)


def reporting(*lines: bytes):
    """Return the calls of a process that reports some lines and stays alive."""
    left = [encode("listening", ("127.0.0.1", 1)), encode("connected"), *lines]

    async def call(method: str, *values: object) -> object:
        if method == "poll" and not left:
            await asyncio.sleep(60)
        return {"poll": lambda: left.pop(0), "ticks": lambda: (0, 0)}.get(method, lambda: None)()

    return call


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (encode("done", NodeResult(node=0, state="done")), ""),
        (encode("done", NodeResult(node=1, state="done")), "'done' once, as itself"),
        (encode("listening", ("127.0.0.1", 1)), "'listening' once, as itself"),
        (encode("start", {}), "'start' once, as itself"),
        (b"done {}", "the value of 'done'"),
    ],
)
def test_wrong_report_is_an_error_of_its_run(last, message):
    async def launch(index):
        return reporting(last)

    one = Job(nodes=1, factory="", transport="tcp-tls", limit_seconds=5)
    mesh = Mesh(one, launch, "Ed25519", lambda count: None)
    if not message:
        assert asyncio.run(mesh.run()).nodes[0].state == "done"
        return
    with pytest.raises(PqchainError, match=message):
        asyncio.run(mesh.run())


def test_lines_are_read_as_written():
    result = NodeResult(node=1, state="done", report={"a": [1]}, cpu_seconds=0.1)
    addresses = {0: ("127.0.0.1", 4433), 1: ("::1", 1)}
    for report in [("start", addresses), ("begin", None), ("error", "a\nb"), ("done", result)]:
        line = encode(*report)
        assert line.count(b"\n") == 1
        assert decode(line) == report


class Hostile:
    def __reduce__(self):
        return (pytest.fail, ("code of the sender was run",))


@pytest.mark.parametrize(
    "line",
    [
        base64.b64encode(pickle.dumps(("done", Hostile()))), b"done " + pickle.dumps(Hostile()),
        b"setup {}", b"", b"\xff\xfe", b"done", b"done {}", b'done {"node":0,"state":"away"}',
        b'listening ["host","1"]', b"progress 1.5", b"connected 1",
    ],
)  # fmt: skip
def test_other_lines_are_rejected(line):
    with pytest.raises(DataError):
        decode(line + b"\n")
