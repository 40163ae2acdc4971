"""What a driver is told and what it tells: plain data that survives a pipe between processes."""

from __future__ import annotations

import base64
import math
import pickle
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pqchain.errors import PqchainError
from pqchain.wire.drivers.link import Link
from pqchain.wire.identity import Identity, PublicIdentity, generate
from pqchain.wire.node import Node
from pqchain.wire.session import Address, Transport
from pqchain.wire.transports import registry

Progress = Callable[[int], None]
"""Is told by how much the nodes' progress has grown."""


@dataclass(frozen=True, slots=True)
class Strike:
    """A node dies, and may come back with nothing but its files."""

    node: int
    after_seconds: float = 0.0
    when: str = "begun"
    """After the first node has begun its work, or after all are "connected"."""
    down_seconds: float | None = None
    """How long it is away; None: it stays dead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A mesh of nodes and what happens to it."""

    nodes: int
    factory: str
    """Makes a node: "module:function", called as (index, transport, folder, **parameters)."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Plain JSON."""
    transport: str = field(default_factory=registry.default)
    others: Mapping[int, str] = field(default_factory=dict)
    """Nodes that speak by another transport, of the same protocol, on sockets."""
    datagram_bytes: int = 1452
    congestion: str = "reno"
    identity: str = "auto"
    """The signature that nodes prove themselves with."""
    begin: bool = False
    """Whether the nodes are told to begin when all are connected."""
    strikes: tuple[Strike, ...] = ()
    limit_seconds: float = 600.0
    """When a job that does not end by itself is ended."""
    link: Link = field(default_factory=Link)
    """What a modelled clock models and namespaces shape."""
    processors: tuple[int, ...] = ()
    """Those that the nodes' processes are bound to; none: any."""
    steps: bool = False
    """Whether processor time is noted whenever a node's progress has grown."""
    log: bool = False
    """Whether each node writes `node-<index>.qlog`, where the transport can."""

    @property
    def row(self) -> registry.Row:
        """The registry's row of the transport. Raises UnknownName."""
        return registry.get(self.transport)

    def speaks(self, index: int) -> str:
        """Return the name of a node's transport."""
        return self.others.get(index, self.transport)

    def identities(self, *, seed: int | None = None) -> list[Identity]:
        """Return an identity for each node: fresh ones, or those that follow from a seed."""
        rows = [registry.get(self.speaks(index)) for index in range(self.nodes)]
        # Every transport knows P-256.
        keys = {row.certificate_key for row in rows}
        key = keys.pop() if len(keys) == 1 else "p256"
        return generate(self.nodes, algorithm=self.identity, certificate_key=key, seed=seed)

    def open(
        self,
        identity: Identity,
        directory: Sequence[PublicIdentity],
        addresses: Mapping[int, Address],
        folder: Path,
    ) -> Any:
        """Return a node's transport. Raises Unsupported."""
        place = self.place(identity, directory, addresses, folder)
        return registry.get(self.speaks(identity.index)).open(place)

    def place(
        self,
        identity: Identity,
        directory: Sequence[PublicIdentity],
        addresses: Mapping[int, Address],
        folder: Path,
    ) -> registry.Place:
        """Return where a node's transport is opened."""
        return registry.Place(
            identity=identity,
            directory=directory,
            addresses=addresses,
            folder=folder,
            datagram_bytes=self.datagram_bytes,
            congestion=self.congestion,
            log=self.log,
            window_bytes=self.link.window_bytes,
        )

    def node(self, index: int, transport: Transport, folder: Path) -> Node:
        """Make a node."""
        factory = pkgutil.resolve_name(self.factory)
        return cast(Node, factory(index, transport, folder, **self.parameters))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResult:
    """What became of one node."""

    node: int
    state: str = "dead"
    """"done", "failed", "cut off" or "dead"."""
    error: PqchainError | None = None
    report: Mapping[str, Any] | None = None
    """`Node.report`; None if its process is dead."""
    cpu_seconds: float = math.nan
    """Processor time of the node's process while it worked; NaN on a modelled clock."""
    cpu_steps: tuple[float, ...] = ()
    """Of it what was used when each step of the node's progress was done, if that was asked for."""

    @classmethod
    def of(
        cls,
        index: int,
        node: Node,
        *,
        cpu_seconds: float = math.nan,
        cpu_steps: tuple[float, ...] = (),
    ) -> NodeResult:
        """Ask a node that lives."""
        return cls(
            node=index,
            state="failed" if node.error else "done" if node.done else "cut off",
            error=node.error,
            report=node.report(),
            cpu_seconds=cpu_seconds,
            cpu_steps=cpu_steps,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a job; times are the driver's."""

    nodes: tuple[NodeResult, ...]
    connected: float
    """When all nodes were connected."""
    struck: Mapping[int, float]
    """When each node died that did."""
    identity: str
    """The signature that nodes proved themselves with."""
    dropped_datagrams: int = 0
    lost_datagrams: int = 0
    datagram_digest: str = ""
    """SHA-256 of all datagrams of a modelled network, where that was asked for."""
    machine_busy: float = math.nan
    """Share of the machine's processors that was busy, with whatever else ran."""

    @property
    def failure(self) -> PqchainError | None:
        """The first living node's error."""
        return next((node.error for node in self.nodes if node.state == "failed"), None)


def encode(what: str, value: Any = None) -> bytes:
    """Return an order or a report for a pipe between our own processes: a line of its pickle."""
    return base64.b64encode(pickle.dumps((what, value))) + b"\n"


def decode(line: bytes) -> tuple[str, Any]:
    """Return the order or the report."""
    return cast(tuple[str, Any], pickle.loads(base64.b64decode(line)))
