"""Driver with the nodes' processes on the workers of a Dask cluster.

Dask places the nodes and carries orders and reports; the nodes' transports connect to each other
directly. A worker that is lost after all nodes are connected is a node that dies; if the scheduler
is lost, the run ends with an error. A process ends with its worker, because the end of its stdin
stops it, and with the client, because Dask then drops the actor that owns it.
"""

from __future__ import annotations

import asyncio
import math
import pkgutil
import re
import sys
import time
import weakref
from collections.abc import Awaitable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any, cast, get_type_hints

from pqchain import checks, installation
from pqchain import scheduler as scheduling
from pqchain.errors import DataError, InvalidResult, PqchainError, UsageError
from pqchain.installation import VERSION
from pqchain.results import machine
from pqchain.results.files import scratch_folder, write_atomically
from pqchain.wire.drivers import processes
from pqchain.wire.drivers.job import Job, Progress, Result, encode
from pqchain.wire.drivers.mesh import Call, Mesh, blocking
from pqchain.wire.drivers.processes import LocalProcess
from pqchain.wire.identity import Identity, PublicIdentity
from pqchain.wire.session import Address
from pqchain.wire.transports import registry

_START_SECONDS = 600.0
"""Timeout for all nodes to have their files, and to start: they make their transactions first."""

_CALL_SECONDS = 60.0
"""Time without an answer after which a worker is considered lost; it answers sooner."""

MAX_CLOCK_SECONDS = 60.0
"""Maximum difference between a worker's time of day and the client's, so that logs compare."""

_CLOCK_READINGS = 20
"""Number of readings of a worker's clock, of which the fastest is used."""

_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

_IF_LOST = {
    "poll": encode("lost", "its worker was lost before all nodes were connected"),
    "kill": math.nan,
    "ticks": (0, 0),
}
"""Results of calls of a process whose worker is lost; None for other calls."""


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


class Machine(checks.TypedDict):
    """Machine of a worker, as in `machine.provenance`, and the load of its processors."""

    machine_id: str
    cpu_model: str
    cpu_count: int
    python: str
    pqchain: str
    commit: str
    load_per_processor: float


Description = tuple[list[str], float, str, Machine]
"""What a worker lacks, its time of day, the identifier of its computer's boot, and its machine."""


def describe(
    pqchain: str, python: str, needed_libraries: Sequence[str], transport: str
) -> Description:
    """Return this worker's description, compared with what its client has."""
    versions = {"pqchain": (VERSION, pqchain), "Python": (_PYTHON, python)}
    problems = [
        f"has {name} {here}, the client {there}; install {name} {there} there"
        for name, (here, there) in versions.items()
        if here != there
    ]
    if missing := sorted(set(needed_libraries) - set(installation.installed_libraries())):
        names = ", ".join(missing)
        problems.append(f"lacks the native library {names}; run `make` there, or install the wheel")
    if not (missing and transport == "native") and (
        reason := registry.get(transport).unavailable_reason()
    ):
        problems.append(f"cannot use the transport {transport}: {reason}")
    known = machine.provenance() | {"load_per_processor": machine.load_share()}
    facts = cast(Machine, {name: known[name] for name in Machine.__annotations__})
    path = Path("/proc/sys/kernel/random/boot_id")
    boot = path.read_text(encoding="ascii").strip() if path.exists() else ""
    return problems, time.time(), boot, facts


def _plain_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", name):
        raise ValueError("expected a plain name of a file")
    return name


class WorkerNode:
    """A node on its worker: a Dask actor, whose methods the client calls."""

    def __init__(
        self, job: Job, identity: Identity, directory: Sequence[PublicIdentity], in_memory: bool
    ) -> None:
        self._job, self._identity, self._directory = job, identity, directory
        self._parent = Path("/dev/shm") if in_memory and Path("/dev/shm").is_dir() else None
        self._process: LocalProcess | None = None
        self._stack = ExitStack()
        # Called when Dask drops this object, and when the worker ends.
        self._close = weakref.finalize(self, self._stack.close)

    async def call(self, method: str, *values: Any) -> str:
        """Call a method of this object or of its process; return its result or error as JSON."""
        try:
            target = self if hasattr(self, method) else self._process
            return f"value {checks.dumps(await getattr(target, method)(*values))}"
        # Dask would send any exception as a pickle, which the client refuses.
        except Exception as error:  # noqa: BLE001
            is_known = isinstance(error, PqchainError)
            # In no variable: its frame would keep this object, and so the process, alive.
            return f"error {checks.dumps(error if is_known else PqchainError(repr(error)))}"

    async def open(self) -> None:
        """Make and fill the node's folder."""
        job, self._folder = self._job, self._stack.enter_context(scratch_folder(self._parent))
        if job.prepare:
            prepare = pkgutil.resolve_name(job.prepare)
            await asyncio.to_thread(prepare, self._identity.index, self._folder, **job.parameters)

    async def clock(self) -> float:
        """Return the time of this machine's monotonic clock."""
        return time.monotonic()

    async def launch(self, address: Address) -> None:
        """Start the process of the node."""
        setup = (self._job, self._folder, self._identity, self._directory, address)
        self._process = await processes.start(setup)
        assert self._process.executed is not None
        self._stack.callback(self._process.executed.wait)
        self._stack.callback(self._process.executed.kill)
        if not self._close.alive:
            self._stack.close()
            raise PqchainError(f"node {self._identity.index} was started after the end of the run.")

    async def files(self) -> dict[Annotated[str, checks.FromText(_plain_name)], bytes]:
        """Return the node's files by name."""
        paths = sorted(path for path in self._folder.iterdir() if path.is_file())
        return {path.name: path.read_bytes() for path in paths}

    async def close(self) -> None:
        """End the process and remove the node's folder."""
        if self._process is not None:
            await self._process.stop()
        self._close()


