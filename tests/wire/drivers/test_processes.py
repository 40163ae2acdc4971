"""The driver of processes, without processes."""

import asyncio
from time import monotonic

from pqchain.wire.drivers import processes
from pqchain.wire.drivers.job import Job
from pqchain.wire.drivers.mesh import Mesh


def test_sockets_work_within_a_running_event_loop(monkeypatch, tmp_path):
    job = Job(nodes=2, factory="tests.wire.echo:build", identity="Ed25519")

    async def fine(mesh: Mesh) -> str:
        return "an outcome"

    async def cell() -> object:
        return processes.run(job, tmp_path)

    monkeypatch.setattr(Mesh, "run", fine)
    assert asyncio.run(cell()) == "an outcome"
    assert processes.run(job, tmp_path) == "an outcome"


def test_progress_is_reported_once_per_second_and_completely(tmp_path):
    count, progress, start = 50, [], monotonic()
    job = Job(
        nodes=2, factory="tests.wire.echo:build", identity="Ed25519", transport="tcp-tls",
        parameters={"nodes": 2, "count": count, "waits": False, "refuses": -1},
    )  # fmt: skip
    processes.run(job, tmp_path, progress=progress.append)
    assert sum(progress) == 2 * count
    # The first and the last report of a node are not delayed.
    assert len(progress) <= 2 * (2 + monotonic() - start)
