"""Driver with the nodes' processes on the workers of a Dask cluster.

Dask places the nodes and carries orders and reports; the nodes' transports listen on the workers'
own addresses and connect to each other directly. A node has its files on its worker. A worker that
is lost after all nodes are connected is a node that dies. If the scheduler is lost, the run ends
with an error, and the workers stop the nodes.
"""

from __future__ import annotations

import asyncio
import math
import platform
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from pqchain import checks, machine, scheduler
from pqchain.errors import PqchainError, UsageError
from pqchain.installation import VERSION
from pqchain.wire.drivers import cluster_worker
from pqchain.wire.drivers.cluster_worker import WorkerNodes
from pqchain.wire.drivers.job import Job, Progress, Result
from pqchain.wire.drivers.mesh import Mesh, Ticks
from pqchain.wire.drivers.probes import Path as LinkPath
from pqchain.wire.drivers.processes import run_until_complete
from pqchain.wire.session import Address

MAX_CLOCK_SECONDS = 60.0
"""Maximum difference between a worker's time of day and the client's; logs could not be compared
otherwise."""

_CALL_SECONDS = 60.0
"""Time without an answer after which a worker is considered lost; it answers after
`cluster_worker.POLL_SECONDS`."""

_PREPARE_SECONDS = _START_SECONDS = 600.0
"""Timeouts for all nodes to have their files, and to start: they make their transactions first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Dask cluster that runs the nodes, and how it runs them."""

    scheduler: str
    """Address of the scheduler, such as tcp://host:8786 or tls://host:8786."""
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
                "give scheduler='tcp://host:8786' (--scheduler tcp://host:8786)."
            )
        return cls(scheduler=cluster) if isinstance(cluster, str) else cluster

    def __post_init__(self) -> None:
        checks.integer("nodes_per_worker", self.nodes_per_worker, least=1)
        checks.integer("first_port", self.first_port, least=0, most=2**16 - 1)


class _WorkerLost(PqchainError):
    """A worker ended, or does not answer."""


@dataclass(eq=False)
class _Worker:
    """One worker: its actor, and the processes of its nodes by key."""

    number: int
    address: str
    client: Any
    scheduler: str
    nodes: list[int]
    description: Mapping[str, Any]
    actor: Any = None
    lost: bool = False
    processes: dict[int, _RemoteProcess] = field(default_factory=dict)
    reading: asyncio.Task[None] = field(init=False)

    async def call(
        self, method: str, *values: Any, seconds: float = _CALL_SECONDS, **named: Any
    ) -> Any:
        """Call a method of the actor. Raises _WorkerLost, and PqchainError for other failures."""
        if self.lost:
            raise _WorkerLost(f"worker {self.address} was lost")
        try:
            return await asyncio.wait_for(getattr(self.actor, method)(*values, **named), seconds)
        except scheduler.LOST_ERRORS as error:
            await self._check_scheduler()
            self.lost = True
            raise _WorkerLost(f"worker {self.address} was lost ({error})") from error

    async def _check_scheduler(self) -> None:
        try:
            await asyncio.wait_for(self.client.scheduler.identity(), _CALL_SECONDS)
        except scheduler.LOST_ERRORS as error:
            raise PqchainError(
                f"the Dask scheduler {self.scheduler} was lost ({error or type(error).__name__}). "
                "The workers stop the nodes. Start the cluster and the run again."
            ) from error

    async def start(self, job: Job, identities: Mapping[int, Any], in_memory: bool) -> None:
        """Start the actor, which makes and fills the nodes' folders."""
        directory = [identity.public for identity in identities.values()]
        own = {index: identities[index] for index in self.nodes}
        future = self.client.submit(
            WorkerNodes, job, own, directory, in_memory=in_memory,
            workers=[self.address], allow_other_workers=False, actor=True, pure=False,
        )  # fmt: skip
        try:
            self.actor = await asyncio.wait_for(future, _CALL_SECONDS)
        except scheduler.LOST_ERRORS as error:
            raise PqchainError(f"worker {self.address} was lost before the start.") from error
        await self.call("open", seconds=_PREPARE_SECONDS)

    async def read_all(self) -> None:
        """Pass reports to the processes until the worker is lost or this task is cancelled."""
        try:
            while True:
                for key, line in await self.call("read"):
                    self.processes[key].reports.put_nowait(line)
        except _WorkerLost:
            for process in self.processes.values():
                process.reports.put_nowait(b"")
        except PqchainError as error:
            for process in self.processes.values():
                process.reports.put_nowait(error)


@dataclass(eq=False)
class _RemoteProcess:
    """Process of a node on a worker, a `mesh.NodeProcess`."""

    worker: _Worker
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
        # One task writes, so that requests arrive in order; `read_all` reports a lost worker.
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
        except _WorkerLost:
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


