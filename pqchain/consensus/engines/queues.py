"""Servers and shared links of the reference engine.

On the law "uplink", messages from one node to another are sent one after the other; messages of
different pairs are sent at once, at the max-min fair rates of Bertsekas and Gallager, Data
Networks, 1992, section 6.5.2: the link with the least capacity per message is divided equally among
its messages, then the rest of the capacity is divided likewise. Rates are whole bits per second, at
least 1, and times whole nanoseconds, so that both engines compute the same numbers.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Any

import simpy
from simpy.events import EventPriority

from pqchain.consensus.network import SECOND
from pqchain.consensus.view import NEVER

ARRIVAL, AFTER_ARRIVALS, AFTER_REQUESTS = map(EventPriority, (1, 2, 3))
"""Priorities within a nanosecond: messages (SimPy's normal priority); servers, which start after
all messages have arrived; the shared channel and links, which need to know all requests."""

Pair = tuple[int, int]
"""Sender and receiver."""


def call_at(
    env: simpy.Environment, at: int, call: Callable[..., None], priority: EventPriority = ARRIVAL
) -> None:
    """Schedule a callback at an absolute time with a priority; SimPy's Timeout supports neither."""
    # An event that is scheduled directly needs its outcome set; SimPy has no public way for it.
    event = simpy.Event(env)
    event.callbacks = [call]
    event._ok, event._value = True, None
    env.schedule(event, priority, at - env.now)


class ServiceQueue:
    """Queue that serves one message at a time, in order of (arrival, *message).

    A message is queued when it is sent; the server wakes up when the first message arrives.
    """

    def __init__(
        self,
        env: simpy.Environment,
        service: Callable[..., int],
        on_end: Callable[..., None],
        priority: EventPriority = AFTER_ARRIVALS,
    ) -> None:
        self.env, self.service, self.on_end, self.priority = env, service, on_end, priority
        # Heap of (arrival, *message), which is the order of service.
        self.queue: list[tuple[int, ...]] = []
        self.served: tuple[int, ...] | None = None
        self.wakes_at = NEVER

    def put(self, at: int, *message: int) -> None:
        """Queue a message that arrives at time `at`, now or later."""
        heapq.heappush(self.queue, (at, *message))
        if self.served is None and at < self.wakes_at:
            self._wake(at)

    def _wake(self, at: int) -> None:
        """Schedule the start of service at time `at`, after all arrivals of that nanosecond."""
        self.wakes_at = at
        call_at(self.env, at, self._start, self.priority)

    def _start(self, _: simpy.Event) -> None:
        # An earlier message may have moved the wake-up; this event is then stale.
        if self.served is None and self.env.now == self.wakes_at:
            self._serve()

    def _serve(self) -> None:
        _, *message = heapq.heappop(self.queue)
        self.served, self.wakes_at = tuple(message), NEVER
        call_at(self.env, int(self.env.now) + self.service(*message), self._finish)

    def _finish(self, _: simpy.Event) -> None:
        assert self.served is not None
        self.on_end(*self.served)
        # Messages of this nanosecond wait for _wake: others with a lower key may still arrive.
        if self.queue and self.queue[0][0] < self.env.now:
            self._serve()
            return
        self.served = None
        if self.queue:
            self._wake(self.queue[0][0])


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
