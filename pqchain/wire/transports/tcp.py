"""Transport on TLS 1.3 over TCP with pinned certificates; channels share one connection.

A frame is a channel number (4 bytes), a length (4), a flag that marks the channel's last frame (1),
and the data. Channels send one frame each in turn, so that no channel waits for another's whole
chunk.

A client must finish its handshake within a few seconds, and the number of unfinished handshakes is
limited (`Admission`).
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
import struct
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pqchain.wire.identity import PublicIdentity, server_name
from pqchain.wire.session import (
    Address,
    Buffer,
    Closed,
    Deliver,
    Opened,
    Received,
    Transport,
    TransportSettings,
)
from pqchain.wire.transports.admission import Admission
from pqchain.wire.transports.limits import PEER_NOT_READING, PIECE_BYTES, TURN_SECONDS, SendQueues

_HEADER = struct.Struct("!IIB")
_FRAME_BYTES = 64 << 10

HANDSHAKE_SECONDS = 5.0

_CONNECT_SECONDS = 10.0

MAX_HALF_OPEN, MAX_PER_HOST = 128, 64
"""Maximum unfinished handshakes in total and per host; each takes about 300 kB of memory."""

# Delay before the next `accept` after one failed for lack of file descriptors.
_ACCEPT_AGAIN_SECONDS = 0.1


class Turn:
    """Time budget that all sessions of a node share in one turn of the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ends: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether the budget is used up, so that the rest must wait for the next turn."""
        now = time.perf_counter()
        # The budget begins with the first work of a turn, and is reset when the next turn begins.
        if self._ends is None:
            self._ends = now + TURN_SECONDS
            self._loop.call_soon(self._next)
        return now >= self._ends

    def _next(self) -> None:
        self._ends = None


@dataclass(eq=False)
class _Connection(asyncio.Protocol):
    owner: TcpTls
    session: int
    peer: int | None
    """Index of the dialled or authenticated peer; None before authentication."""
    channels: int = 0
    _transport: asyncio.Transport | None = None
    _paused: bool = False
    _received: bytearray = field(default_factory=bytearray)
    _frame: tuple[int, int, bool] | None = None
    """Current frame: channel, undelivered bytes, whether it is the channel's last."""
    _unread: bool = False
    """Whether reading is paused until `_received` is delivered."""
    queued: SendQueues = field(default_factory=SendQueues)
    _reason: str = ""
    """Reason why this side closed the connection; empty if the node requested it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are asyncio's by behaviour, not by class.
        self._transport = cast(asyncio.Transport, transport)
        certificate = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        peer = self.owner.by_certificate.get(certificate)
        # The certificate itself is compared, in addition to TLS's verification of the chain.
        if peer is None or self.peer not in (None, peer):
            self.end()
            return
        dialled, self.peer = self.peer is not None, peer
        self.owner.sessions[self.session] = self
        self.owner.deliver(Opened(self.session, peer, dialled))

    def connection_lost(self, exc: Exception | None) -> None:
        # Python 3.10 reports a transport as unclosed if only the peer has closed it.
        self.end()
        while (event := self._next_piece()) is not None:
            self.owner.deliver(event)
        if self.owner.sessions.pop(self.session, None) is not None and self.peer is not None:
            reason = self._reason or (str(exc) if exc else "the peer has closed the session")
            self.owner.deliver(Closed(self.session, self.peer, reason))

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._deliver()

    def _deliver(self) -> None:
        """Deliver pieces until the turn's budget is used, then pause reading."""
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

    def _next_piece(self) -> Received | None:
        """Return the next piece of a frame, or None if that is incomplete or the session ended."""
        if self.session not in self.owner.sessions:
            return None
        if self._frame is None:
            if len(self._received) < _HEADER.size:
                return None
            channel, length, last = _HEADER.unpack_from(self._received)
            if length > _FRAME_BYTES:
                self._received.clear()
                self._reason = f"a frame must have at most {_FRAME_BYTES} bytes; got {length}"
                self.end()
                return None
            del self._received[: _HEADER.size]
            self._frame = channel, length, bool(last)
        channel, left, last = self._frame
        count = min(left, PIECE_BYTES)
        if len(self._received) < count:
            return None
        # A view, so that the bytes are copied once; it is released before the buffer shrinks.
        with memoryview(self._received) as view:
            piece = bytes(view[:count])
        del self._received[:count]
        self._frame = (channel, left - count, last) if count < left else None
        return Received(self.session, channel, piece, last and count == left)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self._pump()

    def queue(self, channel: int, data: Buffer, end: bool) -> None:
        if self._reason:
            return  # already closed, but not yet reported to the node
        self.queued.put(channel, data, end)
        self._pump()
        if self.queued.is_full:
            self.queued = SendQueues()
            self._reason = PEER_NOT_READING
            self.end()

    def _pump(self) -> None:
        """Write frames, channels in round-robin order, until the socket's buffer is full."""
        transport = self._transport
        channels = self.queued.channels
        while channels and not self._paused and transport is not None:
            channel = next(iter(channels))
            part, last = self.queued.take(channel, _FRAME_BYTES)
            if channel in channels:
                channels[channel] = channels.pop(channel)  # the end of the round
            transport.writelines([_HEADER.pack(channel, len(part), last), part])

    def end(self, reason: str = "") -> None:
        if self._transport is not None:
            self._transport.abort()


