"""Whom a node lets in while many knock: connections that prove nothing shall cost it little.

Only so many may be half open: in all, and of one host. Over QUIC anybody can send a first datagram
in anybody's name. So only a few such connections are kept that have proven nothing; above that an
address must show first that it hears us, by sending back a token (Retry, RFC 9000, section 8.1.2).
What is turned away is forgotten; an honest client tries again. Over TCP the system has seen to the
address, and whoever has been half open for longest makes room: an honest handshake is short.
"""

from __future__ import annotations

import hmac
import os
from collections import Counter
from hashlib import sha256
from typing import NamedTuple

from pqchain.wire.session import Address

MOST_UNKNOWN = 64
"""Connections whose address nobody has vouched for. More nodes than that do not start at once."""

MOST_HALF_OPEN = 512
"""Connections without a proof of identity, all together, unless a transport has less room."""

MOST_OF_ONE_HOST = 128
"""Of these, those that come from one host."""

TOKEN_SECONDS = 15
"""How long an address may take to come back with its token."""

_MAC_BYTES, _TIME_BYTES, _ID_BYTES = 16, 8, 8


class Names(NamedTuple):
    """What a connection has to be told: the names that its client used before."""

    original: bytes
    retried: bytes | None
    """Ours in the Retry, if there was one."""


class Admission:
    """Counts who is half open, and makes and reads tokens; keeps nothing of who was sent one."""

    def __init__(
        self, most: int = MOST_HALF_OPEN, most_of_one_host: int = MOST_OF_ONE_HOST
    ) -> None:
        self._most, self._most_of_one_host = most, most_of_one_host
        self._key = os.urandom(32)
        self._half_open: dict[int, tuple[str, bool]] = {}
        """By session: the host, and whether its address was vouched for."""

    def full(self, host: str) -> bool:
        """Whether nobody more is let in, or nobody of that host."""
        hosts = self._hosts()
        return hosts.total() >= self._most or hosts[host] >= self._most_of_one_host

    def crowded_out(self, host: str) -> int | None:
        """Return the session that makes room for one of that host; None if there is room.

        It is the oldest of that host, or of the host that has most.
        """
        hosts = self._hosts()
        if hosts[host] < self._most_of_one_host:
            if hosts.total() < self._most:
                return None
            ((host, _),) = hosts.most_common(1)
        return next(session for session, (name, _) in self._half_open.items() if name == host)

    def _hosts(self) -> Counter[str]:
        """Count what is half open by host."""
        return Counter(host for host, _ in self._half_open.values())

    @property
    def wants_tokens(self) -> bool:
        """Whether so many are half open that an address has to show that it hears us."""
        return sum(not vouched for _, vouched in self._half_open.values()) >= MOST_UNKNOWN

    def entered(self, session: int, host: str, *, vouched: bool) -> None:
        """Count a connection that has proven nothing yet."""
        self._half_open[session] = (host, vouched)

    def left(self, session: int) -> None:
        """Count it no more: it is over, or has proven who it is."""
        self._half_open.pop(session, None)

    def token(self, address: Address, original: bytes, now: float) -> tuple[bytes, bytes]:
        """Return a token for an address, and the name that we have for the connection meanwhile."""
        retried = os.urandom(_ID_BYTES)
        content = int(now * 1000).to_bytes(_TIME_BYTES, "big") + retried + original
        return self._mac(address, content) + content, retried

    def names(self, token: bytes, address: Address, named: bytes, now: float) -> Names | None:
        """Return what a token says that we gave to that address lately, else None."""
        mac, content = token[:_MAC_BYTES], token[_MAC_BYTES:]
        made, rest = content[:_TIME_BYTES], content[_TIME_BYTES:]
        retried, original = rest[:_ID_BYTES], rest[_ID_BYTES:]
        genuine = hmac.compare_digest(mac, self._mac(address, content)) and retried == named
        if not genuine or not 0 <= now - int.from_bytes(made, "big") / 1000 <= TOKEN_SECONDS:
            return None
        return Names(original, retried)

    def _mac(self, address: Address, content: bytes) -> bytes:
        """Authenticate it together with the address."""
        named = f"{address[0]} {address[1]}\0".encode()
        return hmac.new(self._key, named + content, sha256).digest()[:_MAC_BYTES]
