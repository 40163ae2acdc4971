"""Part of the cluster driver that runs on a Dask worker: its description, and its nodes' processes.

The processes end with the worker, because the end of their stdin stops them, and with the client,
because Dask then drops the object that owns them.
"""

from __future__ import annotations

import asyncio
import atexit
import pkgutil
import platform
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pqchain import checks, libraries, machine
from pqchain.errors import PqchainError
from pqchain.installation import VERSION
from pqchain.results import scratch
from pqchain.wire.drivers import processes
from pqchain.wire.drivers.job import Job
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
    """Versions, libraries, time of day and machine of a worker."""

    version: str
    python: tuple[str, str]
    libraries: list[str]
    transports: dict[str, str]
    """Reasons why transports are missing."""
    seconds: float
    boot: str
    machine: Machine


def describe(transports: Sequence[str]) -> Description:
    """Return the description of this worker, with the reasons why `transports` are missing."""
    known = machine.provenance() | {"load_per_processor": machine.load_share()}
    boot = _BOOT_ID.read_text(encoding="ascii").strip() if _BOOT_ID.exists() else ""
    reasons = {name: registry.get(name).unavailable_reason() for name in transports}
    return {
        "version": VERSION,
        "python": platform.python_version_tuple()[:2],
        "libraries": sorted(libraries.installed()),
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
    lines: asyncio.Queue[tuple[int, str]] = field(default_factory=asyncio.Queue)
    closed: bool = False

    async def forward(self, key: int, process: LocalProcess) -> None:
        line = b""
        while not line.startswith(b"ended "):
            line = await process.readline()
            self.lines.put_nowait((key, line.decode(errors="replace")))

    async def stop(self, *keys: int) -> None:
        stopped = {key: self.processes.pop(key) for key in keys if key in self.processes}
        await asyncio.gather(*(each.stop(self.readings[key]) for key, each in stopped.items()))

    async def close(self) -> None:
        self.closed = True
        await self.stop(*self.processes)
        self.stack.close()

    async def watch(self, actor: weakref.ref[WorkerNodes]) -> None:
        """Release everything once Dask has dropped the actor."""
        while actor() is not None:
            await asyncio.sleep(_WATCH_SECONDS)
        # Closing the stack cancels this task.
        await asyncio.shield(self.close())


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
        # Also if the worker ends first.
        atexit.register(stack.close)
        stack.callback(atexit.unregister, stack.close)
        self._folder = stack.enter_context(scratch.folder(self._parent))
        self._owned = _Owned(stack)
        # The task keeps no reference to this object, so that it ends after the object.
        watching = self._owned.watch(weakref.ref(self))
        stack.callback(asyncio.ensure_future(watching).cancel)
        for index in self._identities:
            folder = self._folder / str(index)
            folder.mkdir()
            if self._job.prepare:
                prepare = pkgutil.resolve_name(self._job.prepare)
                await asyncio.to_thread(prepare, index, folder, **self._job.parameters)

    async def clock(self) -> float:
        """Return the time of this machine's monotonic clock."""
        return time.monotonic()

    async def launch(self, key: int, index: int, address: Address) -> None:
        """Start the process of a node; `key` identifies it, as nodes may be started again."""
        folder, owned = self._folder / str(index), self._owned
        setup = (self._job, folder, self._identities[index], self._directory, address)
        process = owned.processes[key] = await processes.start(setup, folder, None)
        owned.readings[key] = asyncio.create_task(owned.forward(key, process))
        if owned.closed:
            # The client has ended the run while the process was started.
            await owned.stop(key)
            raise PqchainError(f"node {index} was started after the end of the run.")

    async def write(self, key: int, line: bytes) -> None:
        """Send a request to a node's process."""
        await self._owned.processes[key].write(line)

    async def read(self) -> list[tuple[int, str]]:
        """Wait for reports; return pairs of key and line."""
        lines = self._owned.lines
        try:
            pairs = [await asyncio.wait_for(lines.get(), POLL_SECONDS)]
        except asyncio.TimeoutError:
            return []
        while not lines.empty():
            pairs.append(lines.get_nowait())
        return pairs

    async def kill(self, key: int) -> float:
        """Kill a node's process; return the time of this machine's monotonic clock."""
        return await self._owned.processes[key].kill()

    async def stop(self, key: int) -> None:
        """End a node's process."""
        await self._owned.stop(key)

    async def file_names(self, index: int, pattern: str) -> list[str]:
        """Return the names of a node's files that match a pattern."""
        paths = (self._folder / str(index)).glob(pattern)
        return sorted(path.name for path in paths if path.is_file())

    async def read_file(self, index: int, name: str, start: int, count: int) -> bytes:
        """Return `count` bytes of a node's file, fewer at its end."""
        with (self._folder / str(index) / name).open("rb") as file:
            file.seek(start)
            return file.read(count)

    async def close(self) -> None:
        """End all processes and remove the nodes' folders."""
        await self._owned.close()
