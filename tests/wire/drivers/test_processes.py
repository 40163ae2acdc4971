"""The driver of processes, without processes."""

import asyncio

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