class WorkerLost(PqchainError):
    """A worker ended, or does not answer."""


@dataclass(eq=False)
class RemoteNode:
    """A node on a worker, and its actor once it is started."""

    client: Any
    cluster: Cluster
    index: int
    address: str
    """Address of the worker."""
    description: Description
    actor: Any = None
    lost: bool = False
    clocks: list[tuple[float, float]] = field(default_factory=list)
    """Seconds by which the worker's clock was ahead of this machine's, and their errors."""

    async def _answer(self, answer: Awaitable[Any], seconds: float = _CALL_SECONDS) -> Any:
        try:
            return await asyncio.wait_for(answer, seconds)
        except scheduling.LOST_ERRORS as error:
            lost = error
        self.lost = True
        try:
            await asyncio.wait_for(self.client.scheduler.identity(), _CALL_SECONDS)
        # AttributeError: a client that lost its scheduler has none.
        except (*scheduling.LOST_ERRORS, AttributeError) as error:
            raise PqchainError(
                f"the Dask scheduler {self.cluster.scheduler} was lost "
                f"({error or type(error).__name__}). The workers stop the nodes. Start the cluster "
                "and the run again."
            ) from error
        raise WorkerLost(f"worker {self.address} was lost ({lost})") from lost

    async def start(self, arguments: tuple[Any, ...]) -> None:
        """Start the actor, which makes and fills the node's folder."""
        actor = scheduling.actor(self.client, self.address, WorkerNode, *arguments)
        self.actor = await self._answer(actor)
        await self.call("open", seconds=_START_SECONDS)

    async def call(self, method: str, *values: Any, seconds: float = _CALL_SECONDS) -> Any:
        """Call a method of the actor or of its process, whose annotation gives the result's type.

        Raises WorkerLost, InvalidResult for a result of another type, and the errors of the method.
        """
        if self.lost:
            raise WorkerLost(f"worker {self.address} was lost")
        reply = await self._answer(self.actor.call(method, *values), seconds)
        word, _, text = str(reply).partition(" ")
        owner = WorkerNode if hasattr(WorkerNode, method) else LocalProcess
        hints = get_type_hints(getattr(owner, method), include_extras=True)
        kind = hints["return"] if word == "value" else checks.SentError
        try:
            value = checks.loads(text, kind, f"the reply of worker {self.address} to {method!r}")
        except DataError as error:
            raise InvalidResult(str(error)) from error
        if word != "value":
            raise value
        return value

    async def call_process(self, method: str, *values: Any) -> Any:
        """Call a method of the process; the result is that of `_IF_LOST` if its worker is lost."""
        try:
            return await self.call(method, *values)
        except WorkerLost:
            return _IF_LOST.get(method)

    async def read_clock(self) -> None:
        """Add a reading to `clocks`, with half the shortest round trip as its error."""
        # A machine that was lost since the last reading keeps it.
        ahead, error = self.clocks[-1] if self.clocks else (math.nan, math.nan)
        with suppress(WorkerLost):
            readings = []
            for _ in range(_CLOCK_READINGS):
                began = time.monotonic()
                reading = await self.call("clock")
                half = (time.monotonic() - began) / 2
                readings.append((half, reading - (began + half)))
            error, ahead = min(readings)
        self.clocks.append((ahead, error))

    async def copy_files(self, folder: Path) -> None:
        """Copy the files of the node i to `folder/i`, unless the worker is lost."""
        folder = folder / str(self.index)
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(WorkerLost):
            for name, data in (await self.call("files")).items():
                write_atomically(folder / name, data)


