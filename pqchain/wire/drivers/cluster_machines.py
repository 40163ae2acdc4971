"""Workers of a Dask cluster as the client sees them: their calls, their checks and their clocks."""

from __future__ import annotations

import asyncio
import math
import platform
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from pqchain import checks, libraries
from pqchain import scheduler as scheduling
from pqchain.errors import DataError, PqchainError, UsageError
from pqchain.installation import VERSION
from pqchain.wire.drivers import cluster_worker
from pqchain.wire.drivers.cluster_worker import Description, WorkerNodes
from pqchain.wire.drivers.job import Job, Result

MAX_CLOCK_SECONDS = 60.0
"""Maximum difference between a worker's time of day and the client's; logs could not be compared
otherwise."""

_ROUNDS = 20
"""Number of readings of a worker's clock, of which the fastest is used."""

_CALL_SECONDS = 60.0
"""Time without an answer after which a worker is considered lost; it answers after
`cluster_worker.POLL_SECONDS`."""

_PREPARE_SECONDS = 600.0
"""Timeout for all nodes to have their files."""


class WorkerLost(PqchainError):
    """A worker ended, or does not answer."""


@dataclass(eq=False)
class Worker:
    """A worker, its nodes, and its actor once it is started."""

    number: int
    address: str
    client: Any
    scheduler: str
    ports: Mapping[int, int]
    """Port of each of its nodes; 0: any."""
    description: Description
    """Result of `cluster_worker.describe`."""
    actor: Any = None
    lost: bool = False

    async def call(self, method: str, *values: Any, seconds: float = _CALL_SECONDS) -> Any:
        """Call a method of the actor; its result must have the type of its annotation.

        Raises WorkerLost, DataError for a result of another type, and the errors of the method.
        """
        if self.lost:
            raise WorkerLost(f"worker {self.address} was lost")
        try:
            reply = await asyncio.wait_for(self.actor.call(method, *values), seconds)
        except scheduling.LOST_ERRORS as error:
            await self._check_scheduler()
            self.lost = True
            raise WorkerLost(f"worker {self.address} was lost ({error})") from error
        word, _, text = str(reply).partition(" ")
        result = get_type_hints(getattr(WorkerNodes, method))["return"]
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
        nodes = (job, {index: identities[index] for index in self.ports}, directory)
        placed = {"workers": [self.address], "allow_other_workers": False}
        future = self.client.submit(
            WorkerNodes, *nodes, in_memory=in_memory, actor=True, pure=False, **placed
        )
        try:
            self.actor = await asyncio.wait_for(
                scheduling.actor(future, WorkerNodes, self.address), _CALL_SECONDS
            )
        except scheduling.LOST_ERRORS as error:
            raise PqchainError(f"worker {self.address} was lost before the start.") from error
        await self.call("open", seconds=_PREPARE_SECONDS)

    async def clock(self) -> tuple[float, float]:
        """Return how far its clock is ahead of this machine's, and the maximum error, in seconds.

        The error is half the shortest round trip, whatever the trip's asymmetry.
        """
        readings = []
        for _ in range(_ROUNDS):
            began = time.monotonic()
            reading = await self.call("clock")
            half = (time.monotonic() - began) / 2
            readings.append((half, reading - (began + half)))
        half, offset = min(readings)
        return offset, half


