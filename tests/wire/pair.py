"""Endpoints connected in memory."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from pqchain.wire.identity import generate
from pqchain.wire.session import Opened
from pqchain.wire.transports.aioquic import QuicEndpoint
from pqchain.wire.transports.native import NativeFabric
from pqchain.wire.transports.native_library import pointer
from pqchain.wire.transports.registry import Conditions, TransportSettings


def forged(rng: random.Random) -> bytes:
    """Return an Initial with random content."""
    head = b"\xc0\x00\x00\x00\x01\x08" + rng.randbytes(8) + b"\x08" + rng.randbytes(8) + b"\x00"
    left = 1200 - len(head) - 2
    return head + (left | 0x4000).to_bytes(2, "big") + rng.randbytes(left)


class Watched(QuicEndpoint):
    """Endpoint that records its events."""

    def __init__(self, settings):
        super().__init__(settings)
        self._told = []

    def events(self):
        pending = super().events()
        self._told += pending
        return pending

    @property
    def early_sessions(self):
        """Return the sessions of peers that were resumed with a ticket of this endpoint."""
        opened = [e for e in self._told + self.pending if isinstance(e, Opened)]
        return sum(each.early and not each.dialled for each in opened)


class Pair:
    """Two or more endpoints and a link of constant delay between them."""

    def __init__(self, count: int = 2, delay_seconds: float = 0.01) -> None:
        self.identities = self.unknown_identities(count)
        self.directory = [identity.public for identity in self.identities]
        self.addresses = {index: ("127.0.0.1", index) for index in range(100)}
        self.delay_seconds = delay_seconds
        self.now = 0.0
        self.endpoints = {index: self.endpoint(self.identities[index]) for index in range(count)}
        self.wire: list[tuple[float, int, int, bytes]] = []
        """Every datagram: time, sender, receiver, content."""

    def endpoint(self, identity, directory=None):
        return Watched(self.settings(identity, directory=directory))

    def settings(self, identity, *, directory=None, **more):
        return TransportSettings(
            identity=identity,
            directory=directory or self.directory,
            addresses=self.addresses,
            folder=Path(),
            **more,
        )

    def unknown_identities(self, count: int):
        """Return identities missing from every directory."""
        return generate(count, algorithm="Ed25519")

    def join(self, index, identity):
        """Replace the endpoint at an address by one of that identity."""
        self.endpoints[index] = self.endpoint(identity)

    def carry(self) -> None:
        """Deliver every pending datagram, but no answers."""
        sent = [
            (index, data, address[1])
            for index, endpoint in self.endpoints.items()
            for data, address in endpoint.datagrams(self.now)
        ]
        self.wire += [(self.now, by, to, data) for by, data, to in sent]
        self.now += self.delay_seconds
        for by, data, to in sent:
            self.endpoints[to].receive(data, ("127.0.0.1", by), self.now)

    def run(self, quiet_seconds: float = 0.5) -> None:
        """Run until no event is pending for a while."""
        for _ in range(10_000):
            sent = [
                (index, data, address[1])
                for index, endpoint in self.endpoints.items()
                for data, address in endpoint.datagrams(self.now)
            ]
            if sent:
                self.wire += [(self.now, by, to, data) for by, data, to in sent]
                self.now += self.delay_seconds
                for by, data, to in sent:
                    if to in self.endpoints:
                        self.endpoints[to].receive(data, ("127.0.0.1", by), self.now)
                continue
            timers = [timer for each in self.endpoints.values() if (timer := each.timer())]
            if not timers or min(timers) > self.now + quiet_seconds:
                return
            self.now = max(self.now, min(timers))
            for endpoint in self.endpoints.values():
                endpoint.handle_timer(self.now)
        raise AssertionError("the endpoints never fall quiet")


class Heard:
    """A host of the native fabric that records events for its node."""

    def __init__(self, host) -> None:
        self._host, self.heard = host, []
        self.early_sessions = 0
        """Sessions of others that were resumed with a ticket of ours."""

    def events(self):
        heard, self.heard = self.heard, []
        return heard

    def __getattr__(self, name):
        return getattr(self._host, name)


class NativePair:
    """A pair on the native fabric, with addresses for further hosts."""

    PLACES = 4

    def __init__(self, count: int = 2, delay_seconds: float = 0.01, **conditions) -> None:
        self.identities = self.unknown_identities(count)
        self.directory = [identity.public for identity in self.identities]
        self.addresses = {index: (f"node-{index}", 4433) for index in range(self.PLACES)}
        self.delay_seconds = delay_seconds
        self.now = 0.0
        settings = [self.settings(identity) for identity in self.unknown_identities(self.PLACES)]
        model = {"bits_per_second": 1e12, "loss": 0.0, "queue_bytes": 1 << 30, "overhead_bytes": 66,
                 "coalescing_seconds": 0.0, "delay_seconds": delay_seconds}  # fmt: skip
        self.fabric = NativeFabric(Conditions(**model | conditions), settings)
        self.endpoints: dict[int, Heard] = {}
        for index in range(count):
            self.join(index, self.identities[index])

    def unknown_identities(self, count: int):
        return generate(count, algorithm="Ed25519")

    def settings(self, identity, **more):
        return TransportSettings(
            identity=identity, directory=self.directory, addresses=self.addresses, folder=Path(),
            **more,
        )  # fmt: skip

    def join(self, index, identity):
        if index in self.endpoints:
            self.fabric.stop(index)
        self.fabric._settings[index] = self.settings(identity)
        self.endpoints[index] = Heard(self.fabric.start(index))

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
            heard = self.endpoints[index]
            heard.heard.append(event)
            heard.early_sessions += isinstance(event, Opened) and event.early and not event.dialled
        return bool(pending)

    def tap(self, on: bool = True) -> None:
        """Start or stop recording datagrams."""
        self.fabric._library.call("tap", self.fabric.handle, on)

    def tapped(self):
        """Return (time in ns, sender, receiver, bytes) of every recorded datagram."""
        found, library = [], self.fabric._library
        while True:
            numbers, data = np.zeros(3, np.uint64), bytearray(1 << 16)
            length = library.call(
                "tapped", self.fabric.handle, pointer(numbers.data.cast("B")), 3, pointer(data),
                len(data),
            )  # fmt: skip
            if not length:
                return found
            found.append((*map(int, numbers), bytes(data[:length])))

    def inject(self, sender: int, receiver: int, data: bytes) -> None:
        """Send bytes from any address."""
        self.fabric._library.call("inject", self.fabric.handle, sender, receiver, data, len(data))
