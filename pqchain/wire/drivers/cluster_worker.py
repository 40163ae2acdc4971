"""Part of the cluster driver that runs on a Dask worker: its checks, and its nodes' processes.

The processes end with the worker, because the end of their stdin stops them, and with the client,
because Dask then drops the object that owns them.
"""

from __future__ import annotations

import asyncio
import pkgutil
import platform
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pqchain import checks, installation, scheduler
from pqchain.errors import PqchainError
from pqchain.installation import VERSION
from pqchain.results import machine, scratch
from pqchain.wire.drivers import processes
from pqchain.wire.drivers.job import Job, encode_setup
from pqchain.wire.drivers.probes import Path as LinkPath
from pqchain.wire.drivers.probes import Probe, measure
from pqchain.wire.drivers.processes import LocalProcess
from pqchain.wire.identity import Identity, PublicIdentity
from pqchain.wire.session import Address
from pqchain.wire.transports import registry

POLL_SECONDS = 5.0
"""Time after which `WorkerNodes.read` returns although there is no report."""

_WATCH_SECONDS = 0.5

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Machine(checks.TypedDict):
    """Machine of a worker, as in `machine.provenance`, and the load of its processors."""

    machine_id: str
    cpu_model: str
    cpu_count: int
    python: str
    pqchain: str
    commit: str
    load_per_processor: float


class Description(checks.TypedDict):
    """What a worker has."""

    version: str
    python: tuple[str, str]
    libraries: list[str]
    transports: dict[str, str]
    """Reasons why transports are missing."""
    seconds: float
    boot: str
    machine: Machine


def describe(transports: Sequence[str]) -> Description:
    """Return what a worker has: versions, native libraries, missing transports, machine, load."""
    known = machine.provenance() | {"load_per_processor": machine.load_share()}
    boot = _BOOT_ID.read_text(encoding="ascii").strip() if _BOOT_ID.exists() else ""
    reasons = {name: registry.get(name).unavailable_reason() for name in transports}
    return {
        "version": VERSION,
        "python": platform.python_version_tuple()[:2],
        "libraries": sorted(installation.installed_libraries()),
        "transports": {name: reason for name, reason in reasons.items() if reason},
        "seconds": time.time(),
        "boot": boot,
        "machine": cast(Machine, {name: known[name] for name in Machine.__annotations__}),
    }


@dataclass(eq=False)
class _Owned:
    """Resources of one run on one worker, which may outlive the actor that owns them."""

    stack: ExitStack
    processes: dict[int, LocalProcess] = field(default_factory=dict)
    readings: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    probes: list[Probe] = field(default_factory=list)
    closed: bool = False

    async def close(self) -> None:
        self.closed = True
        for probe in self.probes:
            probe.close()
        self.probes.clear()
        await asyncio.gather(
            *(process.stop(self.readings[key]) for key, process in self.processes.items())
        )
        self.processes.clear()
        self.stack.close()


