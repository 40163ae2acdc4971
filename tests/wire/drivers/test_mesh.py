"""Reports that no node may send are errors of its run."""

from __future__ import annotations

import asyncio

import pytest

from pqchain.errors import PqchainError
from pqchain.wire.drivers.job import Job, NodeResult, encode
from pqchain.wire.drivers.mesh import Mesh, NodeProcess


class Process(NodeProcess):
    """Process of a node that reports some lines and stays alive."""

    def __init__(self, *lines: bytes) -> None:
        super().__init__(index=0)
        self._lines = list(lines)

    async def write(self, line: bytes) -> None:
        """Ignore requests."""

    async def readline(self) -> bytes:
        if not self._lines:
            await asyncio.sleep(60)
        return self._lines.pop(0)

    async def kill(self) -> float:
        return 0.0

    async def stop(self) -> None:
        self.reading.cancel()

    async def ticks(self) -> tuple[int, int]:
        return 0, 0


STARTED = (encode("listening", ("127.0.0.1", 1)), encode("connected"))


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
    async def launch(index: int, port: int) -> Process:
        return Process(*STARTED, last)

    job = Job(nodes=1, factory="", transport="tcp-tls", limit_seconds=5)
    mesh = Mesh(job, launch, "Ed25519", lambda count: None)
    if not message:
        assert asyncio.run(mesh.run()).nodes[0].state == "done"
        return
    with pytest.raises(PqchainError, match=message):
        asyncio.run(mesh.run())
