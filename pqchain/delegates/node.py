"""Delegates as nodes of `pqchain.wire`, which send their messages over transport sessions.

Node i is the delegate of rank i; higher numbers are observers (`observer`), each of which gets
final blocks from one delegate. Of two nodes the one with the lower number dials. The sender draws
loss, delay and partition as the model does, for each message between delegates; delayed messages
are queued, lost ones are not sent.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pqchain.consensus.network import SECOND, nanoseconds
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import NEVER
from pqchain.delegates.actions import FaultBehaviour, Sending, SignatureTask
from pqchain.delegates.core import CLASSES
from pqchain.delegates.observer import ChainNode, ObserverNode, serving_delegate
from pqchain.delegates.setting import Setting, SharedInputs
from pqchain.delegates.stores import FileStore, MemoryStore
from pqchain.delegates.timed_delegate import TimedDelegate
from pqchain.wire.node import Node, Task
from pqchain.wire.session import Event, Transport


class DelegateNode(ChainNode):
    """Node that runs a delegate over transport sessions and reports its results."""

    def __init__(
        self, index: int, transport: Transport, setting: Setting, store: MemoryStore
    ) -> None:
        scenario = setting.scenario
        self.delegate = TimedDelegate(
            setting,
            index,
            store,
            behaviour=FaultBehaviour.of(scenario.faults, index),
            target=scenario.blocks,
        )
        self._crashed = index in scenario.faults.crashed
        self._repeats = scenario.faults.slow_factor if index in scenario.faults.slow else 1
        self._side = setting.builder.side_of[setting.builder.nodes].tolist()
        self._observers = [
            number
            for number in range(setting.count, scenario.nodes)
            if serving_delegate(setting, number) == index
        ]
        """Observers that get their final blocks from this delegate."""
        super().__init__(
            index,
            transport,
            setting,
            store,
            dials=[*range(index + 1, setting.count), *self._observers],
            count=setting.count - 1 + len(self._observers),
            rejected=self.delegate.rejected,
        )
        self._delayed: list[tuple[int, int, int, bytes]] = []
        """Delayed messages as a heap: due time in ns, sequence number, receiver, bytes."""
        self._number = 0
        self._began_ns = 0
        self.sent: list[list[int]] = [[0, 0] for _ in range(scenario.blocks)]
        """Messages and bytes sent during each height."""
        self.entered: list[int] = []

    def _is_complete(self) -> bool:
        # Otherwise a crashed delegate would never be done.
        return self._crashed or self.delegate.is_complete

    def timer(self) -> float | None:
        """Return the time in seconds at which the node's next timer expires, or None."""
        due = [self._peers.redial] if self._peers.redial is not None else []
        if self.begun and not self._crashed:
            first = min(self.delegate.timer(), self._delayed[0][0] if self._delayed else NEVER)
            due += [first / SECOND] if first < NEVER else []
        return min(due, default=None)

    def report(self) -> Mapping[str, Any]:
        """Return the node's results, such as when it entered and finalized each height, in ns."""
        views = [self.delegate.views[height] for height in range(len(self.sent))]
        return {**super().report(), "entered_ns": self.entered, "views": views, "sent": self.sent}

    def begin(self, now: float) -> None:
        """Begin the first height, or resume after the last stored one."""
        self.begun, self._began_ns = True, nanoseconds(now)
        if not self._crashed:
            self.delegate.start(nanoseconds(now))
            self._flush(nanoseconds(now))

    def handle(self, event: Event, now: float) -> None:
        """Handle a transport event."""
        # A crashed delegate keeps its sessions, as nodes begin only when all are connected.
        received = self._peers.handle(event, now)
        if self._crashed or not received:
            return
        for peer, data in received:
            self.delegate.receive(peer, data, nanoseconds(now))
        if self.begun:
            self._flush(nanoseconds(now))

    def handle_timer(self, now: float) -> None:
        """Dial again, send delayed messages and wake the delegate, if due."""
        super().handle_timer(now)
        if self.begun and not self._crashed:
            at = nanoseconds(now)
            while self._delayed and self._delayed[0][0] <= at:
                _, _, peer, data = heapq.heappop(self._delayed)
                self._put(peer, data)
            self.delegate.wake(at)
            self._flush(at)

    def poll(self, now: float) -> Task | None:
        """Return the delegate's next task, or None; a delegate does one task at a time."""
        if self._is_working or self._crashed or not self.begun:
            return None
        work = self.delegate.poll()
        if work is None:
            return None
        self._is_working = True

        def run() -> tuple[SignatureTask, Any]:
            # Real work cannot be slowed down, so a slow delegate repeats it.
            for _ in range(self._repeats - 1):
                work.run()
            return work, work.run()

        return Task(work.kind, work.transactions, run, self._repeats)

    def _finish(self, outcome: Any, now: float) -> None:
        work, result = outcome
        work.finish(result, nanoseconds(now))
        self._flush(nanoseconds(now))

    # Sending.

    def _flush(self, now: int) -> None:
        """Send queued messages, and record when heights were entered and finished."""
        delegate = self.delegate
        while len(self.entered) <= delegate.blocks and not delegate.is_complete:
            self.entered.append(now)
        while len(self.finals) < delegate.blocks:
            self.finals.append(now)
            for observer in self._observers:
                self._put(observer, delegate.decided(len(self.finals) - 1))
        queued, delegate.out = delegate.out, []
        for sending in queued:
            self._send(sending, now)

    def _send(self, sending: Sending, now: int) -> None:
        """Send a message to one delegate, or to all others starting with the next rank."""
        count = self.setting.count
        others = [(self.index + step) % count for step in range(1, count)]
        for peer in others if sending.to is None else [sending.to]:
            data, at = sending.for_(peer), now
            # Draws are those of the model, so they apply only to the kinds that it has; the time of
            # a partition counts from the beginning of the run.
            if sending.kind in CLASSES and self.setting.scenario.faults.any:
                at = self.setting.disturbance(self.delegate.height, self.delegate.view).arrival(
                    CLASSES[sending.kind], self.index, peer, at=now - self._began_ns,
                    max_jitter_ns=0, partitioned=self._side[self.index] != self._side[peer],
                )  # fmt: skip
                at += self._began_ns
            if at >= NEVER:
                continue
            if at <= now:
                self._put(peer, data)
            else:
                self._number += 1
                heapq.heappush(self._delayed, (at, self._number, peer, data))

    def _put(self, peer: int, data: bytes) -> None:
        if self._peers.put(peer, data):
            sent = self.sent[min(self.delegate.blocks, len(self.sent) - 1)]
            sent[0] += 1
            sent[1] += len(data)


def build(
    index: int,
    transport: Transport,
    folder: Path,
    *,
    scenario: Scenario,
    inputs: SharedInputs,
    setting: Setting | None = None,
) -> Node:
    """Create a node for a driver; `setting` may be shared by nodes of one process."""
    if setting is None:
        setting = Setting(scenario, modelled_clock=False, inputs=inputs)
        if not inputs.blocks:
            # Before the clock starts, not when a proposer needs them.
            setting.shared_inputs()
    store = FileStore(folder, setting.pool.genesis, verifier=setting.verifier)
    if index >= setting.count:
        return ObserverNode(index, transport, setting, store)
    return DelegateNode(index, transport, setting, store)
