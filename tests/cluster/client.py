"""Client of a cluster for tests: runs a scenario, and strikes during it.

    python tests/cluster/client.py ADDRESS reencode '{"block_bytes": 8000000}' kill:123
    python tests/cluster/client.py ADDRESS delegates '{"nodes": 4}' none

Strikes happen once nodes have made progress: kill:PID kills a process, wait:FILE creates a file and
lets the run go on. Writes one line of JSON with the result or the error; its exit code is 0.
"""

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pqchain import delegates
from pqchain.consensus import Scenario
from pqchain.consensus.network import named
from pqchain.errors import PqchainError
from pqchain.reencode import runs
from pqchain.reencode import scenario as reencoding
from pqchain.wire.drivers.cluster import Cluster
from pqchain.works import papers


def strike(order: str) -> None:
    """Do what an order says."""
    kind, _, value = order.partition(":")
    if kind == "kill":
        os.kill(int(value), signal.SIGKILL)
    elif kind == "wait":
        Path(value).touch()


def reencode(cluster: Cluster, changes: dict[str, Any], order: str) -> dict[str, Any]:
    """Run a re-encoding, and strike at the first received bytes."""
    orders = [order]

    def progress(count: int) -> None:
        if orders:
            strike(orders.pop())

    for name in {"before", "after"} & changes.keys():
        changes[name] = tuple(changes[name])
    faults = tuple(reencoding.Fault(**fault) for fault in changes.pop("faults", ()))
    patient = {"timeout_seconds": 10.0, "stall_seconds": 60.0, "give_up_seconds": 60.0}
    scenario = reencoding.preset("quick", mode="cluster", **(patient | changes))
    outcome = runs.run(
        replace(scenario, faults=faults), Path(), progress=progress, scheduler=cluster
    )
    return {
        "states": [node.state for node in outcome.nodes],
        "verified": [node.record.verified_blocks for node in outcome.nodes],
        "begun": [node.begun_seconds for node in outcome.nodes],
        "noticed": [node.noticed_seconds for node in outcome.nodes],
        "span": outcome.span_seconds,
        "failure": str(outcome.result.failure or ""),
        "cluster": outcome.result.cluster,
    }


def run_delegates(cluster: Cluster, changes: dict[str, Any], order: str) -> dict[str, Any]:
    """Run delegates, and strike when three blocks are in the ledger of a worker."""
    threading.Thread(target=watch, args=(order,), daemon=True).start()
    scenario = Scenario(
        algorithm="Falcon-512", costs=papers.costs("pqdpol"), network=named("star"),
        block_bytes=20_000, vote_phases=2, **changes,
    )  # fmt: skip
    run = delegates.run(scenario, mode="cluster", scheduler=cluster)
    return {"live": run.is_live, "safe": run.is_safe, "views": run.views}


def watch(order: str) -> None:
    """Strike once a ledger that is made from now on contains some blocks."""
    parent, size, start = Path("/dev/shm"), 0, time.time()
    while size <= 600_000:
        time.sleep(0.05)
        size = 0
        for path in parent.glob("pqchain-scratch-*/ledger.sqlite*"):
            with suppress(OSError):
                size += path.stat().st_size * (path.stat().st_ctime > start)
    strike(order)


def main() -> None:
    """Run what the arguments ask for, and write the result."""
    # Jobs in the background of a shell start with SIGINT ignored, and a test interrupts this one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    address, protocol, changes, order = sys.argv[1:5]
    settings = json.loads(changes)
    cluster = Cluster(scheduler=address, **settings.pop("placement", {}))
    try:
        result = {"reencode": reencode, "delegates": run_delegates}[protocol](
            cluster, settings, order
        )
    except PqchainError as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
