"""Jobs and results: the input and output of a driver, and the lines that carry them."""

from __future__ import annotations

import base64
import math
import pickle
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any, cast

from pqchain import checks
from pqchain.errors import DataError, PqchainError, UsageError, short_repr
from pqchain.wire.drivers.link import Link
from pqchain.wire.identity import Identity, PublicIdentity, generate
from pqchain.wire.node import Node
from pqchain.wire.session import Address, Transport, TransportSettings
from pqchain.wire.transports import registry

Progress = Callable[[int], None]
"""Callback that receives each increase of the nodes' progress."""


@dataclass(frozen=True, slots=True)
class NodeFailure:
    """Crash of a node."""

    node: int
    after_seconds: float = 0.0
    trigger: str = "begun"
    """Event from which `after_seconds` counts: "begun" (first node) or "connected" (all nodes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Input of a driver: a full mesh of nodes with its transport, link and node failures."""

    nodes: int
    factory: str
    """Factory of a node: "module:function", called as (index, transport, folder, **parameters)."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    prepare: str = ""
    """Function "module:function" that fills a node's folder, called as (index, folder,
    **parameters) by drivers whose nodes have their files on other machines; empty: nothing."""
    transport: str = field(default_factory=registry.default)
    datagram_bytes: int = 1452
    congestion: str = "reno"
    identity: str = "auto"
    """Signature algorithm of the nodes' identities."""
    begin: bool = False
    """Whether `Node.begin` is called once all nodes are connected."""
    failures: tuple[NodeFailure, ...] = ()
    limit_seconds: float = 600.0
    link: Link = field(default_factory=Link)
    """Link that the virtual driver models, and whose limits are applied to namespaces."""
    processors: tuple[int, ...] = ()
    """Processors to which the nodes' processes are pinned; if empty, they are not pinned."""
    steps: bool = False
    """Whether to record processor time at each increase of a node's progress."""

    def __post_init__(self) -> None:
        failing = [failure.node for failure in self.failures]
        if len({*failing}) < len(failing) or not {*failing} <= {*range(self.nodes)}:
            raise UsageError(
                f"failures must be of different nodes from 0 to {self.nodes - 1}; got {failing}. "
                "Give at most one of each node."
            )

    def identities(self, *, seed: int | None = None) -> list[Identity]:
        """Return an identity for each node; a seed makes them reproducible."""
        return generate(self.nodes, algorithm=self.identity, seed=seed)

    def settings(
        self,
        identity: Identity,
        directory: Sequence[PublicIdentity],
        addresses: Mapping[int, Address],
        folder: Path,
    ) -> TransportSettings:
        """Return the arguments with which a node's transport is opened."""
        return TransportSettings(
            identity=identity,
            directory=directory,
            addresses=addresses,
            folder=folder,
            datagram_bytes=self.datagram_bytes,
            congestion=self.congestion,
            window_bytes=self.link.window_bytes,
        )

    def node(self, index: int, transport: Transport, folder: Path) -> Node:
        """Create a node with the factory."""
        factory = pkgutil.resolve_name(self.factory)
        return cast(Node, factory(index, transport, folder, **self.parameters))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResult:
    """Result of one node."""

    node: int
    state: str = "dead"
    """State at the end of the job: "done", "failed", "cut off" (unfinished) or "dead"."""
    error: checks.SentError | None = None
    report: Mapping[str, Any] | None = None
    """Result of `Node.report`; None if the node's process was killed."""
    cpu_seconds: float = math.nan
    """Processor seconds of the node's process while it worked; NaN on a modelled clock."""
    cpu_steps: tuple[float, ...] = ()
    """Processor seconds used at each step of the node's progress; empty unless requested."""
    clock_offset_seconds: float = 0.0
    """Offset of the node's clock: its times minus this are times of the driver's clock."""

    def __post_init__(self) -> None:
        checks.one_of("state", self.state, ("done", "failed", "cut off", "dead"))

    @classmethod
    def of(cls, index: int, node: Node, **cpu: Any) -> NodeResult:
        """Return the result of a live node; `cpu` contains `cpu_seconds` and `cpu_steps`."""
        state = "failed" if node.error else "done" if node.done else "cut off"
        return cls(node=index, state=state, error=node.error, report=node.report(), **cpu)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of a job; times are seconds of the driver's clock."""

    nodes: tuple[NodeResult, ...]
    connected: float
    """Time at which all nodes were connected."""
    failure_times: Mapping[int, float]
    identity: str
    """Signature algorithm of the nodes' identities."""
    dropped_datagrams: int = 0
    lost_datagrams: int = 0
    datagram_digest: str = ""
    """SHA-256 of all datagrams of a modelled network in hex; empty unless requested."""
    machine_busy: float = math.nan
    """Utilization (0 to 1) of all processors, including by other programs; NaN if unknown. Of
    several machines that of the busiest."""
    cluster: Mapping[str, Any] = field(default_factory=dict)
    """Machines and clocks of a cluster, see `cluster.run`; empty on one machine."""

    @property
    def failure(self) -> PqchainError | None:
        """Error of the first node that failed, or None."""
        return next((node.error for node in self.nodes if node.state == "failed"), None)


Setup = tuple[Job, Path, Identity, Sequence[PublicIdentity], Address]
"""Setup of a node: its job, folder, identity, the directory, and the address to listen on."""

MAX_LINE_BYTES = 64 << 20
"""Maximum length of a line between a driver and a node."""

PID_BYTES = 8
"""Length of the fork server's answer, a process id."""

LINES: Mapping[str, Any] = {
    "start": dict[int, Address],
    "begin": NoneType,
    "listening": Address,
    "connected": NoneType,
    "begun": NoneType,
    "progress": int,
    "done": NodeResult,
    "error": str,
    "ended": str,
    "lost": str,
}
"""Types of the values of requests and reports, which are sent between computers."""


def encode(kind: str, value: Any = None) -> bytes:
    """Return a request or report as one line: its kind and its value as JSON."""
    return f"{kind} {checks.dumps(value)}\n".encode()


def decode(line: bytes) -> tuple[str, Any]:
    """Return the request or report that `encode` has written as this line. Raises DataError."""
    kind, _, text = line.decode(errors="replace").partition(" ")
    if kind not in LINES:
        raise DataError(f"a line must start with one of {', '.join(LINES)}; got {short_repr(kind)}")
    return kind, checks.loads(text, LINES[kind], f"the value of {kind!r}")


def encode_setup(setup: Setup) -> bytes:
    """Return the setup of a node as one line, for a process on the same computer."""
    # Pickle is safe here: the setup comes from the parent of the process.
    return base64.b64encode(pickle.dumps(setup)) + b"\n"


def decode_setup(line: bytes) -> Setup:
    """Return the setup that the parent of this process has written as this line."""
    return cast(Setup, pickle.loads(base64.b64decode(line)))
