"""Dask cluster on one computer, with a network namespace and an address for each worker.

    python -m tests.cluster.machines 10        run until Ctrl-C; print the scheduler's address

The scheduler has a namespace of its own, 10.98.0.100, in which clients run, too: `ip netns exec
pqc<pid>-0-hub pqchain ...`. Worker i has 10.98.0.<i + 1>. Needs root and iproute2. The host's own
network is not changed, and all namespaces and processes are removed at the end.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pqchain.scheduler import INSECURE
from pqchain.wire.drivers import namespaces

ROOT = Path(__file__).parents[2]
SCHEDULER_PORT = 8786
START_SECONDS = 300.0
"""Timeout of the start of a scheduler or worker; it decides no result."""

_NUMBERS = itertools.count()

NODE = b"pqchain.wire.drivers.live"


class Machines:
    """Context manager with a scheduler and `count` workers, each in a namespace of its own."""

    def __init__(
        self,
        count: int,
        folder: Path,
        *,
        protocol: str = "tcp",
        options: Mapping[int, Mapping[str, Any]] = MappingProxyType({}),
        **environment: str,
    ) -> None:
        """Write logs below `folder`; `environment` is added to that of all processes.

        `options` are those of `start_worker` for some workers, by their numbers.
        """
        self._worker_options = options
        self.count, self.folder, self.protocol = count, folder, protocol
        self._address = f"{protocol}://10.98.0.100:{SCHEDULER_PORT}"
        self.address = self._address if protocol == "tls" else f"{INSECURE}{self._address}"
        """Address for clients of pqchain."""
        self.workers: dict[int, subprocess.Popen[bytes]] = {}
        self.scheduler: subprocess.Popen[bytes]
        # Several clusters may exist at a time.
        self._prefix = f"pqc{os.getpid()}-{next(_NUMBERS)}"
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
            # Workers that are slow to start on a busy machine are not given up.
            "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "120s",
            # The profiler of an idle worker takes 2 % of a processor, and the workers share this
            # computer with the mode that is compared with them. In mode "cluster" it is stopped.
            "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
            "OPENBLAS_NUM_THREADS": "1",
            **environment,
        }
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def __enter__(self) -> Machines:
        try:
            self._make_network()
            self.start_scheduler()
            for number in range(self.count):
                self.start_worker(number, wait=False, **self._options(number))
            self.wait_for_workers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in [*self.workers.values(), getattr(self, "scheduler", None)]:
            if process is not None:
                process.kill()
                process.wait()
        for name in [*map(self.name, range(self.count)), self.hub]:
            for pid in self.pids(name):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    def _options(self, number: int) -> dict[str, Any]:
        return dict(self._worker_options.get(number, {}))

    @property
    def hub(self) -> str:
        """Namespace of the bridge, the scheduler and the clients."""
        return f"{self._prefix}-hub"

    def name(self, number: int) -> str:
        """Return the namespace of a worker."""
        return f"{self._prefix}-{number}"

    def host(self, number: int) -> str:
        """Return the address of a worker."""
        return f"10.98.0.{number + 1}"

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
                    if NODE in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                        found.append(pid)
        return found

    def wait_for_nodes(self, count: int, seconds: float = START_SECONDS) -> bool:
        """Wait until this number of nodes is running; return whether it is."""
        end = time.monotonic() + seconds
        while len(self.nodes()) != count and time.monotonic() < end:
            time.sleep(0.2)
        return len(self.nodes()) == count

    def start_scheduler(self) -> None:
        """Start the scheduler."""
        options = ["--host", self._address, "--no-dashboard", "--no-show"]
        self.scheduler = self._start("scheduler", self.hub, ["scheduler", *options])

    def restart_worker(self, number: int) -> None:
        """Start or replace a worker with its options, and wait for it."""
        self.start_worker(number, **self._options(number))

    def start_worker(
        self,
        number: int,
        *,
        wait: bool = True,
        preload: str = "",
        prefix: Sequence[str] = (),
        **environment: str,
    ) -> None:
        """Start or replace a worker; `preload` is a module that it imports first."""
        self.stop_worker(number)
        port = 9000
        options = [
            self._address, "--no-nanny", "--nthreads", "1", "--no-dashboard",
            "--host", f"{self.protocol}://{self.host(number)}:{port}", "--name", str(number),
            "--local-directory", str(self.folder), "--death-timeout", str(START_SECONDS),
            *(["--preload", preload] if preload else []),
        ]  # fmt: skip
        self.workers[number] = self._start(
            f"worker-{number}", self.name(number), ["worker", *options], prefix, environment
        )
        if wait:
            self.wait_for_workers()

    def stop_worker(self, number: int) -> None:
        """Kill a worker."""
        if (process := self.workers.pop(number, None)) is not None:
            # In a time namespace the worker is a child of `unshare`.
            for pid in self.pids(self.name(number)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()

    def wait_for_workers(self) -> None:
        """Wait until the scheduler knows exactly the running workers. Raises TimeoutError."""
        program = (
            "import sys\nfrom dask.distributed import Client\n"
            "with Client(sys.argv[1], timeout=120) as client:\n"
            "    print(len(client.run(lambda: 0, on_error='return')))\n"
        )
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            known = self.run([sys.executable, "-c", program, self._address]).stdout.strip()
            if known == str(len(self.workers)):
                return
            time.sleep(0.5)
        raise TimeoutError(f"not {len(self.workers)} workers at {self.address}: {known}")

    def run(
        self, command: Sequence[str], *, where: str = "", **options: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end in the hub, or in the namespace `where`."""
        return subprocess.run(
            ["ip", "netns", "exec", where or self.hub, *command],
            env=self._environment | options, cwd=ROOT,
            capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip

    def run_here(self, command: Sequence[str]) -> str:
        """Run a command in the host's own network; return its output. Raises RuntimeError."""
        done = subprocess.run(
            command, env=self._environment, cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def keep_workers(self, count: int) -> None:
        """Stop or start workers, so that the first `count` are running."""
        for number in range(self.count):
            if number >= count:
                self.stop_worker(number)
            elif number not in self.workers:
                self.start_worker(number, wait=False, **self._options(number))
        self.wait_for_workers()

    def start(self, command: Sequence[str], *, where: str = "") -> subprocess.Popen[str]:
        """Start a command in the hub, or in the namespace `where`."""
        return subprocess.Popen(
            ["ip", "netns", "exec", where or self.hub, *command],
            env=self._environment, cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def _start(
        self,
        log: str,
        namespace: str,
        command: Sequence[str],
        prefix: Sequence[str] = (),
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> subprocess.Popen[bytes]:
        with (self.folder / f"{log}.log").open("ab") as file:
            return subprocess.Popen(
                ["ip", "netns", "exec", namespace, *prefix, sys.executable, "-m", "dask", *command],
                env=self._environment | environment, cwd=ROOT,
                stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip

    def _make_network(self) -> None:
        if reason := namespaces.unavailable_reason():
            raise RuntimeError(reason)
        self._ip(f"netns add {self.hub}")
        self._ip(f"-n {self.hub} link add bridge type bridge")
        self._ip(f"-n {self.hub} address add 10.98.0.100/24 dev bridge")
        self._ip(f"-n {self.hub} link set lo up")
        self._ip(f"-n {self.hub} link set bridge up")
        for number in range(self.count):
            name, port = self.name(number), f"port{number}"
            self._ip(f"netns add {name}")
            self._ip(f"-n {name} link add eth0 type veth peer name {port} netns {self.hub}")
            self._ip(f"-n {self.hub} link set {port} master bridge up")
            self._ip(f"-n {name} address add {self.host(number)}/24 dev eth0")
            self._ip(f"-n {name} link set lo up")
            self._ip(f"-n {name} link set eth0 up")

    def _ip(self, command: str) -> None:
        subprocess.run(["ip", *command.split()], check=True, capture_output=True, timeout=60)


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
