"""Runs on ten workers with addresses of their own, and what happens when parts of them fail.

Run by `make test-cluster`. Timeouts are long, so that a busy machine decides no result.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from pqchain.consensus import grid, sweep
from pqchain.wire.drivers import namespaces
from pqchain.wire.transports import registry
from pqchain.works import papers
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
    options = {APART: {"prefix": AHEAD}}
    with Machines(10, tmp_path_factory.mktemp("ten"), options=options) as machines:
        yield machines


@pytest.fixture
def machines(ten):
    """The ten workers; each test has to leave them without a process of a node."""
    yield ten
    assert ten.wait_for_nodes(0, seconds=60), "processes of nodes were left"
    lost = [number for number, process in ten.workers.items() if process.poll() is not None]
    for number in lost:
        ten.restart_worker(number)


def client(machines, protocol, changes, order="none"):
    """Return the command of a client that runs a scenario, see tests/cluster/client.py."""
    program = [sys.executable, "-m", "tests.cluster.client", machines.address, protocol]
    return [*program, json.dumps(changes), order]


def result(machines, protocol, changes, order="none"):
    """Run a client to its end; return its result."""
    done = machines.run(client(machines, protocol, changes, order))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("transport", ["native", "aioquic", "tcp-tls", "grpc"])
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


def test_block_of_64_megabytes_is_reencoded(machines):
    options = ["--block-bytes", "64000000", "--json", "--scheduler", machines.address]
    done = machines.run([*PQCHAIN, "reencode", "--mode", "cluster", *options])
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["status"], run["nodes"], run["mode"]) == ("ok", 9, "cluster")
    assert run["received_bytes"] >= 9 * 6 * 64_000_000 / 7
    provenance = json.loads(done.stdout)["provenance"]
    assert len(provenance["cluster"]["machines"]) == 10
    addresses = {machines.host(number) for number in range(10)}
    assert not any(address in done.stdout for address in addresses)


def test_six_cells_of_delegates(machines, tmp_path):
    options = "--algorithm Falcon-512,Dilithium2 --nodes 2,4,8 --blocks 2 --network star --json"
    command = [*PQCHAIN, "consensus", "--mode", "cluster", "--scheduler", machines.address]
    done = machines.run([*command, *options.split(), "--log", str(tmp_path / "logs")])
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert (data["kind"], data["mode"]) == ("measured", "cluster")
    assert [run["nodes"] for run in data["runs"]] == [2, 4, 8] * 2
    assert all(run["is_live"] and run["is_safe"] for run in data["runs"])
    # The worker whose clock is ahead has a delegate in the runs of four and eight.
    assert all(0 < run["latency_seconds"] < 300 for run in data["runs"])
    assert data["cluster"]["workers"] == 8
    ledgers = sorted((tmp_path / "logs").glob("run-*/*/ledger.sqlite"))
    assert len(ledgers) == 2 * (2 + 4 + 8)


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


def test_killed_client_leaves_no_node(machines, tmp_path):
    running = start(machines, tmp_path)
    running.kill()
    running.communicate()  # closes the pipes, too
    assert machines.wait_for_nodes(0)
    assert result(machines, "reencode", FIVE)["failure"] == ""


def test_interrupted_client_leaves_no_node(machines, tmp_path):
    running = start(machines, tmp_path)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=300)
    # The client has waited for the end of all nodes.
    assert machines.nodes() == []
    assert running.returncode != 0
    assert "KeyboardInterrupt" in errors


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


@pytest.mark.parametrize("kind", ["restart", "stall", "corrupt"])
def test_faults_of_nodes(machines, kind):
    fault = {"node": 1, "kind": kind, "down_seconds": 0.5}
    changes = {**FIVE, "block_bytes": 12_000_000, "faults": [fault], "stall_seconds": 3.0}
    run = result(machines, "reencode", changes)
    assert run["failure"] == ""
    assert run["states"] == ["done"] * 4 + ["dead"]
    assert run["verified"][0] == 1


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


def test_port_in_use_is_named(machines):
    program = (
        "import socket, sys, time\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((sys.argv[1], 4501))\n"
        "print('listening', flush=True)\ntime.sleep(600)\n"
    )
    taken = machines.start(
        [sys.executable, "-c", program, machines.host(1)], where=machines.name(1)
    )
    try:
        assert taken.stdout.readline() == "listening\n"
        run = result(machines, "reencode", {**FIVE, "placement": {"first_port": 4500}})
    finally:
        taken.kill()
        taken.communicate()
    assert f"cannot listen on {machines.host(1)} port 4501: " in run["error"]


def test_too_few_workers(machines):
    run = result(machines, "delegates", {"nodes": 12, "blocks": 1})
    assert "12 nodes with at most 1 per worker need 12 workers" in run["error"]


def test_sweep_over_ten_workers_gives_the_same_bytes(machines, tmp_path):
    cases = {"algorithms": ["Falcon-512"], "exponents": [2, 4], "seeds": range(40)}
    here = sweep(grid(papers.costs("pqdpol"), **cases, networks=["gossip"]), workers=1)
    path = tmp_path / "sweep.csv"
    done = machines.run([
        *PQCHAIN, "consensus", "--algorithm", "Falcon-512", "--exponents", "2,4",
        "--seeds", "0..39", "--network", "gossip", "--scheduler", machines.address,
        "--output", str(path),
    ])  # fmt: skip
    assert done.returncode == 0, done.stderr
    from pqchain import results

    there = results.load(path)
    assert sorted(there["scenario"]) == sorted(here["scenario"])
    both = [frame.sort_values("scenario").to_csv(index=False) for frame in (here, there)]
    assert both[0] == both[1]


def test_unsuitable_workers_are_named_with_a_remedy(tmp_path):
    kinds = ["", "version", "libraries", "without:pqchain", "clock", "without:grpc"]
    options = {
        number: {"preload": "tests.cluster.other_worker", "PQCHAIN_TEST_WORKER": kind}
        for number, kind in enumerate(kinds)
    }
    with Machines(len(kinds), tmp_path, options=options) as made:
        changes = {"nodes": 6, "before": [4, 2], "after": [3, 2], "failed_node": 5}
        run = result(made, "reencode", {**changes, "transport": "grpc"})
        lines = run["error"].removeprefix("UsageError: ").splitlines()
        found = {line.partition(": ")[0].split("//")[1].split(":")[0]: [] for line in lines}
        for line in lines:
            where, _, what = line.partition(": ")
            found[where.split("//")[1].split(":")[0]].append(what)
        assert set(found) == {made.host(number) for number in range(1, 6)}
        assert "has pqchain 0.0.9" in found[made.host(1)][0]
        assert "lacks the native library" in found[made.host(2)][0]
        assert "No module named 'pqchain'" in found[made.host(3)][0]
        assert "its clock is 300 s ahead; synchronize it" in found[made.host(4)][0]
        assert "transport grpc" in found[made.host(5)][0]
        assert all("install" in text or "synchronize" in text
                   for texts in found.values() for text in texts)  # fmt: skip
        assert made.nodes() == []


def test_hostile_worker_writes_no_file_of_the_client(tmp_path):
    written = tmp_path / "written"
    options = {
        0: {"preload": "tests.cluster.other_worker", "PQCHAIN_TEST_WORKER": f"hostile:{written}"}
    }
    with Machines(1, tmp_path, options=options) as made:
        command = [*PQCHAIN, "consensus", "--algorithm", "Falcon-512", "--scheduler", made.address]
        done = made.run([*command, "--exponents", "1..2"])
        assert done.returncode == 1
        assert f"of run_batch from worker tcp://{made.host(0)}" in done.stderr
        run = ["--mode", "cluster", "--network", "star", "--nodes", "2", "--nodes-per-worker", "2"]
        done = made.run([*command, *run, "--log", str(tmp_path / "logs")])
        assert done.returncode == 1
        assert "files with plain names; got" in done.stderr
    assert not written.exists()


def test_lost_scheduler_ends_the_run_and_all_nodes(tmp_path):
    with Machines(3, tmp_path) as made:
        changes = {**THREE, "block_bytes": 30_000_000, "sources": "all", "stall_seconds": 500.0}
        changes["faults"] = [{"node": 1, "kind": "stall"}]
        run = result(made, "reencode", changes, f"kill:{made.scheduler.pid}")
        assert f"the Dask scheduler {made.address} was lost" in run["error"]
        assert made.wait_for_nodes(0)


def test_scheduler_with_tls(tmp_path):
    certificate, key = certified(tmp_path)
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


def certified(folder: Path) -> tuple[Path, Path]:
    """Write a certificate that signs itself, and its key; return the paths."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "cluster")])
    now = datetime.now(timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


def test_no_namespace_or_process_is_left(tmp_path):
    with Machines(1, tmp_path) as made:
        names = {made.hub, made.name(0)}
        pids = [pid for name in names for pid in made.pids(name)]
        assert len(pids) >= 2
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    assert not names & set(left.stdout.split())
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
