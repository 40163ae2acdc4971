"""Mutual authentication of QUIC sessions.

A server shows its pinned certificate. aioquic cannot request a certificate of a client; a client
therefore signs, with its post-quantum key, a challenge from the server's first flight together with
the server's certificate. Challenge and answer are the first unidirectional stream of either side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pqchain.wire.identity import verify
from pqchain.wire.session import Event, Opened, Received, Transport, TransportSettings

ANSWER, CHALLENGE = 2, 3
"""Ids of the first unidirectional streams of the client and of the server."""

UNAUTHENTICATED_BYTES = 64 << 10
"""Bytes that an unauthenticated client may send before the connection is closed."""

UNAUTHENTICATED_SECONDS = 10.0

REFUSED = 0x101
"""QUIC error code of a connection that was closed before authentication."""

_CHALLENGE_BYTES = 32

# Bytes charged for each event: a client could otherwise end empty streams without limit.
_EVENT_BYTES = 16


class QuicTransport(Transport):
    """Sessions of one node over QUIC, with the events that the node has not received."""

    def __init__(self, settings: TransportSettings, random: Callable[[int], bytes]) -> None:
        super().__init__(settings)
        self.random = random
        self.pending: list[Event] = []
        self.dirty: dict[int, Any] = {}
        """Sessions that may have data to send, if the transport builds datagrams itself."""

    def events(self) -> list[Event]:
        """Return the events since the last call."""
        events, self.pending = self.pending, []
        return events


@dataclass(slots=True, eq=False)
class Session(ABC):
    """Session that is reported to the node once both sides are authenticated."""

    owner: QuicTransport
    session: int
    dialled: bool
    peer: int | None = None
    opened: bool = False
    challenge: bytes = b""
    answer: bytearray = field(default_factory=bytearray)
    early_data: list[Received] = field(default_factory=list)
    early_bytes: int = 0

    @property
    def is_closed(self) -> bool:
        """Whether the session has ended for the node."""
        return self.session not in self.owner.sessions

    @abstractmethod
    def send_once(self, data: bytes) -> None:
        """Send data on a new unidirectional stream."""

    @abstractmethod
    def end(self, reason: str, code: int = 0) -> None:
        """Close the connection with an error code and a reason."""

    def challenge_client(self) -> None:
        """Challenge a client after its first message, unless a ticket identifies it."""
        if self.dialled:
            return
        if self.peer is not None:
            self.authenticate(early=True)
        else:
            self.challenge = self.owner.random(_CHALLENGE_BYTES)
            self.send_once(self.challenge)

    def received(self, stream: int, data: bytes, end: bool) -> None:
        """Handle stream data: the proof of identity, or application data, kept until the proof."""
        if self.is_closed:
            return
        if stream == (CHALLENGE if self.dialled else ANSWER):
            self.answer += data
            if len(self.answer) > UNAUTHENTICATED_BYTES:
                self.end("the proof of identity is too long", REFUSED)
            elif end:
                self._check_answer(bytes(self.answer))
            return
        event = Received(self.session, stream, data, end)
        # Streams may overtake the proof; their data is kept, up to a limit.
        if self.opened:
            self.owner.pending.append(event)
            return
        self.early_data.append(event)
        self.early_bytes += len(data) + _EVENT_BYTES
        if self.early_bytes > UNAUTHENTICATED_BYTES:
            self.end("too much before a proof of identity", REFUSED)

    def _check_answer(self, answer: bytes) -> None:
        identity, directory = self.owner.identity, self.owner.directory
        if self.dialled:
            assert self.peer is not None
            proof = identity.sign(answer, directory[self.peer])
            self.send_once(identity.index.to_bytes(4, "big") + proof)
            self.authenticate()
            return
        # The answer is the client's index (4 bytes, big-endian) and its signature.
        client = directory.get(int.from_bytes(answer[:4], "big"))
        if (
            self.opened  # an open session cannot be authenticated a second time
            or client is None
            or client.index == identity.index
            or not verify(answer[4:], self.challenge, client=client, server=identity.public)
        ):
            self.end("no known identity was proven", REFUSED)
            return
        self.peer = client.index
        self.authenticate()

    def authenticate(self, *, early: bool = False) -> None:
        """Report the session and its early data to the node; `early` marks a 0-RTT session."""
        if self.opened:
            return
        assert self.peer is not None
        self.opened = True
        self.owner.pending.append(Opened(self.session, self.peer, self.dialled, early))
        self.owner.pending += self.early_data
        self.early_data.clear()