def run(
    job: Job,
    cluster: Cluster,
    *,
    in_memory: bool = False,
    progress: Progress = lambda count: None,
) -> Result:
    """Run a job on the workers of a Dask cluster; nodes are placed in the order of addresses.

    With `in_memory` the nodes' folders are in the workers' memory where possible. `Result.cluster`
    has workers and computers (numbers of them), clock_error_seconds (maximum error of a difference
    between two machines' times), machines (for each worker: nodes, computer, machine_id, cpu_model,
    cpu_count, python, pqchain, commit, load_per_processor, clock_offset_seconds and
    clock_error_seconds, relative to worker 0), and links (from and to, numbers of workers;
    round_trip_seconds; bits_per_second of one transfer of 1 MiB over TCP, None if it does not
    pass). Raises Unsupported without Dask; UsageError for an address without a scheduler, and for
    workers that are too few or lack something; PqchainError for a lost scheduler and for nodes that
    do not start or end in time.
    """
    return run_until_complete(_run(job, cluster, in_memory, progress))


async def _run(job: Job, cluster: Cluster, in_memory: bool, progress: Progress) -> Result:
    async with scheduler.open_client(cluster.scheduler) as client:
        workers = await _chosen_workers(client, job, cluster)
        identities = dict(enumerate(job.identities()))
        try:
            await asyncio.gather(*(worker.start(job, identities, in_memory) for worker in workers))
            links = await _measure_links(workers, cluster)
            for worker in workers:
                worker.reading = asyncio.create_task(worker.read_all())
            launch = _Launcher(workers, cluster)
            algorithm = identities[0].public.algorithm
            mesh = Mesh(
                job, launch.launch, launch.ticks, algorithm, progress, start_seconds=_START_SECONDS
            )
            try:
                result = await mesh.run()
            finally:
                for worker in workers:
                    worker.reading.cancel()
            after = await _measure_clocks(workers, cluster)
        finally:
            # Shielded, so that a second Ctrl-C leaves no process either.
            await asyncio.shield(_close(workers))
    return _with_machines(result, workers, links, after)


async def _close(workers: Sequence[_Worker]) -> None:
    async def close(worker: _Worker) -> None:
        with suppress(PqchainError):
            if worker.actor is not None:
                await worker.call("close")

    await asyncio.gather(*map(close, workers))


@dataclass(eq=False)
class _Launcher:
    workers: Sequence[_Worker]
    cluster: Cluster
    launched: int = 0

    async def launch(self, index: int, port: int) -> _RemoteProcess:
        worker = self.workers[index % len(self.workers)]
        key, self.launched = self.launched, self.launched + 1
        process = worker.processes[key] = _RemoteProcess(worker, key, index)
        await worker.call("launch", key, index, port or _port(self.cluster, index))
        return process

    async def ticks(self) -> Ticks:
        async def read(worker: _Worker) -> tuple[int, int]:
            try:
                idle, total = await worker.call("ticks")
            except _WorkerLost:
                return 0, 0
            return idle, total

        return list(await asyncio.gather(*map(read, self.workers)))


def _port(cluster: Cluster, index: int) -> int:
    return cluster.first_port and cluster.first_port + index


