"""Reference engine in SimPy: a process for each delegate, a callback for each message.

It is written for readability and defines the model; the fast engine must return the same
nanoseconds. A message is a callback of the server that handles it. Views of more than MAX_MESSAGES
messages are rejected.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np
import simpy
from simpy.events import EventPriority

from pqchain.consensus.view import BLOCK, COMMIT, NEVER, NO_BLOCK, VOTE, Outcome, View
from pqchain.errors import UsageError

MAX_MESSAGES = 2_000_000
"""Maximum number of messages of a view; at 10^5 per second they take 20 seconds."""

_ARRIVAL, _AFTER_ARRIVALS, AFTER_REQUESTS = map(EventPriority, (1, 2, 3))
"""Priorities within a nanosecond: messages (SimPy's normal priority); servers, which start after
all messages have arrived; the shared channel, which starts after all requests have been made."""


def call_at(
    env: simpy.Environment, at: int, call: Callable[..., None], priority: EventPriority = _ARRIVAL
) -> None:
    """Schedule a callback at an absolute time with a priority; SimPy's Timeout supports neither."""
    # An event that is scheduled directly needs its outcome set; SimPy has no public way for it.
    event = simpy.Event(env)
    event.callbacks = [call]
    event._ok, event._value = True, None
    env.schedule(event, priority, at - env.now)


class _Server:
    """Queue that serves one message at a time, in order of (arrival, kind, sender, receiver).

    With several heights under way a message is (height, kind, sender, receiver).

    A message is queued when it is sent; the server wakes up when the first message arrives.
    """

    def __init__(
        self,
        env: simpy.Environment,
        service: Callable[..., int],
        on_end: Callable[..., None],
        priority: EventPriority = _AFTER_ARRIVALS,
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


def check(view: View) -> None:
    """Raise UsageError if a view has too many messages for this engine."""
    messages = view.count * view.count * max(1, view.phases)
    if view.overlay is not None:
        messages += view.overlay.nodes * view.overlay.peers
    if messages > MAX_MESSAGES:
        raise UsageError(
            f"messages of a view must be at most {MAX_MESSAGES} for SimPy; got {messages}. "
            "Use engine='fast' (--engine fast), which gives the same result."
        )


def play(view: View) -> Outcome:
    """Simulate one view, unless its law is "uplink".

    Raises UsageError if it has too many messages for this engine.
    """
    check(view)
    outcome = _play_serial(view) if view.serial_pair_ns else Simulation(view).run()
    return outcome.before(view.deadline_ns)


class Simulation:
    """Simulation of one view."""

    def __init__(self, view: View, env: simpy.Environment | None = None) -> None:
        self.view = view
        # Times are absolute; the clock starts when the proposer's block is ready.
        self.env = env or simpy.Environment(initial_time=view.ready_ns)
        count = view.count
        # Plain lists: reading an element takes a tenth of the time that an array needs.
        self.regions, self.side = view.regions.tolist(), view.side.tolist()
        self.alive, self.values = view.alive.tolist(), view.values.tolist()
        self.willing, self.equivocates = view.willing.tolist(), view.equivocates.tolist()
        links = view.link_times
        self.send_ns, self.latency_ns = links.send_ns.tolist(), links.latency_ns.tolist()
        self.max_jitter_ns = links.max_jitter_ns.tolist()
        self.verified, self.prepared, self.final = ([NEVER] * count for _ in range(3))
        delegates = [] if view.overlay is None else view.overlay.delegates.tolist()
        self.rank_at = {node: rank for rank, node in enumerate(delegates)}
        self.reached = [NEVER] * (0 if view.overlay is None else view.overlay.nodes)
        self.tally = [[0] * count for _ in range(3)]
        self.has_block = [self.env.event() for _ in range(count)]
        self.has_quorum = [self.env.event() for _ in range(count)]
        # [sender][link]: when the link is free; one uplink, or one link per receiver.
        self.uplink_free = [[0] * (count if links.link_per_pair else 1) for _ in range(count)]
        self.channel = _Server(self.env, self._use_channel, lambda *_: None, AFTER_REQUESTS)
        # On "host" rank r computes on processor r modulo their number; else each has its processor.
        number = links.processors or count
        servers = [self._processor() for _ in range(min(number, count))]
        self.processors = [servers[rank % number] for rank in range(count)]
        # [kind][rank], on "host" only: the vote has been signed.
        self.signed = [[self.env.event() for _ in range(count)] for _ in range(3)]
        self.downlinks = [self._downlink(rank) for rank in range(count)]

    @property
    def now(self) -> int:
        """Simulated time in nanoseconds; an integer, because all delays are integers."""
        return int(self.env.now)

    def run(self) -> Outcome:
        """Simulate the view up to its deadline."""
        view = self.view
        for rank in range(view.count):
            if self.alive[rank]:
                self.env.process(self._delegate(rank))
                if not view.sends_block and self.alive[view.proposer]:
                    self.has_block[rank].succeed()
        if self.alive[view.proposer] and view.sends_block:
            self.has_block[view.proposer].succeed()
            if view.overlay is None:
                self._send(BLOCK, view.proposer)
            else:
                self._receive_gossip(int(view.overlay.delegates[view.proposer]))
        run_until(self.env, view.deadline_ns)
        return self.outcome()

    def outcome(self) -> Outcome:
        """Return the times of the view so far."""
        times = (self.verified, self.prepared, self.final, self.reached)
        return Outcome(*(np.array(values, dtype=np.int64) for values in times))

    def _delegate(self, rank: int) -> Generator[simpy.Event, Any, None]:
        view, env = self.view, self.env
        yield self.has_block[rank]
        self.verified[rank] = self.now
        self._check(rank)
        if view.phases == 0 and not view.all_to_all:
            if self.willing[rank]:
                self.final[rank] = self.now
            return
        if self.willing[rank] or self.equivocates[rank]:
            env.process(self._vote(VOTE, rank))
        if view.phases == 2:
            yield self.has_quorum[rank]
            self.prepared[rank] = self.now
            self._on_quorum(VOTE, rank)
            env.process(self._vote(COMMIT, rank))

    def _vote(self, kind: int, rank: int) -> Generator[simpy.Event, Any, None]:
        # On "host" a signature waits for the shared processor; otherwise signing runs in parallel.
        if self.view.link_times.processors:
            self.processors[rank].put(self.now, kind, rank, rank)
            yield self.signed[kind][rank]
        else:
            yield self.env.timeout(int(self.view.sign_ns[rank]))
        # The vote of a delegate that equivocates counts at every receiver, but not at itself.
        if self.willing[rank] or kind == COMMIT:
            self._count(kind, rank)
        self._send(kind, rank)

    def _count(self, kind: int, rank: int) -> None:
        """Count a vote that the delegate has verified or sent itself."""
        self.tally[kind][rank] += 1
        self._check(rank)

    def _check(self, rank: int) -> None:
        """Commit or finalize if there is a quorum: enough votes, and the block is verified."""
        view = self.view
        if self.verified[rank] == NEVER or self.values[rank] == NO_BLOCK:
            return
        has_votes, has_commits = (self.tally[kind][rank] >= view.quorum for kind in (VOTE, COMMIT))
        if view.phases == 2 and has_votes and not self.has_quorum[rank].triggered:
            self.has_quorum[rank].succeed()
        if (has_commits if view.phases == 2 else has_votes) and self.final[rank] == NEVER:
            self.final[rank] = self.now
            self._on_quorum(COMMIT if view.phases == 2 else VOTE, rank)

    def _on_quorum(self, kind: int, rank: int) -> None:
        """Act on a quorum of votes or commits; only the law "uplink" has certificates to send."""

    def _send(self, kind: int, sender: int) -> None:
        """Send a message to every other delegate, starting with the next rank."""
        now, link_times, count = self.now, self.view.link_times, self.view.count
        if link_times.shared_channel:
            self.channel.put(now, kind, sender, sender)
            return
        send_ns = self.send_ns[kind][self.regions[sender]]
        free = self.uplink_free[sender]
        for step in range(1, count):
            receiver = (sender + step) % count
            link = receiver if link_times.link_per_pair else 0
            # On "host" messages queue for processors only, never for a link.
            free[link] = (now if link_times.processors else max(now, free[link])) + send_ns
            self._travel(kind, sender, receiver, sent_ns=free[link])

    def _use_channel(self, kind: int, sender: int, _: int) -> int:
        """Send all copies of a message on the shared channel in turn; return the duration in ns."""
        now, count = self.now, self.view.count
        send_ns: int = self.send_ns[kind][0]
        for step in range(1, count):
            receiver = (sender + step) % count
            self._travel(kind, sender, receiver, sent_ns=now + step * send_ns)
        return send_ns * (count - 1)

    def _travel(self, kind: int, sender: int, receiver: int, *, sent_ns: int) -> None:
        """Schedule the arrival of a message unless it is lost or its receiver has crashed."""
        if not self.alive[receiver]:
            return
        sender_region, receiver_region = self.regions[sender], self.regions[receiver]
        at = self.view.disturbance.arrival(
            kind,
            sender,
            receiver,
            at=sent_ns + self.latency_ns[kind][sender_region][receiver_region],
            max_jitter_ns=self.max_jitter_ns[sender_region][receiver_region],
            partitioned=self.side[sender] != self.side[receiver],
        )
        if at < NEVER:
            self._arrive(at, kind, sender, receiver)

    def _arrive(self, at: int, kind: int, sender: int, receiver: int) -> None:
        server = self.downlinks[receiver] or self.processors[receiver]
        server.put(at, kind, sender, receiver)

    def _processor(self) -> _Server:
        view = self.view
        blocks, votes, signs = view.block_ns.tolist(), view.vote_ns.tolist(), view.sign_ns.tolist()
        handling_ns = view.link_times.handling_ns

        def service(kind: int, sender: int, rank: int) -> int:
            if sender == rank:
                return int(signs[rank])
            return handling_ns[kind] + int((blocks if kind == BLOCK else votes)[rank])

        def on_end(kind: int, sender: int, rank: int) -> None:
            if sender == rank:
                self.signed[kind][rank].succeed()
            elif kind == BLOCK:
                self.has_block[rank].succeed()
            elif self.equivocates[sender] or self.values[sender] == self.values[rank]:
                self._count(kind, rank)

        return _Server(self.env, service, on_end)

    def _downlink(self, rank: int) -> _Server | None:
        link_times, processor = self.view.link_times, self.processors[rank]
        if not link_times.downlink_ns[BLOCK]:
            return None

        def on_end(kind: int, sender: int, receiver: int) -> None:
            processor.put(self.now + link_times.downlink_latency_ns, kind, sender, receiver)

        return _Server(self.env, lambda kind, *_: int(link_times.downlink_ns[kind]), on_end)

    def _receive_gossip(self, node: int, _: simpy.Event | None = None) -> None:
        """Handle a gossiped block at a node: on first reception, verify and forward it."""
        view, overlay = self.view, self.view.overlay
        assert overlay is not None
        if self.reached[node] != NEVER or overlay.silent[node]:
            return
        self.reached[node] = now = self.now
        rank = self.rank_at.get(node)
        is_proposer = rank == view.proposer
        if rank is not None and not is_proposer:
            self.processors[rank].put(now, BLOCK, view.proposer, rank)
        # The proposer does not verify its own block before it sends it.
        relay = 0 if is_proposer else overlay.relay_ns
        sender_region = int(overlay.regions[node])
        for index in range(overlay.peers):
            peer = overlay.peer(node, index)
            receiver_region = int(overlay.regions[peer])
            sent_ns = now + relay + (index + 1) * self.send_ns[BLOCK][sender_region]
            at = view.disturbance.arrival(
                BLOCK,
                node,
                index,
                at=sent_ns + self.latency_ns[BLOCK][sender_region][receiver_region],
                max_jitter_ns=self.max_jitter_ns[sender_region][receiver_region],
                partitioned=bool(overlay.side[node] != overlay.side[peer]),
            )
            if at < NEVER:
                call_at(self.env, at, partial(self._receive_gossip, peer))


def run_until(env: simpy.Environment, deadline_ns: int) -> None:
    """Run all events before the deadline."""
    # SimPy rejects an end that is not in the future: the proposer may be ready after the deadline.
    if deadline_ns > env.now:
        env.run(until=None if deadline_ns == NEVER else deadline_ns)


def _play_serial(view: View) -> Outcome:
    """Simulate the law "paper-serial": one server handles all pairs of delegates in turn."""
    env = simpy.Environment(initial_time=view.ready_ns)
    # Finality needs a copy from every live delegate; this law has no quorum of two thirds.
    needed = int(view.alive.sum())
    copies: list[list[int]] = [[] for _ in range(view.count)]

    def serve() -> Generator[simpy.Event, Any, None]:
        for i in np.flatnonzero(view.alive & (view.willing | view.equivocates)).tolist():
            yield env.timeout(view.serial_sign_ns)
            for j in np.flatnonzero(view.alive).tolist():
                yield env.timeout(view.serial_pair_ns * int(view.slowness[j]))
                partitioned = bool(view.side[i] != view.side[j])
                at = int(env.now)
                if i != j:
                    at = view.disturbance.arrival(
                        VOTE, i, j, at=at, max_jitter_ns=0, partitioned=partitioned
                    )
                if at != NEVER and (view.values[i] == view.values[j] or view.equivocates[i]):
                    copies[j].append(at)

    if view.alive[view.proposer] and view.values[view.proposer] != NO_BLOCK:
        env.process(serve())
    run_until(env, view.deadline_ns)
    final = [max(times) if times and len(times) >= needed else NEVER for times in copies]
    never = np.full(view.count, NEVER, dtype=np.int64)
    verified = np.array(final, dtype=np.int64)
    return Outcome(verified, never, verified.copy(), np.zeros(0, dtype=np.int64))
