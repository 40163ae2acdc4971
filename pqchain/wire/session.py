"""Interfaces between nodes, transports and drivers; a session connects two identities.

A transport authenticates both sides before it reports a session to the node; an unauthenticated
client never reaches the node. A session carries channels, opened by the side that dialled. A
channel is a pair of reliable, ordered byte streams, one in each direction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pqchain.wire.identity import Identity, PublicIdentity

Address = tuple[str, int]
"""Host and port."""

Buffer = bytes | bytearray | memoryview
"""Types that can be sent without a copy."""

Key = tuple[int, int]
"""Session number and channel number."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Event: a session is ready, and the identity of `peer` is authenticated."""

    session: int
    peer: int
    dialled: bool
    """Whether this side dialled."""
    early: bool = False
    """Whether it is a 0-RTT session, usable before the other side has answered."""


@dataclass(frozen=True, slots=True)
class Received:
    """Event: bytes were received on a channel; `end` marks the channel's last bytes."""

    session: int
    channel: int
    data: bytes
    end: bool


@dataclass(frozen=True, slots=True)
class Filled:
    """Event: `count` bytes of a channel were written to the memory given to `receive_into`."""

    session: int
    channel: int
    count: int
    end: bool


@dataclass(frozen=True, slots=True)
class Closed:
    """Event: a session has ended or could not be opened; its undelivered data is lost."""

    session: int
    peer: int
    reason: str


Event = Opened | Received | Filled | Closed

Deliver = Callable[[Event], None]
"""Callback that handles an event immediately."""


@dataclass(frozen=True, slots=True)
class TransportSettings:
    """Arguments for opening a transport: identity, directory, addresses and settings."""

    identity: Identity
    directory: Sequence[PublicIdentity]
    addresses: Mapping[int, Address]
    """Listening address of every node; read at each dial, so it may be filled in later."""
    folder: Path
    """Folder for data that a library reads only from files."""
    datagram_bytes: int = 1452
    congestion: str = "reno"
    window_bytes: int = 4 << 20
    """Limit of unacknowledged bytes; `Link.window_bytes` is higher for fast, long links."""


class Transport(ABC):
    """Network interface of a node. No method blocks; results arrive as events."""

    def __init__(self, settings: TransportSettings) -> None:
        self.identity, self.addresses = settings.identity, settings.addresses
        self.directory = {public.index: public for public in settings.directory}
        self.sessions: dict[int, Any] = {}
        """Sessions that have not ended, with `queued` and `end(reason)`."""

    @abstractmethod
    def dial(self, peer: int, *, early: bool, now: float) -> int:
        """Start a session with a peer and return the session number.

        `early` requests 0-RTT. `now` is the driver's time in seconds.
        """

    @abstractmethod
    def open(self, session: int) -> int:
        """Open a channel on a session that this side dialled, and return the channel number."""

    @abstractmethod
    def send(self, session: int, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Queue bytes, which the caller must not change; do nothing if the session has ended."""

    def receive_into(  # noqa: B027 - optional
        self, session: int, channel: int, memory: memoryview | None, count: int, *, offset: int
    ) -> None:
        """Receive `count` bytes of a channel from `offset` on into `memory`; None discards them.

        These bytes are reported as `Filled`, except any reported as `Received`. The transport
        keeps a reference to the memory until it is full, the channel ends or is stopped, or other
        memory replaces it. A transport without this feature does nothing: all bytes are reported as
        `Received`.
        """

    def stop(self, session: int, channel: int) -> None:  # noqa: B027 - optional
        """Ask the peer to stop sending on this channel, where the protocol supports it."""

    def close(self, session: int, reason: str, *, now: float) -> None:
        """Close a session; no `Closed` event follows."""
        if (connection := self.sessions.pop(session, None)) is not None:
            connection.end(reason)

    def queued_bytes(self) -> int:
        """Return the number of bytes that wait to be sent on all sessions."""
        return sum(session.queued.bytes for session in self.sessions.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Datagram counts of a modelled network."""

    dropped: int
    """Datagrams dropped by a full queue."""
    lost: int
    sent: int
    digest: str = ""
    """SHA-256 of all datagrams with time, sender and receiver in hex; empty unless requested."""


TimedEvent = tuple[float, int, Event]
"""Time in seconds, index of the host, and the event."""


class Endpoint(Transport):
    """Sans-I/O transport on datagrams, for a modelled clock or one UDP socket."""

    @abstractmethod
    def timer(self) -> float | None:
        """Return the time at which `handle_timer` must be called, or None."""

    @abstractmethod
    def handle_timer(self, now: float) -> None:
        """Handle the timers that have expired at `now`."""

    @abstractmethod
    def receive(self, datagram: bytes, address: Address, now: float) -> None:
        """Process one received datagram."""

    @abstractmethod
    def datagrams(self, now: float) -> list[tuple[bytes, Address]]:
        """Return the datagrams to be sent now, each with its destination."""

    @abstractmethod
    def events(self) -> list[Event]:
        """Return the events since the last call."""


class Fabric(Protocol):
    """Modelled network with all its hosts, for a driver with a modelled clock."""

    def start(self, index: int) -> Transport:
        """Start a host and return its transport."""

    def stop(self, index: int) -> None:
        """Stop the host and drop its traffic."""

    def flush(self, index: int) -> None:
        """Send the data that a node has queued since the last event."""

    def advance(self, until: float) -> list[TimedEvent]:
        """Advance the clock until events occur, at most to time `until`; return the events."""

    def totals(self) -> Totals:
        """Return the numbers of datagrams sent, dropped and lost so far."""

    def close(self) -> None:
        """Stop all hosts and release their resources."""
