"""Endpoints wired in memory."""

from __future__ import annotations

from pathlib import Path

from pqchain.wire.identity import generate
from pqchain.wire.session import Opened
from pqchain.wire.transports.aioquic import LIBRARY as AIOQUIC
from pqchain.wire.transports.quic import QuicEndpoint
from pqchain.wire.transports.quic_connection import Library
from pqchain.wire.transports.registry import Place


class Watched(QuicEndpoint):
    """Remembers what it has told."""

    def __init__(self, place, library):
        super().__init__(place, library)
        self._told = []

    def events(self):
        happened = super().events()
        self._told += happened
        return happened

    @property
    def early_sessions(self):
        """Sessions of others that were resumed with a ticket of ours."""
        opened = [e for e in self._told + self.happened if isinstance(e, Opened)]
        return sum(each.early and not each.dialled for each in opened)


class Pair:
    """Two or more endpoints and a wire of constant delay between them."""

    def __init__(
        self, count: int = 2, delay_seconds: float = 0.01, library: Library = AIOQUIC
    ) -> None:
        self.library = library
        self.identities = self.strangers(count)
        self.directory = [identity.public for identity in self.identities]
        self.addresses = {index: ("127.0.0.1", index) for index in range(100)}
        self.delay_seconds = delay_seconds
        self.now = 0.0
        self.endpoints = {index: self.endpoint(self.identities[index]) for index in range(count)}
        self.wire: list[tuple[float, int, int, bytes]] = []
        """Every datagram: time, sender, receiver, content."""

    def endpoint(self, identity, directory=None):
        return Watched(self.place(identity, directory=directory), self.library)

    def place(self, identity, *, directory=None, **more):
        return Place(
            identity=identity,
            directory=directory or self.directory,
            addresses=self.addresses,
            folder=Path(),
            **more,
        )

    def strangers(self, count: int):
        """Return identities that are in nobody's directory, with certificates for the library."""
        key = "ed25519" if self.library is AIOQUIC else "p256"
        return generate(count, algorithm="Ed25519", certificate_key=key)

    def run(self, quiet_seconds: float = 0.5) -> None:
        """Go on until nothing happens for a while."""
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