async def _chosen_workers(client: Any, job: Job, cluster: Cluster) -> list[_Worker]:
    """Return the workers that run nodes. Raises UsageError for too few, or unsuitable ones."""
    transports = sorted({job.transport_of(index) for index in range(job.nodes)})
    began = time.time()
    described = await client.run(cluster_worker.describe, transports, on_error="return")
    ended = time.time()
    addresses = sorted(described, key=_natural)
    needed = -(-job.nodes // cluster.nodes_per_worker)
    if len(addresses) < needed:
        raise UsageError(
            f"{job.nodes} nodes with at most {cluster.nodes_per_worker} per worker need {needed} "
            f"workers; {cluster.scheduler} has {len(addresses)}. Start more, or raise "
            "--nodes-per-worker."
        )
    chosen = addresses[: job.nodes]
    libraries = set(machine.native_builds())
    problems = [
        f"worker {address}: {problem}"
        for address in chosen
        for problem in _problems(described[address], libraries, began, ended)
    ]
    if problems:
        raise UsageError("\n".join(problems))
    return [
        _Worker(
            number, address, client, cluster.scheduler,
            list(range(number, job.nodes, len(chosen))), described[address],
        )
        for number, address in enumerate(chosen)
    ]  # fmt: skip


def _natural(address: str) -> list[tuple[int, str]]:
    """Return a sort key by which 10.0.0.2 is before 10.0.0.10."""
    return [
        (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", address)
    ]


def _problems(description: Any, libraries: set[str], began: float, ended: float) -> list[str]:
    """Return what a worker lacks, each with its remedy."""
    install = f"install pqchain {VERSION} there, in the environment that runs `dask worker`"
    if isinstance(description, ImportError):
        return [f"cannot import what the nodes need ({description}); {install}"]
    if isinstance(description, BaseException):
        return [f"its check failed ({type(description).__name__}: {description}); {install}"]
    problems = []
    if description["version"] != VERSION:
        problems.append(f"has pqchain {description['version']}, the client {VERSION}; {install}")
    python = ".".join(description["python"])
    if python != (here := ".".join(platform.python_version_tuple()[:2])):
        problems.append(f"has Python {python}, the client {here}; use {here} there")
    if missing := sorted(libraries - set(description["libraries"])):
        names = ", ".join(missing)
        problems.append(f"lacks the native library {names}; run `make` there, or install the wheel")
    for name, reason in description["transports"].items():
        if name != "native" or not missing:
            problems.append(f"cannot use the transport {name}: {reason}")
    seconds = description["seconds"]
    ahead = seconds - min(max(seconds, began), ended)
    if abs(ahead) > MAX_CLOCK_SECONDS:
        problems.append(
            f"its clock is {abs(ahead):.0f} s {'ahead' if ahead > 0 else 'behind'}; synchronize "
            "it, for example with chrony"
        )
    return problems


async def _open_probes(workers: Sequence[_Worker], cluster: Cluster) -> list[list[Address]]:
    async def ports(worker: _Worker) -> list[Address]:
        wanted = [_port(cluster, index) for index in worker.nodes]
        addresses: list[Address] = await worker.call("open_probes", wanted)
        return addresses

    return await asyncio.gather(*map(ports, workers))


async def _measure_links(workers: Sequence[_Worker], cluster: Cluster) -> dict[Any, LinkPath]:
    """Return the path between each ordered pair of workers, by their numbers."""
    addresses = await _open_probes(workers, cluster)
    count = len(workers)
    paths: dict[Any, LinkPath] = {}

    async def path(worker: _Worker, other: int) -> LinkPath:
        try:
            measured: LinkPath = await worker.call("measure", addresses[other])
        except _WorkerLost:
            raise
        except PqchainError as error:
            raise UsageError(f"from worker {worker.address}: {error}") from error
        return measured

    # In each round every worker measures one path and answers one probe.
    for step in range(1, count):
        others = [(worker.number + step) % count for worker in workers]
        measured = await asyncio.gather(*map(path, workers, others))
        paths |= dict(zip(zip(range(count), others, strict=True), measured, strict=True))
    await asyncio.gather(*(worker.call("close_probes") for worker in workers))
    return paths


async def _measure_clocks(workers: Sequence[_Worker], cluster: Cluster) -> dict[int, LinkPath]:
    """Return the paths from the first worker to the others that are not lost."""
    living = [worker for worker in workers if not worker.lost]
    if len(workers) < 2 or workers[0].lost:
        return {}
    try:
        addresses = await _open_probes(living, cluster)
        paths = {}
        for worker, address in zip(living[1:], addresses[1:], strict=True):
            paths[worker.number] = await living[0].call("measure", address, rate=False)
    # A machine lost after the nodes' work has no second measurement.
    except _WorkerLost:
        return {}
    return paths


def _with_machines(
    result: Result,
    workers: Sequence[_Worker],
    links: Mapping[Any, LinkPath],
    after: Mapping[int, LinkPath],
) -> Result:
    """Return the result with times of the first worker's clock, and with the cluster's facts."""
    boots = list(dict.fromkeys(worker.description["boot"] for worker in workers))
    offsets, errors, machines = [], [], []
    for worker in workers:
        offset = error = 0.0
        if worker.number:
            first = links[0, worker.number]
            last = after.get(worker.number, first)
            drift = last.clock_offset_seconds - first.clock_offset_seconds
            offset = first.clock_offset_seconds + drift / 2
            error = max(first.clock_error_seconds, last.clock_error_seconds) + abs(drift) / 2
        offsets.append(offset)
        errors.append(error)
        machines.append({
            "worker": worker.number,
            "nodes": worker.nodes,
            "computer": boots.index(worker.description["boot"]),
            **worker.description["machine"],
            "clock_offset_seconds": offset,
            "clock_error_seconds": error,
        })  # fmt: skip
    paths = [
        {"from": pair[0], "to": pair[1]}
        | {"round_trip_seconds": path.round_trip_seconds}
        | {"bits_per_second": None if math.isnan(path.bits_per_second) else path.bits_per_second}
        for pair, path in sorted(links.items())
    ]
    count = len(workers)
    return replace(
        result,
        nodes=tuple(
            replace(node, clock_offset_seconds=offsets[node.node % count]) for node in result.nodes
        ),
        # The client's clock is not one of the nodes'.
        connected=math.nan,
        failure_times={
            node: at - offsets[node % count] for node, at in result.failure_times.items()
        },
        cluster={
            "workers": count,
            "computers": len(boots),
            # Two times may have opposite errors.
            "clock_error_seconds": sum(sorted(errors)[-2:]),
            "machines": machines,
            "links": paths,
        },
    )
