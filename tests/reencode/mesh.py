"""Endpoints wired in memory, and small replays on the virtual clock."""

from __future__ import annotations

from pathlib import Path

from pqchain.reencode.outcome import Outcome
from pqchain.reencode.scenario import Link, Scenario
from pqchain.reencode.storage.store import ChunkStore
from pqchain.wire import identities
from pqchain.wire.drivers import virtual
from pqchain.wire.transports.aioquic import AIOQUIC
from pqchain.wire.transports.quic import Library, QuicEndpoint

LARGE = min(8952, AIOQUIC.longest_bytes)
"""Datagrams that need fewer of them, if the version of aioquic can send such."""

SLOW = Link(bits_per_second=50e6, delay_seconds=2e-3)
"""On which an exchange of small blocks lasts long enough for faults to strike in its middle."""


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
        return QuicEndpoint(identity, directory or self.directory, self.addresses, self.library)

    def strangers(self, count: int):
        """Return identities that are in nobody's directory, with certificates for the library."""
        key = "ed25519" if self.library is AIOQUIC else "p256"
        return identities.generate(count, algorithm="Ed25519", certificate_key=key)

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


def scenario(**changes) -> Scenario:
    """Return a scenario that is quick to run: short heartbeats, small blocks."""
    values = {
        "block_bytes": 60_000, "heartbeat_seconds": 0.2, "timeout_seconds": 0.4,
        "failure_seconds": 0.01, "stall_seconds": 0.3, "give_up_seconds": 0.5, **changes,
    }  # fmt: skip
    return Scenario(**values)


def small(**changes) -> Scenario:
    """Return a scenario of five nodes: (3, 2) before, (2, 2) after."""
    return scenario(**{"nodes": 5, "before": (3, 2), "after": (2, 2), "failed_node": 4, **changes})


def run(one: Scenario, folder: Path) -> Outcome:
    """Replay on the virtual clock."""
    virtual.prepare(one, folder)
    return virtual.World(one, folder).run()


def stored(folder: Path, node: int) -> list[tuple[int, list[int]]]:
    """Return epoch and chunks of every block that a node holds; every chunk is checked."""
    chunk_store = ChunkStore(folder / str(node))
    found = []
    for manifest in chunk_store.manifests():
        held = chunk_store.held(manifest)
        for index in held:
            chunk_store.get(manifest, index)
        found.append((manifest.epoch, held))
    return found


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return every file of every store."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
