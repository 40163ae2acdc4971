"""Runs on ten workers with addresses of their own, and what happens when parts of them fail.

Run by `make test-cluster`. Timeouts are long, so that a busy machine decides no result.
"""

import json
import re
import signal
import subprocess
import sys
import time

import pytest

from pqchain.wire.drivers import namespaces
from pqchain.wire.transports import registry
from tests.cluster.machines import Machines

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        bool(namespaces.unavailable_reason()), reason=f"netns: {namespaces.unavailable_reason()}"
    ),
]

APART_SECONDS = 1000
"""How far the monotonic clock of worker `APART` is ahead of the others."""

APART = 2
AHEAD = ["unshare", "--time", "--monotonic", str(APART_SECONDS), "--fork", "--kill-child"]

PQCHAIN = [sys.executable, "-m", "pqchain"]
FIVE = {"nodes": 5, "before": [3, 2], "after": [2, 2], "failed_node": 4}
THREE = {"nodes": 3, "before": [2, 1], "after": [1, 1], "failed_node": 2}


@pytest.fixture(scope="module")
def ten(tmp_path_factory):
    """Ten workers; the clock of one is ahead."""
    with Machines(10, tmp_path_factory.mktemp("ten"), prefixes={APART: AHEAD}) as machines:
        yield machines


@pytest.fixture
def machines(ten):
    """The ten workers; each test has to leave them without a process of a node."""
    yield ten
    assert ten.wait_for_no_nodes(60), "processes of nodes were left"
    ten.keep_workers(10)


def client(machines, protocol, changes, order="none"):
    """Return the command of a client that runs a scenario, see tests/cluster/client.py."""
    program = [sys.executable, "-m", "tests.cluster.client", machines.address, protocol]
    return [*program, json.dumps(changes), order]


def result(machines, protocol, changes, order="none"):
    """Run a client to its end; return its result."""
    done = machines.run(client(machines, protocol, changes, order))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("transport", ["native", "aioquic", "tcp-tls"])
def test_ten_machines_reencode(machines, transport):
    if reason := registry.get(transport).unavailable_reason():
        pytest.skip(reason)
    run = result(machines, "reencode", {"transport": transport})
    assert run["failure"] == ""
    assert run["states"] == ["done"] * 9 + ["dead"]
    assert run["verified"] == [1] * 9 + [0]
    facts = run["cluster"]
    assert (facts["workers"], facts["computers"]) == (10, 1)
    # All workers have the client's clock, except for the one that is ahead.
    for row in facts["machines"]:
        truth = APART_SECONDS if row["worker"] == APART else 0
        assert abs(row["clock_offset_seconds"] - truth) <= row["clock_error_seconds"] + 1e-3
    # Times of all nodes are on one clock: none is a thousand seconds off.
    assert 0 <= min(run["begun"][:9]) <= max(run["begun"][:9]) < 300
    assert 0 < run["span"] < 300
    noticed = [time for time in run["noticed"][:9] if time == time]
    assert 0 < min(noticed) <= max(noticed) < 300


def test_cells_of_delegates(machines, tmp_path):
    options = "--algorithm Falcon-512 --nodes 2,4 --blocks 2 --network star --json --scheduler"
    command = [*PQCHAIN, "consensus", "--mode", "cluster", *options.split(), machines.address]
    done = machines.run([*command, "--log", str(tmp_path / "logs")])
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert (data["kind"], data["mode"]) == ("measured", "cluster")
    assert [run["nodes"] for run in data["runs"]] == [2, 4]
    assert all(run["is_live"] and run["is_safe"] for run in data["runs"])
    # The worker whose clock is ahead has a delegate in the run of four.
    assert all(0 < run["latency_seconds"] < 300 for run in data["runs"])
    assert data["cluster"]["workers"] == len(data["cluster"]["machines"]) == 4
    assert not any(machines.host(number) in done.stdout for number in range(10))
    assert len(list((tmp_path / "logs").glob("run-*/*/ledger.sqlite"))) == 2 + 4


def test_killed_worker_is_a_dead_node(machines):
    order = f"kill:{machines.workers[1].pid}"
    run = result(machines, "reencode", {**FIVE, "block_bytes": 30_000_000}, order)
    assert run["failure"] == ""
    assert run["states"] == ["done", "dead", "done", "done", "dead"]
    assert machines.workers[1].poll() is not None


def test_delegates_continue_without_a_killed_worker(machines):
    order = f"kill:{machines.workers[1].pid}"
    changes = {"nodes": 4, "blocks": 24, "view_timeout_seconds": 10.0, "max_views": 200}
    run = result(machines, "delegates", changes, order)
    assert machines.workers[1].poll() is not None
    assert "error" not in run, run
    assert run["safe"] and run["live"]
    # Heights of the dead delegate need the next view.
    assert run["views"] > 24


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_ended_client_leaves_no_node(machines, tmp_path, how):
    running = start(machines, tmp_path)
    running.send_signal(how)
    _, errors = running.communicate(timeout=300)
    if how == signal.SIGINT:
        # The client has waited for the end of all nodes.
        assert machines.nodes() == []
        assert running.returncode != 0
        assert "KeyboardInterrupt" in errors
    assert machines.wait_for_no_nodes()
    assert result(machines, "reencode", FIVE)["failure"] == ""


