"""Fast engine of the law "host", in which the processors of one computer run all delegates.

A job is a message to handle or a vote to sign. A processor takes one job at a time, in the order of
(arrival, kind, sender, receiver), and all jobs of a delegate run on one processor. A job causes
only jobs with greater keys, so the job with the least key can be processed at once and its end is
final.
"""

from __future__ import annotations

import heapq

import numpy as np

from pqchain.consensus.view import BLOCK, COMMIT, NEVER, NO_BLOCK, VOTE, Outcome, View


def play(view: View) -> Outcome:
    """Simulate one view of the law "host"."""
    return _Host(view).run()


class _Host:
    def __init__(self, view: View) -> None:
        self.view, count = view, view.count
        self.jobs: list[tuple[int, int, int, int]] = []
        self.free = [0] * view.link_times.processors
        self.verified, self.prepared, self.final = ([NEVER] * count for _ in range(3))
        self.tally = [[0] * count for _ in range(3)]
        self.alive, self.values = view.alive.tolist(), view.values.tolist()
        self.willing, self.equivocates = view.willing.tolist(), view.equivocates.tolist()
        self.side, self.sign_ns = view.side.tolist(), view.sign_ns.tolist()
        handling, votes = view.link_times.handling_ns, view.vote_ns.tolist()
        self.services = [
            [handling[kind] + ns for ns in verify_ns]
            for kind, verify_ns in enumerate((view.block_ns.tolist(), votes, votes))
        ]
        # One nanosecond on the link, as `network.link_times` gives it, and the latency.
        self.delay_ns = 1 + int(view.link_times.latency_ns[0, 0, 0])
        self.max_jitter_ns = int(view.link_times.max_jitter_ns[0, 0])

    def run(self) -> Outcome:
        view = self.view
        if self.alive[view.proposer]:
            self._send(BLOCK, view.proposer, view.ready_ns)
            self._verified(view.proposer, view.ready_ns)
        while self.jobs and self.jobs[0][0] < view.deadline_ns:
            at, kind, sender, receiver = heapq.heappop(self.jobs)
            processor = receiver % len(self.free)
            # A job from a delegate to itself is the signature of its own vote.
            is_signature = sender == receiver
            service = self.sign_ns[receiver] if is_signature else self.services[kind][receiver]
            ends = self.free[processor] = max(self.free[processor], at) + service
            if is_signature:
                self._signed(kind, receiver, ends)
            elif kind == BLOCK:
                self._verified(receiver, ends)
            elif self.equivocates[sender] or self.values[sender] == self.values[receiver]:
                self._count(kind, receiver, ends)
        reached: list[int] = []  # only gossip has it
        times = (self.verified, self.prepared, self.final, reached)
        return Outcome(*(np.array(values, dtype=np.int64) for values in times))

    def _send(self, kind: int, sender: int, now: int) -> None:
        count, side = self.view.count, self.side
        for receiver in range(count):
            if receiver == sender or not self.alive[receiver]:
                continue
            at = self.view.disturbance.arrival(
                kind, sender, receiver, at=now + self.delay_ns, max_jitter_ns=self.max_jitter_ns,
                partitioned=side[sender] != side[receiver],
            )  # fmt: skip
            if at < NEVER:
                heapq.heappush(self.jobs, (at, kind, sender, receiver))

    def _verified(self, rank: int, now: int) -> None:
        """Record the verification of the block and queue the signature of a vote for it."""
        self.verified[rank] = now
        if not self.view.phases and not self.view.all_to_all:
            self.final[rank] = now if self.willing[rank] else NEVER
            return
        self._check(rank, now)
        if self.willing[rank] or self.equivocates[rank]:
            heapq.heappush(self.jobs, (now, VOTE, rank, rank))

    def _signed(self, kind: int, rank: int, now: int) -> None:
        """Send a signed vote, and count it at its sender unless the sender equivocates."""
        if self.willing[rank] or kind == COMMIT:
            self._count(kind, rank, now)
        self._send(kind, rank, now)

    def _count(self, kind: int, rank: int, now: int) -> None:
        self.tally[kind][rank] += 1
        self._check(rank, now)

    def _check(self, rank: int, now: int) -> None:
        """Commit or finalize if there is a quorum: enough votes, and the block is verified."""
        view = self.view
        if self.verified[rank] == NEVER or self.values[rank] == NO_BLOCK:
            return
        has_votes, has_commits = (self.tally[kind][rank] >= view.quorum for kind in (VOTE, COMMIT))
        if view.phases == 2 and has_votes and self.prepared[rank] == NEVER:
            self.prepared[rank] = now
            heapq.heappush(self.jobs, (now, COMMIT, rank, rank))
        if (has_commits if view.phases == 2 else has_votes) and self.final[rank] == NEVER:
            self.final[rank] = now
