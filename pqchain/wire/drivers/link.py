"""Modelled network: a clock, ports with a rate and a queue, and links with delay and loss.

Every node has one outgoing and one incoming port. A datagram waits for the sender's port, is
serialized at the port's rate, is delayed by the link, and waits for the receiver's port. A port
whose queue is full drops it. Nothing here reads a real clock. `DatagramFabric` is such a network
with an `Endpoint` on each port.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Annotated, Any

from pqchain.checks import Doc, Ge, Le, Lt, declared
from pqchain.wire.session import Address, Endpoint, TimedEvent, Totals
from pqchain.wire.transports.registry import Conditions

OVERHEAD_BYTES = 66
"""Overhead in bytes per datagram: IPv4 20, UDP 8, Ethernet 38 with preamble, checksum and gap."""

_MIN_WINDOW_BYTES, _MAX_WINDOW_BYTES = 4 << 20, 1 << 29


Seconds = Annotated[float, Ge(0), Le(1e7)]
"""A time; the clock counts nanoseconds in 64 bits, so that 1e7 s leave room for many delays."""


@declared
class Link:
    """Link properties: rate of the ports, one-way delay, loss, queue."""

    bits_per_second: Annotated[
        float, Ge(1), Le(1e18), Doc("rate of each port of the virtual network, or of a namespace")
    ] = 10e9
    delay_seconds: Annotated[
        Seconds, Doc("one-way delay of the virtual network, or of a namespace")
    ] = 50e-6
    loss: Annotated[
        float, Ge(0), Lt(1), Doc("probability, below 1, that such a network loses a datagram")
    ] = 0.0
    # A shorter queue does not hold one burst of datagrams.
    queue_bytes: Annotated[int, Ge(20_000), Le(2**62)] = 1_000_000
    """Bytes that a port queues before it drops datagrams."""
    coalescing_seconds: Seconds = 20e-6
    """Interrupt coalescing: time for which a receiver collects datagrams before reading them."""

    def conditions(self, **more: Any) -> Conditions:
        """Return the `Conditions` of a network of these links; `more` sets further fields."""
        return Conditions(**asdict(self), overhead_bytes=OVERHEAD_BYTES, **more)

    @property
    def window_bytes(self) -> int:
        """Limit of unacknowledged bytes: twice the bandwidth-delay product, from 4 to 512 MiB."""
        product = self.bits_per_second / 8 * 2 * self.delay_seconds
        return min(max(_MIN_WINDOW_BYTES, math.ceil(2 * product)), _MAX_WINDOW_BYTES)


class Clock:
    """Event queue of a simulation, ordered by time; ties are in order of insertion."""

    def __init__(self) -> None:
        self.now = 0.0
        self._count = 0
        # The counter breaks ties of time: the order is deterministic, and actions never compared.
        self._heap: list[tuple[float, int, Callable[[], None]]] = []

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Schedule an action at `time`, or now if `time` is in the past."""
        self._count += 1
        heapq.heappush(self._heap, (max(time, self.now), self._count, action))

    @property
    def due(self) -> float:
        """Time of the next event, or infinity."""
        return self._heap[0][0] if self._heap else math.inf

    def step(self) -> bool:
        """Advance to the next event and run it; return False if there is none."""
        if not self._heap:
            return False
        self.now, _, action = heapq.heappop(self._heap)
        action()
        return True


class Timer:
    """Timer with at most one pending call: the earliest that was requested."""

    def __init__(self, clock: Clock, action: Callable[[], None]) -> None:
        self._clock, self._action = clock, action
        self._due = math.inf

    def set(self, time: float) -> None:
        """Schedule the call at `time`, or now if that is past, unless an earlier one is pending."""
        time = max(time, self._clock.now)
        if time < self._due:
            self._due = time
            self._clock.at(time, partial(self._fire, time))

    def _fire(self, time: float) -> None:
        # The clock cannot cancel events; one that an earlier call replaced is ignored here.
        if self._due == time:
            self._due = math.inf
            self._action()


