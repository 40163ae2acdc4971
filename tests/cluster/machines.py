"""Dask cluster on one computer, with a network namespace and an address for each worker.

    python -m tests.cluster.machines 10        run until Ctrl-C; print the scheduler's address

The scheduler has a namespace of its own, 10.99.0.250, in which clients run, too: `ip netns exec
pq<pid>-0-bridge pqchain ...`. Worker i has 10.99.0.<i + 1>. Needs root and iproute2. The host's own
network is not changed, and all namespaces and processes are removed at the end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pqchain.scheduler import INSECURE
from pqchain.wire.drivers.link import Link
from pqchain.wire.drivers.namespaces import Namespaces

ROOT = Path(__file__).parents[2]
START_SECONDS = 300.0
"""Timeout of the start of a scheduler or worker; it decides no result."""

_COUNT_WORKERS = """
import sys
from dask.distributed import Client
with Client(sys.argv[1], timeout=120) as client:
    print(len(client.run(lambda: 0, on_error="return")))
"""


class Machines(ExitStack):
    """Context manager with a scheduler and `count` workers, each in a namespace of its own."""

    def __init__(
        self,
        count: int,
        folder: Path,
        *,
        protocol: str = "tcp",
        prefixes: Mapping[int, Sequence[str]] = MappingProxyType({}),
        kinds: Mapping[int, str] = MappingProxyType({}),
        **environment: str,
    ) -> None:
        """Write logs below `folder`; `environment` is added to that of all processes.

        `prefixes` are commands that start some workers, by their numbers; `kinds` are changes to
        workers, see `other_worker`.
        """
        super().__init__()
        self.count, self.folder, self.protocol = count, folder, protocol
        self._prefixes, self._kinds = prefixes, kinds
        self._address = f"{protocol}://10.99.0.250:8786"
        self.address = self._address if protocol == "tls" else f"{INSECURE}{self._address}"
        """Address for clients of pqchain."""
        self.workers: dict[int, subprocess.Popen[bytes]] = {}
        self.scheduler: subprocess.Popen[bytes]
        self.network = Namespaces(count, Link())
        self.hub = self.network.bridge
        """Namespace of the bridge, the scheduler and the clients."""
        self.name, self.host = self.network.name, self.network.host
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
            # Workers that are slow to start on a busy machine are not given up.
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "120s",
            # The profiler of an idle worker takes 2 % of a processor, and the workers share this
            # computer with the mode that is compared with them.
            "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
            "OPENBLAS_NUM_THREADS": "1",
            **environment,
        }
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def __enter__(self) -> Machines:
        super().__enter__()
        # Also undone if the start fails.
        with ExitStack() as stack:
            stack.enter_context(self.network)
            for command in ("address add 10.99.0.250/24 dev bridge", "link set lo up"):
                subprocess.run(["ip", "-n", self.hub, *command.split()], check=True)
            options = ["--host", self._address, "--no-dashboard", "--no-show"]
            self.scheduler = self._start("scheduler", self.hub, ["scheduler", *options])
            stack.callback(self._kill_all)
            self.keep_workers(self.count)
            self.push(stack.pop_all())
        return self

    def _kill_all(self) -> None:
        for name in [*map(self.name, range(self.count)), self.hub]:
            self._kill(name)
        for process in [*self.workers.values(), self.scheduler]:
            process.wait()

    def _kill(self, name: str) -> None:
        # In a time namespace the worker is a child of `unshare`.
        for pid in self.pids(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def pids(self, name: str) -> list[int]:
        """Return the processes in a namespace."""
        done = subprocess.run(
            ["ip", "netns", "pids", name], capture_output=True, text=True, check=False
        )
        return [int(pid) for pid in done.stdout.split()]

    def nodes(self) -> list[int]:
        """Return the processes of all nodes on all workers."""
        found = []
        for number in range(self.count):
            for pid in self.pids(self.name(number)):
                with contextlib.suppress(OSError):
                    command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                    found += [pid] * (b"pqchain.wire.drivers.live" in command)
        return found

    def wait_for_no_nodes(self, seconds: float = START_SECONDS) -> bool:
        """Wait until no node is running; return whether none is."""
        end = time.monotonic() + seconds
        while self.nodes() and time.monotonic() < end:
            time.sleep(0.2)
        return not self.nodes()

    def keep_workers(self, count: int) -> None:
        """Stop or start workers, so that the first `count` are running. Raises TimeoutError."""
        for number in range(self.count):
            process = self.workers.get(number)
            if number >= count and process is not None:
                self._kill(self.name(number))
                self.workers.pop(number).wait()
            elif number < count and (process is None or process.poll() is not None):
                self.workers[number] = self._start_worker(number)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            program = [sys.executable, "-c", _COUNT_WORKERS, self._address]
            known = self.run(program).stdout.strip()
            if known == str(count):
                return
            time.sleep(0.5)
        raise TimeoutError(f"not {count} workers at {self.address}: {known}")

    def _start_worker(self, number: int) -> subprocess.Popen[bytes]:
        options = [
            self._address, "--no-nanny", "--nthreads", "1", "--no-dashboard",
            "--host", f"{self.protocol}://{self.host(number)}:9000", "--name", str(number),
            "--local-directory", str(self.folder), "--death-timeout", str(START_SECONDS),
            "--preload", "tests.cluster.other_worker",
        ]  # fmt: skip
        return self._start(
            f"worker-{number}",
            self.name(number),
            ["worker", *options],
            self._prefixes.get(number, ()),
            PQCHAIN_TEST_WORKER=self._kinds.get(number, ""),
        )

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a command to its end in the hub."""
        running = self.start(command)
        output, errors = running.communicate(timeout=600)
        return subprocess.CompletedProcess(command, running.returncode, output, errors)

    def start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Start a command in the hub."""
        return subprocess.Popen(
            ["ip", "netns", "exec", self.hub, *command],
            env=self._environment, cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run_here(self, command: Sequence[str]) -> str:
        """Run a command in the host's own network; return its output. Raises RuntimeError."""
        done = subprocess.run(
            command, env=self._environment, cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def _start(self, log, name, command, prefix=(), **more: Any):
        with (self.folder / f"{log}.log").open("ab") as file:
            return subprocess.Popen(
                ["ip", "netns", "exec", name, *prefix, sys.executable, "-m", "dask", *command],
                env=self._environment | more, cwd=ROOT,
                stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip


def main() -> None:
    """Run a cluster until the end of stdin or Ctrl-C."""
    import tempfile

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory() as folder, Machines(count, Path(folder)) as machines:
        sys.stdout.write(f"ip netns exec {machines.hub} ... --scheduler {machines.address}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
