"""QUIC transport over pqchain's own library, on a modelled network or on a socket.

Streams, authentication and error codes are those of the aioquic transport, so that both
interoperate. The library sends chunks from Python's memory and writes received ones to registered
memory; Python copies neither.
"""

from __future__ import annotations

import asyncio
import base64
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pqchain.errors import PqchainError, UsageError
from pqchain.wire.session import (
    Address,
    Buffer,
    Closed,
    Deliver,
    Event,
    Filled,
    Received,
    TimedEvent,
    Totals,
    TransportSettings,
)
from pqchain.wire.transports import authentication, limits, native_library
from pqchain.wire.transports.authentication import QuicTransport, Session
from pqchain.wire.transports.native_library import (
    DATA,
    END,
    EventReader,
    EventRow,
    Memory,
    QuicLibrary,
    load,
    pointer,
)
from pqchain.wire.transports.registry import CONGESTION, Conditions

_IDLE_SECONDS = 30.0
# Flow-control credit of a peer beyond the data that Python has read.
_RECEIVE_WINDOW_BYTES = 16 << 20

# Bytes of events that may wait for Python, per session and in total, before reading stops. All
# sessions share one queue, and a message of 110 bytes can cost a node 0.1 ms, so that 4 MB of one
# session would delay the others by seconds. The library's thread resumes reading within 0.1 ms, for
# which 128 kB suffice. On a modelled clock nothing is delayed.
_MODELLED_UNREAD = (limits.MAX_UNREAD_BYTES, 8 * limits.MAX_UNREAD_BYTES)
_LIVE_UNREAD = (128 << 10, 512 << 10)

_MAX_ROWS = 256
"""Maximum number of events that a host on a socket takes from the library at once."""

_NS = 1e9

# Length from which bytes are lent to the library and not copied.
_LENT_BYTES = 16 << 10

_MAX_RETURNED = 256
"""Maximum number of tokens of lent memory returned per call."""

_ONE_WAY = 2
"""Bit of a stream id that marks unidirectional streams."""


@dataclass(slots=True, eq=False, kw_only=True)
class _Session(Session):
    owner: Host

    def send_once(self, data: bytes) -> None:
        host = self.owner
        stream = host.call("open", self.session, 1)
        host.call("send", self.session, stream, data, len(data), 1)

    def authenticate(self, *, early: bool = False) -> None:
        if not self.opened and not self.dialled:
            assert self.peer is not None
            self.owner.call("prove", self.session, self.peer)
        Session.authenticate(self, early=early)

    def end(self, reason: str, code: int = 0) -> None:
        self.owner.sessions.pop(self.session, None)
        text = reason.encode()
        self.owner.call("close", self.session, code, text, len(text))
        self.owner.memory.drop(self.owner.index, self.session)


