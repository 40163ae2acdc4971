"""Network namespaces: one per node and one with a bridge that connects them; rates are limited.

Needs root and iproute2. The host's own network is not changed, and all namespaces are deleted at
the end.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess

from pqchain.errors import PqchainError, Unsupported
from pqchain.wire.drivers.link import Link

# Rate from which a veth pair is not shaped: shaping would cost more than it limits.
_UNSHAPED_BITS = 5e9

# A process may have several networks at a time.
_NUMBERS = itertools.count()

# Approximate delay of a veth pair itself; longer delays need netem.
_VETH_DELAY_SECONDS = 100e-6


def unavailable_reason() -> str:
    """Return the reason why namespaces cannot be created here; "" if they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    if missing:
        return f"{' and '.join(missing)} not installed: install iproute2"
    # Root is not enough where the kernel or a container forbids namespaces: try to create one.
    name = f"pqprobe{os.getpid()}"
    try:
        _run(f"ip netns add {name}")
        try:
            _run(f"ip -n {name} link add probe type bridge")
        finally:
            _run(f"ip netns delete {name}")
    except PqchainError as error:
        return str(error)
    return ""


class Namespaces:
    """Context manager that creates one namespace per node and deletes them at the end."""

    def __init__(self, count: int, link: Link) -> None:
        if why := unavailable_reason():
            raise Unsupported(f"netns cannot run here: {why}. Use loopback or virtual.")
        # All nodes have an address in 10.99.0.0/24.
        if count > 200:
            # `__exit__` is not called when `__enter__` fails; namespaces would be left over.
            raise Unsupported(f"netns must have at most 200 nodes; got {count}. Use loopback.")
        self._count, self._link = count, link
        self._prefix = f"pq{os.getpid()}-{next(_NUMBERS)}"
        self.bridge = f"{self._prefix}-bridge"
        """Name of the namespace that connects the others."""

    def __enter__(self) -> Namespaces:
        try:
            self._create()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        # All of them, because a signal can arrive at any time; deleting an absent one does no harm.
        for name in [*map(self.name, range(self._count)), self.bridge]:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)

    def host(self, index: int) -> str:
        """Return the IPv4 address of a node."""
        return f"10.99.0.{index + 1}"

    def prefix(self, index: int) -> list[str]:
        """Return the command prefix that runs a command in a node's namespace."""
        return ["ip", "netns", "exec", self.name(index)]

    def name(self, index: int) -> str:
        """Return the name of a node's namespace."""
        return f"{self._prefix}-{index}"

    def _create(self) -> None:
        bridge = self.bridge
        _run(f"ip netns add {bridge}")
        _run(f"ip -n {bridge} link add bridge type bridge")
        _run(f"ip -n {bridge} link set bridge up")
        for index in range(self._count):
            name, port = self.name(index), f"port{index}"
            _run(f"ip netns add {name}")
            _run(f"ip -n {name} link add eth0 type veth peer name {port} netns {bridge}")
            _run(f"ip -n {bridge} link set {port} master bridge up")
            _run(f"ip -n {name} address add {self.host(index)}/24 dev eth0")
            for device in ("lo", "eth0"):
                _run(f"ip -n {name} link set {device} up")
            # Both directions have the rate; delay and loss apply once, on the way from the node.
            self._shape(name, "eth0", delayed=True)
            self._shape(bridge, port, delayed=False)

    def _shape(self, name: str, device: str, *, delayed: bool) -> None:
        link, parent = self._link, "root"
        add = f"tc -n {name} qdisc add dev {device}"
        if link.bits_per_second < _UNSHAPED_BITS:
            parent = "parent 1:1"
            rate, limit = round(link.bits_per_second), link.queue_bytes
            burst = max(32_000, round(link.bits_per_second / 8 * 0.002))
            _run(f"{add} root handle 1: tbf rate {rate}bit burst {burst} limit {limit}")
        if not delayed or (link.delay_seconds <= _VETH_DELAY_SECONDS and not link.loss):
            return
        delay, loss = round(link.delay_seconds * 1e6), link.loss * 100
        try:
            _run(f"{add} {parent} netem delay {delay}us loss {loss:g}%")
        except PqchainError as error:
            raise Unsupported(
                f"delay and loss in namespaces need netem, which this kernel lacks ({error}). "
                "Use virtual, or a link without delay and loss."
            ) from error


def _run(command: str) -> None:
    process = subprocess.run(
        command.split(), capture_output=True, text=True, timeout=20, check=False
    )
    if process.returncode:
        raise PqchainError(f"`{command}` failed: {process.stderr.strip()}")
