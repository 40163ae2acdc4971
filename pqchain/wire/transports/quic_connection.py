"""One QUIC connection of an endpoint: who is at the other end, and what waits to be sent.

A server shows a pinned certificate. A client, of which aioquic cannot ask one, answers a challenge
that comes with the server's first flight, with its post-quantum signature over the challenge and
the server's certificate.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pqchain.wire.identity import Identity, PublicIdentity, verify
from pqchain.wire.session import Buffer, Event, Opened, Received

WINDOW_BYTES = 4 << 20
"""What is handed to one connection ahead of acknowledgements; aioquic itself never says stop."""

SLICE_BYTES = 256 << 10
_UNPROVEN_BYTES = 64 << 10
"""What an unproven client may send before it is cut off."""

_UNPROVEN_SECONDS = 10.0
_ANSWER, _CHALLENGE = 2, 3
"""The first one-way streams of the client and of the server."""

_CHALLENGE_BYTES = 32
_REFUSED = 0x101
"""Error code of a connection that the node never heard of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What an endpoint takes from aioquic, or from a fork of it whose modules look the same."""

    package: Any
    longest_bytes: int
    """The longest datagram that it sends."""
    buffer: Callable[..., Any]
    """What its parser of headers takes."""
    buffered: Callable[[Any, int], int]
    """Says how many bytes of a stream it holds."""
    settings: Callable[[str], dict[str, Any]]
    """Says, for a congestion control, what only its configuration knows."""
    logger: Callable[[Callable[[], float]], Any] | None = None
    """Makes a qlog on the caller's clock, where the library can write one."""
    over: tuple[type[Exception], ...] = ()
    """What it raises on a connection that the other side has closed, or that it broke itself."""


@dataclass(eq=False)
class Owner:
    """What an endpoint shares with its connections."""

    library: Library
    identity: Identity
    directory: Mapping[int, PublicIdentity]
    sessions: dict[int, Connection] = field(default_factory=dict, init=False)
    """Those that are not over."""
    dirty: dict[int, Connection] = field(default_factory=dict, init=False)
    """Those that may have something to send."""
    happened: list[Event] = field(default_factory=list, init=False)


@dataclass(slots=True, eq=False)
class Connection:
    """One connection and what we know about it."""

    owner: Owner
    quic: Any
    session: int
    dialled: bool
    created: float
    peer: int | None = None
    opened: bool = False
    challenge: bytes = b""
    answer: bytearray = field(default_factory=bytearray)
    waiting: list[Received] = field(default_factory=list)
    """What came before there was proof."""
    outgoing: dict[int, deque[tuple[memoryview, bool]]] = field(default_factory=dict)
    stopped: set[int] = field(default_factory=set)
    """Streams on which the other side wants nothing more."""
    ended: set[int] = field(default_factory=set)
    """Streams that the other side has ended: older versions say so again at every repetition."""
    timer: float | None = None

    @property
    def over(self) -> bool:
        """Whether the node hears no more of it."""
        return self.session not in self.owner.sessions

    # Who it is.

    def negotiated(self) -> None:
        """Challenge a client whose hello was understood, unless a ticket says who it is."""
        if self.dialled:
            return
        if self.peer is not None:
            self.prove(early=True)
        else:
            self.challenge = os.urandom(_CHALLENGE_BYTES)
            stream = self.quic.get_next_available_stream_id(is_unidirectional=True)
            self.write(stream, self.challenge, end=True)

    def received(self, stream: int, data: bytes, end: bool) -> None:
        """Sort proof from data, and hold data back until there is proof."""
        if self.over:
            return
        if stream == (_CHALLENGE if self.dialled else _ANSWER):
            self.answer += data
            if len(self.answer) > _UNPROVEN_BYTES:
                self.end("too long an answer", _REFUSED)
            elif end:
                self._answered(bytes(self.answer))
            return
        if stream in self.ended:
            return
        if end:
            self.ended.add(stream)
        event = Received(self.session, stream, data, end)
        if self.opened:
            self.owner.happened.append(event)
            return
        self.waiting.append(event)
        if sum(len(each.data) for each in self.waiting) > _UNPROVEN_BYTES:
            self.end("too much before a proof of identity", _REFUSED)

    def _answered(self, answer: bytes) -> None:
        own, directory = self.owner.identity, self.owner.directory
        if self.dialled:
            assert self.peer is not None
            proof = own.sign(answer, directory[self.peer])
            stream = self.quic.get_next_available_stream_id(is_unidirectional=True)
            self.write(stream, own.index.to_bytes(4, "big") + proof, end=True)
            self.prove()
            return
        client = directory.get(int.from_bytes(answer[:4], "big"))
        if (
            self.opened
            or client is None
            or client.index == own.index
            or not verify(answer[4:], self.challenge, client=client, server=own.public)
        ):
            self.end("no known identity was proven", _REFUSED)
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

    def check_time(self, now: float) -> None:
        """Refuse a client that proves nothing for too long."""
        unproven = not self.dialled and not self.opened and not self.over
        if unproven and now > self.created + _UNPROVEN_SECONDS:
            self.end("no proof of identity in time", _REFUSED)

    def end(self, reason: str, code: int = 0) -> None:
        """Say goodbye with a CONNECTION_CLOSE."""
        self.owner.sessions.pop(self.session, None)
        self.owner.dirty[self.session] = self
        self.outgoing.clear()
        self.waiting.clear()
        self.quic.close(error_code=code, reason_phrase=reason)

    # What is to be sent.

    def feed(self) -> None:
        """Hand queued bytes to QUIC, as far as its buffers are not full."""
        if not self.outgoing or self.over:
            return
        # What a dialled connection sends before it is opened would miss the 0-RTT keys anyway.
        room = max(WINDOW_BYTES // len(self.outgoing), SLICE_BYTES)
        for channel, queue in list(self.outgoing.items()):
            buffered = self.owner.library.buffered(self.quic, channel)
            while queue and buffered < room:
                view, end = queue.popleft()
                part, rest = view[:SLICE_BYTES], view[SLICE_BYTES:]
                if len(rest):
                    queue.appendleft((rest, end))
                self.write(channel, part, end=end and not len(rest))
                buffered += len(part)
            if not queue:
                del self.outgoing[channel]

    def write(self, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Hand bytes to QUIC. If the other side has closed, they are lost; the event comes."""
        # aioquic appends to a bytearray, which takes any buffer.
        try:
            self.quic.send_stream_data(channel, data, end)
        except self.owner.library.over:
            return
