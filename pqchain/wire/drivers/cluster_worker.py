"""Part of the cluster driver that runs on a Dask worker: its description, and its nodes' processes.

The processes end with the worker, because the end of their stdin stops them, and with the client,
because Dask then drops the object that owns them.
"""

from __future__ import annotations

import asyncio
import pkgutil
import platform
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

from pqchain import checks, installation
from pqchain.errors import PqchainError
from pqchain.installation import VERSION
from pqchain.results import machine
from pqchain.results.files import scratch_folder
from pqchain.wire.drivers import processes
from pqchain.wire.drivers.job import Job
from pqchain.wire.drivers.processes import LocalProcess
from pqchain.wire.identity import Identity, PublicIdentity
from pqchain.wire.session import Address
from pqchain.wire.transports import registry

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
    """A worker compared with its client."""

    problems: list[str]
    seconds: float
    boot: str
    machine: Machine


def python_version() -> str:
    """Return the version of Python without its patch level."""
    return ".".join(platform.python_version_tuple()[:2])


def describe(
    pqchain: str, python: str, needed_libraries: Sequence[str], transports: Sequence[str]
) -> Description:
    """Return this worker's description: what it lacks, each with its remedy, and its machine."""
    problems = []
    if pqchain != VERSION:
        problems.append(f"has pqchain {VERSION}, the client {pqchain}; install pqchain {pqchain}")
    if python != python_version():
        problems.append(f"has Python {python_version()}, the client {python}; use {python} there")
    missing = sorted(set(needed_libraries) - set(installation.installed_libraries()))
    if missing:
        names = ", ".join(missing)
        problems.append(f"lacks the native library {names}; run `make` there, or install the wheel")
    for name in transports:
        reason = registry.get(name).unavailable_reason()
        if reason and (name != "native" or not missing):
            problems.append(f"cannot use the transport {name}: {reason}")
    known = machine.provenance() | {"load_per_processor": machine.load_share()}
    return {
        "problems": problems,
        "seconds": time.time(),
        "boot": _BOOT_ID.read_text(encoding="ascii").strip() if _BOOT_ID.exists() else "",
        "machine": cast(Machine, {name: known[name] for name in Machine.__annotations__}),
    }


class WorkerNodes:
    """Nodes of one worker in one run: a Dask actor, whose methods the client calls."""

    def __init__(
        self,
        job: Job,
        identities: Mapping[int, Identity],
        directory: Sequence[PublicIdentity],
        in_memory: bool,
    ) -> None:
        """Store the setup of the nodes, which are the keys of `identities`."""
        self._job, self._identities, self._directory = job, identities, directory
        self._parent = Path("/dev/shm") if in_memory and Path("/dev/shm").is_dir() else None
        self._processes: dict[int, LocalProcess] = {}
        self._folder: Path
        self._stack = ExitStack()
        # Called when Dask drops this object, and when the worker ends.
        self._close = weakref.finalize(self, self._stack.close)

    async def call(self, key: int | None, method: str, *values: Any) -> str:
        """Call a method of this object, or of the process `key`.

        Return "value" and its result, or "error" and the error, as JSON.
        """
        try:
            target = self if key is None else self._processes[key]
            return f"value {checks.dumps(await getattr(target, method)(*values))}"
        # Dask would send any exception as a pickle, which the client refuses.
        except Exception as error:  # noqa: BLE001
            known = error if isinstance(error, PqchainError) else PqchainError(repr(error))
            return f"error {checks.dumps(known)}"

    async def open(self) -> None:
        """Make and fill the nodes' folders."""
        self._folder = self._stack.enter_context(scratch_folder(self._parent))
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
        folder = self._folder / str(index)
        process = await processes.start(
            (self._job, folder, self._identities[index], self._directory, address)
        )
        assert process.executed is not None
        if not self._close.alive:
            _end(process.executed)
            raise PqchainError(f"node {index} was started after the end of the run.")
        self._stack.callback(_end, process.executed)
        self._processes[key] = process

    async def file_names(self, index: int) -> list[str]:
        """Return the names of a node's files."""
        paths = (self._folder / str(index)).iterdir()
        return sorted(path.name for path in paths if path.is_file())

    async def read_file(self, index: int, name: str, start: int, count: int) -> bytes:
        """Return `count` bytes of a node's file, fewer at its end."""
        with (self._folder / str(index) / name).open("rb") as file:
            file.seek(start)
            return file.read(count)

    async def close(self) -> None:
        """End all processes and remove the nodes' folders."""
        await asyncio.gather(*(process.stop() for process in self._processes.values()))
        self._close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
