"""TLS 1.3 over TCP: both sides show pinned certificates; channels share one connection in frames.

A frame is a channel (4 bytes), a length (4), a flag that says whether it is the last (1), and the
bytes. Channels take turns, one frame each, so that none waits for another's chunk.

Who connects has a few seconds to prove who it is, and only so many may be about to (`Admission`).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import tempfile
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pqchain.wire.identity import PublicIdentity, server_name
from pqchain.wire.session import Address, Buffer, Closed, Deliver, Opened, Received
from pqchain.wire.transports.admission import Admission
from pqchain.wire.transports.limits import PIECE_BYTES, READS_NOTHING, Queued
from pqchain.wire.transports.registry import Place
from pqchain.wire.transports.sockets import Sockets

_HEADER = struct.Struct("!IIB")
_FRAME_BYTES = 64 << 10

HANDSHAKE_SECONDS = 5.0
"""How long a client may take to prove who it is."""

MOST_HALF_OPEN, MOST_OF_ONE_HOST = 128, 64
"""Clients that have not yet; each costs some 300 kB."""

_ACCEPT_AGAIN_SECONDS = 0.1
"""After which the node looks for clients again when it had no descriptor for one."""


@dataclass(eq=False)
class _Line(asyncio.Protocol):
    """One TLS connection."""

    owner: TcpTls
    session: int
    peer: int | None
    """Whom we have dialled, or who has proven to be there."""
    channels: int = 0
    _transport: asyncio.Transport | None = None
    _paused: bool = False
    _came: bytearray = field(default_factory=bytearray)
    """Bytes that were not delivered yet."""
    _frame: tuple[int, int, bool] | None = None
    """Of the frame that comes: channel, bytes that were not delivered yet, whether it is the last.
    """
    _unread: bool = False
    """Whether nothing is read until the loop has time for what has come."""
    _queues: dict[int, deque[tuple[memoryview, bool]]] = field(default_factory=dict)
    _queued: Queued = field(default_factory=Queued)
    """What waits in them."""
    _reason: str = ""
    """Why this side has ended it; empty if the node asked for it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are asyncio's by behaviour, not by class.
        self._transport = cast(asyncio.Transport, transport)
        shown = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        peer = self.owner.by_certificate.get(shown)
        if peer is None or self.peer not in (None, peer):
            self.end()
            return
        dialled, self.peer = self.peer is not None, peer
        self.owner.sessions[self.session] = self
        self.owner.deliver(Opened(self.session, peer, dialled))

    def connection_lost(self, exc: Exception | None) -> None:
        self.end()  # Python 3.10 calls a transport unclosed that only the other side has closed
        self._deliver_all()
        known = self.owner.sessions.pop(self.session, None) is not None
        if known and self.peer is not None:
            reason = self._reason or (str(exc) if exc else "the other side has ended it")
            self.owner.deliver(Closed(self.session, self.peer, reason))

    def data_received(self, data: bytes) -> None:
        """Deliver the frames that are complete, as far as this turn of the loop allows."""
        self._came += data
        self._deliver()

    def _deliver(self) -> None:
        """Deliver pieces of frames; those that this turn has no time for wait, unread ones too."""
        transport = self._transport
        assert transport is not None
        while not self.owner.turn.is_over:
            if (event := self._next_piece()) is None:
                if self._unread and not transport.is_closing():
                    self._unread = False
                    transport.resume_reading()
                return
            self.owner.deliver(event)
        if not self._unread and not transport.is_closing():
            self._unread = True
            transport.pause_reading()
        self.owner.loop.call_soon(self._deliver)

    def _deliver_all(self) -> None:
        """Deliver what had come before the connection ended."""
        while (event := self._next_piece()) is not None:
            self.owner.deliver(event)

    def _next_piece(self) -> Received | None:
        """Return the next piece of a frame, if it has come and the session is not over."""
        if self.session not in self.owner.sessions:
            return None
        if self._frame is None:
            if len(self._came) < _HEADER.size:
                return None
            channel, length, last = _HEADER.unpack_from(self._came)
            if length > _FRAME_BYTES:
                self._came.clear()
                self._reason = f"a frame of {length} bytes; expected at most {_FRAME_BYTES}"
                self.end()
                return None
            del self._came[: _HEADER.size]
            self._frame = channel, length, bool(last)
        channel, left, last = self._frame
        count = min(left, PIECE_BYTES)
        if len(self._came) < count:
            return None
        with memoryview(self._came) as view:
            piece = bytes(view[:count])
        del self._came[:count]
        self._frame = (channel, left - count, last) if count < left else None
        return Received(self.session, channel, piece, last and count == left)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._pump()

    def queue(self, channel: int, data: Buffer, end: bool) -> None:
        if self._reason:
            return  # it has ended, which the node does not know yet
        view = memoryview(data).cast("B")
        self._queued.add(view)
        self._queues.setdefault(channel, deque()).append((view, end))
        self._pump()
        if self._queued.is_full:
            self._queues.clear()
            self._queued = Queued()
            self._reason = READS_NOTHING
            self.end()

    def queued_bytes(self) -> int:
        return self._queued.bytes

    def _pump(self) -> None:
        """Write frames, channels in turn, until the socket is full."""
        transport = self._transport
        while self._queues and not self._paused and transport is not None:
            channel, queue = next(iter(self._queues.items()))
            view, end = queue.popleft()
            self._queued.remove(view)
            part, rest = view[:_FRAME_BYTES], view[_FRAME_BYTES:]
            if len(rest):
                self._queued.add(rest)
                queue.appendleft((rest, end))
            last = end and not len(rest)
            # To the back of the line.
            del self._queues[channel]
            if queue:
                self._queues[channel] = queue
            transport.writelines([_HEADER.pack(channel, len(part), last), part])

    def end(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class TcpTls(Sockets[_Line]):
    """All TLS connections of one node."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        identity = place.identity
        self.admission = Admission(MOST_HALF_OPEN, MOST_OF_ONE_HOST)
        self._listener: socket.socket | None = None
        self._greeting: dict[int, asyncio.Task[None]] = {}
        """Clients that have proven nothing yet."""
        place.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place.folder) as file:  # nobody else may read it
            file.write(identity.certificate_key_pem + identity.public.certificate_pem)
            file.flush()
            self._accepting = self._context(ssl.PROTOCOL_TLS_SERVER, file.name, place.directory)
            self._calling = {
                public.index: self._context(ssl.PROTOCOL_TLS_CLIENT, file.name, [public])
                for public in place.directory
                if public.index != identity.index
            }

    @staticmethod
    def _context(protocol: Any, file: str, trusted: Sequence[PublicIdentity]) -> ssl.SSLContext:
        certificates = "".join(public.certificate_pem.decode() for public in trusted)
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=certificates)
        context.load_cert_chain(file)
        return context

    async def listen(self, host: str, port: int, deliver: Deliver) -> Address:
        """Begin to listen."""
        self.deliver = deliver
        (found, *_) = await self.loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, *_, where = found
        self._listener = socket.create_server(where, family=family, backlog=socket.SOMAXCONN)
        self._listener.setblocking(False)
        self._accepted = self.loop.create_task(self._accept(self._listener))
        name = self._listener.getsockname()
        return str(name[0]), int(name[1])

    async def _accept(self, listener: socket.socket) -> None:
        """Take clients one by one; one too many makes whoever has taken longest go."""
        while True:
            try:
                client, (host, *_) = await self.loop.sock_accept(listener)
            except OSError:  # no descriptor is left, or the client is gone
                await asyncio.sleep(_ACCEPT_AGAIN_SECONDS)
                continue
            if (longest := self.admission.crowded_out(host)) is not None:
                self.admission.left(longest)
                self._greeting[longest].cancel()
            session = next(self.numbers)
            self.admission.entered(session, host, vouched=True)
            self._greeting[session] = self.loop.create_task(self._greet(session, client))
            await asyncio.sleep(0)  # others have their turn, however many knock

    async def _greet(self, session: int, client: socket.socket) -> None:
        """Let a client prove who it is; the line itself delivers that it is open."""
        try:
            await self.loop.connect_accepted_socket(
                lambda: _Line(self, session, None),
                client,
                ssl=self._accepting,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
            )
        except OSError:
            pass  # a stranger, or too slow
        finally:
            self.admission.left(session)
            del self._greeting[session]

    async def shut(self) -> None:
        """Close everything."""
        self.close_all()
        if self._listener is not None:
            self._accepted.cancel()
            await asyncio.sleep(0)  # whoever was let in last begins, so that it can end
            tasks = [self._accepted, *self._greeting.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._listener.close()
        await asyncio.sleep(0)

    async def connect(self, session: int, peer: int, address: Address) -> None:
        """Connect; the line itself delivers that it is open."""
        context, name = self._calling[peer], server_name(peer)
        await self.loop.create_connection(
            lambda: _Line(self, session, peer), *address, ssl=context, server_hostname=name
        )

    def open(self, session: int) -> int:
        """Return the number of a new channel."""
        line = self.sessions[session]
        line.channels += 1
        return line.channels

    def send(self, session: int, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Queue bytes."""
        if (line := self.sessions.get(session)) is not None:
            line.queue(channel, data, end)

    def stop(self, session: int, channel: int) -> None:
        """Do nothing: TCP has no word for it, what still comes is thrown away."""


open_transport = TcpTls