class WorkerNodes:
    """Nodes of one worker in one run: a Dask actor, whose methods the client calls."""

    def __init__(
        self,
        job: Job,
        identities: Mapping[int, Identity],
        directory: Sequence[PublicIdentity],
        *,
        in_memory: bool,
    ) -> None:
        """Store the setup of the nodes, which are the keys of `identities`."""
        self._job, self._identities, self._directory = job, identities, directory
        self._parent = Path("/dev/shm") if in_memory and Path("/dev/shm").is_dir() else None
        self._worker = scheduler.current_worker()
        self._host = self._worker.address.partition("://")[2].rpartition(":")[0].strip("[]")
        self._lines: asyncio.Queue[tuple[int, str]]
        self._owned: _Owned
        self._folder: Path

    async def call(self, method: str, *values: Any, **named: Any) -> str:
        """Call a method; return "value" and its result, or "error" and the error, as JSON."""
        try:
            return f"value {checks.dumps(await getattr(self, method)(*values, **named))}"
        # Dask would send any exception as a pickle, which the client refuses.
        except Exception as error:  # noqa: BLE001
            known = error if isinstance(error, PqchainError) else PqchainError(repr(error))
            return f"error {checks.dumps(known)}"

    async def open(self) -> None:
        """Make and fill the nodes' folders."""
        stack = ExitStack()
        self._folder = stack.enter_context(scratch.folder(self._parent))
        self._lines = asyncio.Queue()
        self._owned = _Owned(stack)
        # The task keeps no reference to this object, so that it ends after the object.
        watching = _watch(weakref.ref(self), self._worker, self._owned)
        self._owned.stack.callback(asyncio.ensure_future(watching).cancel)
        stack.callback(scheduler.pause_profiling(self._worker))
        for index in self._identities:
            folder = self._folder / str(index)
            folder.mkdir()
            if self._job.prepare:
                prepare = pkgutil.resolve_name(self._job.prepare)
                await asyncio.to_thread(prepare, index, folder, **self._job.parameters)

    async def open_probes(self, ports: Sequence[int]) -> list[Address]:
        """Listen on ports (0: any) for probes of the other workers. Raises UsageError."""
        addresses = []
        for port in ports:
            probe = Probe()
            addresses.append(await probe.open(self._host, port))
            self._owned.probes.append(probe)
        return addresses

    async def close_probes(self) -> None:
        """Close the ports of the probes."""
        for probe in self._owned.probes:
            probe.close()
        self._owned.probes.clear()

    async def measure(self, addresses: Sequence[Address], *, rate: bool = True) -> LinkPath:
        """Measure the path to another worker's probes. Raises PqchainError if there is none."""
        names = {self._job.transport_of(index) for index in range(self._job.nodes)}
        datagrams = any(registry.get(name).datagrams for name in names)
        return await measure(addresses, datagrams=datagrams, rate=rate)

    async def launch(self, key: int, index: int, port: int) -> None:
        """Start the process of a node; `key` identifies it, as nodes may be started again."""
        folder = self._folder / str(index)
        path = folder / "log"
        with path.open("ab") as log:
            process = await processes.execute([], log)
        address = (self._host, port)
        setup = (self._job, folder, self._identities[index], self._directory, address)
        process.stdin.write(encode_setup(*setup))
        local = LocalProcess(process, path)
        if self._owned.closed:
            # The client has ended the run while the process was started.
            process.stdin.close()
            await process.wait()
            raise PqchainError(f"node {index} was started after the end of the run.")
        self._owned.processes[key] = local
        self._owned.readings[key] = asyncio.create_task(_forward(key, local, self._lines))

    async def write(self, key: int, line: bytes) -> None:
        """Send a request to a node's process."""
        self._owned.processes[key].write(line)

    async def read(self) -> list[tuple[int, str]]:
        """Wait for reports; return pairs of key and line, "" after a process has ended."""
        lines = []
        try:
            lines.append(await asyncio.wait_for(self._lines.get(), POLL_SECONDS))
        except asyncio.TimeoutError:
            return []
        while not self._lines.empty():
            lines.append(self._lines.get_nowait())
        return lines

    async def kill(self, key: int) -> float:
        """Kill a node's process; return the time of this machine's monotonic clock."""
        return await self._owned.processes[key].kill()

    async def stop(self, key: int) -> None:
        """End a node's process."""
        if (process := self._owned.processes.get(key)) is not None:
            await process.stop(self._owned.readings[key])
            del self._owned.processes[key]

    async def last_log_line(self, index: int) -> str:
        """Return the last line of a node's log."""
        path = self._folder / str(index) / "log"
        return next(reversed(path.read_text(errors="replace").splitlines()), "")

    async def file_names(self, index: int) -> list[str]:
        """Return the names of a node's files."""
        paths = (self._folder / str(index)).iterdir()
        return sorted(path.name for path in paths if path.is_file())

    async def read_file(self, index: int, name: str, start: int, count: int) -> bytes:
        """Return `count` bytes of a node's file, fewer at its end."""
        with (self._folder / str(index) / name).open("rb") as file:
            file.seek(start)
            return file.read(count)

    async def ticks(self) -> tuple[int, int]:
        """Return idle and total clock ticks of this machine's processors."""
        return processes.ticks()

    async def close(self) -> None:
        """End all processes and remove the nodes' folders."""
        await self._owned.close()


async def _forward(key: int, process: LocalProcess, lines: asyncio.Queue[tuple[int, str]]) -> None:
    while line := await process.readline():
        lines.put_nowait((key, line.decode(errors="replace")))
    lines.put_nowait((key, ""))


async def _watch(actor: weakref.ref[WorkerNodes], worker: Any, owned: _Owned) -> None:
    """Release the resources of a run once Dask has dropped its actor, or the worker closes."""
    while actor() is not None and worker.status.name in ("running", "paused", "init"):
        await asyncio.sleep(_WATCH_SECONDS)
    # Closing the stack cancels this task.
    await asyncio.shield(owned.close())
