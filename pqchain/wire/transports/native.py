"""QUIC by our own library: all hosts of a modelled network in one call, or one host on a socket.

Same streams, proofs and error codes as over aioquic, so that both understand each other. Chunks
are lent to the library and come into memory that was named for them: Python touches none of them.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from pqchain.errors import PqchainError
from pqchain.wire.identity import Identity, PublicIdentity
from pqchain.wire.session import (
    Address,
    Buffer,
    Closed,
    Deliver,
    Event,
    Filled,
    Happened,
    Received,
    Totals,
    Transport,
)
from pqchain.wire.transports.native_library import (
    CLOSED,
    DATA,
    EARLY,
    END,
    FILLED,
    HELLO,
    NEVER_NS,
    Library,
    Mailbox,
    Row,
    load,
    pointer,
)
from pqchain.wire.transports.proof import UNPROVEN_BYTES, UNPROVEN_SECONDS, Owner, Proving
from pqchain.wire.transports.registry import CONGESTION, LONGEST_DATAGRAM_BYTES, Conditions, Place

_IDLE_SECONDS = 30.0
_RECEIVE_WINDOW_BYTES = 16 << 20
"""What a peer may send ahead; it is taken out at once, so that this costs no memory."""

_LENT_BYTES = 16 << 10
"""From this length on bytes are lent and not copied."""

_RETURNED = 256
"""How many tokens are taken back at a time."""

_ONE_WAY = 2
"""Bit in the number of a stream."""

_NS = 1e9

LIBRARY = SimpleNamespace(longest_bytes=LONGEST_DATAGRAM_BYTES)


@dataclass(slots=True, eq=False, kw_only=True)
class _Session(Proving):
    """One connection."""

    owner: Host
    placed: dict[int, tuple[memoryview | None, int]] = field(default_factory=dict)
    """Memory that bytes of a stream come into, and how many are still to come."""

    @property
    def over(self) -> bool:
        """Whether the node hears no more of it."""
        return self.session not in self.owner.sessions

    def say(self, data: bytes) -> None:
        """Send that on a one-way stream of its own."""
        host = self.owner
        stream = host.call("open", self.session, 1)
        host.call("send", self.session, stream, data, len(data), 1)

    def prove(self, *, early: bool = False) -> None:
        """Tell the node, and the library, which has held its hand over us."""
        if not self.opened and not self.dialled:
            assert self.peer is not None
            self.owner.call("prove", self.session, self.peer)
        Proving.prove(self, early=early)

    def count(self, stream: int, count: int) -> None:
        """Note that bytes have come, and let go of memory that is full."""
        memory, left = self.placed.pop(stream, (None, 0))
        if left > count:
            self.placed[stream] = (memory, left - count)

    def end(self, reason: str, code: int = 0) -> None:
        """Close the connection."""
        self.owner.sessions.pop(self.session, None)
        text = reason.encode()
        self.owner.call("close", self.session, code, text, len(text))
        self.placed.clear()


Lent = tuple[dict[int, Buffer], "itertools.count[int]"]
"""What was lent to a handle, by token, and where new tokens come from."""


class Host(Owner):
    """One node's sessions: a `Transport`."""

    def __init__(
        self,
        place: Place,
        library: Library,
        handle: int,
        random: Callable[[int], bytes],
        lent: Lent,
    ) -> None:
        """Lend by tokens that all hosts of a handle share."""
        directory = {public.index: public for public in place.directory}
        super().__init__(place.identity, directory, random)
        self.sessions: dict[int, _Session] = {}
        self._library, self._handle, self._index = library, handle, place.identity.index
        self._addresses = place.addresses
        self._lent, self._tokens = lent

    def call(self, name: str, *arguments: int | bytes | None) -> int:
        """Call the library for this host."""
        return self._library.call(name, self._handle, self._index, *arguments)

    # What a node asks for.

    def dial(self, peer: int, *, early: bool, now: float) -> int:
        """Begin a session; `early` uses a ticket of an earlier session if there is one."""
        host, port = self._addresses[peer]
        address = f"{host}:{port}".encode()
        number = self.call("dial", peer, early, address, len(address))
        self.sessions[number] = _Session(owner=self, session=number, dialled=True, peer=peer)
        return number

    def open(self, session: int) -> int:
        """Open a two-way stream."""
        return self.call("open", session, 0)

    def send(self, session: int, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Queue bytes for a stream."""
        if session not in self.sessions:
            return
        length = data.nbytes if isinstance(data, memoryview) else len(data)
        where = (self._handle, self._index, session, channel)
        if length < _LENT_BYTES:
            self._library.checked(self._library.send(*where, bytes(data), length, end))
            return
        self.take_back()
        token = next(self._tokens)
        self._lent[token] = data
        self._library.call("lend", *where, pointer(data), length, end, token)

    def place(
        self, session: int, channel: int, memory: memoryview | None, count: int, *, offset: int
    ) -> None:
        """Let bytes of a channel come into memory, which is kept until they have."""
        connection = self.sessions.get(session)
        if connection is None or not count:
            return
        at = None if memory is None else pointer(memory[:count])
        self.call("place", session, channel, offset, at, count)
        connection.placed[channel] = (memory, count)

    def stop(self, session: int, channel: int) -> None:
        """Ask the sender to stop."""
        if (connection := self.sessions.get(session)) is not None:
            self.call("stop", session, channel)
            connection.placed.pop(channel, None)

    def close(self, session: int, reason: str, *, now: float) -> None:
        """Send a CONNECTION_CLOSE and forget the session."""
        if (connection := self.sessions.get(session)) is not None:
            connection.end(reason)

    def queued_bytes(self) -> int:
        """Return what waits in the library's queues; what QUIC has taken is not counted."""
        return self._library.checked(self._library.queued(self._handle, self._index))

    def statistics(self) -> dict[str, int]:
        """Return what was sent, received and lost, and how often it slowed down and was called."""
        names = ("sent", "received", "bytes", "lost", "congestion", "calls")
        values = self._library.filled("statistics", self._handle, self._index, count=len(names))
        return dict(zip(names, values, strict=True))

    # What the library tells.

    def take(self, row: Row) -> list[Event]:
        """Return what the node is to hear of a row."""
        _, stream, count, _, kind, number, peer, flags, data = row
        session = self.sessions.get(number)
        if kind == DATA and session is not None and session.opened and not stream & _ONE_WAY:
            # Most rows; nothing is to be proven any more.
            if stream in session.placed:
                session.count(stream, len(data))
            return [Received(number, stream, data, bool(flags & END))]
        if kind == FILLED and session is not None:
            session.count(stream, count)
            return [Filled(number, stream, count, bool(flags & END))]
        if kind == HELLO:
            session = _Session(
                owner=self, session=number, dialled=False, peer=None if peer < 0 else peer
            )
            self.sessions[number] = session
            session.negotiated()
        elif session is not None and kind == EARLY:
            session.prove(early=True)
        elif session is not None and kind == DATA:
            session.received(stream, data, bool(flags & END))
        elif session is not None and kind == CLOSED:
            del self.sessions[number]
            if session.peer is not None and (session.opened or session.dialled):
                reason = data.decode(errors="replace")
                self.happened.append(Closed(number, session.peer, reason))
        happened, self.happened = self.happened, []
        return happened

    def take_back(self) -> None:
        """Let go of what was lent and has been sent."""
        while self._lent:
            tokens = self._library.filled("returned", self._handle, count=_RETURNED)
            for token in tokens:
                self._lent.pop(token, None)
            if len(tokens) < _RETURNED:
                return


def _settings(place: Place) -> tuple[int, ...]:
    return (
        place.identity.index,
        place.datagram_bytes,
        CONGESTION.index(place.congestion),
        1,
        place.window_bytes,
        max(place.window_bytes, _RECEIVE_WINDOW_BYTES),
        int(_IDLE_SECONDS * _NS),
        int(UNPROVEN_SECONDS * _NS),
        UNPROVEN_BYTES,
    )


def _packed(identity: Identity, directory: Sequence[PublicIdentity]) -> bytes:
    """Return an identity and a directory as the library takes them."""
    body = identity.certificate_key_pem.decode().strip().splitlines()[1:-1]
    records = [(identity.index, base64.b64decode("".join(body)))]
    # What comes last counts, so that a host shows its own certificate whatever others know of it.
    known = [*directory, identity.public]
    records += [(public.index, public.certificate_der) for public in known]
    heads = ((index.to_bytes(4, "little"), len(data).to_bytes(4, "little"), data)
             for index, data in records)  # fmt: skip
    return b"".join(itertools.chain.from_iterable(heads))


class NativeFabric:
    """All hosts of a modelled network, as a `Fabric`; every random byte follows from the seed."""

    def __init__(self, conditions: Conditions, places: Sequence[Place]) -> None:
        self._library, self._places = load(), places
        self._seed, self._lives = conditions.seed, [0] * len(places)
        self._digested = conditions.digest
        self.handle = self._library.call(
            "network",
            *self._library.numbers(
                len(places),
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
        self._mailbox = Mailbox(self._library, self.handle)
        self.hosts: dict[int, Host] = {}
        self._lent: Lent = ({}, itertools.count(1))

    def start(self, index: int) -> Transport:
        """Begin a life of a host and return its transport."""
        place = self._places[index]
        identity = _packed(place.identity, place.directory)
        settings = self._library.numbers(*_settings(place))
        self._library.call("start", self.handle, *settings, identity, len(identity))
        self._lives[index] += 1
        draws = np.random.default_rng([self._seed, 3, index, self._lives[index]])
        self.hosts[index] = Host(place, self._library, self.handle, draws.bytes, self._lent)
        return self.hosts[index]

    def stop(self, index: int) -> None:
        """End it: what it had lent and placed is not touched any more."""
        self._library.call("stop_host", self.handle, index)
        del self.hosts[index]

    def settle(self, index: int) -> None:
        """Do nothing: `advance` begins with what was sent since."""

    def advance(self, until: float) -> list[Happened]:
        """Go on until something has happened, or until that time."""
        until_ns = NEVER_NS if math.isinf(until) else int(until * _NS)
        while True:
            self._library.checked(self._library.run(self.handle, until_ns))
            rows = self._mailbox.take()
            happened = [
                (row[0] / _NS, row[3], event)
                for row in rows
                for event in self.hosts[row[3]].take(row)
            ]
            if happened or not rows:
                return happened

    def qlog(self, index: int) -> Mapping[str, Any] | None:
        """Return nothing: the library writes no log."""
        return None

    def totals(self) -> Totals:
        """Return what became of datagrams so far."""
        sent, dropped, lost, _ = self._library.filled("totals", self.handle, count=4)
        digest = bytearray(32)
        if self._digested:
            self._library.call("digest", self.handle, pointer(digest), len(digest))
        text = digest.hex() if self._digested else ""
        return Totals(sent=sent, dropped=dropped, lost=lost, digest=text)

    def close(self) -> None:
        """End everything."""
        self._library.call("free", self.handle)
        self.hosts.clear()


class NativeSocket:
    """One host on a socket: a `Transport` that is a `Listener` too. The library has a thread."""

    def __init__(self, place: Place) -> None:
        self._library, self._place = load(), place
        self._loop = asyncio.get_running_loop()
        self._deliver: Deliver = lambda event: None
        self._handle = 0

    async def listen(self, host: str, port: int, deliver: Deliver) -> Address:
        """Open the socket. Raises OSError if the address cannot be used."""
        self._deliver = deliver
        place, address = self._place, f"{host}:{port}".encode()
        identity = _packed(place.identity, place.directory)
        settings = self._library.numbers(*_settings(place))
        bound = (*settings, identity, len(identity), address, len(address))
        try:
            self._handle = self._library.call("socket", *bound)
        except PqchainError as error:
            raise OSError(str(error)) from error
        self._host = Host(place, self._library, self._handle, os.urandom, ({}, itertools.count(1)))
        self._mailbox = Mailbox(self._library, self._handle)
        self._descriptor = self._library.call("descriptor", self._handle)
        self._loop.add_reader(self._descriptor, self._news)
        return host, self._library.call("port", self._handle)

    async def shut(self) -> None:
        """Close everything."""
        if self._handle:
            self._loop.remove_reader(self._descriptor)
            for session in list(self._host.sessions):
                self._host.close(session, "the end", now=0.0)
            self._library.call("free", self._handle)
            self._handle = 0

    def _news(self) -> None:
        for row in self._mailbox.take():
            for event in self._host.take(row):
                self._deliver(event)
        self._host.take_back()

    def __getattr__(self, name: str) -> Any:
        """Be the host's transport, once there is a host."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._host, name)


open_fabric = NativeFabric
open_transport = NativeSocket
