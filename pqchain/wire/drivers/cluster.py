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
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

from pqchain import checks, installation
from pqchain import scheduler as scheduling
from pqchain.errors import DataError, InvalidResult, PqchainError, UsageError, short_repr
from pqchain.installation import VERSION
from pqchain.results.files import write_atomically
from pqchain.wire.drivers import cluster_worker
from pqchain.wire.drivers.cluster_worker import Description, WorkerNodes
from pqchain.wire.drivers.job import Job, Progress, Result, encode
from pqchain.wire.drivers.mesh import Mesh, NodeProcess
from pqchain.wire.drivers.processes import LocalProcess, run_until_complete

_START_SECONDS = 600.0
"""Timeout for all nodes to have their files, and to start: they make their transactions first."""

_CALL_SECONDS = 60.0
"""Time without an answer after which a worker is considered lost; it answers sooner."""

MAX_CLOCK_SECONDS = 60.0
"""Maximum difference between a worker's time of day and the client's, so that logs compare."""

_CLOCK_READINGS = 20
"""Number of readings of a worker's clock, of which the fastest is used."""

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


class WorkerLost(PqchainError):
    """A worker ended, or does not answer."""


@dataclass(eq=False)
class _RemoteProcess(NodeProcess):
    """Process of a node on a worker."""

    worker: Worker
    key: int

    async def _call(self, method: str, *values: Any, default: Any = None) -> Any:
        """Call a method of the process; the default is the result if its worker is lost."""
        with suppress(WorkerLost):
            return await self.worker.call(method, *values, key=self.key)
        return default

    async def write(self, line: bytes) -> None:
        await self._call("write", line)

    async def readline(self) -> bytes:
        lost = encode("lost", "its worker was lost before all nodes were connected")
        while not (line := await self._call("poll", default=lost)):
            continue
        return bytes(line)

    async def kill(self) -> float:
        return float(await self._call("kill", default=math.nan))

    async def stop(self) -> None:
        with suppress(PqchainError):
            await self._call("stop")

    async def ticks(self) -> tuple[int, int]:
        idle, total = await self._call("ticks", default=(0, 0))
        return idle, total


