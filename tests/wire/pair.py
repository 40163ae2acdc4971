"""Nodes connected in memory (`Pair`, `NativePair`) or over loopback (`Mesh`)."""

import asyncio
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pqchain.wire.identity import generate
from pqchain.wire.session import Opened, Received, TransportSettings
from pqchain.wire.transports import registry
from pqchain.wire.transports.aioquic import QuicEndpoint
from pqchain.wire.transports.native import NativeFabric
from pqchain.wire.transports.native_library import pointer
from pqchain.wire.transports.registry import Conditions

UNKNOWN = 2
"""Index of an identity of a `Mesh` that no directory has."""

PLACES = 4
"""Number of addresses in memory."""


def open_pair(name: str, **changes):
    """Return a pair over a library; skip if the installation omitted it."""
    if reason := registry.get(name).unavailable_reason():
        pytest.skip(reason)
    return (Pair if name == "aioquic" else NativePair)(**changes)


def forged(rng: random.Random) -> bytes:
    """Return an Initial with random content."""
    head = b"\xc0\x00\x00\x00\x01\x08" + rng.randbytes(8) + b"\x08" + rng.randbytes(8) + b"\x00"
    left = 1200 - len(head) - 2
    return head + (left | 0x4000).to_bytes(2, "big") + rng.randbytes(left)


def unknown_identities(count: int):
    """Return identities missing from every directory."""
    return generate(count, algorithm="Ed25519")


class _Endpoints:
    """Two or more endpoints, and the events that their nodes have not received."""

    endpoints: dict[int, Any]

    def __init__(self, count: int, delay_seconds: float) -> None:
        self.identities = unknown_identities(count)
        self.directory = [identity.public for identity in self.identities]
        self.addresses = {index: ("127.0.0.1", index) for index in range(100)}
        self.delay_seconds = delay_seconds
        self.now = 0.0
        self.endpoints = {}
        self._events: dict[int, list[Any]] = {index: [] for index in range(PLACES)}
        self._early: dict[int, int] = dict.fromkeys(range(PLACES), 0)

    client = property(lambda self: self.endpoints[0])
    server = property(lambda self: self.endpoints[1])

    def settings(self, identity, **more):
        return TransportSettings(
            identity=identity, directory=self.directory, addresses=self.addresses, folder=Path(),
            **more,
        )  # fmt: skip

    def deliver(self, index: int, event: Any) -> None:
        self._events[index].append(event)
        self._early[index] += isinstance(event, Opened) and event.early and not event.dialled

    def collect(self) -> None:
        """Deliver events that the endpoints keep."""

    def events(self, index: int, *kinds: type) -> list[Any]:
        """Return a node's events since the last call, or those of these classes."""
        self.collect()
        events, self._events[index] = self._events[index], []
        return [event for event in events if not kinds or isinstance(event, kinds)]

    def early_sessions(self, index: int) -> int:
        """Return the number of peers' sessions that were resumed with a ticket of a node."""
        self.collect()
        return self._early[index]

    def connect(self, *, early: bool = False) -> int:
        """Dial from 0 to 1, run, and return the session."""
        session = int(self.endpoints[0].dial(1, early=early, now=self.now))
        self.run()
        return session

    def connected(self) -> tuple[int, int]:
        """Connect and return the session's numbers at both ends."""
        session = self.connect()
        (opened,) = self.events(1, Opened)
        self.events(0)
        return session, opened.session

    def run(self, quiet_seconds: float = 0.5) -> None:
        """Run until no event is pending for a while."""
        raise NotImplementedError


class Pair(_Endpoints):
    """Endpoints of aioquic and a link of constant delay between them."""

    def __init__(self, count: int = 2, delay_seconds: float = 0.01) -> None:
        super().__init__(count, delay_seconds)
        for identity in self.identities:
            self.join(identity.index, identity)
        self.wire: list[tuple[float, int, int, bytes]] = []
        """Every datagram: time, sender, receiver, content."""

    def join(self, index, identity):
        """Replace the endpoint at an address by one of that identity."""
        self.endpoints[index] = QuicEndpoint(self.settings(identity))
        self._events[index] = []

    def collect(self) -> None:
        for index, endpoint in self.endpoints.items():
            for event in endpoint.events():
                self.deliver(index, event)

    def carry(self) -> bool:
        """Deliver every pending datagram, but no answers; return whether there were any."""
        sent = [
            (self.now, index, address[1], data)
            for index, endpoint in self.endpoints.items()
            for data, address in endpoint.datagrams(self.now)
        ]
        self.wire += sent
        self.now += self.delay_seconds
        for _, sender, receiver, data in sent:
            if receiver in self.endpoints:
                self.endpoints[receiver].receive(data, ("127.0.0.1", sender), self.now)
        return bool(sent)

    step = carry

    def run(self, quiet_seconds: float = 0.5) -> None:
        for _ in range(10_000):
            if self.carry():
                continue
            timers = [timer for each in self.endpoints.values() if (timer := each.timer())]
            if not timers or min(timers) > self.now + quiet_seconds:
                return
            self.now = max(self.now, min(timers))
            for endpoint in self.endpoints.values():
                endpoint.handle_timer(self.now)
        raise AssertionError("the endpoints never fall quiet")


