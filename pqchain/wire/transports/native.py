"""QUIC transport over pqchain's own library, on a modelled network or on a socket.

Streams, authentication and error codes are those of the aioquic transport, so that both
interoperate. The library sends chunks from Python's memory and writes received ones to registered
memory; Python copies neither.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import math
import os
import time
from collections.abc import Sequence

import numpy as np

from pqchain.errors import PqchainError
from pqchain.wire.identity import Identity, PublicIdentity
from pqchain.wire.session import Address, Deliver, TimedEvent, Totals, Transport
from pqchain.wire.transports.authentication import UNAUTHENTICATED_BYTES, UNAUTHENTICATED_SECONDS
from pqchain.wire.transports.limits import (
    MAX_QUEUED,
    MAX_QUEUED_BYTES,
    MAX_UNREAD_BYTES,
    PIECE_BYTES,
    TURN_SECONDS,
)
from pqchain.wire.transports.native_host import Host
from pqchain.wire.transports.native_library import NEVER_NS, EventReader, load, pointer
from pqchain.wire.transports.native_memory import Memory, release
from pqchain.wire.transports.registry import (
    CONGESTION,
    Conditions,
    TransportSettings,
)

_IDLE_SECONDS = 30.0
# Flow-control credit of a peer beyond the data that Python has read.
_RECEIVE_WINDOW_BYTES = 16 << 20

# Bytes of events that may wait for Python, per session and in total, before reading stops. All
# sessions share one queue, and a message of 110 bytes can cost a node 0.1 ms, so that 4 MB of one
# session would delay the others by seconds. The library's thread resumes reading within 0.1 ms, for
# which 128 kB suffice. On a modelled clock nothing is delayed.
_MODELLED_UNREAD = (MAX_UNREAD_BYTES, 8 * MAX_UNREAD_BYTES)
_LIVE_UNREAD = (128 << 10, 512 << 10)

_MAX_ROWS = 256
"""Maximum number of events that a host on a socket takes from the library at once."""

_NS = 1e9


def _numbers(settings: TransportSettings, unread: tuple[int, int]) -> tuple[int, ...]:
    return (
        settings.identity.index,
        settings.datagram_bytes,
        CONGESTION.index(settings.congestion),
        1,
        settings.window_bytes,
        max(settings.window_bytes, _RECEIVE_WINDOW_BYTES),
        int(_IDLE_SECONDS * _NS),
        int(UNAUTHENTICATED_SECONDS * _NS),
        UNAUTHENTICATED_BYTES,
        MAX_QUEUED,
        MAX_QUEUED_BYTES,
        *unread,
    )


def _encode_identities(identity: Identity, directory: Sequence[PublicIdentity]) -> bytes:
    body = identity.certificate_key_pem.decode().strip().splitlines()[1:-1]
    records = [(identity.index, base64.b64decode("".join(body)))]
    # The last record of an index is used, so that a host always shows its own certificate.
    publics = [*directory, identity.public]
    records += [(public.index, public.certificate_der) for public in publics]
    encoded = ((index.to_bytes(4, "little"), len(data).to_bytes(4, "little"), data)
             for index, data in records)  # fmt: skip
    return b"".join(itertools.chain.from_iterable(encoded))


class NativeFabric:
    """`Fabric` with all hosts; the seed determines all randomness except that of BBR."""

    def __init__(self, conditions: Conditions, settings: Sequence[TransportSettings]) -> None:
        self._library, self._settings = load(), settings
        self._seed, self._incarnations = conditions.seed, [0] * len(settings)
        self._hashes_datagrams = conditions.digest
        self.handle = self._library.call(
            "network",
            *self._library.integers(
                len(settings),
                # Integers in the library's units: the time per byte is in picoseconds, and loss is
                # a fraction of 2**53.
                max(round(8e12 / conditions.bits_per_second), 1),
                round(conditions.delay_seconds * _NS),
                int(conditions.loss * 2**53),
                conditions.queue_bytes,
                round(conditions.coalescing_seconds * _NS),
                round(conditions.datagram_seconds * _NS),
                conditions.overhead_bytes,
                conditions.seed,
                conditions.digest,
            ),
        )
        self.memory = Memory()
        self._free = release(self, self._library, self.handle, self.memory)
        self._events = EventReader(self._library, self.handle)
        self.hosts: dict[int, Host] = {}

    def start(self, index: int) -> Transport:
        """Start or restart a host and return its new transport."""
        settings = self._settings[index]
        identity = _encode_identities(settings.identity, settings.directory)
        numbers = self._library.integers(*_numbers(settings, _MODELLED_UNREAD))
        self._library.call("start", self.handle, *numbers, identity, len(identity))
        self.memory.drop(index)
        self._incarnations[index] += 1
        # A seed per start, so that a restarted host draws other challenges.
        draws = np.random.default_rng([self._seed, 3, index, self._incarnations[index]])
        self.hosts[index] = Host(settings, self._library, self.handle, draws.bytes, self.memory)
        return self.hosts[index]

    def stop(self, index: int) -> None:
        """Stop the host; afterwards the library no longer accesses its memory."""
        # The library forgets the memory first, and only then is it released.
        self._library.call("stop_host", self.handle, index)
        self.memory.drop(index)
        del self.hosts[index]

    def flush(self, index: int) -> None:
        """Do nothing; `advance` sends queued data before it does anything else."""

    def advance(self, until: float) -> list[TimedEvent]:
        """Advance the clock until events occur, at most to time `until`; return the events."""
        until_ns = NEVER_NS if math.isinf(until) else int(until * _NS)
        while True:
            self._library.check(self._library.run(self.handle, until_ns))
            rows = self._events.read()
            events = [
                (row[0] / _NS, row[3], event)
                for row in rows
                for event in self.hosts[row[3]].handle_row(row)
            ]
            # Continue if no event is for a node, as during a handshake.
            if events or not rows:
                return events

    def totals(self) -> Totals:
        """Return the numbers of datagrams sent, dropped and lost so far."""
        sent, dropped, lost, _ = self._library.read_array("totals", self.handle, count=4)
        digest = bytearray(32)
        if self._hashes_datagrams:
            self._library.call("digest", self.handle, pointer(digest), len(digest))
        text = digest.hex() if self._hashes_datagrams else ""
        return Totals(sent=sent, dropped=dropped, lost=lost, digest=text)

    def close(self) -> None:
        """Free the network with all its hosts."""
        self._free()
        self.hosts.clear()


class NativeSocket(Host):
    """`Transport` of one host on a socket, which the library serves in a thread."""

    def __init__(self, settings: TransportSettings) -> None:
        super().__init__(settings, load(), 0, os.urandom, Memory())
        self._settings = settings
        self._loop = asyncio.get_running_loop()

    async def listen(self, host: str, port: int, deliver: Deliver) -> Address:
        """Open the socket and return its address. Raises OSError if the address is unusable."""
        self._deliver = deliver
        settings, address = self._settings, f"{host}:{port}".encode()
        identity = _encode_identities(settings.identity, settings.directory)
        numbers = self.library.integers(*_numbers(settings, _LIVE_UNREAD))
        arguments = (*numbers, identity, len(identity), address, len(address))
        try:
            self.handle = self.library.call("socket", *arguments)
        except PqchainError as error:
            raise OSError(str(error)) from error
        self._free = release(self, self.library, self.handle, self.memory)
        self._events = EventReader(
            self.library, self.handle, max_events=_MAX_ROWS, event_bytes=PIECE_BYTES
        )
        self._descriptor = self.library.call("descriptor", self.handle)
        self._loop.add_reader(self._descriptor, self._deliver_events)
        return host, self.library.call("port", self.handle)

    async def shutdown(self) -> None:
        """Close all sessions and the socket."""
        if self.handle:
            self._loop.remove_reader(self._descriptor)
            for session in list(self.sessions):
                self.close(session, "shutdown", now=0.0)
            self._free()
            self.handle = 0

    def _deliver_events(self) -> None:
        # At most for `TURN_SECONDS`; the descriptor stays readable if more wait.
        began = time.perf_counter()
        while True:
            for row in self._events.read():
                for event in self.handle_row(row):
                    self._deliver(event)
            if not self._events.full or time.perf_counter() - began > TURN_SECONDS:
                break
        self.release_lent()


open_fabric = NativeFabric
open_transport = NativeSocket
