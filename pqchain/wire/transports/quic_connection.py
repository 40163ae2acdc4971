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
from types import ModuleType
from typing import Any

from pqchain.wire.identity import Identity, PublicIdentity, verify
from pqchain.wire.session import Buffer, Closed, Event, Opened, Received

WINDOW_BYTES = 4 << 20
"""What is handed to one connection ahead of acknowledgements; aioquic itself never says stop."""

SLICE_BYTES = 256 << 10
_UNPROVEN_BYTES = 64 << 10
"""What an unproven client may send before it is cut off."""

_UNPROVEN_SECONDS = 10.0
_ANSWER, _CHALLENGE = 2, 3
"""The first one-way streams of the client and of the server."""

_CHALLENGE_BYTES = 32
_ENDED: tuple[type[Exception], ...] = (AssertionError, ValueError, RuntimeError)
"""What a library raises if a stream has ended by itself."""

_REFUSED = 0x101
_CANCELLED = 0x102


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What an endpoint takes from aioquic, or from a fork of it whose classes look the same."""

    name: str
    version: str
    longest_bytes: int
    """The longest datagram that it sends."""
    configuration: Callable[..., Any]
    connection: Callable[..., Any]
    events: ModuleType
    packet: ModuleType
    tls: ModuleType
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

    def header(self, datagram: bytes) -> Any:
        """Return the header of a long packet. Raises ValueError if it is none."""
        return self.packet.pull_quic_header(self.buffer(data=datagram), host_cid_length=8)


@dataclass(slots=True, eq=False, kw_only=True)
class Connection:
    """One connection and what we know about it; what happens goes to the endpoint's `events`."""

    quic: Any
    session: int
    dialled: bool
    created: float
    library: Library
    own: Identity
    directory: Mapping[int, PublicIdentity]
    events: list[Event]
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
    names: set[bytes] = field(default_factory=set)
    """The connection IDs under which its datagrams arrive."""
    timer: float | None = None
    over: bool = False
    refused: bool = False

    # Who it is.

    def negotiated(self) -> bool:
        """Challenge a client whose hello was understood; True if a ticket says who it is."""
        if self.dialled:
            return False
        if self.peer is not None:
            self.prove(early=True)
            return True
        self.challenge = os.urandom(_CHALLENGE_BYTES)
        stream = self.quic.get_next_available_stream_id(is_unidirectional=True)
        self.write(stream, self.challenge, end=True)
        return False

    def received(self, stream: int, data: bytes, end: bool) -> None:
        """Sort proof from data, and hold data back until there is proof."""
        if self.over:
            return
        if stream == (_CHALLENGE if self.dialled else _ANSWER):
            self.answer += data
            if len(self.answer) > _UNPROVEN_BYTES:
                self.refuse("too long an answer")
            elif end:
                self._answered(bytes(self.answer))
            return
        if stream in self.ended:
            return
        if end:
            self.ended.add(stream)
        event = Received(self.session, stream, data, end)
        if self.opened:
            self.events.append(event)
            return
        self.waiting.append(event)
        if sum(len(each.data) for each in self.waiting) > _UNPROVEN_BYTES:
            self.refuse("too much before a proof of identity")

    def _answered(self, answer: bytes) -> None:
        if self.dialled:
            assert self.peer is not None
            proof = self.own.sign(answer, self.directory[self.peer])
            stream = self.quic.get_next_available_stream_id(is_unidirectional=True)
            self.write(stream, self.own.index.to_bytes(4, "big") + proof, end=True)
            self.prove()
            return
        client = self.directory.get(int.from_bytes(answer[:4], "big"))
        if (
            self.opened
            or client is None
            or client.index == self.own.index
            or not verify(answer[4:], self.challenge, client=client, server=self.own.public)
        ):
            self.refuse("no known identity was proven")
            return
        self.peer = client.index
        self.prove()

    def prove(self, *, early: bool = False) -> None:
        """Tell the node of the session, and of what came before the proof."""
        if self.opened:
            return
        assert self.peer is not None
        self.opened = True
        self.events.append(Opened(self.session, self.peer, self.dialled, early))
        self.events += self.waiting
        self.waiting.clear()

    def refuse(self, reason: str) -> None:
        """Close a connection that the node never heard of."""
        self.over = self.refused = True
        self.waiting.clear()
        self.quic.close(error_code=_REFUSED, reason_phrase=reason)

    def check_time(self, now: float) -> None:
        """Refuse a client that proves nothing for too long."""
        unproven = not self.dialled and not self.opened and not self.over
        if unproven and now > self.created + _UNPROVEN_SECONDS:
            self.refuse("no proof of identity in time")

    def close(self, reason: str) -> None:
        """Say goodbye."""
        self.over = True
        self.outgoing.clear()
        self.quic.close(reason_phrase=reason)

    def terminated(self, reason: str) -> None:
        """Tell the node, which knew of the session, that it is over."""
        if not self.over and self.peer is not None:
            self.over = True
            self.events.append(Closed(self.session, self.peer, reason))

    # What is to be sent.

    def stop(self, channel: int) -> bool:
        """Ask the sender to stop; return False if it has ended by itself."""
        try:
            self.quic.stop_stream(channel, _CANCELLED)
        except _ENDED + self.library.over:
            return False
        return True

    def queue(self, channel: int, data: Buffer, end: bool) -> None:
        """Send bytes when there is room."""
        self.outgoing.setdefault(channel, deque()).append((memoryview(data).cast("B"), end))

    def queued_bytes(self) -> int:
        """Return what waits here; what QUIC has taken is not counted."""
        return sum(len(view) for queue in self.outgoing.values() for view, _ in queue)

    def feed(self) -> None:
        """Hand queued bytes to QUIC, as far as its buffers are not full."""
        waiting = [channel for channel, queue in self.outgoing.items() if queue]
        if not waiting or self.over:
            return
        # What a dialled connection sends before it is opened would miss the 0-RTT keys anyway.
        room = max(WINDOW_BYTES // len(waiting), SLICE_BYTES)
        for channel in waiting:
            queue = self.outgoing[channel]
            buffered = self.library.buffered(self.quic, channel)
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
        except self.library.over:
            return
