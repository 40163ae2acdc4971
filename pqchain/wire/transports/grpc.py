"""gRPC transport; a channel is a bidirectional streaming call. Only this module imports grpc.

Both sides authenticate with pinned certificates. HTTP/2 multiplexes the calls of a connection.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio

from pqchain.wire.identity import server_name
from pqchain.wire.session import Address, Buffer, Closed, Deliver, Opened, Received
from pqchain.wire.transports.limits import PEER_NOT_READING, PIECE_BYTES, Queued
from pqchain.wire.transports.registry import TransportSettings
from pqchain.wire.transports.sockets import SocketTransport

_SERVICE, _METHOD = "pqchain.Node", "Channel"
# The library buffers one message per call: 13 MB for 100 calls. Its windows do not adapt to the
# link's capacity (bdp_probe is off), else it would buffer gigabytes.
_MESSAGE_BYTES = 128 << 10

_OPTIONS = (
    ("grpc.max_receive_message_length", _MESSAGE_BYTES),
    ("grpc.max_send_message_length", _MESSAGE_BYTES),
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", _MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),
)

MAX_CONNECTIONS, MAX_CALLS = 512, 100
"""Maximum number of connections per server, and of calls per connection."""

HANDSHAKE_SECONDS = 5.0

MAX_HEADER_BYTES = 8 << 10

MAX_PER_PEER = 6
"""Maximum number of a peer's connections with open calls; calls on others are rejected.

A server cannot close a connection, and a call ends only when its last message was sent.
"""

MAX_SENDING = 16
"""Maximum number of a session's messages that the library buffers: 2 MB, and a copy of it."""

IDLE_SECONDS = 30.0
"""Maximum time without calls, and interval of the pings on a connection with calls, in seconds."""

LOG = logging.getLogger("pqchain.wire")

_WARNING = (
    f"gRPC limits connections in total and not per host: a host that opens {MAX_CONNECTIONS} every "
    "%g s blocks other nodes; the transports tcp-tls and native prevent this"
)


@dataclass(eq=False)
class _Channel:
    # Shared by all channels of the session.
    queued: Queued
    sending: asyncio.Semaphore
    queue: asyncio.Queue[tuple[memoryview, bool] | None] = field(default_factory=asyncio.Queue)
    call: Any = None

    def put(self, data: Buffer, end: bool) -> None:
        view = memoryview(data).cast("B")
        self.queued.add(view)
        self.queue.put_nowait((view, end))

    def abandon(self) -> None:
        while not self.queue.empty():
            if (item := self.queue.get_nowait()) is not None:
                self.queued.remove(item[0])
        self.queue.put_nowait(None)

    async def messages(self) -> AsyncGenerator[bytes, None]:
        while (item := await self.queue.get()) is not None:
            view, end = item
            self.queued.remove(view)
            for start in range(0, len(view), _MESSAGE_BYTES):
                async with self.sending:  # held until the library requests the next message
                    yield bytes(view[start : start + _MESSAGE_BYTES])
            if end:
                return


@dataclass(eq=False)
class _Session:
    owner: Grpc
    number: int
    peer: int
    connection: grpc.aio.Channel | None = None
    channels: dict[int, _Channel] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    queued: Queued = field(default_factory=Queued)
    sending: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_SENDING))
    count: int = 0

    def add_channel(self) -> tuple[int, _Channel]:
        self.count += 1
        channel = self.channels[self.count] = _Channel(self.queued, self.sending)
        return self.count, channel

    def end(self, reason: str = "") -> None:
        _run_in_background(self.owner.ending, self._end())

    async def _end(self) -> None:
        for channel in [*self.channels.values()]:
            channel.queue.put_nowait(None)
            await asyncio.sleep(0)  # not all calls end in one turn of the loop
        if self.connection is not None:
            await self.connection.close()


