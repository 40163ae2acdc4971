"""Links of the law "uplink": max-min fair rates of all messages that are under way.

A node has an uplink and a downlink. Messages from one node to another are sent one after the other;
messages of different pairs are sent at once, at the max-min fair rates of Bertsekas and Gallager,
Data Networks, 1992, section 6.5.2: the link with the least capacity per message is divided equally
among its messages, then the rest of the capacity is divided likewise. Rates are whole bits per
second, at least 1, and times whole nanoseconds, so that every engine computes the same numbers.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection
from typing import Any

from pqchain.consensus.network import SECOND
from pqchain.consensus.view import NEVER

Pair = tuple[int, int]
"""Sender and receiver."""


def fair_rates(
    pairs: Collection[Pair], uploads: list[int], downloads: list[int]
) -> dict[Pair, int]:
    """Return the max-min fair rate of the message of each pair, in bits per second.

    `uploads` and `downloads` are the capacities of each node's links.
    """
    left = [*uploads, *downloads]
    members: dict[int, set[Pair]] = defaultdict(set)
    for sender, receiver in pairs:
        members[sender].add((sender, receiver))
        members[len(uploads) + receiver].add((sender, receiver))
    rates: dict[Pair, int] = {}
    while members:
        # Of links with equal shares the first one is divided first: a division rounds down, so the
        # order matters in the last bit per second.
        bottleneck = min(members, key=lambda link: (left[link] // len(members[link]), link))
        share = max(1, left[bottleneck] // len(members[bottleneck]))
        for sender, receiver in list(members[bottleneck]):
            rates[sender, receiver] = share
            for link in (sender, len(uploads) + receiver):
                left[link] -= share
                members[link].discard((sender, receiver))
                if not members[link]:
                    del members[link]
    return rates


class SharedLinks:
    """Uplinks and downlinks of all nodes, with the messages that wait or are under way.

    At each time, first call `finish`, then `put` for every message that is sent at that time, then
    `settle`, which returns the time of the next `finish`.
    """

    def __init__(self, uploads: list[int], downloads: list[int]) -> None:
        """Take the bits per second that each node can send and receive."""
        self._uploads, self._downloads = uploads, downloads
        # By pair, heaps of (time, order, bits, message): what was sent at once has a fixed order.
        self._waiting: dict[Pair, list[tuple[int, tuple[int, int], int, Any]]] = defaultdict(list)
        self._active: dict[Pair, Any] = {}
        # Billionths of a bit, so that bits per second times nanoseconds are whole numbers.
        self._remaining: dict[Pair, int] = {}
        self._rates: dict[Pair, int] = {}
        self._now = 0

    def put(self, now: int, order: tuple[int, int], pair: Pair, bits: int, message: Any) -> None:
        """Send a message of so many bits; those of one pair and time are sent in their order."""
        heapq.heappush(self._waiting[pair], (now, order, bits, message))

    def finish(self, now: int) -> list[tuple[Pair, Any]]:
        """Return the messages whose last bit is sent by `now`, by sender and receiver."""
        self._progress(now)
        ended = sorted(pair for pair, remaining in self._remaining.items() if remaining <= 0)
        for pair in ended:
            del self._remaining[pair]
        return [(pair, self._active.pop(pair)) for pair in ended]

    def settle(self, now: int) -> int:
        """Start the messages whose pair is free; return when the next message is sent in full."""
        self._progress(now)
        for pair in [pair for pair, queue in self._waiting.items() if queue]:
            if pair not in self._active:
                _, _, bits, self._active[pair] = heapq.heappop(self._waiting[pair])
                self._remaining[pair] = bits * SECOND
        self._rates = fair_rates(self._active, self._uploads, self._downloads)
        ends = (now - -self._remaining[pair] // rate for pair, rate in self._rates.items())
        return min(ends, default=NEVER)

    def _progress(self, now: int) -> None:
        for pair in self._remaining:
            self._remaining[pair] -= self._rates[pair] * (now - self._now)
        self._now = now
