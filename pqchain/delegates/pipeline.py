"""Execution of delegates in virtual time whose heights overlap.

A delegate takes part in a height by a state machine of its own, which starts from the state after
the block before, when the delegate has a quorum of votes for that block. The state machines of one
delegate share its processor and its links. As in the model there are no faults but slow delegates,
so the block with a quorum of votes is the one that becomes final.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from pqchain.chain.state import State
from pqchain.consensus.runs import Height, Run, pipelined_height
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import NEVER, Outcome
from pqchain.delegates.core import Delegate
from pqchain.delegates.lockstep import CpuJob, LockstepSimulation, message_class, times_of, value_of
from pqchain.delegates.messages import height_of
from pqchain.delegates.plain_network import PLAIN, Server
from pqchain.delegates.safety_store import MemoryStore
from pqchain.delegates.setting import Setting


def run(scenario: Scenario) -> Run:
    """Run the delegates of a pipelined scenario; raises the errors of `lockstep.run`."""
    heights = _Pipeline(Setting(scenario)).run()
    return Run(scenario=scenario, heights=heights, mode="virtual", transport=PLAIN)


class _Pipeline(LockstepSimulation):
    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._processors = [
            Server(self.clock, self._start_job, self._finish_job) for _ in range(setting.count)
        ]
        self._started_ns: dict[int, int] = {}
        # By height and rank: the state machines, and messages that came before them.
        self._members: dict[tuple[int, int], Delegate] = {}
        self._early: dict[tuple[int, int], list[tuple[int, bytes]]] = defaultdict(list)

    def run(self) -> tuple[Height, ...]:
        """Run all heights and return their results."""
        scenario, setting = self.scenario, self.setting
        blocks = [setting.load.take(number, now=0) for number in range(scenario.blocks)]
        self.network.begin(setting.disturbance(0, 0), None)
        for rank in range(setting.count):
            self._enter(0, rank, setting.pool.genesis)
        self.clock.run(NEVER)
        heights = []
        for number, block in enumerate(blocks):
            assert block is not None  # blocks are always full in a pipeline
            members = [self._members[number, rank] for rank in range(setting.count)]
            outcome = Outcome(**times_of(members), reached_ns=np.zeros(0, dtype=np.int64))
            heights.append(
                pipelined_height(
                    block,
                    outcome,
                    started_ns=self._started_ns[number],
                    honest=self.builder.honest,
                    blocks={value_of(delegate) for delegate in members},
                )
            )
        return tuple(heights)

    def _enter(self, height: int, rank: int, state: State) -> None:
        """Start a delegate's state machine of a height on the state after the block before."""
        delegate = Delegate(self.setting, rank, MemoryStore(state))
        self._members[height, rank] = delegate
        self.network.enter(height, self.setting.disturbance(height, 0))
        delegate.enter(height, 0, self.clock.now)
        if delegate.releases_ns < NEVER:
            self._started_ns[height] = self.clock.now
            self.clock.at(delegate.releases_ns, self._wake, delegate)
        for sender, data in self._early.pop((height, rank), ()):
            self._deliver(rank, sender, data)

    def _deliver(self, receiver: int, sender: int, data: bytes) -> None:
        height = height_of(data)
        delegate = self._members.get((height, receiver))
        if delegate is None:
            self._early[height, receiver].append((sender, data))
            return
        # Of messages that arrive at once those of lower heights come first.
        key = self.clock.now, height, message_class(data), sender
        self._processors[receiver].put(key, CpuJob(delegate, message=(sender, data)))

    def _flush(self, delegate: Delegate) -> None:
        super()._flush(delegate)
        following = delegate.height + 1, delegate.rank
        if (
            delegate.prepared_ns < NEVER
            and following not in self._members
            and following[0] < self.scenario.blocks
        ):
            assert delegate.block is not None
            assert delegate.block.state is not None  # a block with a quorum is valid
            self._enter(*following, delegate.block.state)
