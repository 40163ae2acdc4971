"""Sessions with the other nodes, heartbeats and failure detection.

This module does not handle chunks. When a session ends, it calls `forget`, a callback that
drops the node's other state of the session.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from pqchain.errors import DataError
from pqchain.reencode.protocol.messages import Message, MessageParser, pack
from pqchain.reencode.protocol.work import NodeContext
from pqchain.wire.session import Key, Opened

LOG = logging.getLogger("pqchain.reencode")

# Timeouts after which a node that never sent anything is considered dead.
_UNKNOWN_TIMEOUTS = 10

MAX_PARTIAL_BYTES = 4 << 20
"""Maximum bytes of a peer's incomplete messages on all its channels."""

MAX_SESSIONS = 4
"""Maximum number of sessions dialled by a peer; it needs one for heartbeats and one for chunks."""

MAX_CHANNELS = 1024
"""Maximum number of open channels per session; an honest peer ends each with its request."""

_MAX_QUEUED_BYTES = 1 << 62


def _queued(message: Message) -> int:
    count = int(message["queued"])
    # The number comes from a peer, and is later converted to a float.
    if not 0 <= count <= _MAX_QUEUED_BYTES:
        raise DataError(f"queued must be a number of bytes; got {str(count)[:20]}")
    return count


@dataclass(slots=True, eq=False)
class Peer:
    """A node's view of one peer."""

    index: int
    heard: float
    alive: bool = True
    known: bool = False
    """Whether any data of the peer was ever received."""
    session: int = 0
    """Number of the session dialled to the peer, once it is open; otherwise 0."""
    dialling: int = 0
    channel: int = 0
    queued: int = 0
    """Length of the peer's send queues in bytes, as reported by the peer."""
    failed: bool = False
    """Whether the peer reports that its work has failed; it continues to serve chunks."""
    reported: int = 0
    """Number of this node's confirmations that the session has carried."""


class PeerSessions:
    """Sessions with all other nodes of the mesh, and detection of their failures."""

    def __init__(
        self,
        context: NodeContext,
        content: Callable[[Peer], Message],
        forget: Callable[[Peer, int], None],
    ) -> None:
        self._context, self._content, self._forget = context, content, forget
        self.all: dict[int, Peer] = {}
        self.readers: dict[Key, MessageParser] = {}
        self.next_heartbeat: float | None = None
        self.by_session: dict[int, Peer] = {}
        self._accepted: dict[int, set[int]] = {}
        """Open channels of the peer, by the session that it dialled."""
        self._beat = 0
        self._since = 0.0

    def start(self) -> None:
        """Initialise the peers; the first `tick` dials them."""
        context = self._context
        self._since = context.now
        others = (index for index in range(context.scenario.nodes) if index != context.index)
        self.all = {index: Peer(index, heard=context.now) for index in others}

    @property
    def connected(self) -> bool:
        """Whether sessions to all peers are open."""
        return all(peer.session for peer in self.all.values())

    def tick(self) -> bool:
        """Send heartbeats and dial lost peers; return True if a peer is newly considered dead."""
        context, newly_dead = self._context, False
        self.next_heartbeat = context.now + context.scenario.heartbeat_seconds
        self._beat += 1
        for peer in self.all.values():
            if peer.session:
                self._send_heartbeat(peer)
            elif not peer.dialling:
                peer.dialling = self.dial(peer)
            # A peer that never sent anything may still be starting.
            patience = context.scenario.timeout_seconds * (1 if peer.known else _UNKNOWN_TIMEOUTS)
            if peer.alive and context.now - peer.heard > patience:
                LOG.info("node %d: node %d is dead", context.index, peer.index)
                peer.alive = False
                newly_dead = True
                # This also resets `peer.session`, so that the next heartbeat dials again.
                for session in [at for at, other in self.by_session.items() if other is peer]:
                    self._close(session, "peer timed out")
        return newly_dead

    def send_heartbeats(self) -> None:
        """Send a heartbeat to all peers ahead of schedule, because its content has changed."""
        self._beat += 1
        for peer in self.all.values():
            if peer.session:
                self._send_heartbeat(peer)

    def dial(self, peer: Peer, *, early: bool = False) -> int:
        """Dial a peer and return the session number."""
        session = self._context.transport.dial(peer.index, early=early, now=self._context.now)
        self.by_session[session] = peer
        return session

    def opened(self, event: Opened) -> Peer:
        """Register an open session and return its peer; start heartbeats if `tick` dialled it."""
        peer = self.all[event.peer]
        self.record_data(peer)
        self.by_session[event.session] = peer
        if not event.dialled:
            self._accepted[event.session] = set()
            sessions = [at for at in self._accepted if self.by_session[at] is peer]
            # Sessions are in the order of opening, so that the first is the oldest.
            if len(sessions) > MAX_SESSIONS:
                self._close(sessions[0], "too many sessions")
        if event.dialled and event.session == peer.dialling:
            peer.session, peer.dialling, peer.reported = event.session, 0, 0
            peer.channel = self._context.transport.open(peer.session)
            self.readers[peer.session, peer.channel] = MessageParser()
            self._send_heartbeat(peer)
        return peer

    def closed(self, session: int) -> Peer | None:
        """Unregister an ended session; return its peer, or None if the session is unknown."""
        if (peer := self.by_session.pop(session, None)) is None:
            return None
        self._accepted.pop(session, None)
        for key in [key for key in self.readers if key[0] == session]:
            del self.readers[key]
        if session in (peer.session, peer.dialling):
            peer.session = peer.dialling = peer.channel = 0
        self._forget(peer, session)
        return peer

    def accept(self, key: Key) -> MessageParser:
        """Return a parser for a peer's new channel. Raises DataError if the peer has too many."""
        channels = self._accepted.setdefault(key[0], set())
        if len(channels) >= MAX_CHANNELS:
            raise DataError(f"open channels of a peer must be at most {MAX_CHANNELS}")
        channels.add(key[1])
        reader = self.readers[key] = MessageParser()
        return reader

    def ended(self, key: Key) -> None:
        """Unregister a channel that the peer has ended."""
        self.readers.pop(key, None)
        self._accepted.get(key[0], set()).discard(key[1])

    def record_data(self, peer: Peer) -> None:
        """Record that data of a peer was received."""
        peer.heard = self._context.now
        peer.alive = peer.known = True

    def partial_bytes(self, peer: Peer) -> int:
        """Return the total bytes of a peer's incomplete messages on all channels."""
        return sum(
            reader.partial_bytes
            for (session, _), reader in self.readers.items()
            if self.by_session.get(session) is peer
        )

    def handle_heartbeat(self, peer: Peer, key: Key, message: Message) -> None:
        """Process a heartbeat and answer with an echo."""
        peer.queued = _queued(message)
        peer.failed = bool(message["failed"])
        queued = self._context.transport.queued_bytes()
        echo = {"type": "echo", "number": message["number"], "queued": queued}
        self._context.transport.send(*key, pack(echo))

    def handle_echo(self, peer: Peer, message: Message) -> None:
        """Process the echo of a heartbeat."""
        peer.queued = _queued(message)

    def _send_heartbeat(self, peer: Peer) -> None:
        message: Message = {
            "type": "beat",
            "number": self._beat,
            "since": self._since,
            "queued": self._context.transport.queued_bytes(),
            **self._content(peer),
        }
        self._context.transport.send(peer.session, peer.channel, pack(message))

    def _close(self, session: int, reason: str) -> None:
        self.closed(session)
        self._context.transport.close(session, reason, now=self._context.now)