def start(machines, folder):
    """Start a client; return it when its nodes have made progress, far from their end."""
    reached = folder / "reached"
    changes = {**FIVE, "block_bytes": 30_000_000, "faults": [{"node": 1, "kind": "stall"}]}
    # A request to the node that stalls waits for so long.
    changes |= {"stall_seconds": 500.0, "sources": "all"}
    running = machines.start(client(machines, "reencode", changes, f"wait:{reached}"))
    end = time.monotonic() + 300
    while not reached.exists() and running.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    assert reached.exists(), running.communicate(timeout=60)
    assert len(machines.nodes()) >= 4
    return running


def test_closed_port_is_named(machines):
    # Packets from this port are refused, as by a firewall.
    rule = f"ip -n {machines.name(2)} rule add pref 10 ipproto udp sport 4502 prohibit"
    subprocess.run(rule.split(), check=True)
    try:
        run = result(machines, "reencode", {**FIVE, "placement": {"first_port": 4500}})
    finally:
        subprocess.run(rule.replace(" add ", " delete ").split(), check=True)
    assert "did not connect within 60 s" in run["error"]
    assert "2" in run["error"] and "--first-port" in run["error"]
    # With the port open the same run succeeds.
    run = result(machines, "reencode", {**FIVE, "placement": {"first_port": 4500}})
    assert run["states"] == ["done"] * 4 + ["dead"]


def test_unsuitable_workers_are_named_with_a_remedy(tmp_path):
    kinds = dict(enumerate(["", "without:pqchain", "clock", "without:aioquic"]))
    with Machines(len(kinds), tmp_path, kinds=kinds) as made:
        changes = {"nodes": 4, "before": [2, 2], "after": [2, 1], "failed_node": 3}
        error = result(made, "reencode", {**changes, "transport": "aioquic"})["error"]
        patterns = ["its check failed .*pqchain.*; install", "clock is 300 s ahead; synchronize it",
                    "transport aioquic.*pip install"]  # fmt: skip
        lines = error.removeprefix("UsageError: ").splitlines()
        for number, (line, pattern) in enumerate(zip(lines, patterns, strict=True), 1):
            assert re.match(rf"worker tcp://{made.host(number)}:.*{pattern}", line)
        assert made.nodes() == []


def test_hostile_worker_writes_no_file_of_the_client(tmp_path):
    written = tmp_path / "written"
    with Machines(1, tmp_path, kinds={0: f"hostile:{written}"}) as made:
        command = [*PQCHAIN, "consensus", "--algorithm", "Falcon-512", "--scheduler", made.address]
        done = made.run([*command, "--exponents", "1..2"])
        assert done.returncode == 1
        assert f"of run_batch from worker tcp://{made.host(0)}" in done.stderr
        run = ["--mode", "cluster", "--network", "star", "--nodes", "2", "--nodes-per-worker", "2"]
        done = made.run([*command, *run, "--log", str(tmp_path / "logs")])
        assert done.returncode == 1
        assert "expected a plain name" in done.stderr
    assert not written.exists()


def test_lost_scheduler_ends_the_run_and_all_nodes(tmp_path):
    with Machines(3, tmp_path) as made:
        changes = {**THREE, "block_bytes": 30_000_000, "sources": "all", "stall_seconds": 500.0}
        changes["faults"] = [{"node": 1, "kind": "stall"}]
        run = result(made, "reencode", changes, f"kill:{made.scheduler.pid}")
        assert f"the Dask scheduler {made.address} was lost" in run["error"]
        assert made.wait_for_no_nodes()


def test_scheduler_with_tls(tmp_path):
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj"
    files = ["/CN=cluster", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make.split(), *files], check=True, capture_output=True)
    paths = {"CA_FILE": certificate}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        paths |= {f"{role}__CERT": certificate, f"{role}__KEY": key}
    prefix = "DASK_DISTRIBUTED__COMM__TLS__"
    settings = {f"{prefix}{name}": str(path) for name, path in paths.items()}
    with Machines(3, tmp_path, protocol="tls", **settings) as made:
        run = result(made, "reencode", THREE)
        assert run["states"] == ["done", "done", "dead"]
        command = client(made, "reencode", THREE)
        done = made.run(["env", *(f"--unset={name}" for name in settings), *command])
        assert "Dask's configuration has no certificates for TLS" in done.stdout
        tcp = [part.replace("tls://", "insecure-tcp://") for part in command]
        assert "no Dask scheduler answers at 'insecure-tcp://" in made.run(tcp).stdout
        tcp = [part.removeprefix("insecure-") for part in tcp]
        assert "connections to other computers must use TLS; got tcp://" in made.run(tcp).stdout
