"""What every delegate receives in one pass of the fast engine, and what its two servers make of it.

A first-in first-out server is d = max(d, arrival) + service over the sorted arrivals. The rows are
played by compiled code, or one after the other with numpy, which gives the same.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from pqchain.consensus.engines import kernels
from pqchain.consensus.view import BLOCK, COMMIT, NEVER, VOTE, Array, View

_PARALLEL_ROWS = 256
"""From so many delegates on rows are played by threads; starting them costs some 0.2 ms."""


class Rows:
    """The rows of a view: what every delegate receives, and its two servers."""

    def __init__(self, view: View, block: Array, compiled: bool) -> None:
        self.view, self.block, self.compiled = view, block, compiled
        # These hold the block without having to verify it.
        self.has_block = np.zeros(view.count, dtype=np.bool_)
        self.has_block[view.proposer] = True
        if view.all_to_all:
            self.has_block[:] = True
        # The block comes through the downlink, unless it came by gossip.
        self.down = view.wires.down if view.overlay is None else np.zeros(3, dtype=np.int64)

    def alone(self) -> Array:
        """Return when each would have verified the block if there were no votes."""
        there = self.block + self.down[BLOCK] + self.view.wires.down_latency + self.view.block_ns
        work = np.where(self.has_block, self.block, there)
        return np.where(self.block < NEVER, work, NEVER)

    def settle(self, bases: Array, votes: Array, commits: Array, *, brief: bool) -> Array:
        """Return [3, delegate]: when each verified the block, had a quorum of votes, of commits.

        `brief` asks for the first only, where that can be had for less.
        """
        if self.compiled:
            return self._compiled(bases, votes, commits, brief)
        out = np.full((3, self.view.count), NEVER, dtype=np.int64)
        for j in np.flatnonzero(self.view.alive):
            out[:, j] = self._row(int(j), bases, votes, commits)
        return out

    def _row(self, j: int, bases: Array, votes: Array, commits: Array) -> tuple[int, int, int]:
        """Play the servers of one delegate, with numpy."""
        view, count = self.view, self.view.count
        block = NEVER if self.has_block[j] else int(self.block[j])
        senders = np.arange(count)
        messages = [
            np.where(
                (base < NEVER) & (senders != j), view.arrivals(kind, senders, j, base=base), NEVER
            )
            for kind, base in zip((VOTE, COMMIT), bases, strict=True)
        ]
        at = np.concatenate([[block], *messages])
        kind = np.concatenate([[BLOCK], np.repeat([VOTE, COMMIT], count)])
        order = np.argsort(at, kind="stable")
        order = order[at[order] < NEVER]
        done = at[order]
        if self.down[BLOCK]:
            done = _queue(done, self.down[kind[order]]) + view.wires.down_latency
        service = np.where(kind[order] == BLOCK, view.block_ns[j], view.vote_ns[j])
        done = _queue(done, service)
        finished = np.full(2 * count + 1, NEVER, dtype=np.int64)
        finished[order] = done
        verified = int(self.block[j]) if self.has_block[j] else int(finished[0])
        if verified >= NEVER:
            return NEVER, NEVER, NEVER
        counted = (view.values == view.values[j]) | view.double
        results = []
        for part, own, departs in (
            (finished[1 : count + 1], bool(view.willing[j]), votes),
            (finished[count + 1 :], True, commits),
        ):
            times = np.where(counted, part, NEVER)
            times[j] = departs[j] if own else NEVER
            results.append(max(int(np.sort(times)[view.quorum - 1]), verified))
        return verified, results[0], results[1]

    def _compiled(self, bases: Array, votes: Array, commits: Array, brief: bool) -> Array:
        """Play the servers of all delegates with numba, rows in parallel."""
        view, trouble = self.view, self.view.disturbance
        wires = view.wires
        keys = np.array([trouble.jitter, trouble.loss, trouble.delay], dtype=np.uint64)
        below = np.array([trouble.loss_below, trouble.delay_below], dtype=np.uint64)
        out = np.full((3, view.count), NEVER, dtype=np.int64)
        has_commits = bool((bases[1] < NEVER).any())
        arguments = (
            self.block, self.has_block, bases, votes, commits, view.regions, wires.slot,
            wires.tail, wires.span, wires.parallel, self.down, wires.down_latency, keys, below,
            trouble.delay_ns, trouble.heal_ns, view.side, view.alive, view.values, view.willing,
            view.double, view.block_ns, view.vote_ns, view.quorum, has_commits, brief, out,
        )  # fmt: skip
        if view.count < _PARALLEL_ROWS:
            kernels.settle(0, view.count, *arguments)
            return out
        # Rows write to their own places of `out` only. More parts than threads, because parts of
        # the same size need not take the same time.
        processors = os.cpu_count() or 1
        edges = np.linspace(0, view.count, 4 * processors + 1).astype(int).tolist()
        with ThreadPoolExecutor(processors) as pool:
            parts = [
                pool.submit(kernels.settle, start, end, *arguments)
                for start, end in pairwise(edges)
            ]
            for part in parts:
                part.result()
        return out


def _queue(arrivals: Array, service: Any) -> Array:
    """Return when a first-in first-out server is done with each; arrivals ascend."""
    ends = np.cumsum(service)
    done: Array = np.maximum.accumulate(arrivals - (ends - service)) + ends
    return done