class LinkNetwork:
    """Ports of all nodes, and the datagrams in transit between them."""

    def __init__(
        self,
        conditions: Conditions,
        nodes: int,
        clock: Clock,
        deliver: Callable[[int, int, bytes], None],
    ) -> None:
        """Create the ports; each arrival calls `deliver(receiver, sender, datagram)`."""
        self.sent = 0
        self.dropped = 0
        """Datagrams dropped by a full queue."""
        self.lost = 0
        self._conditions = conditions
        self._clock = clock
        self._deliver = deliver
        # Time at which each port has sent everything in its queue.
        self._out, self._in = [0.0] * nodes, [0.0] * nodes
        # Imported here, because scenarios contain a `Link` and must load without numpy.
        import numpy as np

        self._draws = np.random.default_rng([conditions.seed, 1])

    def _transmit(self, free_at: list[float], port: int, size: int, now: float) -> float | None:
        """Return the time at which the last bit leaves a port, or None if its queue is full."""
        # The length of the queue follows from the time at which the port becomes free.
        rate = self._conditions.bits_per_second
        if (free_at[port] - now) * rate / 8 > self._conditions.queue_bytes:
            self.dropped += 1
            return None
        free_at[port] = max(free_at[port], now) + size * 8 / rate
        return free_at[port]

    def send(self, sender: int, receiver: int, datagram: bytes) -> None:
        """Send a datagram; it is delivered later, dropped or lost."""
        conditions = self._conditions
        size = len(datagram) + conditions.overhead_bytes
        self.sent += 1
        departure = self._transmit(self._out, sender, size, self._clock.now)
        if departure is None:
            return
        if conditions.loss and self._draws.random() < conditions.loss:
            self.lost += 1
            return

        def arrive() -> None:
            # The incoming port reads bits while they arrive, so that only queueing adds time here.
            first_bit = self._clock.now - size * 8 / conditions.bits_per_second
            arrival = self._transmit(self._in, receiver, size, first_bit)
            if arrival is not None:
                self._clock.at(arrival, lambda: self._deliver(receiver, sender, datagram))

        self._clock.at(departure + conditions.delay_seconds, arrive)


@dataclass(eq=False)
class _Host:
    """An endpoint between its start and its stop, with its inbox and timer."""

    fabric: DatagramFabric
    index: int
    endpoint: Endpoint
    alive: bool = True
    inbox: list[tuple[int, bytes]] = field(default_factory=list)
    busy_until: float = 0.0

    def __post_init__(self) -> None:
        self.timer = Timer(self.fabric.clock, self.act)

    def wake(self, time: float) -> None:
        self.timer.set(max(time, self.busy_until))

    def act(self) -> None:
        if not self.alive:
            return
        now = self.fabric.clock.now
        received, self.inbox = self.inbox, []
        # The whole inbox is processed first, so that one flush sends the replies to all of it.
        for sender, data in received:
            self.endpoint.receive(data, self.fabric.addresses[sender], now)
        if (due := self.endpoint.timer()) is not None and due <= now:
            self.endpoint.handle_timer(now)
        self.flush(len(received))

    def flush(self, handled: int = 0) -> None:
        """Send pending datagrams, after the processor time for `handled` received datagrams."""
        fabric, now = self.fabric, self.fabric.clock.now
        # Collected before and after `datagrams`, because building packets can cause events.
        self.collect_events()
        sent = self.endpoint.datagrams(now)
        self.collect_events()
        cost = fabric.conditions.datagram_seconds
        self.busy_until = max(self.busy_until, now) + handled * cost
        for data, address in sent:
            send = partial(fabric.network.send, self.index, fabric.by_address[address], data)
            self.busy_until += cost
            # Without a processor cost datagrams are sent at once, which saves an event for each.
            if cost:
                fabric.clock.at(self.busy_until, send)
            else:
                send()
        if (due := self.endpoint.timer()) is not None:
            self.wake(due)

    def collect_events(self) -> None:
        now = self.fabric.clock.now
        self.fabric.pending += [(now, self.index, event) for event in self.endpoint.events()]


class DatagramFabric:
    """Modelled network with all hosts and the datagrams in transit between them."""

    def __init__(
        self,
        conditions: Conditions,
        addresses: Mapping[int, Address],
        open_endpoint: Callable[[int], Endpoint],
    ) -> None:
        self.conditions, self.addresses = conditions, addresses
        self.by_address = {address: index for index, address in addresses.items()}
        self.clock = Clock()
        self.pending: list[TimedEvent] = []
        self.network = LinkNetwork(conditions, len(addresses), self.clock, self._deliver)
        self._open = open_endpoint
        self._hosts: dict[int, _Host] = {}

    def _deliver(self, receiver: int, sender: int, data: bytes) -> None:
        if (host := self._hosts.get(receiver)) is not None:
            host.inbox.append((sender, data))
            host.wake(self.clock.now + self.conditions.coalescing_seconds)

    def start(self, index: int) -> Endpoint:
        """Start a host and return its endpoint."""
        host = self._hosts[index] = _Host(self, index, self._open(index))
        return host.endpoint

    def stop(self, index: int) -> None:
        """Stop the host and discard its undelivered events."""
        self._hosts.pop(index).alive = False
        self.pending = [event for event in self.pending if event[1] != index]

    def flush(self, index: int) -> None:
        """Send the data that a node has queued since the last event."""
        self._hosts[index].flush()

    def advance(self, until: float) -> list[TimedEvent]:
        """Advance the clock until events occur, at most to time `until`; return the events."""
        while not self.pending and self.clock.due <= until:
            self.clock.step()
        if not self.pending and not math.isinf(until):
            self.clock.now = max(self.clock.now, until)
        events, self.pending = self.pending, []
        return events

    def totals(self) -> Totals:
        """Return the numbers of datagrams sent, dropped and lost so far."""
        network = self.network
        return Totals(sent=network.sent, dropped=network.dropped, lost=network.lost)

    def close(self) -> None:
        """Remove all hosts."""
        self._hosts.clear()
