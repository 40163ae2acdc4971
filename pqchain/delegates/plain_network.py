"""Simulated network without a transport protocol, with the timing laws of `consensus.network`.

It simulates the model's network message by message with the actual lengths: links, uplinks, a hub,
a shared channel, gossip, or the one server of paper-serial. Jitter, loss, delay and partition are
the scenario's draws. Times are whole nanoseconds on a modelled clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, NamedTuple

from pqchain.consensus.builder import ViewBuilder
from pqchain.consensus.network import link_times
from pqchain.consensus.view import BLOCK, NEVER, VOTE, Disturbance, Overlay
from pqchain.delegates.actions import Sending
from pqchain.delegates.core import CLASSES

PLAIN = "plain"
"""Name of this network where a transport is expected."""

FIRST, AFTER_ARRIVALS, AFTER_REQUESTS = 0, 1, 2
"""Priorities of events in one nanosecond: arrivals and completions; starts that depend on all of
these; the shared channel, which has to know all requests.
"""

Call = Callable[..., None]


class EventQueue:
    """Event queue in whole nanoseconds, ordered by time, priority and insertion."""

    def __init__(self) -> None:
        self.now = 0
        self._number = 0
        self._heap: list[tuple[int, int, int, Call, tuple[Any, ...]]] = []

    def at(self, time: int, call: Call, *arguments: Any, priority: int = FIRST) -> None:
        """Schedule `call(*arguments)` at `time` in nanoseconds."""
        self._number += 1
        heapq.heappush(self._heap, (time, priority, self._number, call, arguments))

    def run(self, until: int, is_over: Callable[[], bool] | None = None) -> None:
        """Run the events that are due before `until`, unless `is_over()` becomes true sooner."""
        heap = self._heap
        while heap and heap[0][0] < until and not (is_over is not None and is_over()):
            self.now, _, _, call, arguments = heapq.heappop(heap)
            call(*arguments)

    def clear(self) -> None:
        """Drop all pending events."""
        self._heap.clear()


class Server:
    """Single server with a queue that is ordered by key."""

    def __init__(
        self,
        clock: EventQueue,
        start: Callable[[Any], int],
        finish: Callable[[Any], None],
        priority: int = AFTER_ARRIVALS,
    ) -> None:
        """Call `start(item)`, which returns the service time in ns, and then `finish(item)`."""
        self._clock, self._start, self._finish, self._priority = clock, start, finish, priority
        self._number = 0
        self._waiting: list[tuple[tuple[int, ...], int, Any]] = []
        self._is_busy = self._is_woken = False

    def put(self, key: tuple[int, ...], item: Any) -> None:
        """Queue an item; of equal keys the first one is served first."""
        self._number += 1
        heapq.heappush(self._waiting, (key, self._number, item))
        self._wake()

    def clear(self) -> None:
        """Drop the queue and the item in service; their events must be cleared as well."""
        self._waiting.clear()
        self._is_busy = self._is_woken = False

    def _wake(self) -> None:
        if not self._is_busy and not self._is_woken and self._waiting:
            self._is_woken = True
            self._clock.at(self._clock.now, self._serve, priority=self._priority)

    def _serve(self) -> None:
        self._is_woken, self._is_busy = False, True
        item = heapq.heappop(self._waiting)[-1]
        self._clock.at(self._clock.now + self._start(item), self._end, item)

    def _end(self, item: Any) -> None:
        self._is_busy = False
        self._finish(item)
        self._wake()


class _Times(NamedTuple):
    """Link times of messages of one length, as in `LinkTimes`."""

    # Lists, whose elements are read ten times as fast as those of arrays.
    send_ns: list[list[int]]
    latency_ns: list[list[list[int]]]
    max_jitter_ns: list[list[int]]
    downlink_ns: list[int]
    downlink_latency_ns: int
    handling_ns: tuple[int, ...]


class Transit(NamedTuple):
    """A message on its way to a receiver."""

    kind: int
    sender: int
    receiver: int
    data: bytes


class PlainNetwork:
    """Simulated network between the delegates of a scenario."""

    def __init__(
        self, builder: ViewBuilder, clock: EventQueue, deliver: Callable[[int, int, bytes], None]
    ) -> None:
        """Call `deliver(receiver, sender, message)` at the time a message arrives."""
        self._builder, self._clock, self._deliver = builder, clock, deliver
        self._network = builder.scenario.network
        self._count = builder.scenario.delegate_count
        self._regions = builder.region_of[builder.nodes].tolist()
        self._side = builder.side_of[builder.nodes].tolist()
        self._slowness = builder.slowness.tolist()
        self._alive = builder.alive.tolist()
        self._times_by_length: dict[int, _Times] = {}

    def begin(self, disturbance: Disturbance, overlay: Overlay | None) -> None:
        """Begin a view: drop all messages in transit; set its disturbance and gossip graph."""
        self._disturbance, self._overlay = disturbance, overlay
        count = self._count
        links = count if self._network.law == "mesh" else 1
        # [sender][link]: when the link is free; a link per receiver, or one for all of them.
        self._free_ns = [[0] * links for _ in range(count)]
        self._channel = Server(self._clock, self._use_channel, lambda _: None, AFTER_REQUESTS)
        self._downlinks = [
            Server(self._clock, self._downlink_ns, self._leave_downlink) for _ in range(count)
        ]
        self.reached = [NEVER] * (0 if overlay is None else overlay.nodes)

    def _times(self, length: int) -> _Times:
        if length not in self._times_by_length:
            times = link_times(self._network, (length, length, length))
            self._times_by_length[length] = _Times(
                times.send_ns.tolist(), times.latency_ns.tolist(), times.max_jitter_ns.tolist(),
                times.downlink_ns.tolist(), times.downlink_latency_ns, times.handling_ns,
            )  # fmt: skip
        return self._times_by_length[length]

    def handling_ns(self, kind: int, length: int) -> int:
        """Return the receiver's processor time for a message in ns, before its validation."""
        return self._times(length).handling_ns[kind]

    def send(self, sender: int, sending: Sending) -> None:
        """Send a message to all other delegates, starting with the next rank."""
        kind, now, law = CLASSES[sending.kind], self._clock.now, self._network.law
        if law in ("paper-serial", "csma"):
            self._channel.put((now, kind, sender), (sender, sending))
            return
        free, region = self._free_ns[sender], self._regions[sender]
        for receiver in self._others(sender):
            data = sending.for_(receiver)
            link = receiver if law == "mesh" else 0
            # On one computer messages queue at the receiver's processor, not at a link.
            starts_ns = now if law == "host" else max(now, free[link])
            free[link] = starts_ns + self._times(len(data)).send_ns[kind][region]
            self._travel(Transit(kind, sender, receiver, data), free[link])

    def _others(self, sender: int) -> list[int]:
        """Return all other ranks, starting with the next one."""
        return [(sender + step) % self._count for step in range(1, self._count)]

    def _use_channel(self, request: tuple[int, Sending]) -> int:
        """Send all copies of a message on the shared channel in turn; return the duration in ns."""
        sender, sending = request
        kind = CLASSES[sending.kind]
        now = self._clock.now
        if self._network.law == "paper-serial":
            now += self._builder.serial_sign_ns
            # The server passes a message to all delegates, its sender included.
            for receiver in range(self._count):
                if self._alive[receiver]:
                    now += self._builder.serial_pair_ns * self._slowness[receiver]
                    # The model draws the disturbances of this law as those of votes.
                    transit = Transit(VOTE, sender, receiver, sending.for_(receiver))
                    self._schedule(transit, now, 0)
        else:
            for receiver in self._others(sender):
                data = sending.for_(receiver)
                now += self._times(len(data)).send_ns[kind][0]
                self._travel(Transit(kind, sender, receiver, data), now)
        return now - self._clock.now

    def _travel(self, transit: Transit, sent_ns: int) -> None:
        kind, sender, receiver, data = transit
        times = self._times(len(data))
        sender_region, receiver_region = self._regions[sender], self._regions[receiver]
        latency_ns = times.latency_ns[kind][sender_region][receiver_region]
        max_jitter_ns = times.max_jitter_ns[sender_region][receiver_region]
        self._schedule(transit, sent_ns + latency_ns, max_jitter_ns)

    def _schedule(self, transit: Transit, at: int, max_jitter_ns: int) -> None:
        """Schedule an arrival, which the network may delay or drop."""
        kind, sender, receiver, _ = transit
        if not self._alive[receiver]:
            return
        # The copy that paper-serial returns to its sender crosses no network.
        if sender != receiver:
            at = self._disturbance.arrival(
                kind, sender, receiver, at=at, max_jitter_ns=max_jitter_ns,
                partitioned=self._side[sender] != self._side[receiver],
            )  # fmt: skip
        if at < NEVER:
            self._clock.at(at, self._arrive, transit)

    def _arrive(self, transit: Transit) -> None:
        kind, sender, receiver, data = transit
        if self._times(len(data)).downlink_ns[kind]:
            self._downlinks[receiver].put((self._clock.now, kind, sender), transit)
        else:
            self._deliver(receiver, sender, data)

    def _downlink_ns(self, transit: Transit) -> int:
        return self._times(len(transit.data)).downlink_ns[transit.kind]

    def _leave_downlink(self, transit: Transit) -> None:
        at = self._clock.now + self._times(len(transit.data)).downlink_latency_ns
        self._clock.at(at, self._deliver, transit.receiver, transit.sender, transit.data)

    def spread(self, node: int, data: bytes, verify_ns: Callable[[int, bytes], int | None]) -> None:
        """Deliver a gossiped block to a node, which forwards it at the first reception only.

        `verify_ns(node, block)` returns the verification time before forwarding in ns, or None if
        the block is invalid and not forwarded.
        """
        overlay, now = self._overlay, self._clock.now
        assert overlay is not None
        # Only the first copy of a block is verified and forwarded, as in the model.
        if self.reached[node] != NEVER or overlay.silent[node]:
            return
        self.reached[node] = now
        verified_ns = verify_ns(node, data)
        if verified_ns is None:
            return
        times = self._times(len(data))
        sender_region = int(overlay.regions[node])
        for index in range(overlay.peers):
            peer = overlay.peer(node, index)
            receiver_region = int(overlay.regions[peer])
            sent_ns = now + verified_ns + (index + 1) * times.send_ns[BLOCK][sender_region]
            at = self._disturbance.arrival(
                BLOCK,
                node,
                index,
                at=sent_ns + times.latency_ns[BLOCK][sender_region][receiver_region],
                max_jitter_ns=times.max_jitter_ns[sender_region][receiver_region],
                partitioned=bool(overlay.side[node] != overlay.side[peer]),
            )
            if at < NEVER:
                self._clock.at(at, self.spread, peer, data, verify_ns)
