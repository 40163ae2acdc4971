"""Session tickets of a QUIC endpoint, limited in number and age."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MAX_PER_PEER = 32
"""Maximum number of tickets of one peer; a further one replaces the oldest."""

MAX_AGE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Ticket:
    """Session ticket of a QUIC library, with the peer and the time of its issue in seconds."""

    ticket: Any
    peer: int
    issued: float


class Tickets:
    """Tickets issued to clients, or received from servers; each can be used once."""

    # A peer gets a ticket with every handshake, and would fill the memory by dialling in a loop. A
    # ticket replaces the proof of identity, so that a stolen one must not be valid for long; a node
    # that redials after a failure does so within minutes.

    def __init__(self) -> None:
        self._by_peer: dict[int, dict[bytes, Ticket]] = {}
        """Tickets by peer and label, the oldest first."""

    def add(self, ticket: Ticket) -> None:
        """Keep a ticket, and drop the peer's oldest one above the limit."""
        tickets = self._by_peer.setdefault(ticket.peer, {})
        tickets[ticket.ticket.ticket] = ticket
        if len(tickets) > MAX_PER_PEER:
            del tickets[next(iter(tickets))]

    def pop(self, label: bytes, now: float) -> Ticket | None:
        """Remove and return the ticket with this label, or None if it is unknown or too old."""
        # Removed at the first use, so that a replay of the same first flight finds no ticket.
        for tickets in self._by_peer.values():
            if (ticket := tickets.pop(label, None)) is not None:
                return ticket if now - ticket.issued <= MAX_AGE_SECONDS else None
        return None

    def pop_newest(self, peer: int, now: float) -> Ticket | None:
        """Remove and return the peer's newest ticket, or None if there is none or it is too old."""
        label = next(reversed(self._by_peer.get(peer, {})), None)
        return None if label is None else self.pop(label, now)
