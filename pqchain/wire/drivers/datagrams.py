"""`Fabric` for `Endpoint` transports: a modelled network in Python that delivers each datagram."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from pqchain.wire.drivers.link import Clock, LinkNetwork, Timer
from pqchain.wire.session import Address, Endpoint, TimedEvent, Totals
from pqchain.wire.transports.registry import Conditions


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

    def datagram(self, sender: int, data: bytes) -> None:
        fabric = self.fabric
        if self.alive:
            self.inbox.append((sender, data))
            self.wake(fabric.clock.now + fabric.conditions.coalescing_seconds)

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
            host.datagram(sender, data)

    def start(self, index: int) -> Endpoint:
        """Start or restart a host and return its new endpoint."""
        endpoint = self._open(index)
        self._hosts[index] = _Host(self, index, endpoint)
        return endpoint

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
