"""Admission control for unauthenticated connections, which are limited in total and per host.

Above a limit a new connection evicts the oldest half-open one of the host with the most, because an
honest handshake is short; an evicted honest client dials again.
"""

from __future__ import annotations

from collections import Counter

MAX_HALF_OPEN, MAX_PER_HOST = 512, 128
"""Half-open connections in total and per host, unless a transport sets lower limits."""


class Admission:
    """Half-open connections, those without a proof of identity, the oldest first."""

    def __init__(
        self, max_half_open: int = MAX_HALF_OPEN, max_per_host: int = MAX_PER_HOST
    ) -> None:
        self._max_half_open, self._max_per_host = max_half_open, max_per_host
        self._half_open: dict[int, str] = {}
        """Host of each half-open connection, by session."""

    def add(self, session: int, host: str) -> int | None:
        """Add a half-open connection; remove and return the one that it evicts, or None."""
        hosts, evicted = Counter(self._half_open.values()), None
        if hosts[host] >= self._max_per_host or hosts.total() >= self._max_half_open:
            busiest = host if hosts[host] >= self._max_per_host else hosts.most_common(1)[0][0]
            # Dicts keep insertion order, so that the first match is the host's oldest.
            evicted = next(number for number, at in self._half_open.items() if at == busiest)
            del self._half_open[evicted]
        self._half_open[session] = host
        return evicted

    def remove(self, session: int) -> None:
        """Remove a connection that has ended or was authenticated."""
        self._half_open.pop(session, None)
