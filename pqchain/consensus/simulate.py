"""The reference engine: one view as SimPy processes for delegates and callbacks for messages.

It is written to be read. What it does is what the model means; the fast engine has to give the
same nanoseconds. It needs two events per message and refuses views beyond MAX_MESSAGES.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np
import simpy
from simpy.events import EventPriority

from pqchain.consensus.view import BLOCK, COMMIT, NEVER, VOTE, Outcome, View
from pqchain.errors import UsageError

MAX_MESSAGES = 2_000_000
"""The most messages of a view; at 10^5 a second that is a third of a minute."""

_ARRIVAL = EventPriority(1)
"""Priority of messages; SimPy's normal one."""

_AFTER_ARRIVALS = EventPriority(2)
"""Priority of what must see all messages of its nanosecond first."""

_AFTER_REQUESTS = EventPriority(3)
"""Priority of the shared channel, which must see all requests of its nanosecond."""

Key = tuple[int, int, int]
"""Time, kind and sender: the order of service everywhere."""


class _Clock(simpy.Environment):
    """SimPy's environment with a clock of whole nanoseconds."""

    @property
    def ns(self) -> int:
        """The time now; all delays are whole numbers, so it is one."""
        return int(self.now)


class _At(simpy.Event):
    """An event that calls back at a time, with a priority that Timeout does not offer."""

    def __init__(
        self,
        env: _Clock,
        at: int,
        call: Callable[[Any], None],
        *,
        priority: EventPriority = _ARRIVAL,
    ) -> None:
        self.env = env
        self.callbacks = [call]
        self._value = None
        self._ok = True
        env.schedule(self, priority, at - env.ns)


class _Server:
    """Serves one message at a time, in the order of (arrival, kind, sender)."""

    def __init__(
        self,
        env: _Clock,
        service: Callable[[int, int], int],
        done: Callable[[int, int], None],
        *,
        priority: EventPriority = _AFTER_ARRIVALS,
    ) -> None:
        self.env, self.service, self.done, self.priority = env, service, done, priority
        self.waiting: list[Key] = []
        self.busy = False

    def put(self, kind: int, sender: int) -> None:
        """Take a message that arrives now."""
        heapq.heappush(self.waiting, (self.env.ns, kind, sender))
        if not self.busy:
            self.busy = True
            _At(self.env, self.env.ns, self._start, priority=self.priority)

    def _start(self, _: Any) -> None:
        """Begin with the first message."""
        self._serve()

    def _serve(self) -> None:
        _, kind, sender = heapq.heappop(self.waiting)

        def finish(_: Any) -> None:
            self.done(kind, sender)
            if not self.waiting:
                self.busy = False
            elif self.waiting[0][0] < self.env.ns:
                self._serve()
            else:  # others may still arrive in this very nanosecond
                _At(self.env, self.env.ns, self._start, priority=self.priority)

        _At(self.env, self.env.ns + self.service(kind, sender), finish)


def play(view: View) -> Outcome:
    """Play one view. Raises UsageError if it takes too many messages for this engine."""
    messages = view.count * view.count * max(1, view.phases)
    if view.overlay is not None:
        messages += view.overlay.nodes * view.overlay.peers
    if messages > MAX_MESSAGES:
        raise UsageError(
            f"{messages} messages are too many for the SimPy engine, which takes {MAX_MESSAGES}; "
            "use engine='fast', which gives the same result"
        )
    if view.serial_pair_ns:
        return _play_serial(view).before(view.deadline_ns)
    return _Simulation(view).run().before(view.deadline_ns)