@dataclass(eq=False)
class Worker:
    """A worker, its nodes, and its actor once it is started."""

    address: str
    client: Any
    scheduler: str
    ports: Mapping[int, int]
    """Port of each of its nodes; 0: any."""
    description: Description
    actor: Any = None
    lost: bool = False
    clock: tuple[float, float] = (math.nan, math.nan)
    """Result of `read_clock`."""
    starts: int = 0
    """Number of processes that were started, which identifies the next one."""

    async def call(
        self, method: str, *values: Any, key: int | None = None, seconds: float = _CALL_SECONDS
    ) -> Any:
        """Call a method of the actor, or of its process `key`; the annotation gives the type.

        Raises WorkerLost, DataError for a result of another type, and the errors of the method.
        """
        if self.lost:
            raise WorkerLost(f"worker {self.address} was lost")
        try:
            reply = await asyncio.wait_for(self.actor.call(key, method, *values), seconds)
        except scheduling.LOST_ERRORS as error:
            await self._check_scheduler()
            self.lost = True
            raise WorkerLost(f"worker {self.address} was lost ({error})") from error
        word, _, text = str(reply).partition(" ")
        owner = WorkerNodes if key is None else LocalProcess
        result = get_type_hints(getattr(owner, method))["return"]
        kind = result if word == "value" else checks.SentError
        value = checks.loads(text, kind, f"the reply of worker {self.address} to {method!r}")
        if word != "value":
            raise value
        return value

    async def _check_scheduler(self) -> None:
        try:
            await asyncio.wait_for(self.client.scheduler.identity(), _CALL_SECONDS)
        # AttributeError: a client that lost its scheduler has none.
        except (*scheduling.LOST_ERRORS, AttributeError) as error:
            raise PqchainError(
                f"the Dask scheduler {self.scheduler} was lost ({error or type(error).__name__}). "
                "The workers stop the nodes. Start the cluster and the run again."
            ) from error

    async def start(self, job: Job, identities: Mapping[int, Any], in_memory: bool) -> None:
        """Start the actor, which makes and fills the nodes' folders."""
        directory = [identity.public for identity in identities.values()]
        nodes = {index: identities[index] for index in self.ports}
        made = scheduling.actor(
            self.client, self.address, WorkerNodes, job, nodes, directory, in_memory
        )
        try:
            self.actor = await asyncio.wait_for(made, _CALL_SECONDS)
        except scheduling.LOST_ERRORS as error:
            raise PqchainError(f"worker {self.address} was lost before the start.") from error
        await self.call("open", seconds=_START_SECONDS)

    async def read_clock(self) -> tuple[float, float]:
        """Return the seconds by which its clock is ahead of this machine's, and their error.

        The error is half the shortest round trip, whatever the trip's asymmetry. A machine that was
        lost since the last reading keeps it.
        """
        readings = []
        with suppress(WorkerLost):
            for _ in range(_CLOCK_READINGS):
                began = time.monotonic()
                reading = await self.call("clock")
                half = (time.monotonic() - began) / 2
                readings.append((half, reading - (began + half)))
            error, ahead = min(readings)
            self.clock = ahead, error
        return self.clock

    async def launch(self, index: int, port: int) -> _RemoteProcess:
        """Start the process of a node."""
        process = _RemoteProcess(index=index, worker=self, key=self.starts)
        self.starts += 1
        host = self.address.partition("://")[2].rpartition(":")[0].strip("[]")
        await self.call("launch", process.key, index, (host, port or self.ports[index]))
        return process

    async def copy_files(self, folder: Path) -> None:
        """Copy the files of each node i to `folder/i`, unless the worker is lost."""
        with suppress(WorkerLost):
            for index in self.ports:
                (folder / str(index)).mkdir(parents=True, exist_ok=True)
                names = await self.call("file_names", index)
                if len(names) > MAX_LOGS or not all(map(_NAME.fullmatch, names)):
                    raise InvalidResult(
                        f"worker {self.address} must have at most {MAX_LOGS} files with plain "
                        f"names; got {short_repr(names)}"
                    )
                left = MAX_LOG_BYTES
                for name in names:
                    data, piece = bytearray(), bytes(_PIECE_BYTES)
                    # Only the last piece is shorter, so that the number of calls is limited, too.
                    while len(piece) == _PIECE_BYTES:
                        piece = await self.call("read_file", index, name, len(data), _PIECE_BYTES)
                        data += piece
                        if len(piece) > _PIECE_BYTES or len(data) > left:
                            raise InvalidResult(
                                f"the files of node {index} of worker {self.address} must have at "
                                f"most {MAX_LOG_BYTES} bytes; got more in {name}"
                            )
                    left -= len(data)
                    write_atomically(folder / str(index) / name, bytes(data))


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
    of a difference between two machines' times), and machines (for each worker: nodes, computer,
    machine_id, cpu_model, cpu_count, python, pqchain, commit, load_per_processor,
    clock_offset_seconds and clock_error_seconds, relative to the client). Raises Unsupported
    without Dask, UsageError without a scheduler or suitable workers, and PqchainError for a lost
    scheduler and for nodes that do not start or end in time.
    """
    return run_until_complete(_run(job, cluster, in_memory, progress, folder))


async def _run(
    job: Job, cluster: Cluster, in_memory: bool, progress: Progress, folder: Path | None
) -> Result:
    async with scheduling.open_client(cluster.scheduler) as client:
        workers = await _choose_workers(client, job, cluster)
        identities = dict(enumerate(job.identities()))

        async def launch(index: int, port: int) -> NodeProcess:
            return await workers[index % len(workers)].launch(index, port)

        try:
            await asyncio.gather(*(worker.start(job, identities, in_memory) for worker in workers))
            # One after another, so that the client's own work does not delay the replies.
            before = [await worker.read_clock() for worker in workers]
            algorithm = identities[0].public.algorithm
            result = await Mesh(job, launch, algorithm, progress, _START_SECONDS).run()
            for worker in workers:
                await worker.read_clock()
            if folder is not None:
                await asyncio.gather(*(worker.copy_files(folder) for worker in workers))
        finally:
            # Shielded, so that a second Ctrl-C leaves no process either.
            calls = [worker.call("close") for worker in workers if worker.actor is not None]
            await asyncio.shield(asyncio.gather(*calls, return_exceptions=True))
    return _with_machines(result, workers, before)


async def _choose_workers(client: Any, job: Job, cluster: Cluster) -> list[Worker]:
    """Return the workers that run nodes. Raises UsageError for too few, or unsuitable ones."""
    transports = sorted({info.name for info in job.infos})
    ours = (VERSION, cluster_worker.python_version(), sorted(installation.installed_libraries()))
    began = time.time()
    replies = await client.run(
        scheduling.as_json, cluster_worker.describe, *ours, transports, on_error="return"
    )
    ended = time.time()
    needed = -(-job.nodes // cluster.nodes_per_worker)
    if len(replies) < needed:
        raise UsageError(
            f"{job.nodes} nodes with at most {cluster.nodes_per_worker} per worker need {needed} "
            f"workers; {cluster.scheduler} has {len(replies)}. Start more, or raise "
            "--nodes-per-worker."
        )
    chosen = sorted(replies, key=_natural)[: job.nodes]
    problems, workers = [], []
    for number, address in enumerate(chosen):
        description: Any = replies[address]
        try:
            if not isinstance(description, Exception):
                description = checks.loads(description, Description, "its description")
        except DataError as error:
            description = error
        found = _problems(description, began, ended)
        problems += [f"worker {address}: {problem}" for problem in found]
        indices = range(number, job.nodes, len(chosen))
        ports = {index: cluster.first_port and cluster.first_port + index for index in indices}
        workers.append(Worker(address, client, cluster.scheduler, ports, description))
    if problems:
        raise UsageError("\n".join(problems))
    return workers


def _natural(address: str) -> list[int | str]:
    """Return a sort key by which 10.0.0.2 is before 10.0.0.10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", address)]


