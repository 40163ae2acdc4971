"""TLS 1.3 over TCP: both sides show pinned certificates; channels share one connection in frames.

A frame is a channel (4 bytes), a length (4), a flag that says whether it is the last (1), and the
bytes. Channels take turns, one frame each, so that none waits for another's chunk. Knows who is at
the other end; what the bytes mean is the node's.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import ssl
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pqchain.wire import identities
from pqchain.wire.identities import Identity, PublicIdentity
from pqchain.wire.session import Address, Buffer, Closed, Deliver, Opened, Received

_HEADER = struct.Struct("!IIB")
_FRAME_BYTES = 64 << 10
_CONNECT_SECONDS = 10.0


class _Line(asyncio.Protocol):
    """One TLS connection."""

    def __init__(self, owner: TcpTls, session: int, peer: int | None) -> None:
        self.owner = owner
        self.session = session
        self.peer = peer
        self.dialled = peer is not None
        self.channels = 0
        self._transport: asyncio.Transport | None = None
        self._paused = False
        self._head = bytearray()
        self._channel = self._left = 0
        self._last = False
        self._queues: dict[int, deque[tuple[memoryview, bool]]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Find out who this is."""
        # uvloop's transports are asyncio's by behaviour, not by class.
        self._transport = cast(asyncio.Transport, transport)
        shown = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        found = self.owner.by_certificate.get(shown)
        if found is None or (self.dialled and found != self.peer):
            self.end()
            return
        self.peer = found
        self.owner.lines[self.session] = self
        self.owner.deliver(Opened(self.session, found, self.dialled))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the node, unless it has asked for this."""
        self.end()  # Python 3.10 calls a transport unclosed that only the other side has closed
        known = self.owner.lines.pop(self.session, None) is not None
        if known and self.peer is not None:
            reason = str(exc) if exc else "the other side has ended it"
            self.owner.deliver(Closed(self.session, self.peer, reason))

    def data_received(self, data: bytes) -> None:
        """Take frames apart."""
        view = memoryview(data)
        while view:
            if not self._left:
                take = _HEADER.size - len(self._head)
                self._head += view[:take]
                view = view[take:]
                if len(self._head) < _HEADER.size:
                    return
                self._channel, self._left, last = _HEADER.unpack(self._head)
                self._last = bool(last)
                self._head.clear()
                if self._left > _FRAME_BYTES:
                    self.end()
                    return
                if not self._left:
                    self._tell(b"", self._last)
                continue
            piece, view = view[: self._left], view[self._left :]
            self._left -= len(piece)
            self._tell(bytes(piece), self._last and not self._left)

    def _tell(self, data: bytes, end: bool) -> None:
        if self.session in self.owner.lines:
            self.owner.deliver(Received(self.session, self._channel, data, end))

    def pause_writing(self) -> None:
        """Stop: the socket is full."""
        self._paused = True

    def resume_writing(self) -> None:
        """Go on."""
        self._paused = False
        self.pump()

    def queue(self, channel: int, data: Buffer, end: bool) -> None:
        """Send bytes when their turn comes."""
        view = memoryview(data).cast("B")
        self._queues.setdefault(channel, deque()).append((view, end))
        self.pump()

    def queued_bytes(self) -> int:
        """Return what waits."""
        return sum(len(view) for queue in self._queues.values() for view, _ in queue)

    def drop(self, channel: int) -> None:
        """Forget what was to be sent on a channel."""
        self._queues.pop(channel, None)

    def pump(self) -> None:
        """Write frames, channels in turn, until the socket is full."""
        transport = self._transport
        while self._queues and not self._paused and transport is not None:
            channel, queue = next(iter(self._queues.items()))
            view, end = queue.popleft()
            part, rest = view[:_FRAME_BYTES], view[_FRAME_BYTES:]
            if len(rest):
                queue.appendleft((rest, end))
            last = end and not len(rest)
            # To the back of the line.
            del self._queues[channel]
            if queue:
                self._queues[channel] = queue
            transport.writelines([_HEADER.pack(channel, len(part), last), part])

    def end(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.abort()


class TcpTls:
    """All TLS connections of one node."""

    def __init__(
        self,
        identity: Identity,
        directory: Sequence[PublicIdentity],
        addresses: Mapping[int, Address],
        folder: Path,
    ) -> None:
        """Set TLS up; OpenSSL reads our key from a file, which is gone afterwards."""
        self._addresses = addresses
        self._directory = {public.index: public for public in directory}
        self.by_certificate = {public.certificate_der: public.index for public in directory}
        self.lines: dict[int, _Line] = {}
        self.deliver: Deliver = lambda event: None
        self._loop = asyncio.get_running_loop()
        self._server: asyncio.Server | None = None
        self._numbers = itertools.count(1)
        self._dialling: dict[int, asyncio.Task[None]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f".key-{identity.index}.pem"
        descriptor = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as handle:
                handle.write(identity.certificate_key_pem + identity.public.certificate_pem)
            self._accepting = self._context(ssl.PROTOCOL_TLS_SERVER, file, directory)
            self._calling = {
                public.index: self._context(ssl.PROTOCOL_TLS_CLIENT, file, [public])
                for public in directory
                if public.index != identity.index
            }
        finally:
            file.unlink()

    @staticmethod
    def _context(protocol: Any, file: Path, trusted: Sequence[PublicIdentity]) -> ssl.SSLContext:
        """Return a context that accepts those certificates and no others."""
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=identities.joined_pem(trusted).decode())
        context.load_cert_chain(file)
        return context

    async def listen(self, host: str, port: int, deliver: Deliver) -> Address:
        """Begin to listen."""
        self.deliver = deliver
        self._server = await self._loop.create_server(
            lambda: _Line(self, next(self._numbers), None), host, port, ssl=self._accepting
        )
        name = self._server.sockets[0].getsockname()
        return str(name[0]), int(name[1])

    async def shut(self) -> None:
        """Close everything."""
        for task in self._dialling.values():
            task.cancel()
        lines, self.lines = self.lines, {}
        for line in lines.values():
            line.end()
        if self._server is not None:
            self._server.close()
        await asyncio.sleep(0)

    def dial(self, peer: int, *, early: bool, now: float) -> int:
        """Connect in the background; TLS here has no 0-RTT."""
        session = next(self._numbers)
        self._dialling[session] = self._loop.create_task(self._connect(session, peer))
        return session

    async def _connect(self, session: int, peer: int) -> None:
        host, port = self._addresses[peer]
        try:
            await asyncio.wait_for(
                self._loop.create_connection(
                    lambda: _Line(self, session, peer), host, port, ssl=self._calling[peer],
                    server_hostname=identities.server_name(peer),
                ),
                _CONNECT_SECONDS,
            )  # fmt: skip
        except (OSError, asyncio.TimeoutError) as error:
            self.deliver(Closed(session, peer, f"cannot connect: {error}"))
        finally:
            self._dialling.pop(session, None)

    def open(self, session: int) -> int:
        """Return the number of a new channel."""
        line = self.lines[session]
        line.channels += 1
        return line.channels

    def send(self, session: int, channel: int, data: Buffer, *, end: bool = False) -> None:
        """Queue bytes."""
        line = self.lines.get(session)
        if line is not None:
            line.queue(channel, data, end)

    def stop(self, session: int, channel: int) -> None:
        """Do nothing: TCP has no word for it, what still comes is thrown away."""

    def close(self, session: int, reason: str, *, now: float) -> None:
        """End a session."""
        line = self.lines.pop(session, None)
        if line is not None:
            line.end()
        task = self._dialling.pop(session, None)
        if task is not None:
            task.cancel()

    def queued_bytes(self) -> int:
        """Return what waits."""
        return sum(line.queued_bytes() for line in self.lines.values())
