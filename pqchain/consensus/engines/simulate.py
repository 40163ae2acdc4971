"""Reference engine in SimPy: a process for each delegate, a callback for each message.

It is written for readability and defines the model; the fast engine must return the same
nanoseconds. A message is a callback of the server that handles it. On the law "uplink" heights may
overlap, and a delegate enters the next one when it has a quorum of votes for the block before;
messages that reach it earlier wait until then. The quorum's signatures may follow each quorum.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

import numpy as np
import simpy

from pqchain.consensus.engines.queues import AFTER_REQUESTS, ServiceQueue, SharedLinks, call_at
from pqchain.consensus.view import BLOCK, COMMIT, NEVER, NO_BLOCK, VOTE, Outcome, View
from pqchain.errors import UsageError

MAX_MESSAGES = 2_000_000
"""Maximum number of messages of a view; at 10^5 per second they take 20 seconds."""

_CERTIFICATE = -1
"""Kind of a message with a quorum's signatures, which its receiver does not process."""

_ORDER = {
    (BLOCK, False): 0,
    (VOTE, False): 1,
    (VOTE, True): 2,
    (COMMIT, False): 3,
    (COMMIT, True): 4,
}
"""Order of messages of one height that a delegate sends at once, by kind and whether it is the
certificate of that kind."""


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


def play(*views: View) -> list[tuple[int, Outcome]]:
    """Simulate one view, or overlapping heights; return when each was started, and its outcome.

    The first view has absolute times; the `ready_ns` of the others counts from when their proposer
    enters. Raises UsageError if a view has too many messages for this engine.
    """
    for view in views:
        check(view)
    if views[0].serial_pair_ns:
        return [(0, _play_serial(views[0]))]
    return _Simulation(views).run()


class _Simulation:
    """Simulation of heights, which share the processors of delegates and the links."""

    def __init__(self, views: tuple[View, ...]) -> None:
        first, link_times = views[0], views[0].link_times
        self.env = simpy.Environment(initial_time=0)
        uploads, downloads = (
            [rates[region] for region in first.regions.tolist() if rates]
            for rates in (link_times.uploads, link_times.downloads)
        )
        self.links = SharedLinks(uploads, downloads)
        self.settles_ns = self.finishes_ns = NEVER
        # On "host" rank r computes on processor r modulo their number; else each has its processor.
        number = link_times.processors or first.count
        servers = [
            ServiceQueue(
                self.env,
                lambda at, *message: self.heights[at].service(*message),
                lambda at, *message: self.heights[at].end(*message),
            )
            for _ in range(min(number, first.count))
        ]
        self.processors = [servers[rank % number] for rank in range(first.count)]
        self.heights = [_Height(self, at, view) for at, view in enumerate(views)]

    def run(self) -> list[tuple[int, Outcome]]:
        """Simulate up to the deadline of the last view."""
        first, last = self.heights[0], self.heights[-1]
        for rank in range(first.view.count):
            first.enter(rank)
        deadline_ns = last.view.deadline_ns
        self.env.run(until=None if deadline_ns == NEVER else deadline_ns)
        return [(height.started_ns, height.outcome()) for height in self.heights]

    def share(self, order: tuple[int, int], pair: tuple[int, int], bits: int, message: Any) -> None:
        """Send a message now, and share the links anew after all sends of this nanosecond."""
        self.links.put(int(self.env.now), order, pair, bits, message)
        self._settle_later()

    def _settle_later(self) -> None:
        if self.settles_ns != self.env.now:
            self.settles_ns = int(self.env.now)
            call_at(self.env, self.settles_ns, self._settle, AFTER_REQUESTS)

    def _settle(self, _: simpy.Event) -> None:
        self.settles_ns = NEVER
        self.finishes_ns = self.links.settle(int(self.env.now))
        if self.finishes_ns < NEVER:
            call_at(self.env, self.finishes_ns, self._finish)

    def _finish(self, _: simpy.Event) -> None:
        # Rates may have changed since this event was scheduled, which makes it stale.
        if self.finishes_ns != self.env.now:
            return
        for (sender, receiver), (number, kind) in self.links.finish(int(self.env.now)):
            if kind != _CERTIFICATE:
                self.heights[number].travel(kind, sender, receiver, sent_ns=int(self.env.now))
        self._settle_later()


