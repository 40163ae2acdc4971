"""Driver with the nodes' processes on the workers of a Dask cluster.

Dask places the nodes and carries orders and reports; the nodes' transports listen on the workers'
own addresses and connect to each other directly. A node has its files on its worker. A worker that
is lost after all nodes are connected is a node that dies. If the scheduler is lost, the run ends
with an error, and the workers stop the nodes.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pqchain import checks, scheduler
from pqchain.errors import DataError, PqchainError, UsageError, short_repr
from pqchain.results.files import write_atomically
from pqchain.wire.drivers import cluster_machines
from pqchain.wire.drivers.cluster_calls import Worker, WorkerLost
from pqchain.wire.drivers.job import Job, Progress, Result
from pqchain.wire.drivers.mesh import Mesh, Ticks
from pqchain.wire.drivers.processes import run_until_complete

_START_SECONDS = 600.0
"""Timeout for all nodes to start: they make their transactions first."""

MAX_LOGS, MAX_LOG_BYTES = 1000, 256 << 20
"""Maximum number and total size of the files of a node that are copied to the client."""

_PIECE_BYTES = 8 << 20
"""Size of one message with a part of a file."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
"""Names of files that are copied: without folders, and not hidden."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Dask cluster that runs the nodes, and how it runs them."""

    scheduler: str
    """Address of the scheduler, such as tls://host:8786."""
    nodes_per_worker: int = 1
    """Maximum number of nodes on a worker."""
    first_port: int = 0
    """Node i listens on this port plus i, over UDP or TCP as its transport does; 0: any port."""

    @classmethod
    def of(cls, cluster: str | Cluster | None) -> Cluster:
        """Return a cluster from the address of its scheduler. Raises UsageError for None."""
        if cluster is None:
            raise UsageError(
                "mode 'cluster' needs a scheduler; got None. Start one with `dask scheduler`, and "
                "give scheduler='tls://host:8786' (--scheduler tls://host:8786)."
            )
        return cls(scheduler=cluster) if isinstance(cluster, str) else cluster

    def __post_init__(self) -> None:
        checks.integer("nodes_per_worker", self.nodes_per_worker, least=1)
        checks.integer("first_port", self.first_port, least=0, most=2**16 - 1)


@dataclass(eq=False)
class _RemoteProcess:
    """Process of a node on a worker, a `mesh.NodeProcess`."""

    worker: Worker
    key: int
    index: int
    reports: asyncio.Queue[bytes | PqchainError] = field(default_factory=asyncio.Queue)
    _writing: asyncio.Task[None] | None = None
    _unwritten: list[bytes] = field(default_factory=list)

    @property
    def lost(self) -> bool:
        return self.worker.lost

    def write(self, line: bytes) -> None:
        self._unwritten.append(line)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        # One task writes, so that requests arrive in order; `_Launcher.read` reports a lost worker.
        with suppress(PqchainError):
            while self._unwritten:
                await self.worker.call("write", self.key, self._unwritten.pop(0))

    async def readline(self) -> bytes:
        report = await self.reports.get()
        if isinstance(report, PqchainError):
            raise report
        return report

    async def kill(self) -> float:
        try:
            return float(await self.worker.call("kill", self.key))
        except WorkerLost:
            return math.nan

    async def stop(self, reading: asyncio.Task[None]) -> None:
        # The worker waits until the process has ended; its last reports are not needed.
        with suppress(PqchainError):
            await self.worker.call("stop", self.key)
        reading.cancel()

    async def last_log_line(self) -> str:
        if self.lost:
            return ""
        return str(await self.worker.call("last_log_line", self.index))


@dataclass(eq=False)
class _Launcher:
    """Starts the nodes' processes on the workers, and passes their reports to them."""

    workers: Sequence[Worker]
    processes: dict[int, _RemoteProcess] = field(default_factory=dict)
    """Processes by key; keys count the starts, as a node may be started again."""

    async def launch(self, index: int, port: int) -> _RemoteProcess:
        worker = self.workers[index % len(self.workers)]
        key = len(self.processes)
        process = self.processes[key] = _RemoteProcess(worker, key, index)
        await worker.call("launch", key, index, port or worker.ports[index])
        return process

    async def read(self, worker: Worker) -> None:
        """Pass a worker's reports on until it is lost or this task is cancelled."""
        try:
            while True:
                for key, line in await worker.call("read"):
                    process = self.processes.get(key)
                    if process is None or process.worker is not worker:
                        raise DataError(f"worker {worker.address} must report its own nodes only")
                    process.reports.put_nowait(line.encode())
        except PqchainError as error:
            end = b"" if isinstance(error, WorkerLost) else error
            for process in self.processes.values():
                if process.worker is worker:
                    process.reports.put_nowait(end)

    async def ticks(self) -> Ticks:
        async def read(worker: Worker) -> tuple[int, int]:
            try:
                idle, total = await worker.call("ticks")
            except WorkerLost:
                return 0, 0
            return idle, total

        return list(await asyncio.gather(*map(read, self.workers)))


