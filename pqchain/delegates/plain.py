"""Simulated network that carries only the bytes of messages, by the laws of `consensus.network`.

It simulates the model's network message by message with the actual lengths: links, uplinks, a hub,
a shared channel, gossip, or the one server of paper-serial. Jitter, loss, delay and partition are
the scenario's draws. Times are whole nanoseconds on a modelled clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from pqchain.consensus.builder import ViewBuilder
from pqchain.consensus.network import nanoseconds, wires
from pqchain.consensus.view import NEVER, Disturbance, Overlay
from pqchain.delegates.core import CLASSES, Sending

PLAIN = "plain"
"""Name of this network where a transport is expected."""

FIRST, AFTER_ARRIVALS, AFTER_REQUESTS = 0, 1, 2
"""Priorities of events in one nanosecond: arrivals and completions; starts that depend on all of
these; the shared channel, which has to know all requests.
"""

Call = Callable[..., None]


class Clock:
    """Event queue in whole nanoseconds, ordered by time, priority and insertion."""

    def __init__(self) -> None:
        self.now = 0
        self._asked = 0
        self._heap: list[tuple[int, int, int, Call, tuple[Any, ...]]] = []

    def at(self, time: int, call: Call, *arguments: Any, priority: int = FIRST) -> None:
        """Schedule a call."""
        self._asked += 1
        heapq.heappush(self._heap, (time, priority, self._asked, call, arguments))

    def run(self, until: int, over: Callable[[], bool] | None = None) -> None:
        """Run the events that are due before `until`, unless `over()` becomes true sooner."""
        heap = self._heap
        while heap and heap[0][0] < until and not (over is not None and over()):
            self.now, _, _, call, arguments = heapq.heappop(heap)
            call(*arguments)

    def clear(self) -> None:
        """Drop all pending events."""
        self._heap.clear()


class Server:
    """Single server with a queue that is ordered by key."""

    def __init__(
        self,
        clock: Clock,
        serve: Callable[[Any], int],
        done: Callable[[Any], None],
        priority: int = AFTER_ARRIVALS,
    ) -> None:
        """Take the function that returns service times in ns, and the one called afterwards."""
        self._clock, self._serve, self._done, self._priority = clock, serve, done, priority
        self._waiting: list[tuple[Any, ...]] = []
        self._busy = self._woken = False

    def put(self, *key_and_thing: Any) -> None:
        """Queue an item: the parts of its key in order, then the item itself."""
        heapq.heappush(self._waiting, key_and_thing)
        self._wake()

    def clear(self) -> None:
        """Drop the queue and the item in service; their events must be cleared as well."""
        self._waiting.clear()
        self._busy = self._woken = False

    def _wake(self) -> None:
        if not self._busy and not self._woken and self._waiting:
            self._woken = True
            self._clock.at(self._clock.now, self._start, priority=self._priority)

    def _start(self) -> None:
        self._woken, self._busy = False, True
        thing = heapq.heappop(self._waiting)[-1]
        self._clock.at(self._clock.now + self._serve(thing), self._end, thing)

    def _end(self, thing: Any) -> None:
        self._busy = False
        self._done(thing)
        self._wake()


class Plain:
    """Network of a scenario's delegates."""

    def __init__(
        self, builder: ViewBuilder, clock: Clock, deliver: Callable[[int, int, bytes], None]
    ) -> None:
        """Call `deliver(receiver, sender, message)` at the time a message arrives."""
        scenario = builder.scenario
        self._network, self._count = scenario.network, scenario.delegate_count
        self._clock, self._deliver = clock, deliver
        self._regions = builder.region_of[builder.nodes].tolist()
        self._side = builder.side_of[builder.nodes].tolist()
        self._slowness = builder.slowness.tolist()
        law, costs = scenario.network.serial, scenario.cost
        size = costs.public_key_bytes + costs.signature_bytes
        pair = law.pair_seconds + law.byte_seconds * size + law.verifies * costs.verify_seconds
        self._serial = scenario.network.law == "paper-serial"
        self._pair_ns = max(1, nanoseconds(pair))
        self._serial_sign_ns = nanoseconds(law.signs * scenario.sign_seconds)
        self._wires: dict[int, tuple[Any, ...]] = {}
        self.up = [True] * self._count
        """Liveness by rank."""
        self.sent = self.sent_bytes = 0
        self.begin(None, None)

    def begin(self, disturbance: Disturbance | None, overlay: Overlay | None) -> None:
        """Drop all messages in transit; take the draws and the gossip overlay of a view."""
        self._disturbance, self._overlay = disturbance, overlay
        count = self._count
        self._free = [[0] * (count if self._network.law == "mesh" else 1) for _ in range(count)]
        self._channel = Server(self._clock, self._use_channel, lambda _: None, AFTER_REQUESTS)
        self._downlinks = [
            Server(self._clock, self._downlink_ns, self._through_downlink) for _ in range(count)
        ]
        self.reached = [NEVER] * (0 if overlay is None else overlay.nodes)

    def _wire(self, length: int) -> tuple[Any, ...]:
        """Return slot, tail, span, down, its latency and price of messages of a length."""
        if length not in self._wires:
            # The model's table of link times, made once per length.
            made = wires(self._network, (length, length, length))
            self._wires[length] = (
                made.slot.tolist(), made.tail.tolist(), made.span.tolist(), made.down.tolist(),
                made.down_latency, made.price,
            )  # fmt: skip
        return self._wires[length]

    def price_ns(self, kind: int, length: int) -> int:
        """Return the receiver's processor time for a message in ns, before its validation."""
        return int(self._wire(length)[5][min(kind, 2)])

    def send(self, sender: int, sending: Sending) -> None:
        """Send a message to one other delegate or to all, the next rank first."""
        if self._network.law in ("paper-serial", "csma"):
            self._channel.put(
                self._clock.now, CLASSES.get(sending.kind, 3), sender, _Turn(sender, sending)
            )
            return
        kind, count, now = CLASSES.get(sending.kind, 3), self._count, self._clock.now
        kind = min(kind, 2)
        free = self._free[sender]
        # On a mesh each pair of delegates has a link; else a sender has one for all receivers.
        each = len(free) > 1
        region = self._regions[sender]
        steps = range(1, count) if sending.to is None else [(sending.to - sender) % count]
        for step in steps:
            receiver = (sender + step) % count
            data = sending.for_(receiver)
            slot = self._wire(len(data))[0][kind][region]
            link = receiver if each else 0
            # On one computer messages queue at the receiver's processor, not at a link.
            free[link] = (now if self._network.law == "host" else max(now, free[link])) + slot
            self._travel(kind, sender, receiver, data, free[link])

    def _use_channel(self, turn: _Turn) -> int:
        """Send all copies of a message in turn; return how long that takes in ns."""
        sender, sending, count = turn.sender, turn.sending, self._count
        now = start = self._clock.now
        if self._serial:
            now += self._serial_sign_ns
            # The one server passes a message to all delegates, its sender included.
            for receiver in range(count):
                if self.up[receiver]:
                    now += self._pair_ns * self._slowness[receiver]
                    self._arrive(1, sender, receiver, sending.for_(receiver), now, 0)
            return now - start
        kind = min(CLASSES.get(sending.kind, 3), 2)
        steps = range(1, count) if sending.to is None else [(sending.to - sender) % count]
        for step in steps:
            receiver = (sender + step) % count
            data = sending.for_(receiver)
            now += self._wire(len(data))[0][kind][0]
            self._travel(kind, sender, receiver, data, now)
        return now - start

    def _travel(self, kind: int, sender: int, receiver: int, data: bytes, sent_ns: int) -> None:
        one, two = self._regions[sender], self._regions[receiver]
        _, tail, span, *_ = self._wire(len(data))
        self._arrive(kind, sender, receiver, data, sent_ns + tail[kind][one][two], span[one][two])

    def _arrive(
        self, kind: int, sender: int, receiver: int, data: bytes, at: int, span: int
    ) -> None:
        """Schedule an arrival, which the network may delay or drop."""
        self.sent += 1
        self.sent_bytes += len(data)
        # Messages to crashed delegates were sent, so they count above.
        if not self.up[receiver]:
            return
        if self._disturbance is not None and sender != receiver:
            cut = self._side[sender] != self._side[receiver]
            at = self._disturbance.arrival(kind, sender, receiver, at=at, span=span, cut=cut)
        if at < NEVER:
            self._clock.at(at, self._come, kind, sender, receiver, data)

    def _come(self, kind: int, sender: int, receiver: int, data: bytes) -> None:
        if self._wire(len(data))[3][kind]:
            now = self._clock.now
            self._downlinks[receiver].put(now, kind, sender, _Down(kind, sender, receiver, data))
        else:
            self._deliver(receiver, sender, data)

    def _downlink_ns(self, one: _Down) -> int:
        return int(self._wire(len(one.data))[3][one.kind])

    def _through_downlink(self, one: _Down) -> None:
        at = self._clock.now + self._wire(len(one.data))[4]
        self._clock.at(at, self._deliver, one.receiver, one.sender, one.data)

    def spread(
        self, node: int, data: bytes, checked_ns: Callable[[int, bytes], int | None]
    ) -> None:
        """Deliver a block to a node, which relays it once.

        `checked_ns(node, block)` returns the verification time before relaying in ns; None: not
        relayed.
        """
        overlay, now = self._overlay, self._clock.now
        assert overlay is not None and self._disturbance is not None
        # Only the first copy of a block is verified and relayed.
        if self.reached[node] != NEVER or overlay.silent[node]:
            return
        self.reached[node] = now
        relay = checked_ns(node, data)
        if relay is None:
            return
        slots, tail, span, *_ = self._wire(len(data))
        one = int(overlay.regions[node])
        for place in range(overlay.peers):
            peer = overlay.peer(node, place)
            two = int(overlay.regions[peer])
            self.sent += 1
            self.sent_bytes += len(data)
            at = self._disturbance.arrival(
                0,
                node,
                place,
                at=now + relay + (place + 1) * slots[0][one] + tail[0][one][two],
                span=span[one][two],
                cut=bool(overlay.side[node] != overlay.side[peer]),
            )
            if at < NEVER:
                self._clock.at(at, self.spread, peer, data, checked_ns)


class _Turn:
    """A message in the queue of the shared channel or server."""

    __slots__ = ("sender", "sending")

    def __init__(self, sender: int, sending: Sending) -> None:
        self.sender, self.sending = sender, sending

    def __lt__(self, other: _Turn) -> bool:
        return False


class _Down:
    """A message in the queue of its receiver's downlink."""

    __slots__ = ("data", "kind", "receiver", "sender")

    def __init__(self, kind: int, sender: int, receiver: int, data: bytes) -> None:
        self.kind, self.sender, self.receiver, self.data = kind, sender, receiver, data

    def __lt__(self, other: _Down) -> bool:
        return False
