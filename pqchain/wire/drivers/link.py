"""The virtual network: a clock, ports with rate and queue, delay and loss. Nothing here sleeps.

Every node has one port out and one port in. A datagram waits for the sender's port, takes its time
on the wire, travels, and waits for the receiver's port; a port whose queue is full drops it.
Knows datagrams as bytes with a length, and no protocol.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from pqchain.reencode.scenario import Link

OVERHEAD_BYTES = 66
"""Of each datagram on the wire: IPv4 20, UDP 8, Ethernet 38 with preamble, checksum and gap."""


class Clock:
    """Events in the order of their time; of equal times, in the order they were asked for."""

    def __init__(self) -> None:
        """Begin at 0."""
        self.now = 0.0
        self._count = 0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Let something happen, not before now."""
        self._count += 1
        heapq.heappush(self._heap, (max(time, self.now), self._count, action))

    def step(self) -> bool:
        """Go on to the next event and let it happen; return False if there is none."""
        if not self._heap:
            return False
        self.now, _, action = heapq.heappop(self._heap)
        action()
        return True


class _Port:
    """One direction of a network card: sends one datagram after the other."""

    __slots__ = ("dropped", "free_at", "wire_bytes")

    def __init__(self) -> None:
        self.free_at = 0.0
        self.dropped = 0
        self.wire_bytes = 0

    def pass_through(self, size: int, now: float, link: Link) -> float | None:
        """Return when the last bit has left, or None if the queue is full."""
        backlog = (self.free_at - now) * link.bits_per_second / 8
        if backlog > link.queue_bytes:
            self.dropped += 1
            return None
        self.free_at = max(self.free_at, now) + size * 8 / link.bits_per_second
        self.wire_bytes += size
        return self.free_at


class Network:
    """All ports, and what is on its way between them."""

    def __init__(
        self,
        link: Link,
        nodes: int,
        clock: Clock,
        deliver: Callable[[int, int, bytes], None],
        *,
        seed: int,
    ) -> None:
        """Deliver (receiver, sender, datagram) at the time it arrives; losses follow the seed."""
        self.lost = 0
        self._link = link
        self._clock = clock
        self._deliver = deliver
        self._out = [_Port() for _ in range(nodes)]
        self._in = [_Port() for _ in range(nodes)]
        self._draws = np.random.default_rng([seed, 1])

    @property
    def dropped(self) -> int:
        """Datagrams that found a full queue."""
        return sum(port.dropped for port in (*self._out, *self._in))

    def received_wire_bytes(self, node: int) -> int:
        """Return what has come in at a port, overhead included."""
        return self._in[node].wire_bytes

    def send(self, sender: int, receiver: int, datagram: bytes) -> None:
        """Put a datagram on its way."""
        size = len(datagram) + OVERHEAD_BYTES
        left = self._out[sender].pass_through(size, self._clock.now, self._link)
        if left is None:
            return
        if self._link.loss and self._draws.random() < self._link.loss:
            self.lost += 1
            return

        def arrive() -> None:
            # It could pass the port while its first bits came in: only the queue costs time.
            at = self._in[receiver].pass_through(
                size, self._clock.now - size * 8 / self._link.bits_per_second, self._link
            )
            if at is not None:
                self._clock.at(at, lambda: self._deliver(receiver, sender, datagram))

        self._clock.at(left + self._link.delay_seconds, arrive)