class Host(QuicTransport):
    """All sessions of one node."""

    def __init__(
        self,
        settings: TransportSettings,
        library: QuicLibrary,
        handle: int,
        random: Callable[[int], bytes],
        memory: Memory,
    ) -> None:
        super().__init__(settings, random)
        self.library, self.handle, self.index = library, handle, settings.identity.index
        # Shared by all hosts of a handle.
        self.memory = memory

    def call(self, name: str, *arguments: int | bytes | None) -> int:
        """Call a function of the library for this host; return its result. Raises PqchainError."""
        return self.library.call(name, self.handle, self.index, *arguments)

    # Calls of the node.

    def dial(self, peer: int, *, early: bool, now: float) -> int:
        """Start a session; `early` uses a ticket of an earlier session if there is one."""
        host, port = self.addresses[peer]
        address = f"{host}:{port}".encode()
        number = self.call("dial", peer, early, address, len(address))
        self.sessions[number] = _Session(owner=self, session=number, dialled=True, peer=peer)
        return number

    def open(self, session: int) -> int:
        """Open a bidirectional stream; data sent on an ended session's stream is discarded."""
        return self.call("open", session, 0)

    def send(self, session: int, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Queue bytes for a stream; the session of a peer that does not read is closed."""
        if session not in self.sessions:
            return
        length = data.nbytes if isinstance(data, memoryview) else len(data)
        target = (self.handle, self.index, session, channel)
        if length < _LENT_BYTES:
            self.library.check(self.library.send(*target, bytes(data), length, end))
            return
        # Release memory that was sent before more is lent.
        self.release_lent()
        owned = not isinstance(data, memoryview)
        at, token = pointer(data), self.memory.lend(data)
        self.library.call("lend", *target, at, length, end, owned, token)

    def receive_into(
        self, session: int, channel: int, memory: memoryview | None, count: int, *, offset: int
    ) -> None:
        """Receive a channel into `memory`. Raises UsageError if that is too short or read-only."""
        if session not in self.sessions or not count:
            return
        view = None if memory is None else memoryview(memory)
        if view is not None and (view.readonly or view.nbytes < count):
            raise UsageError(
                f"memory must be writable and have {count} bytes; got {view.nbytes} bytes"
                f"{', read-only' if view.readonly else ''}."
            )
        at = None if view is None else pointer(view)
        # New memory is kept before the library gets its address, replaced memory until after that.
        key = (self.index, session, channel)
        replaced = self.memory.registered.get(key)
        self.memory.registered[key] = (view, count)
        self.call("place", session, channel, offset, at, count)
        del replaced

    def stop(self, session: int, channel: int) -> None:
        """Ask the peer to stop sending on this channel (STOP_SENDING)."""
        if session in self.sessions:
            self.call("stop", session, channel)
            self.memory.registered.pop((self.index, session, channel), None)

    def queued_bytes(self) -> int:
        """Return the number of bytes in the library's queues that QUIC has not accepted yet."""
        return self.library.check(self.library.queued(self.handle, self.index))

    # Events of the library.

    def handle_row(self, row: EventRow) -> list[Event]:
        """Return the node's events for one event of the library."""
        _, stream, count, _, kind, number, peer, flags, data = row
        session = self.sessions.get(number)
        if kind == DATA and session is not None and session.opened and not stream & _ONE_WAY:
            # The most frequent case: application data of an authenticated session.
            key = (self.index, number, stream)
            if key in self.memory.registered:
                self.memory.filled(key, len(data))
            return [Received(number, stream, data, bool(flags & END))]
        if kind == native_library.FILLED and session is not None:
            self.memory.filled((self.index, number, stream), count)
            return [Filled(number, stream, count, bool(flags & END))]
        if kind == native_library.HELLO:
            session = _Session(
                owner=self, session=number, dialled=False, peer=None if peer < 0 else peer
            )
            self.sessions[number] = session
            session.challenge_client()
        elif session is not None and kind == native_library.EARLY:
            session.authenticate(early=True)
        elif session is not None and kind == DATA:
            session.received(stream, data, bool(flags & END))
        elif session is not None and kind == native_library.CLOSED:
            del self.sessions[number]
            self.memory.drop(self.index, number)
            if session.peer is not None and (session.opened or session.dialled):
                reason = data.decode(errors="replace")
                self.pending.append(Closed(number, session.peer, reason))
        return self.events()

    def release_lent(self) -> None:
        """Release lent memory whose bytes the library no longer needs."""
        while self.memory.lent:
            tokens = self.library.read_array("returned", self.handle, count=_MAX_RETURNED)
            for token in tokens:
                self.memory.lent.pop(token, None)
            if len(tokens) < _MAX_RETURNED:
                return


def _setup(settings: TransportSettings, unread: tuple[int, int]) -> tuple[bytes | int, ...]:
    """Return the arguments of the library that describe a host."""
    index = settings.identity.index
    numbers = native_library.integers(
        index,
        settings.datagram_bytes,
        CONGESTION.index(settings.congestion),
        1,
        settings.window_bytes,
        max(settings.window_bytes, _RECEIVE_WINDOW_BYTES),
        int(_IDLE_SECONDS * _NS),
        int(authentication.UNAUTHENTICATED_SECONDS * _NS),
        authentication.UNAUTHENTICATED_BYTES,
        limits.MAX_QUEUED,
        limits.MAX_QUEUED_BYTES,
        *unread,
    )
    body = settings.identity.certificate_key_pem.decode().strip().splitlines()[1:-1]
    records = [(index, base64.b64decode("".join(body)))]
    # The last record of an index is used, so that a host always shows its own certificate.
    publics = [*settings.directory, settings.identity.public]
    records += [(public.index, public.certificate_der) for public in publics]
    identities = b"".join(
        index.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data
        for index, data in records
    )
    return *numbers, identities, len(identities)


class NativeFabric:
    """`Fabric` with all hosts; the seed determines all randomness except that of BBR."""

    def __init__(self, conditions: Conditions, settings: Sequence[TransportSettings]) -> None:
        self._library, self._settings = load(), settings
        self._seed = conditions.seed
        self._hashes_datagrams = conditions.digest
        self.handle = self._library.call(
            "network",
            *native_library.integers(
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
        self._free = self.memory.release_with(self, self._library, self.handle)
        self._events = EventReader(self._library, self.handle)
        self.hosts: dict[int, Host] = {}

    def start(self, index: int) -> Host:
        """Start a host and return its transport."""
        settings = self._settings[index]
        self._library.call("start", self.handle, *_setup(settings, _MODELLED_UNREAD))
        draws = np.random.default_rng([self._seed, 3, index, 1])
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
        until_ns = native_library.NEVER_NS if math.isinf(until) else int(until * _NS)
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
        address, setup = f"{host}:{port}".encode(), _setup(self._settings, _LIVE_UNREAD)
        try:
            self.handle = self.library.call("socket", *setup, address, len(address))
        except PqchainError as error:
            raise OSError(str(error)) from error
        self._free = self.memory.release_with(self, self.library, self.handle)
        self._events = EventReader(
            self.library, self.handle, max_events=_MAX_ROWS, event_bytes=limits.PIECE_BYTES
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
            if not self._events.full or time.perf_counter() - began > limits.TURN_SECONDS:
                break
        self.release_lent()


open_fabric = NativeFabric
open_transport = NativeSocket