@blocking
async def run(
    job: Job,
    cluster: Cluster,
    *,
    in_memory: bool = False,
    progress: Progress = lambda count: None,
    folder: Path | None = None,
) -> Result:
    """Run a job on the workers of a Dask cluster; nodes are placed in the order of addresses.

    With `in_memory` the nodes' folders are in the workers' memory where possible. Files of node i
    are copied to `folder/i`, except those of a lost worker.

    `Result.cluster` has workers and computers (numbers of them), clock_error_seconds (maximum error
    of a difference between two machines' times), and machines (for each worker: nodes, computer,
    the keys of `Machine`, clock_offset_seconds and clock_error_seconds, relative to the client).
    Raises Unsupported without Dask, UsageError without a scheduler or suitable workers, and
    PqchainError for a lost scheduler and for nodes that do not start or end in time.
    """
    async with scheduling.open_client(cluster.scheduler) as client:
        nodes = await _place(client, job, cluster)
        # The first nodes are on different workers.
        workers = nodes[: len({node.address for node in nodes})]
        identities = job.identities()
        directory = [identity.public for identity in identities]

        async def launch(index: int) -> Call:
            host = nodes[index].address.partition("://")[2].rpartition(":")[0].strip("[]")
            port = cluster.first_port and cluster.first_port + index
            await nodes[index].call("launch", (host, port))
            return nodes[index].call_process

        try:
            arguments = ((job, identity, directory, in_memory) for identity in identities)
            await asyncio.gather(*map(RemoteNode.start, nodes, arguments))
            # One after another, so that the client's own work does not delay the replies.
            for worker in workers:
                await worker.read_clock()
            mesh = Mesh(job, launch, directory[0].algorithm, progress, _START_SECONDS)
            result = await mesh.run()
            for worker in workers:
                await worker.read_clock()
            if folder is not None:
                await asyncio.gather(*(node.copy_files(folder) for node in nodes))
        finally:
            # Shielded, so that a second Ctrl-C leaves no process either.
            calls = [node.call("close") for node in nodes if node.actor is not None]
            await asyncio.shield(asyncio.gather(*calls, return_exceptions=True))
    return _with_machines(result, workers)


async def _place(client: Any, job: Job, cluster: Cluster) -> list[RemoteNode]:
    """Return the nodes on their workers. Raises UsageError for too few, or unsuitable ones."""
    ours = (VERSION, _PYTHON, sorted(installation.installed_libraries()), job.transport)
    began = time.time()
    replies = await client.run(scheduling.as_json, describe, *ours, on_error="return")
    ended = time.time()
    needed = -(-job.nodes // cluster.nodes_per_worker)
    if len(replies) < needed:
        raise UsageError(
            f"{job.nodes} nodes with at most {cluster.nodes_per_worker} per worker need {needed} "
            f"workers; {cluster.scheduler} has {len(replies)}. Start more, or raise "
            "--nodes-per-worker."
        )
    chosen = sorted(replies, key=lambda address: [*map(int, re.findall(r"\d+", address))])
    workers = {at: _checked(replies[at], began, ended) for at in chosen[: job.nodes]}
    if problems := [f"worker {at}: {problem}" for at in workers for problem in workers[at][0]]:
        raise UsageError("\n".join(problems))
    placed = enumerate(islice(cycle(workers), job.nodes))
    return [RemoteNode(client, cluster, index, at, workers[at]) for index, at in placed]


def _checked(reply: Any, began: float, ended: float) -> Description:
    """Return the description of a worker that replied between two times, with all its problems."""
    try:
        if isinstance(reply, Exception):
            raise DataError(f"{type(reply).__name__}: {reply}")
        problems, seconds, *facts = checks.loads(reply, Description, "its description")
    except DataError as error:
        remedy = f"install pqchain {VERSION} there, in the environment that runs `dask worker`"
        return [f"its check failed ({error}); {remedy}"], 0.0, "", cast(Machine, {})
    ahead = seconds - min(max(seconds, began), ended)
    if abs(ahead) > MAX_CLOCK_SECONDS:
        clock = f"its clock is {abs(ahead):.0f} s {'ahead' if ahead > 0 else 'behind'}"
        problems.append(f"{clock}; synchronize it, for example with chrony")
    return problems, seconds, *facts


def _with_machines(result: Result, workers: Sequence[RemoteNode]) -> Result:
    """Return the result with times of this machine's clock, and with the cluster's facts."""
    count, machines = len(workers), list[dict[str, Any]]()
    boots = list(dict.fromkeys(worker.description[2] for worker in workers))
    for number, worker in enumerate(workers):
        (first, first_error), (last, last_error) = worker.clocks
        *_, boot, facts = worker.description
        row: dict[str, Any] = {"worker": number, "computer": boots.index(boot), **facts}
        row["nodes"] = list(range(number, len(result.nodes), count))
        row["clock_offset_seconds"] = (first + last) / 2
        row["clock_error_seconds"] = max(first_error, last_error) + abs(last - first) / 2
        machines.append(row)
    offsets = [row["clock_offset_seconds"] for row in machines]
    errors = sorted(row["clock_error_seconds"] for row in machines)
    times = result.failure_times
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
            "clock_error_seconds": sum(errors[-2:]) if count > 1 else 0.0,
            "machines": machines,
        },
    )