class _Simulation:
    """The state of one view."""

    def __init__(self, view: View) -> None:
        self.view = view
        # Times are absolute; the clock starts where the view does.
        self.env = _Clock(initial_time=view.leaves_ns)
        count = view.count
        self.verified = [NEVER] * count
        self.prepared = [NEVER] * count
        self.final = [NEVER] * count
        nodes = view.overlay.nodes if view.overlay is not None else 0
        self.reached = [NEVER] * nodes
        self.delegate_at = (
            {int(node): rank for rank, node in enumerate(view.overlay.delegates)}
            if view.overlay is not None
            else {}
        )
        self.tally = [[0] * count for _ in range(3)]
        self.needed = view.quorum
        self.got_block = [self.env.event() for _ in range(count)]
        self.got_votes = [self.env.event() for _ in range(count)]
        self.uplink_free = [0] * count
        self.link_free: dict[tuple[int, int], int] = {}
        self.channel = _Server(
            self.env, self._use_channel, lambda kind, sender: None, priority=_AFTER_REQUESTS
        )
        self.processors = [self._processor(rank) for rank in range(count)]
        self.downlinks = [self._downlink(rank) for rank in range(count)]

    def run(self) -> Outcome:
        """Run until nothing is left to happen, or to the deadline."""
        view = self.view
        for rank in range(view.count):
            if view.alive[rank]:
                self.env.process(self._delegate(rank))
        if view.alive[view.proposer]:
            if view.all_to_all:
                for rank in map(int, np.flatnonzero(view.alive)):
                    self.got_block[rank].succeed()
            else:
                self.got_block[view.proposer].succeed()
                if view.overlay is None:
                    self._send(BLOCK, view.proposer)
                else:
                    self._hear(int(view.overlay.delegates[view.proposer]))
        if view.deadline_ns == NEVER:
            self.env.run()
        elif view.deadline_ns > self.env.ns:
            self.env.run(until=view.deadline_ns)
        parts = (self.verified, self.prepared, self.final, self.reached)
        return Outcome(*(np.array(part, dtype=np.int64) for part in parts))

    def _delegate(self, rank: int) -> Generator[simpy.Event, Any, None]:
        """Play a delegate: verify, vote, wait for votes, commit."""
        view, env = self.view, self.env
        yield self.got_block[rank]
        self.verified[rank] = env.ns
        self._check(rank)
        if view.phases == 0 and not view.all_to_all:
            if view.willing[rank]:
                self.final[rank] = env.ns
            return
        if view.willing[rank] or view.double[rank]:
            env.process(self._vote(VOTE, rank))
        if view.phases == 2:
            yield self.got_votes[rank]
            self.prepared[rank] = env.ns
            env.process(self._vote(COMMIT, rank))

    def _vote(self, kind: int, rank: int) -> Generator[simpy.Event, Any, None]:
        """Sign beside everything else, then send to all."""
        yield self.env.timeout(int(self.view.sign_ns[rank]))
        if self.view.willing[rank] or kind == COMMIT:
            self._count(kind, rank)
        self._send(kind, rank)

    def _count(self, kind: int, rank: int) -> None:
        """Add a vote that the delegate has verified, or its own."""
        self.tally[kind][rank] += 1
        self._check(rank)

    def _check(self, rank: int) -> None:
        """See whether a quorum is reached; that needs the block as well as the votes."""
        view = self.view
        if self.verified[rank] == NEVER:
            return
        if self.tally[VOTE][rank] >= self.needed:
            if view.phases == 2 and not self.got_votes[rank].triggered:
                self.got_votes[rank].succeed()
            if view.phases < 2 and self.final[rank] == NEVER:
                self.final[rank] = self.env.ns
        if self.tally[COMMIT][rank] >= self.needed and self.final[rank] == NEVER:
            self.final[rank] = self.env.ns

    def _send(self, kind: int, sender: int) -> None:
        """Send to every other delegate, starting with the next rank."""
        view, now = self.view, self.env.ns
        wires = view.wires
        if wires.shared:
            self.channel.put(kind, sender)
            return
        slot = int(wires.slot[kind, view.regions[sender]])
        for step in range(1, view.count):
            receiver = (sender + step) % view.count
            if wires.parallel:
                start = max(now, self.link_free.get((sender, receiver), 0))
                self.link_free[sender, receiver] = start + slot
            else:
                start = max(now, self.uplink_free[sender])
                self.uplink_free[sender] = start + slot
            self._travel(kind, sender, receiver, sent_ns=start + slot)

    def _use_channel(self, kind: int, sender: int) -> int:
        """Send all copies of a message, one after the other; return how long that takes."""
        view = self.view
        slot = int(view.wires.slot[kind, 0])
        for step in range(1, view.count):
            receiver = (sender + step) % view.count
            self._travel(kind, sender, receiver, sent_ns=self.env.ns + step * slot)
        return slot * (view.count - 1)

    def _travel(self, kind: int, sender: int, receiver: int, *, sent_ns: int) -> None:
        """Let a message arrive, late or not at all if the network disturbs it."""
        view = self.view
        one, two = int(view.regions[sender]), int(view.regions[receiver])
        at = view.disturbance.arrival(
            kind,
            sender,
            receiver,
            at=sent_ns + int(view.wires.tail[kind, one, two]),
            span=int(view.wires.span[one, two]),
            cut=bool(view.side[sender] != view.side[receiver]),
        )
        if at == NEVER or not view.alive[receiver]:
            return
        server = self.downlinks[receiver] or self.processors[receiver]
        _At(self.env, at, lambda _: server.put(kind, sender))

    def _processor(self, rank: int) -> _Server:
        """Make the processor of a delegate, which verifies blocks and votes."""
        view = self.view
        block, vote = int(view.block_ns[rank]), int(view.vote_ns[rank])

        def done(kind: int, sender: int) -> None:
            if kind == BLOCK:
                self.got_block[rank].succeed()
            elif view.counts_for(sender, rank):
                self._count(kind, rank)

        return _Server(self.env, lambda kind, _: block if kind == BLOCK else vote, done)

    def _downlink(self, rank: int) -> _Server | None:
        """Make the downlink of a delegate, where the network has one."""
        wires = self.view.wires
        if not wires.down[BLOCK]:
            return None
        processor = self.processors[rank]

        def done(kind: int, sender: int) -> None:
            at = self.env.ns + wires.down_latency
            _At(self.env, at, lambda _: processor.put(kind, sender))

        return _Server(self.env, lambda kind, _: int(wires.down[kind]), done)

    def _hear(self, node: int) -> None:
        """Let a node hear of the block by gossip: verify it and pass it on, once."""
        view, overlay = self.view, self.view.overlay
        assert overlay is not None
        if self.reached[node] != NEVER or overlay.silent[node]:
            return
        self.reached[node] = self.env.ns
        rank = self.delegate_at.get(node)
        is_proposer = rank == view.proposer
        if rank is not None and not is_proposer:
            self.processors[rank].put(BLOCK, view.proposer)
        relay = 0 if is_proposer else overlay.relay_ns
        one = int(overlay.regions[node])
        slot = int(view.wires.slot[BLOCK, one])
        for place in range(overlay.peers):
            peer = overlay.peer(node, place)
            two = int(overlay.regions[peer])
            sent = self.env.ns + relay + (place + 1) * slot
            at = view.disturbance.arrival(
                BLOCK,
                node,
                place,
                at=sent + int(view.wires.tail[BLOCK, one, two]),
                span=int(view.wires.span[one, two]),
                cut=bool(overlay.side[node] != overlay.side[peer]),
            )
            if at != NEVER:
                _At(self.env, at, partial(self._arrive, peer))

    def _arrive(self, node: int, _: Any) -> None:
        """Call `_hear` back."""
        self._hear(node)