class _Height:
    """State of one height, and the processes of its delegates."""

    def __init__(self, simulation: _Simulation, number: int, view: View) -> None:
        self.simulation, self.number, self.view = simulation, number, view
        self.env, self.processors = simulation.env, simulation.processors
        count, links = view.count, view.link_times
        self.started_ns = 0 if number == 0 else NEVER
        # Plain lists: reading an element takes a tenth of the time that an array needs.
        self.regions, self.side = view.regions.tolist(), view.side.tolist()
        self.alive, self.values = view.alive.tolist(), view.values.tolist()
        self.willing, self.equivocates = view.willing.tolist(), view.equivocates.tolist()
        self.send_ns, self.latency_ns = links.send_ns.tolist(), links.latency_ns.tolist()
        self.max_jitter_ns, self.sign_ns = links.max_jitter_ns.tolist(), view.sign_ns.tolist()
        # [kind][rank]: time to handle and verify a message.
        self.service_ns = [
            (times + links.handling_ns[kind]).tolist()
            for kind, times in enumerate((view.block_ns, view.vote_ns, view.vote_ns))
        ]
        self.verified, self.prepared, self.final = ([NEVER] * count for _ in range(3))
        delegates = [] if view.overlay is None else view.overlay.delegates.tolist()
        self.rank_at = {node: rank for rank, node in enumerate(delegates)}
        self.reached = [NEVER] * (0 if view.overlay is None else view.overlay.nodes)
        self.tally = [[0] * count for _ in range(3)]
        self.has_block, self.has_quorum = (
            [self.env.event() for _ in range(count)] for _ in range(2)
        )
        self.entered = [False] * count
        # By receiver: (kind, sender) of messages that came before it entered the height.
        self.early: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        # [sender][link]: when the link is free; one uplink, or one link per receiver.
        self.uplink_free = [[0] * (count if links.link_per_pair else 1) for _ in range(count)]
        self.channel = ServiceQueue(self.env, self._use_channel, lambda *_: None, AFTER_REQUESTS)
        # [kind][rank], on "host" only: the vote has been signed.
        self.signed = [[self.env.event() for _ in range(count)] for _ in range(3)]
        self.downlinks = [self._downlink(rank) for rank in range(count)]
        for rank in np.flatnonzero(view.alive).tolist():
            self.env.process(self._delegate(rank))

    @property
    def now(self) -> int:
        """Simulated time in nanoseconds; an integer, because all delays are integers."""
        return int(self.env.now)

    def outcome(self) -> Outcome:
        """Return the times up to the deadline."""
        times = (self.verified, self.prepared, self.final, self.reached)
        return Outcome.before(self.view.deadline_ns, *times)

    # Delegates.

    def enter(self, rank: int) -> None:
        """Let a delegate process messages of this height, and propose if it is its turn."""
        self.entered[rank] = True
        for kind, sender in self.early[rank]:
            self.processors[rank].put(self.now, self.number, kind, sender, rank)
        if rank == self.view.proposer and self.alive[rank]:
            self.started_ns = self.now
            call_at(self.env, self.now + self.view.ready_ns, self._propose)

    def _propose(self, _: simpy.Event) -> None:
        view = self.view
        if not view.sends_block:
            for rank in np.flatnonzero(view.alive).tolist():
                self.has_block[rank].succeed()
            return
        self.has_block[view.proposer].succeed()
        if view.overlay is None:
            self._send(BLOCK, view.proposer)
        else:
            self._receive_gossip(int(view.overlay.delegates[view.proposer]))

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
            self._send_certificate(VOTE, rank)
            heights = self.simulation.heights
            if self.number + 1 < len(heights):
                heights[self.number + 1].enter(rank)
            env.process(self._vote(COMMIT, rank))

    def _vote(self, kind: int, rank: int) -> Generator[simpy.Event, Any, None]:
        # On "host" a signature waits for the shared processor; otherwise signing runs in parallel.
        if self.view.link_times.processors:
            self.processors[rank].put(self.now, self.number, kind, rank, rank)
            yield self.signed[kind][rank]
        else:
            yield self.env.timeout(self.sign_ns[rank])
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
            self._send_certificate(COMMIT if view.phases == 2 else VOTE, rank)

    def service(self, kind: int, sender: int, rank: int) -> int:
        """Return the time of a processor to handle a message, or to sign a vote, in ns."""
        time: int = self.sign_ns[rank] if sender == rank else self.service_ns[kind][rank]
        return time

    def end(self, kind: int, sender: int, rank: int) -> None:
        """Act on a processed message or a signed vote."""
        if sender == rank:
            self.signed[kind][rank].succeed()
        elif kind == BLOCK:
            self.has_block[rank].succeed()
        elif self.equivocates[sender] or self.values[sender] == self.values[rank]:
            self._count(kind, rank)

    # Messages.

    def _send(self, kind: int, sender: int) -> None:
        """Send a message to every other delegate, starting with the next rank."""
        now, link_times, count = self.now, self.view.link_times, self.view.count
        if link_times.uploads:
            self._share(_ORDER[kind, False], link_times.bits[kind], kind, sender)
            return
        if link_times.shared_channel:
            self.channel.put(now, kind, sender)
            return
        send_ns = self.send_ns[kind][self.regions[sender]]
        free = self.uplink_free[sender]
        for step in range(1, count):
            receiver = (sender + step) % count
            link = receiver if link_times.link_per_pair else 0
            # On "host" messages queue for processors only, never for a link.
            free[link] = (now if link_times.processors else max(now, free[link])) + send_ns
            self.travel(kind, sender, receiver, sent_ns=free[link])

    def _share(self, order: int, bits: int, kind: int, sender: int) -> None:
        for receiver in range(self.view.count):
            if receiver != sender:
                message = self.number, kind
                self.simulation.share((self.number, order), (sender, receiver), bits, message)

    def _send_certificate(self, kind: int, rank: int) -> None:
        if self.view.certificate_bits:
            self._share(_ORDER[kind, True], self.view.certificate_bits, _CERTIFICATE, rank)

    def _use_channel(self, kind: int, sender: int) -> int:
        """Send all copies of a message on the shared channel in turn; return the duration in ns."""
        now, count = self.now, self.view.count
        send_ns: int = self.send_ns[kind][0]
        for step in range(1, count):
            self.travel(kind, sender, (sender + step) % count, sent_ns=now + step * send_ns)
        return send_ns * (count - 1)

    def _arrival_ns(
        self, i: int, j: int, kind: int, regions: tuple[int, int], sent_ns: int, partitioned: bool
    ) -> int:
        """Return when a message that (i, j) identifies arrives; NEVER if it is lost."""
        sender_region, receiver_region = regions
        return self.view.disturbance.arrival(
            kind,
            i,
            j,
            at=sent_ns + self.latency_ns[kind][sender_region][receiver_region],
            max_jitter_ns=self.max_jitter_ns[sender_region][receiver_region],
            partitioned=partitioned,
        )

    def travel(self, kind: int, sender: int, receiver: int, *, sent_ns: int) -> None:
        """Schedule the arrival of a message unless it is lost or its receiver has crashed."""
        if not self.alive[receiver]:
            return
        regions = self.regions[sender], self.regions[receiver]
        is_partitioned = self.side[sender] != self.side[receiver]
        at = self._arrival_ns(sender, receiver, kind, regions, sent_ns, is_partitioned)
        if at >= NEVER:
            return
        if self.view.link_times.uploads:
            call_at(self.env, at, partial(self._receive, kind, sender, receiver))
        else:
            server = self.downlinks[receiver] or self.processors[receiver]
            server.put(at, self.number, kind, sender, receiver)

    def _receive(self, kind: int, sender: int, receiver: int, _: simpy.Event) -> None:
        if self.entered[receiver]:
            self.processors[receiver].put(self.now, self.number, kind, sender, receiver)
        else:
            self.early[receiver].append((kind, sender))

    def _downlink(self, rank: int) -> ServiceQueue | None:
        link_times, processor = self.view.link_times, self.processors[rank]
        if not link_times.downlink_ns[BLOCK]:
            return None
        times = link_times.downlink_ns.tolist()

        def on_end(*message: int) -> None:
            processor.put(self.now + link_times.downlink_latency_ns, *message)

        return ServiceQueue(self.env, lambda _, kind, *ranks: times[kind], on_end)

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
            self.processors[rank].put(now, self.number, BLOCK, view.proposer, rank)
        # The proposer does not verify its own block before it sends it.
        relay = 0 if is_proposer else overlay.relay_ns
        region = int(overlay.regions[node])
        for index in range(overlay.peers):
            peer = overlay.peer(node, index)
            sent_ns = now + relay + (index + 1) * self.send_ns[BLOCK][region]
            regions = region, int(overlay.regions[peer])
            is_partitioned = bool(overlay.side[node] != overlay.side[peer])
            at = self._arrival_ns(node, index, BLOCK, regions, sent_ns, is_partitioned)
            if at < NEVER:
                call_at(self.env, at, partial(self._receive_gossip, peer))


def _play_serial(view: View) -> Outcome:
    """Simulate the law "paper-serial": one server handles all pairs of delegates in turn."""
    env = simpy.Environment(initial_time=0)
    # Finality needs a copy from every live delegate; this law has no quorum of two thirds.
    needed = int(view.alive.sum())
    copies: list[list[int]] = [[] for _ in range(view.count)]

    def serve() -> Generator[simpy.Event, Any, None]:
        yield env.timeout(view.ready_ns)
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
    env.run(until=None if view.deadline_ns == NEVER else view.deadline_ns)
    final = [max(times) if times and len(times) >= needed else NEVER for times in copies]
    return Outcome.before(view.deadline_ns, final, [NEVER] * view.count, final, [])