class Grpc(SocketTransport):
    """gRPC server of one node, and its connections to other nodes."""

    def __init__(self, settings: TransportSettings) -> None:
        super().__init__(settings)
        self._by_address: dict[str, _Session] = {}
        self._server: grpc.aio.Server | None = None
        self.ending: set[asyncio.Task[None]] = set()

    async def listen(self, host: str, port: int, deliver: Deliver) -> Address:
        """Start to listen; log a warning unless on loopback. Raises OSError if binding fails."""
        self.deliver = deliver
        if not host.startswith("127."):
            LOG.warning(_WARNING, HANDSHAKE_SECONDS)
        identity = self.identity
        credentials = grpc.ssl_server_credentials(
            [(identity.certificate_key_pem, identity.public.certificate_pem)],
            root_certificates=b"".join(
                public.certificate_pem for public in self.directory.values()
            ),
            require_client_auth=True,
        )
        options = (
            *_OPTIONS,
            ("grpc.max_allowed_incoming_connections", MAX_CONNECTIONS),
            ("grpc.server_handshake_timeout_ms", int(HANDSHAKE_SECONDS * 1000)),
            ("grpc.http2.settings_timeout", int(HANDSHAKE_SECONDS * 1000)),
            ("grpc.max_concurrent_streams", MAX_CALLS),
            ("grpc.max_connection_idle_ms", int(IDLE_SECONDS * 1000)),
            ("grpc.keepalive_time_ms", int(IDLE_SECONDS * 1000)),
            ("grpc.max_metadata_size", MAX_HEADER_BYTES // 2),
            ("grpc.absolute_max_metadata_size", MAX_HEADER_BYTES),
        )
        self._server = grpc.aio.server(options=options)
        handler = grpc.stream_stream_rpc_method_handler(self._handle_call)
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(_SERVICE, {_METHOD: handler}),)
        )
        try:
            port = self._server.add_secure_port(f"{host}:{port}", credentials)
        except RuntimeError as error:
            raise OSError(f"gRPC cannot bind: {error}") from error
        await self._server.start()
        return host, port

    async def shutdown(self) -> None:
        """Close all sessions and stop the server."""
        self.close_all()
        await asyncio.gather(*self.ending)
        if self._server is not None:
            await self._server.stop(0)

    async def _handle_call(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> AsyncIterator[bytes]:
        # A client may start many calls at once.
        while self.turn.is_over:
            await asyncio.sleep(0)
        pem = context.auth_context().get("x509_pem_cert", [b""])[0]
        peer = self.by_certificate.get(ssl.PEM_cert_to_DER_cert(pem.decode())) if pem else None
        if peer is None:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "no known certificate")
            return
        # gRPC does not expose connections; the client's address and port identify one.
        address = context.peer()
        if (session := self._by_address.get(address)) is None:
            if sum(other.peer == peer for other in self._by_address.values()) >= MAX_PER_PEER:
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many connections")
                return
            session = self._by_address[address] = _Session(self, next(self.numbers), peer)
            self.sessions[session.number] = session
            self.deliver(Opened(session.number, peer, False))
        elif session.number not in self.sessions:
            # The server cannot close a client's connection; further calls on it are rejected.
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the session has ended")
            return
        number, channel = session.add_channel()
        reading = self.loop.create_task(self._read(session, number, requests))
        try:
            async with aclosing(channel.messages()) as messages:
                async for message in messages:
                    yield message
        finally:
            reading.cancel()
            session.channels.pop(number, None)
            if not session.channels:
                self._by_address.pop(address, None)
                if self.sessions.pop(session.number, None) is not None:
                    self.deliver(Closed(session.number, peer, "the peer has closed the session"))

    async def _read(self, session: _Session, number: int, messages: AsyncIterator[bytes]) -> None:
        """Deliver messages; pause reading while the turn's time budget is used up."""
        async for message in messages:
            for start in range(0, len(message), PIECE_BYTES):
                while self.turn.is_over:
                    await asyncio.sleep(0)
                piece = message[start : start + PIECE_BYTES]
                self.deliver(Received(session.number, number, piece, False))
        self.deliver(Received(session.number, number, b"", True))

    async def connect(self, session: int, peer: int, address: Address) -> None:
        """Connect to a peer and deliver `Opened`. Raises OSError if the connection fails."""
        identity, name = self.identity, server_name(peer)
        credentials = grpc.ssl_channel_credentials(
            root_certificates=self.directory[peer].certificate_pem,
            private_key=identity.certificate_key_pem,
            certificate_chain=identity.public.certificate_pem,
        )
        # gRPC would share one connection between sessions to the same address.
        unshared = ("grpc.use_local_subchannel_pool", 1)
        options = (*_OPTIONS, ("grpc.ssl_target_name_override", name), unshared)
        host, port = address
        connection = grpc.aio.secure_channel(f"{host}:{port}", credentials, options=options)
        try:
            await connection.channel_ready()
        except BaseException as error:
            await connection.close()
            if isinstance(error, grpc.RpcError):
                raise OSError(str(error)) from error
            raise
        self.sessions[session] = _Session(self, session, peer, connection)
        self.deliver(Opened(session, peer, True))

    def open(self, session: int) -> int:
        """Start a call and return its channel number."""
        owner: _Session = self.sessions[session]
        number, channel = owner.add_channel()
        _run_in_background(owner.tasks, self._call(owner, number, channel))
        return number

    async def _call(self, session: _Session, number: int, channel: _Channel) -> None:
        assert session.connection is not None
        call = session.connection.stream_stream(f"/{_SERVICE}/{_METHOD}")()
        channel.call = call
        writing = self.loop.create_task(_write(call, channel))
        try:
            await self._read(session, number, call)
        except grpc.RpcError as error:
            if self.sessions.pop(session.number, None) is not None:
                self.deliver(Closed(session.number, session.peer, f"call failed: {error!r}"))
                session.end()
        except asyncio.CancelledError:
            return
        finally:
            writing.cancel()
            session.channels.pop(number, None)

    def send(self, session: int, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Queue bytes; close the session if its queue becomes full."""
        owner = self.sessions.get(session)
        if owner is not None and (call := owner.channels.get(channel)) is not None:
            call.put(data, end)
            if owner.queued.is_full:
                for call in owner.channels.values():
                    call.abandon()
                self.close(session, PEER_NOT_READING, now=0.0)
                closed = Closed(session, owner.peer, PEER_NOT_READING)
                # Scheduled, because the node is still inside its call of `send`.
                self.loop.call_soon(self.deliver, closed)

    def stop(self, session: int, channel: int) -> None:
        """Cancel the call of a channel."""
        owner = self.sessions.get(session)
        stopped = owner.channels.pop(channel, None) if owner is not None else None
        if stopped is not None:
            stopped.abandon()
            if stopped.call is not None:
                stopped.call.cancel()


async def _write(call: Any, channel: _Channel) -> None:
    # The library could iterate over the messages itself, but its task would wait for the next one
    # for ever after the peer has ended the call.
    try:
        async with aclosing(channel.messages()) as messages:
            async for message in messages:
                await call.write(message)
        await call.done_writing()
    except (grpc.RpcError, asyncio.InvalidStateError):
        pass  # the call has ended, which its reader reports


def _run_in_background(tasks: set[asyncio.Task[None]], running: Coroutine[Any, Any, None]) -> None:
    # The task is kept until it ends, because asyncio has only weak references to tasks.
    task = asyncio.get_running_loop().create_task(running)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


open_transport = Grpc
