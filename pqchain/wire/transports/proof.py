"""Who is at the other end of a session: what QUIC transports here ask, and what is answered.

A server shows a pinned certificate. A client, of which aioquic cannot ask one, answers a challenge
that comes with the server's first flight, with its post-quantum signature over the challenge and
the server's certificate. Challenge and answer are the first one-way stream of either side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pqchain.wire.identity import Identity, PublicIdentity, verify
from pqchain.wire.session import Event, Opened, Received

ANSWER, CHALLENGE = 2, 3
"""The first one-way streams of the client and of the server."""

UNPROVEN_BYTES = 64 << 10
"""What an unproven client may send before it is cut off."""

UNPROVEN_SECONDS = 10.0
REFUSED = 0x101
"""Error code of a connection that the node never heard of."""

_CHALLENGE_BYTES = 32

_EVENT_BYTES = 16
"""What an event without bytes counts: a client could end streams without end."""


@dataclass(eq=False)
class Owner:
    """What an endpoint shares with its sessions."""

    identity: Identity
    directory: Mapping[int, PublicIdentity]
    random: Callable[[int], bytes]
    """Draws challenges."""
    happened: list[Event] = field(default_factory=list, init=False)


@dataclass(slots=True, eq=False)
class Proving(ABC):
    """A session that the node hears of when both sides have shown who they are."""

    owner: Owner
    session: int
    dialled: bool
    peer: int | None = None
    opened: bool = False
    challenge: bytes = b""
    answer: bytearray = field(default_factory=bytearray)
    waiting: list[Received] = field(default_factory=list)
    """What came before there was proof."""
    waiting_bytes: int = 0

    @property
    @abstractmethod
    def over(self) -> bool:
        """Whether the node hears no more of it."""

    @abstractmethod
    def say(self, data: bytes) -> None:
        """Send that on a one-way stream of its own."""

    @abstractmethod
    def end(self, reason: str, code: int = 0) -> None:
        """Close the connection."""

    def negotiated(self) -> None:
        """Challenge a client whose hello was understood, unless a ticket says who it is."""
        if self.dialled:
            return
        if self.peer is not None:
            self.prove(early=True)
        else:
            self.challenge = self.owner.random(_CHALLENGE_BYTES)
            self.say(self.challenge)

    def received(self, stream: int, data: bytes, end: bool) -> None:
        """Sort proof from data, and hold data back until there is proof."""
        if self.over:
            return
        if stream == (CHALLENGE if self.dialled else ANSWER):
            self.answer += data
            if len(self.answer) > UNPROVEN_BYTES:
                self.end("too long an answer", REFUSED)
            elif end:
                self._answered(bytes(self.answer))
            return
        event = Received(self.session, stream, data, end)
        if self.opened:
            self.owner.happened.append(event)
            return
        self.waiting.append(event)
        self.waiting_bytes += len(data) + _EVENT_BYTES
        if self.waiting_bytes > UNPROVEN_BYTES:
            self.end("too much before a proof of identity", REFUSED)

    def _answered(self, answer: bytes) -> None:
        own, directory = self.owner.identity, self.owner.directory
        if self.dialled:
            assert self.peer is not None
            proof = own.sign(answer, directory[self.peer])
            self.say(own.index.to_bytes(4, "big") + proof)
            self.prove()
            return
        client = directory.get(int.from_bytes(answer[:4], "big"))
        if (
            self.opened
            or client is None
            or client.index == own.index
            or not verify(answer[4:], self.challenge, client=client, server=own.public)
        ):
            self.end("no known identity was proven", REFUSED)
            return
        self.peer = client.index
        self.prove()

    def prove(self, *, early: bool = False) -> None:
        """Tell the node of the session, and of what came before the proof."""
        if self.opened:
            return
        assert self.peer is not None
        self.opened = True
        self.owner.happened.append(Opened(self.session, self.peer, self.dialled, early))
        self.owner.happened += self.waiting
        self.waiting.clear()