def _problems(description: Any, began: float, ended: float) -> list[str]:
    """Return what a worker that replied between two times lacks, each with its remedy."""
    if isinstance(description, Exception):
        return [
            f"its check failed ({type(description).__name__}: {description}); install pqchain "
            f"{VERSION} there, in the environment that runs `dask worker`"
        ]
    seconds = description["seconds"]
    ahead = seconds - min(max(seconds, began), ended)
    if abs(ahead) <= MAX_CLOCK_SECONDS:
        return list(description["problems"])
    direction = "ahead" if ahead > 0 else "behind"
    return [
        *description["problems"],
        f"its clock is {abs(ahead):.0f} s {direction}; synchronize it, for example with chrony",
    ]


def _with_machines(
    result: Result, workers: Sequence[Worker], before: Sequence[tuple[float, float]]
) -> Result:
    """Return the result with times of this machine's clock, and with the cluster's facts."""
    boots = list(dict.fromkeys(worker.description["boot"] for worker in workers))
    offsets, errors = [], []
    for (first, first_error), worker in zip(before, workers, strict=True):
        last, last_error = worker.clock
        offsets.append((first + last) / 2)
        errors.append(max(first_error, last_error) + abs(last - first) / 2)
    machines = [
        {
            "worker": number,
            "nodes": list(worker.ports),
            "computer": boots.index(worker.description["boot"]),
            **worker.description["machine"],
            "clock_offset_seconds": offsets[number],
            "clock_error_seconds": errors[number],
        }
        for number, worker in enumerate(workers)
    ]
    count, times = len(workers), result.failure_times
    return replace(
        result,
        nodes=tuple(
            replace(node, clock_offset_seconds=offsets[node.node % count]) for node in result.nodes
        ),
        failure_times={node: time - offsets[node % count] for node, time in times.items()},
        cluster={
            "workers": count,
            "computers": len(boots),
            # Two times may have opposite errors; times of one worker have the same one.
            "clock_error_seconds": sum(sorted(errors)[-2:]) if count > 1 else 0.0,
            "machines": machines,
        },
    )