class TcpTls(Transport):
    """TLS server and all connections of one node."""

    def __init__(self, settings: TransportSettings) -> None:
        super().__init__(settings)
        identity = settings.identity
        self.by_certificate = {
            public.certificate_der: public.index for public in settings.directory
        }
        self.deliver: Deliver = lambda event: None
        self.loop = asyncio.get_running_loop()
        self.turn = Turn(self.loop)
        self.numbers = itertools.count(1)
        self._dialling: dict[int, asyncio.Task[None]] = {}
        self.admission = Admission(MAX_HALF_OPEN, MAX_PER_HOST)
        self._listener: socket.socket | None = None
        self._handshakes: dict[int, asyncio.Task[None]] = {}
        settings.folder.mkdir(parents=True, exist_ok=True)
        # `ssl` loads keys only from files; this one is readable by its owner alone, then deleted.
        with tempfile.NamedTemporaryFile(dir=settings.folder) as file:
            file.write(identity.certificate_key_pem + identity.public.certificate_pem)
            file.flush()
            self._server_context = self._context(
                ssl.PROTOCOL_TLS_SERVER, file.name, settings.directory
            )
            self._client_contexts = {
                public.index: self._context(ssl.PROTOCOL_TLS_CLIENT, file.name, [public])
                for public in settings.directory
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
        """Start to listen and return the bound address. Raises OSError if it cannot be bound."""
        self.deliver = deliver
        (info, *_) = await self.loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, *_, bind_address = info
        self._listener = socket.create_server(bind_address, family=family, backlog=socket.SOMAXCONN)
        self._listener.setblocking(False)
        self._accepted = self.loop.create_task(self._accept(self._listener))
        name = self._listener.getsockname()
        return str(name[0]), int(name[1])

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, (host, *_) = await self.loop.sock_accept(listener)
            except OSError:  # no file descriptor is free, or the client has disconnected
                await asyncio.sleep(_ACCEPT_AGAIN_SECONDS)
                continue
            session = next(self.numbers)
            if (oldest := self.admission.add(session, host)) is not None:
                self._handshakes[oldest].cancel()
            self._handshakes[session] = self.loop.create_task(self._handshake(session, client))
            await asyncio.sleep(0)  # let other callbacks run, however many clients connect

    async def _handshake(self, session: int, client: socket.socket) -> None:
        """Complete a client's TLS handshake, after which the connection delivers `Opened`."""
        try:
            await self.loop.connect_accepted_socket(
                lambda: _Connection(self, session, None),
                client,
                ssl=self._server_context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
            )
        except OSError:
            pass  # not authenticated, or timed out
        finally:
            self.admission.remove(session)
            del self._handshakes[session]

    async def shutdown(self) -> None:
        """Close all sessions, pending handshakes and the listener."""
        for session in [*self.sessions, *self._dialling]:
            self.close(session, "shutdown", now=0.0)
        if self._listener is not None:
            self._accepted.cancel()
            # A task that is cancelled before its first step would not run its cleanup.
            await asyncio.sleep(0)
            tasks = [self._accepted, *self._handshakes.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._listener.close()
        await asyncio.sleep(0)

    def dial(self, peer: int, *, early: bool, now: float) -> int:
        """Connect in the background and return the session number; `early` has no effect."""
        session = next(self.numbers)
        # A reference must be kept: asyncio holds only weak ones to tasks.
        self._dialling[session] = self.loop.create_task(self._dial(session, peer))
        return session

    async def _dial(self, session: int, peer: int) -> None:
        connecting = self.loop.create_connection(
            lambda: _Connection(self, session, peer), *self.addresses[peer],
            ssl=self._client_contexts[peer], server_hostname=server_name(peer),
        )  # fmt: skip
        try:
            await asyncio.wait_for(connecting, _CONNECT_SECONDS)
        except (OSError, asyncio.TimeoutError) as error:
            self.deliver(Closed(session, peer, f"cannot connect: {error!r}"))
        finally:
            self._dialling.pop(session, None)

    def close(self, session: int, reason: str, *, now: float) -> None:
        """Close a session, or cancel its connection attempt."""
        super().close(session, reason, now=now)
        if (task := self._dialling.pop(session, None)) is not None:
            task.cancel()

    def open(self, session: int) -> int:
        """Return the number of a new channel."""
        connection: _Connection = self.sessions[session]
        connection.channels += 1
        return connection.channels

    def send(self, session: int, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Queue bytes; do nothing if the session has ended."""
        if (connection := self.sessions.get(session)) is not None:
            connection.queue(channel, data, end)


open_transport = TcpTls