def _play_serial(view: View) -> Outcome:
    """Play paper-serial: one server handles every pair of delegates, one after the other."""
    env = _Clock(initial_time=view.leaves_ns)
    needed = int(view.alive.sum())
    copies: list[list[int]] = [[] for _ in range(view.count)]

    def serve() -> Generator[simpy.Event, Any, None]:
        server = simpy.Resource(env)
        for i in range(view.count):
            if not view.alive[i] or not (view.willing[i] or view.double[i]):
                continue
            yield env.timeout(view.serial_sign_ns)
            for j in range(view.count):
                if not view.alive[j]:
                    continue
                with server.request() as grant:
                    yield grant
                    yield env.timeout(view.serial_pair_ns * int(view.slowness[j]))
                cut = bool(view.side[i] != view.side[j])
                at = env.ns
                if i != j:
                    at = view.disturbance.arrival(VOTE, i, j, at=at, span=0, cut=cut)
                if at != NEVER and view.counts_for(i, j):
                    copies[j].append(at)

    if view.alive[view.proposer]:
        env.process(serve())
    if view.deadline_ns == NEVER:
        env.run()
    elif view.deadline_ns > env.ns:
        env.run(until=view.deadline_ns)
    final = [max(times) if times and len(times) >= needed else NEVER for times in copies]
    never = np.full(view.count, NEVER, dtype=np.int64)
    verified = np.array(final, dtype=np.int64)
    return Outcome(verified, never, verified.copy(), np.zeros(0, dtype=np.int64))