async def choose_workers(
    client: Any, job: Job, *, scheduler: str, nodes_per_worker: int, first_port: int
) -> list[Worker]:
    """Return the workers that run nodes. Raises UsageError for too few, or unsuitable ones."""
    transports = sorted({job.transport_of(index) for index in range(job.nodes)})
    began = time.time()
    described = await client.run(
        scheduling.as_json, cluster_worker.describe, transports, on_error="return"
    )
    ended = time.time()
    addresses = sorted(described, key=_natural)
    needed = -(-job.nodes // nodes_per_worker)
    if len(addresses) < needed:
        raise UsageError(
            f"{job.nodes} nodes with at most {nodes_per_worker} per worker need {needed} "
            f"workers; {scheduler} has {len(addresses)}. Start more, or raise "
            "--nodes-per-worker."
        )
    chosen = addresses[: job.nodes]
    needed_libraries = set(libraries.installed())
    descriptions = {address: _description(described[address]) for address in chosen}
    problems = [
        f"worker {address}: {problem}"
        for address, description in descriptions.items()
        for problem in _problems(description, needed_libraries, began, ended)
    ]
    if problems:
        raise UsageError("\n".join(problems))
    ports = {index: first_port and first_port + index for index in range(job.nodes)}
    workers = []
    for number, address in enumerate(chosen):
        own = {index: ports[index] for index in range(number, job.nodes, len(chosen))}
        workers.append(Worker(number, address, client, scheduler, own, descriptions[address]))
    return workers


def _natural(address: str) -> list[tuple[int, str]]:
    """Return a sort key by which 10.0.0.2 is before 10.0.0.10."""
    return [
        (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", address)
    ]


def _description(reply: object) -> Any:
    """Return the description that a worker replied, or the error."""
    try:
        return reply if isinstance(reply, Exception) else checks.loads(reply, Description, "it")
    except DataError as error:
        return error


def _problems(description: Any, libraries: set[str], began: float, ended: float) -> list[str]:
    """Return what a worker lacks, each with its remedy."""
    install = f"install pqchain {VERSION} there, in the environment that runs `dask worker`"
    if isinstance(description, BaseException):
        return [f"its check failed ({type(description).__name__}: {description}); {install}"]
    here = ".".join(platform.python_version_tuple()[:2])
    versions = [
        ("pqchain", description["version"], VERSION, install),
        ("Python", ".".join(description["python"]), here, f"use {here} there"),
    ]
    problems = [
        f"has {name} {there}, the client {ours}; {remedy}"
        for name, there, ours, remedy in versions
        if there != ours
    ]
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


async def clocks(workers: Sequence[Worker]) -> dict[int, tuple[float, float]]:
    """Return `Worker.clock` of each worker that is not lost, by number."""
    measured = {}
    # One after another, so that the client's own work does not delay the replies.
    for worker in workers:
        try:
            measured[worker.number] = await worker.clock()
        except WorkerLost:
            continue
    return measured


def with_machines(
    result: Result,
    workers: Sequence[Worker],
    before: Mapping[int, tuple[float, float]],
    after: Mapping[int, tuple[float, float]],
) -> Result:
    """Return the result with times of this machine's clock, and with the cluster's facts."""
    boots = list(dict.fromkeys(worker.description["boot"] for worker in workers))
    offsets, errors, machines = [], [], []
    for worker in workers:
        # A machine lost after the nodes' work has no second measurement.
        first = before[worker.number]
        last = after.get(worker.number, first)
        drift = last[0] - first[0]
        offsets.append(first[0] + drift / 2)
        errors.append(max(first[1], last[1]) + abs(drift) / 2)
        machines.append({
            "worker": worker.number,
            "nodes": list(worker.ports),
            "computer": boots.index(worker.description["boot"]),
            **worker.description["machine"],
            "clock_offset_seconds": offsets[-1],
            "clock_error_seconds": errors[-1],
        })  # fmt: skip
    count = len(workers)
    return replace(
        result,
        nodes=tuple(
            replace(node, clock_offset_seconds=offsets[node.node % count]) for node in result.nodes
        ),
        failure_times={
            node: at - offsets[node % count] for node, at in result.failure_times.items()
        },
        # That of the client's machine.
        machine_busy=math.nan,
        cluster={
            "workers": count,
            "computers": len(boots),
            # Two times may have opposite errors; times of one worker have the same one.
            "clock_error_seconds": sum(sorted(errors)[-2:]) if count > 1 else 0.0,
            "machines": machines,
        },
    )
