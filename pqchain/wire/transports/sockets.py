"""Base classes: `BaseTransport` of all transports, `SocketTransport` of those on streams."""

from __future__ import annotations

import asyncio
import itertools
import time
from abc import ABC, abstractmethod
from typing import Any

from pqchain.wire.session import Address, Closed, Deliver
from pqchain.wire.transports.limits import TURN_SECONDS
from pqchain.wire.transports.registry import TransportSettings

_CONNECT_SECONDS = 10.0


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


class BaseTransport:
    """Sessions of one node over any protocol."""

    def __init__(self, settings: TransportSettings) -> None:
        self.identity, self.addresses = settings.identity, settings.addresses
        self.directory = {public.index: public for public in settings.directory}
        self.sessions: dict[int, Any] = {}
        """Sessions that have not ended, with `queued` and `end(reason)`."""

    def receive_into(
        self, session: int, channel: int, memory: memoryview | None, count: int, *, offset: int
    ) -> None:
        """Do nothing, unless a transport can receive into memory of the node."""

    def close(self, session: int, reason: str, *, now: float) -> None:
        """Close a session, or cancel its connection attempt."""
        if (connection := self.sessions.pop(session, None)) is not None:
            connection.end(reason)

    def queued_bytes(self) -> int:
        """Return the number of bytes that wait to be sent on all sessions."""
        return sum(session.queued.bytes for session in self.sessions.values())


class SocketTransport(BaseTransport, ABC):
    """Sessions of one node over streams; a subclass adds listening and connecting."""

    def __init__(self, settings: TransportSettings) -> None:
        super().__init__(settings)
        self.by_certificate = {
            public.certificate_der: public.index for public in settings.directory
        }
        self.deliver: Deliver = lambda event: None
        self.loop = asyncio.get_running_loop()
        self.turn = Turn(self.loop)
        self.numbers = itertools.count(1)
        self._dialling: dict[int, asyncio.Task[None]] = {}

    @abstractmethod
    async def connect(self, session: int, peer: int, address: Address) -> None:
        """Connect to a peer and deliver `Opened`. Raises OSError if the connection fails."""

    def dial(self, peer: int, *, early: bool, now: float) -> int:
        """Connect in the background and return the session number; `early` has no effect."""
        session = next(self.numbers)
        # A reference must be kept: asyncio holds only weak ones to tasks.
        self._dialling[session] = self.loop.create_task(self._dial(session, peer))
        return session

    async def _dial(self, session: int, peer: int) -> None:
        try:
            connecting = self.connect(session, peer, self.addresses[peer])
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

    def close_all(self) -> None:
        """Close all sessions and cancel all connection attempts."""
        for session in [*self.sessions, *self._dialling]:
            self.close(session, "shutdown", now=0.0)
