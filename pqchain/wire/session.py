"""What a node and a transport say to each other: sessions between two identities.

A transport proves both identities before it tells the node of a session; whoever cannot prove one
never reaches the node. A session carries channels, opened by the side that dialled; each is two
streams of bytes, in order and complete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Address = tuple[str, int]
"""Host and port."""

Buffer = bytes | bytearray | memoryview
"""What can be sent without copying it first."""

Key = tuple[int, int]
"""A session and a channel of it."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A session is ready; `peer` has proven who it is."""

    session: int
    peer: int
    dialled: bool
    """Whether this side began it."""
    early: bool = False
    """Whether it is a 0-RTT session, ready before the other side has answered."""


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes on a channel; `end` says that no more will come."""

    session: int
    channel: int
    data: bytes
    end: bool


@dataclass(frozen=True, slots=True)
class Filled:
    """Bytes of a channel have come into the memory that was named for them; see `place`."""

    session: int
    channel: int
    count: int
    end: bool


@dataclass(frozen=True, slots=True)
class Closed:
    """A session is over, or could not be opened; what was under way on it is lost."""

    session: int
    peer: int
    reason: str


Event = Opened | Received | Filled | Closed

Deliver = Callable[[Event], None]
"""Takes what has happened, at once."""


class Transport(Protocol):
    """What a node asks of the network. Nothing blocks; answers come as events."""

    def dial(self, peer: int, *, early: bool, now: float) -> int:
        """Begin a session with a peer and return its number; `early` asks for 0-RTT."""

    def open(self, session: int) -> int:
        """Open a channel of a session that this side dialled, and return its number."""

    def send(self, session: int, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Queue bytes, which must not change afterwards; on a session that is over, do nothing."""

    def place(
        self, session: int, channel: int, memory: memoryview | None, count: int, *, offset: int
    ) -> None:
        """Let `count` bytes of a channel, from `offset` on, come into memory, or nowhere.

        They are told of as `Filled`, but for those that are told of as `Received` already. The
        memory is kept until it is full, the channel ends or is stopped, or another is named. A
        transport that has no way to do it does nothing: all bytes are `Received`.
        """

    def stop(self, session: int, channel: int) -> None:
        """Tell the other side that no more of this channel is wanted, where the protocol can."""

    def close(self, session: int, reason: str, *, now: float) -> None:
        """End a session; no event follows."""

    def queued_bytes(self) -> int:
        """Return how much waits to be sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What became of the datagrams of a modelled network."""

    dropped: int
    """Those that met a full queue."""
    lost: int
    sent: int
    digest: str = ""
    """SHA-256 of all of them, with time, sender and receiver, where that was asked for."""


class Timed(Protocol):
    """What has something due at times of its own."""

    def timer(self) -> float | None:
        """Return when `handle_timer` wants to be called, or None."""

    def handle_timer(self, now: float) -> None:
        """Do what is due."""


Happened = tuple[float, int, Event]
"""When, to which host, and what."""


class Endpoint(Transport, Timed, Protocol):
    """A transport as a state machine on datagrams, for a modelled clock or one UDP socket."""

    def receive(self, datagram: bytes, address: Address, now: float) -> None:
        """Take in one datagram."""

    def datagrams(self, now: float) -> list[tuple[bytes, Address]]:
        """Return what is to be sent now."""

    def events(self) -> list[Event]:
        """Return what has happened since the last call."""

    def qlog(self) -> Mapping[str, Any] | None:
        """Return the log in qlog's form, if one was asked for and can be written."""


class Fabric(Protocol):
    """A modelled network with all its hosts, for a driver with a modelled clock."""

    def start(self, index: int) -> Transport:
        """Begin a life of a host and return its transport."""

    def stop(self, index: int) -> None:
        """End it: it says nothing more and hears nothing more."""

    def settle(self, index: int) -> None:
        """Let out what a node has sent since it was last told something."""

    def advance(self, until: float) -> list[Happened]:
        """Go on until something has happened, and return what; or until that time, and nothing."""

    def qlog(self, index: int) -> Mapping[str, Any] | None:
        """Return the log of a host's life in qlog's form, if one was asked for."""

    def totals(self) -> Totals:
        """Return what became of datagrams so far."""

    def close(self) -> None:
        """End everything."""


class Listener(Protocol):
    """What waits on a socket for others: around an endpoint, or a transport with its own."""

    async def listen(self, host: str, port: int, deliver: Deliver) -> Address:
        """Begin to listen, on a port that the system chooses if it is 0; return the address."""

    async def shut(self) -> None:
        """Close everything."""
