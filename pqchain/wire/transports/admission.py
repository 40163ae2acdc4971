"""Admission control for unauthenticated connections.

The number of half-open connections, those without a proof of identity, is limited in total and per
host. Over QUIC the source address of a first datagram can be spoofed. Only a few connections with
an unvalidated address are therefore kept; above that number a client must first validate its
address by returning a token (Retry, RFC 9000, section 8.1.2). A rejected connection leaves no
state, and an honest client retries. Over TCP the system has validated the address, and a new
connection evicts the oldest half-open one, because an honest handshake is short.
"""

from __future__ import annotations

import hmac
import os
from collections import Counter
from hashlib import sha256
from typing import NamedTuple

from pqchain.wire.session import Address

MAX_UNVALIDATED = 64
"""Number of half-open connections with unvalidated addresses from which a token is required."""

MAX_HALF_OPEN, MAX_PER_HOST = 512, 128
"""Half-open connections in total and per host, unless a transport sets lower limits."""

TOKEN_SECONDS = 15

_MAC_BYTES, _TIME_BYTES, _ID_BYTES = 16, 8, 8


class ConnectionIds(NamedTuple):
    """Connection ids of a client's first packets, which the server repeats (RFC 9000, 7.3)."""

    original: bytes
    retry: bytes | None
    """Connection id of the Retry packet, or None if there was none."""


class Admission:
    """Limit half-open connections, and create and check stateless Retry tokens."""

    def __init__(
        self, max_half_open: int = MAX_HALF_OPEN, max_per_host: int = MAX_PER_HOST
    ) -> None:
        self._max_half_open, self._max_per_host = max_half_open, max_per_host
        # A fresh key per endpoint: tokens are valid for seconds and need not survive a restart.
        self._key = os.urandom(32)
        self._half_open: dict[int, tuple[str, bool]] = {}
        """Half-open connections by session: the host, and whether its address is validated."""

    def is_full(self, host: str) -> bool:
        """Return whether the total limit or the limit per host is reached."""
        hosts = self._hosts()
        return hosts.total() >= self._max_half_open or hosts[host] >= self._max_per_host

    def evict_for(self, host: str) -> int | None:
        """Return the session to evict for a new connection of `host`, or None if not necessary."""
        hosts = self._hosts()
        if hosts[host] < self._max_per_host:
            if hosts.total() < self._max_half_open:
                return None
            ((host, _),) = hosts.most_common(1)
        # Dicts keep insertion order, so that the first match is the host's oldest.
        return next(session for session, (name, _) in self._half_open.items() if name == host)

    def _hosts(self) -> Counter[str]:
        return Counter(host for host, _ in self._half_open.values())

    @property
    def requires_token(self) -> bool:
        """Whether a new client must validate its address with a token first."""
        return sum(not validated for _, validated in self._half_open.values()) >= MAX_UNVALIDATED

    def add(self, session: int, host: str, *, validated: bool) -> None:
        """Add a half-open connection; `validated` says whether its address is validated."""
        self._half_open[session] = (host, validated)

    def remove(self, session: int) -> None:
        """Remove a connection that has ended or was authenticated."""
        self._half_open.pop(session, None)

    def token(self, address: Address, original: bytes, now: float) -> tuple[bytes, bytes]:
        """Return a Retry token for an address, and the connection id of the Retry packet.

        `original` is the connection id that the client chose first; `now` is in seconds.
        """
        retry = os.urandom(_ID_BYTES)
        # The token carries all state, authenticated, so that the server stores nothing per client.
        content = int(now * 1000).to_bytes(_TIME_BYTES, "big") + retry + original
        return self._mac(address, content) + content, retry

    def check_token(
        self, token: bytes, address: Address, connection_id: bytes, now: float
    ) -> ConnectionIds | None:
        """Return a token's connection ids, or None if it is invalid here or has expired."""
        mac, content = token[:_MAC_BYTES], token[_MAC_BYTES:]
        created, ids = content[:_TIME_BYTES], content[_TIME_BYTES:]
        retry, original = ids[:_ID_BYTES], ids[_ID_BYTES:]
        genuine = hmac.compare_digest(mac, self._mac(address, content)) and retry == connection_id
        if not genuine or not 0 <= now - int.from_bytes(created, "big") / 1000 <= TOKEN_SECONDS:
            return None
        return ConnectionIds(original, retry)

    def _mac(self, address: Address, content: bytes) -> bytes:
        source = f"{address[0]} {address[1]}\0".encode()
        return hmac.new(self._key, source + content, sha256).digest()[:_MAC_BYTES]
