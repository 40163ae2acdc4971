"""Machines of a Dask cluster: checks of its workers, and measurements of their links and clocks."""

from __future__ import annotations

import asyncio
import math
import platform
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from pqchain import checks, installation
from pqchain import scheduler as scheduling
from pqchain.errors import DataError, PqchainError, UsageError
from pqchain.installation import VERSION
from pqchain.wire.drivers import cluster_worker
from pqchain.wire.drivers.cluster_calls import Worker, WorkerLost
from pqchain.wire.drivers.cluster_worker import Description
from pqchain.wire.drivers.job import Job, Result
from pqchain.wire.drivers.probes import Path as LinkPath
from pqchain.wire.session import Address

MAX_CLOCK_SECONDS = 60.0
"""Maximum difference between a worker's time of day and the client's; logs could not be compared
otherwise."""


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
    needed_libraries = set(installation.installed_libraries())
    descriptions = {address: _description(described[address]) for address in chosen}
    problems = [
        f"worker {address}: {problem}"
        for address, description in descriptions.items()
        for problem in _problems(description, needed_libraries, began, ended)
    ]
    if problems:
        raise UsageError("\n".join(problems))
    ports = {index: first_port and first_port + index for index in range(job.nodes)}
    return [
        Worker(
            number, address, client, scheduler,
            {index: ports[index] for index in range(number, job.nodes, len(chosen))},
            descriptions[address],
        )
        for number, address in enumerate(chosen)
    ]  # fmt: skip


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


async def _open_probes(workers: Sequence[Worker]) -> list[list[Address]]:
    async def open_probes(worker: Worker) -> list[Address]:
        ports = list(worker.ports.values())
        return cast(list[Address], await worker.call("open_probes", ports))

    return await asyncio.gather(*map(open_probes, workers))


async def measure_links(workers: Sequence[Worker]) -> dict[Any, LinkPath]:
    """Return the path between each ordered pair of workers, by their numbers."""
    addresses = await _open_probes(workers)
    count = len(workers)
    paths: dict[Any, LinkPath] = {}

    async def path(worker: Worker, other: int) -> LinkPath:
        try:
            return cast(LinkPath, await worker.call("measure", addresses[other]))
        except (WorkerLost, DataError):
            raise
        except PqchainError as error:
            raise UsageError(f"from worker {worker.address}: {error}") from error

    # In each round every worker measures one path and answers one probe.
    for step in range(1, count):
        others = [(worker.number + step) % count for worker in workers]
        measured = await asyncio.gather(*map(path, workers, others))
        paths |= dict(zip(zip(range(count), others, strict=True), measured, strict=True))
    await asyncio.gather(*(worker.call("close_probes") for worker in workers))
    return paths


async def measure_clocks(workers: Sequence[Worker]) -> dict[int, LinkPath]:
    """Return the paths from the first worker to the others that are not lost."""
    living = [worker for worker in workers if not worker.lost]
    if len(workers) < 2 or workers[0].lost:
        return {}
    try:
        addresses = await _open_probes(living)
        paths = {}
        for worker, address in zip(living[1:], addresses[1:], strict=True):
            paths[worker.number] = await living[0].call("measure", address, rate=False)
    # A machine lost after the nodes' work has no second measurement.
    except WorkerLost:
        return {}
    return paths


def with_machines(
    result: Result,
    workers: Sequence[Worker],
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
            "nodes": list(worker.ports),
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