class NativePair(_Endpoints):
    """Hosts on the native fabric, with addresses for further ones."""

    def __init__(self, count: int = 2, delay_seconds: float = 0.01, **conditions) -> None:
        super().__init__(count, delay_seconds)
        self.addresses = {index: (f"node-{index}", 4433) for index in range(PLACES)}
        settings = [self.settings(identity) for identity in unknown_identities(PLACES)]
        model = {"bits_per_second": 1e12, "loss": 0.0, "queue_bytes": 1 << 30, "overhead_bytes": 66,
                 "coalescing_seconds": 0.0, "delay_seconds": delay_seconds}  # fmt: skip
        self.fabric = NativeFabric(Conditions(**model | conditions), settings)
        for identity in self.identities:
            self.join(identity.index, identity)

    def join(self, index, identity):
        if index in self.endpoints:
            self.fabric.stop(index)
        self.fabric._settings[index] = self.settings(identity)
        self.endpoints[index] = self.fabric.start(index)
        self._events[index] = []

    def carry(self) -> None:
        self._advance(self.now + 1.5 * self.delay_seconds)

    def run(self, quiet_seconds: float = 0.5) -> None:
        while self._advance(self.now + quiet_seconds):
            pass

    def step(self) -> None:
        """Run until the next event."""
        self._advance(self.now + 60.0)

    def _advance(self, until: float) -> bool:
        pending = self.fabric.advance(until)
        self.now = pending[-1][0] if pending else until
        for _, index, event in pending:
            self.deliver(index, event)
        return bool(pending)

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function of the library for the network."""
        return self.fabric._library.call(name, self.fabric.handle, *arguments)

    def tapped(self):
        """Return (time in ns, sender, receiver, bytes) of every recorded datagram."""
        found = []
        while True:
            numbers, data = np.zeros(3, np.uint64), bytearray(1 << 16)
            buffers = pointer(numbers.data.cast("B")), 3, pointer(data), len(data)
            if not (length := self.call("tapped", *buffers)):
                return found
            found.append((*map(int, numbers), bytes(data[:length])))

    def inject(self, sender: int, receiver: int, data: bytes) -> None:
        """Send bytes from any address."""
        self.call("inject", sender, receiver, data, len(data))


async def until(condition) -> None:
    """Wait until a condition is true, for 20 s at most."""
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("not within 20 s")


class Mesh:
    """Nodes 0 and 1 and one that nobody knows, over sockets; the tests dial from 0 to 1."""

    def __init__(self, name: str, folder: Path = Path()) -> None:
        self.info, self.folder = registry.get(name), folder
        self.known = generate(2, algorithm="Ed25519")
        self.unknown = generate(3, algorithm="Ed25519")[UNKNOWN]
        self.addresses: dict[int, Any] = {}
        self.events: dict[int, list[Any]] = {0: [], 1: [], UNKNOWN: []}
        self.nodes: dict[int, Any] = {}

    def open(self, index: int) -> Any:
        """Return a node that does not listen yet."""
        settings = TransportSettings(
            identity=self.unknown if index == UNKNOWN else self.known[index],
            directory=[identity.public for identity in self.known],
            addresses=self.addresses,
            folder=self.folder,
        )
        self.nodes[index] = self.info.open(settings)
        return self.nodes[index]

    async def listen(self, *indices: int) -> None:
        """Open nodes and let them listen."""
        for index in indices:
            deliver = self.events[index].append
            self.addresses[index] = await self.open(index).listen("127.0.0.1", 0, deliver)

    async def connect(self) -> tuple[Any, int, Any, int]:
        """Let both nodes listen, and dial; return each node and its session."""
        await self.listen(1, 0)
        session = await self.dial()
        await until(lambda: self.of(1, Opened))
        return self.nodes[0], session, self.nodes[1], self.of(1, Opened)[0].session

    def received(self, index: int) -> bytes:
        """Return all bytes that a node has received."""
        return b"".join(event.data for event in self.of(index, Received))

    def of(self, index: int, kind: type) -> list[Any]:
        """Return a node's events of a class."""
        return [event for event in self.events[index] if isinstance(event, kind)]

    async def dial(self) -> int:
        """Dial from 0 to 1 until it succeeds, as a node does; return the session."""
        while True:
            count = len(self.events[0])
            session = int(self.nodes[0].dial(1, early=False, now=0.0))
            await until(lambda count=count: len(self.events[0]) > count)
            if isinstance(self.events[0][-1], Opened):
                return session

    async def shutdown(self) -> None:
        """Stop all nodes."""
        for node in self.nodes.values():
            await node.shutdown()
