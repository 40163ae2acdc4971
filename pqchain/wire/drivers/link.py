"""A modelled network: a clock, ports with rate and queue, delay and loss. Nothing here sleeps.

Every node has one port out and one port in. A datagram waits for the sender's port, takes its time
on the wire, travels, and waits for the receiver's port; a port whose queue is full drops it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from pqchain import checks
from pqchain.errors import UsageError
from pqchain.wire.transports.registry import WINDOW_BYTES, Conditions

OVERHEAD_BYTES = 66
"""Of each datagram on the wire: IPv4 20, UDP 8, Ethernet 38 with preamble, checksum and gap."""

_MOST_WINDOW_BYTES = 1 << 29
"""Of a window, however long and fast the link is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What lies between two nodes: a port in, a port out, a delay."""

    bits_per_second: float = checks.field(
        10e9,
        help="rate of each port of the virtual network, or of a namespace",
        least=1.0,
        most=1e18,
    )
    delay_seconds: float = checks.field(
        50e-6, help="one-way delay of the virtual network, or of a namespace", most=1e7
    )
    loss: float = checks.field(
        0.0, help="probability below 1 that a datagram of such a network is lost", most=1.0
    )
    queue_bytes: int = 1_000_000
    """What a port holds before it drops."""
    coalescing_seconds: float = 20e-6
    """How long a receiver gathers datagrams before it looks, as network cards do."""

    def conditions(self, **more: Any) -> Conditions:
        """Return what a modelled network of such links is like."""
        return Conditions(**asdict(self), overhead_bytes=OVERHEAD_BYTES, **more)

    @property
    def window_bytes(self) -> int:
        """What a sender may be ahead of acknowledgements: twice what a link and back holds."""
        held = self.bits_per_second / 8 * 2 * self.delay_seconds
        return min(max(WINDOW_BYTES, math.ceil(2 * held)), _MOST_WINDOW_BYTES)

    def __post_init__(self) -> None:
        checks.declared(self)
        # The clock counts nanoseconds in 64 bits: 1e7 s leave room for many delays.
        checks.number("coalescing_seconds", self.coalescing_seconds, most=1e7)
        checks.whole("queue_bytes", self.queue_bytes, least=20_000)  # a burst
        if self.loss == 1:
            raise UsageError("loss must be below 1; got 1, with which nothing arrives")


class Clock:
    """Events in the order of their time; of equal times, in the order they were asked for."""

    def __init__(self) -> None:
        self.now = 0.0
        self._count = 0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Let something happen, not before now."""
        self._count += 1
        heapq.heappush(self._heap, (max(time, self.now), self._count, action))

    @property
    def due(self) -> float:
        """When the next event is, or infinity."""
        return self._heap[0][0] if self._heap else math.inf

    def step(self) -> bool:
        """Go on to the next event and let it happen; return False if there is none."""
        if not self._heap:
            return False
        self.now, _, action = heapq.heappop(self._heap)
        action()
        return True


class Alarm:
    """One call that the clock holds for somebody: the earliest that was asked for."""

    def __init__(self, clock: Clock, action: Callable[[], None]) -> None:
        self._clock, self._action = clock, action
        self._due = math.inf

    def set(self, time: float) -> None:
        """Call at that time, or now if it has passed, unless an earlier call is set already."""
        time = max(time, self._clock.now)
        if time < self._due:
            self._due = time
            self._clock.at(time, partial(self._ring, time))

    def _ring(self, time: float) -> None:
        if self._due == time:
            self._due = math.inf
            self._action()


class Network:
    """All ports, and what is on its way between them."""

    def __init__(
        self,
        conditions: Conditions,
        nodes: int,
        clock: Clock,
        deliver: Callable[[int, int, bytes], None],
    ) -> None:
        """Deliver (receiver, sender, datagram) at the time it arrives; losses follow the seed."""
        self.sent = 0
        self.dropped = 0
        """Datagrams that met a full queue."""
        self.lost = 0
        self._conditions = conditions
        self._clock = clock
        self._deliver = deliver
        # When each port has sent what it holds.
        self._out, self._in = [0.0] * nodes, [0.0] * nodes
        import numpy as np  # late: scenarios hold a link and need no numpy

        self._draws = np.random.default_rng([conditions.seed, 1])

    def _pass(self, free_at: list[float], port: int, size: int, now: float) -> float | None:
        """Return when the last bit has left a port, or None if its queue is full."""
        rate = self._conditions.bits_per_second
        if (free_at[port] - now) * rate / 8 > self._conditions.queue_bytes:
            self.dropped += 1
            return None
        free_at[port] = max(free_at[port], now) + size * 8 / rate
        return free_at[port]

    def send(self, sender: int, receiver: int, datagram: bytes) -> None:
        """Put a datagram on its way."""
        conditions = self._conditions
        size = len(datagram) + conditions.overhead_bytes
        self.sent += 1
        left = self._pass(self._out, sender, size, self._clock.now)
        if left is None:
            return
        if conditions.loss and self._draws.random() < conditions.loss:
            self.lost += 1
            return

        def arrive() -> None:
            # It could pass the port while its first bits came in: only the queue costs time.
            first_bit = self._clock.now - size * 8 / conditions.bits_per_second
            at = self._pass(self._in, receiver, size, first_bit)
            if at is not None:
                self._clock.at(at, lambda: self._deliver(receiver, sender, datagram))

        self._clock.at(left + conditions.delay_seconds, arrive)