def run(
    job: Job,
    cluster: Cluster,
    *,
    in_memory: bool = False,
    progress: Progress = lambda count: None,
    folder: Path | None = None,
) -> Result:
    """Run a job on the workers of a Dask cluster; nodes are placed in the order of addresses.

    With `in_memory` the nodes' folders are in the workers' memory where possible. After the run,
    files of node i are copied to `folder/i`; those of a lost worker are lost. Without a folder
    nothing is copied.

    `Result.cluster` has workers and computers (numbers of them), clock_error_seconds (maximum error
    of a difference between two machines' times), machines (for each worker: nodes, computer,
    machine_id, cpu_model, cpu_count, python, pqchain, commit, load_per_processor,
    clock_offset_seconds and clock_error_seconds, relative to worker 0), and links (from and to,
    numbers of workers; round_trip_seconds; bits_per_second of one transfer of 1 MiB over TCP, None
    if it does not pass). Raises Unsupported without Dask; UsageError for an address without a
    scheduler, and for workers that are too few or lack something; PqchainError for a lost scheduler
    and for nodes that do not start or end in time.
    """
    return run_until_complete(_run(job, cluster, in_memory, progress, folder))


async def _run(
    job: Job,
    cluster: Cluster,
    in_memory: bool,
    progress: Progress,
    folder: Path | None,
) -> Result:
    async with scheduler.open_client(cluster.scheduler) as client:
        workers = await cluster_machines.choose_workers(client, job, **asdict(cluster))
        identities = dict(enumerate(job.identities()))
        try:
            await asyncio.gather(*(worker.start(job, identities, in_memory) for worker in workers))
            links = await cluster_machines.measure_links(workers)
            launcher = _Launcher(workers)
            readings = [asyncio.create_task(launcher.read(worker)) for worker in workers]
            algorithm = identities[0].public.algorithm
            mesh = Mesh(
                job, launcher.launch, launcher.ticks, algorithm, progress,
                start_seconds=_START_SECONDS,
            )  # fmt: skip
            try:
                result = await mesh.run()
            finally:
                for reading in readings:
                    reading.cancel()
            after = await cluster_machines.measure_clocks(workers)
            if folder is not None:
                await asyncio.gather(*(_copy_files(worker, folder) for worker in workers))
        finally:
            # Shielded, so that a second Ctrl-C leaves no process either.
            await asyncio.shield(_close(workers))
    return cluster_machines.with_machines(result, workers, links, after)


async def _copy_files(worker: Worker, folder: Path) -> None:
    with suppress(WorkerLost):
        for index in worker.ports:
            left = MAX_LOG_BYTES
            (folder / str(index)).mkdir(parents=True, exist_ok=True)
            names = await worker.call("file_names", index)
            if len(names) > MAX_LOGS or not all(map(_NAME.fullmatch, names)):
                raise DataError(
                    f"worker {worker.address} must have at most {MAX_LOGS} files with plain names; "
                    f"got {short_repr(names)}"
                )
            for name in names:
                data, piece = bytearray(), bytes(_PIECE_BYTES)
                # Only the last piece is shorter, so that the number of calls is limited, too.
                while len(piece) == _PIECE_BYTES:
                    piece = await worker.call("read_file", index, name, len(data), _PIECE_BYTES)
                    data += piece
                    if len(piece) > _PIECE_BYTES or len(data) > left:
                        raise DataError(
                            f"the files of node {index} of worker {worker.address} must have at "
                            f"most {MAX_LOG_BYTES} bytes; got more in {name}"
                        )
                left -= len(data)
                write_atomically(folder / str(index) / name, bytes(data))


async def _close(workers: Sequence[Worker]) -> None:
    async def close(worker: Worker) -> None:
        with suppress(PqchainError):
            if worker.actor is not None:
                await worker.call("close")

    await asyncio.gather(*map(close, workers))
