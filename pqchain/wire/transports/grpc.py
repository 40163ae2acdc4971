"""gRPC: each channel is one call that streams both ways. The only importer of grpc.

Both sides show pinned certificates. HTTP/2 multiplexes the calls of one connection. Knows who is at
the other end; what the bytes mean is the node's.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import grpc
import grpc.aio

from pqchain.wire import identities
from pqchain.wire.identities import Identity, PublicIdentity
from pqchain.wire.session import Address, Buffer, Closed, Deliver, Opened, Received

_SERVICE, _METHOD = "pqchain.Node", "Channel"
_MESSAGE_BYTES = 1 << 20
_CONNECT_SECONDS = 10.0
_OPTIONS = (
    ("grpc.max_receive_message_length", 2 * _MESSAGE_BYTES),
    ("grpc.max_send_message_length", 2 * _MESSAGE_BYTES),
    ("grpc.so_reuseport", 0),
)


class _Channel:
    """One call: what is to be sent, in order."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[memoryview, bool] | None] = asyncio.Queue()
        self.waiting = 0
        self.call: Any = None

    def put(self, data: Buffer, end: bool) -> None:
        view = memoryview(data).cast("B")
        self.waiting += len(view)
        self._queue.put_nowait((view, end))

    def end(self) -> None:
        self._queue.put_nowait(None)

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield what is to be sent, until the end."""
        while (item := await self._queue.get()) is not None:
            view, end = item
            for start in range(0, len(view), _MESSAGE_BYTES):
                part = bytes(view[start : start + _MESSAGE_BYTES])
                self.waiting -= len(part)
                yield part
            if end:
                return


class _Session:
    """One connection, from either side."""

    def __init__(self, number: int, peer: int, channel: grpc.aio.Channel | None) -> None:
        self.number = number
        self.peer = peer
        self.connection = channel
        self.channels: dict[int, _Channel] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.count = 0


class Grpc:
    """The gRPC server of one node and its connections to others."""

    def __init__(
        self,
        identity: Identity,
        directory: Sequence[PublicIdentity],
        addresses: Mapping[int, Address],
    ) -> None:
        """Set credentials up."""
        self._identity = identity
        self._addresses = addresses
        self._directory = {public.index: public for public in directory}
        self._by_certificate = {public.certificate_der: public.index for public in directory}
        self._sessions: dict[int, _Session] = {}
        self._by_place: dict[str, _Session] = {}
        self._deliver: Deliver = lambda event: None
        self._server: grpc.aio.Server | None = None
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._dialling: dict[int, asyncio.Task[None]] = {}

    async def listen(self, host: str, port: int, deliver: Deliver) -> Address:
        """Begin to listen."""
        self._deliver = deliver
        own = self._identity
        credentials = grpc.ssl_server_credentials(
            [(own.certificate_key_pem, own.public.certificate_pem)],
            root_certificates=identities.joined_pem(list(self._directory.values())),
            require_client_auth=True,
        )
        self._server = grpc.aio.server(options=_OPTIONS)
        handler = grpc.stream_stream_rpc_method_handler(self._called)
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(_SERVICE, {_METHOD: handler}),)
        )
        try:
            port = self._server.add_secure_port(f"{host}:{port}", credentials)
        except RuntimeError as error:
            raise OSError(f"gRPC cannot bind: {error}") from error
        await self._server.start()
        return host, port

    async def shut(self) -> None:
        """Close everything."""
        for task in self._dialling.values():
            task.cancel()
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await self._end(session)
        if self._server is not None:
            await self._server.stop(0)

    async def _called(
        self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> AsyncIterator[bytes]:
        """Serve one channel that another node has opened."""
        shown = context.auth_context().get("x509_pem_cert", [b""])[0]
        peer = self._by_certificate.get(identities.pem_to_der(shown)) if shown else None
        if peer is None:
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "no known certificate")
            return
        place = context.peer()
        session = self._by_place.get(place)
        if session is None:
            session = self._by_place[place] = _Session(next(self._numbers), peer, None)
            self._sessions[session.number] = session
            self._deliver(Opened(session.number, peer, False))
        session.count += 1
        number, channel = session.count, _Channel()
        session.channels[number] = channel

        async def read() -> None:
            async for message in requests:
                self._deliver(Received(session.number, number, message, False))
            self._deliver(Received(session.number, number, b"", True))

        reading = self._loop.create_task(read())
        try:
            async for message in channel.messages():
                yield message
        finally:
            reading.cancel()
            session.channels.pop(number, None)
            if not session.channels:
                self._by_place.pop(place, None)
                if self._sessions.pop(session.number, None) is not None:
                    self._deliver(Closed(session.number, peer, "the other side has ended it"))

    def dial(self, peer: int, *, early: bool, now: float) -> int:
        """Connect in the background."""
        session = next(self._numbers)
        self._dialling[session] = self._loop.create_task(self._connect(session, peer))
        return session

    async def _connect(self, number: int, peer: int) -> None:
        host, port = self._addresses[peer]
        own, other = self._identity, self._directory[peer]
        credentials = grpc.ssl_channel_credentials(
            root_certificates=other.certificate_pem, private_key=own.certificate_key_pem,
            certificate_chain=own.public.certificate_pem,
        )  # fmt: skip
        name = identities.server_name(peer)
        # Separate connections for separate sessions, which gRPC would otherwise share.
        options = (
            *_OPTIONS, ("grpc.ssl_target_name_override", name),
            ("grpc.use_local_subchannel_pool", 1),
        )  # fmt: skip
        connection = grpc.aio.secure_channel(f"{host}:{port}", credentials, options=options)
        try:
            await asyncio.wait_for(connection.channel_ready(), _CONNECT_SECONDS)
        except (asyncio.TimeoutError, grpc.RpcError) as error:
            await connection.close()
            self._deliver(Closed(number, peer, f"cannot connect: {error!r}"))
            return
        finally:
            self._dialling.pop(number, None)
        self._sessions[number] = _Session(number, peer, connection)
        self._deliver(Opened(number, peer, True))

    def open(self, session: int) -> int:
        """Begin a call."""
        owner = self._sessions[session]
        owner.count += 1
        number, channel = owner.count, _Channel()
        owner.channels[number] = channel
        task = self._loop.create_task(self._call(owner, number, channel))
        owner.tasks.add(task)
        task.add_done_callback(owner.tasks.discard)
        return number

    async def _call(self, session: _Session, number: int, channel: _Channel) -> None:
        """Run one call from our side."""
        assert session.connection is not None
        call = session.connection.stream_stream(f"/{_SERVICE}/{_METHOD}")(channel.messages())
        channel.call = call
        try:
            async for message in call:
                self._deliver(Received(session.number, number, message, False))
            self._deliver(Received(session.number, number, b"", True))
        except grpc.RpcError as error:
            if self._sessions.pop(session.number, None) is not None:
                self._deliver(Closed(session.number, session.peer, f"call failed: {error!r}"))
                await self._end(session)
        except asyncio.CancelledError:
            return
        finally:
            session.channels.pop(number, None)

    def send(self, session: int, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Queue bytes."""
        owner = self._sessions.get(session)
        found = owner.channels.get(channel) if owner is not None else None
        if found is not None:
            found.put(data, end)

    def stop(self, session: int, channel: int) -> None:
        """Cancel the call."""
        owner = self._sessions.get(session)
        found = owner.channels.pop(channel, None) if owner is not None else None
        if found is not None and found.call is not None:
            found.call.cancel()

    def close(self, session: int, reason: str, *, now: float) -> None:
        """End a session in the background."""
        owner = self._sessions.pop(session, None)
        if owner is not None:
            task = self._loop.create_task(self._end(owner))
            owner.tasks.add(task)
        dialling = self._dialling.pop(session, None)
        if dialling is not None:
            dialling.cancel()

    async def _end(self, session: _Session) -> None:
        """Close a connection and its calls."""
        for channel in list(session.channels.values()):
            channel.end()
        if session.connection is not None:
            await session.connection.close()

    def queued_bytes(self) -> int:
        """Return what waits."""
        return sum(
            channel.waiting
            for session in self._sessions.values()
            for channel in session.channels.values()
        )
