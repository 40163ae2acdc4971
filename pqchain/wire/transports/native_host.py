"""Sessions of one node over pqchain's QUIC library, on a modelled network or a socket."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pqchain.errors import UsageError
from pqchain.wire.session import Buffer, Closed, Event, Filled, Received
from pqchain.wire.transports.authentication import QuicTransport, Session
from pqchain.wire.transports.native_library import (
    CLOSED,
    DATA,
    EARLY,
    END,
    FILLED,
    HELLO,
    EventRow,
    QuicLibrary,
    pointer,
)
from pqchain.wire.transports.native_memory import Memory
from pqchain.wire.transports.registry import TransportSettings

# Maximum number of open sessions dialled by one member; a further one closes its oldest.
_MAX_SESSIONS = 4

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
            self.owner.evict_oldest(self.peer)
            self.owner.call("prove", self.session, self.peer)
        Session.authenticate(self, early=early)

    def end(self, reason: str, code: int = 0) -> None:
        self.owner.sessions.pop(self.session, None)
        text = reason.encode()
        self.owner.call("close", self.session, code, text, len(text))
        self.owner.memory.drop(self.owner.index, self.session)


class Host(QuicTransport):
    """`Transport` with all sessions of one node."""

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
        if kind == FILLED and session is not None:
            self.memory.filled((self.index, number, stream), count)
            return [Filled(number, stream, count, bool(flags & END))]
        if kind == HELLO:
            session = _Session(
                owner=self, session=number, dialled=False, peer=None if peer < 0 else peer
            )
            self.sessions[number] = session
            session.challenge_client()
        elif session is not None and kind == EARLY:
            session.authenticate(early=True)
        elif session is not None and kind == DATA:
            session.received(stream, data, bool(flags & END))
        elif session is not None and kind == CLOSED:
            del self.sessions[number]
            self.memory.drop(self.index, number)
            if session.peer is not None and (session.opened or session.dialled):
                reason = data.decode(errors="replace")
                self.pending.append(Closed(number, session.peer, reason))
        return self.events()

    def evict_oldest(self, peer: int) -> None:
        """Close the oldest session dialled by a peer if the peer has too many."""
        dialled = [
            session
            for session in self.sessions.values()
            if session.peer == peer and session.opened and not session.dialled
        ]
        if len(dialled) >= _MAX_SESSIONS:
            reason = "too many sessions"
            dialled[0].end(reason)
            self.pending.append(Closed(dialled[0].session, peer, reason))

    def release_lent(self) -> None:
        """Release lent memory whose bytes the library no longer needs."""
        while self.memory.lent:
            tokens = self.library.read_array("returned", self.handle, count=_MAX_RETURNED)
            for token in tokens:
                self.memory.lent.pop(token, None)
            if len(tokens) < _MAX_RETURNED:
                return
