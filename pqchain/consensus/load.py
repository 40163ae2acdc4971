"""Which transactions a block holds: those that have appeared, in order, as many as fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pqchain.consensus import draws, lengths
from pqchain.consensus.network import SECOND
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The block of a height."""

    height: int
    starts_ns: int
    """When the height can begin: there is something to propose."""
    transactions: int
    size_bytes: int
    appeared_ns: float
    """Mean time at which its transactions appeared."""


class Load:
    """The transactions of a scenario, taken block by block."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.header_bytes = scenario.layout.block_overhead_bytes()
        self.room_bytes = scenario.block_bytes - self.header_bytes
        self.arrivals = self._arrivals()

    def take(self, height: int, *, now: int) -> Block | None:
        """Fill a block at that time, or when the next transaction appears; None if none will."""
        sizes = self._sizes(height)
        count = int(np.searchsorted(np.cumsum(sizes), self.room_bytes, side="right"))
        appeared = float(now)
        if self.scenario.arrivals_per_second:
            if not len(self.arrivals):
                return None
            now = max(now, int(self.arrivals[0]))
            count = min(count, int(np.searchsorted(self.arrivals, now, side="right")))
            appeared = float(self.arrivals[:count].mean())
            self.arrivals = self.arrivals[count:]
        return Block(
            height=height,
            starts_ns=now,
            transactions=count,
            size_bytes=self.header_bytes + int(sizes[:count].sum()),
            appeared_ns=appeared,
        )

    def _sizes(self, height: int) -> Array:
        """Draw the sizes of the transactions that come next; more than fit."""
        scenario = self.scenario
        counted = scenario.signature_lengths()
        fixed = scenario.layout.transaction_bytes(scenario.cost, 0)
        most = self.room_bytes // (fixed + min(counted)) + 1
        return fixed + lengths.sample(counted, count=most, seed=scenario.seed, block=height)

    def _arrivals(self) -> Array:
        """Draw when transactions appear: a Poisson process; nothing if there are always enough."""
        rate = self.scenario.arrivals_per_second
        if not rate:
            return np.zeros(0, dtype=np.int64)
        most = self.scenario.blocks * len(self._sizes(0))
        drawn = draws.draws(draws.key(self.scenario.seed, "arrival"), np.arange(most), 0)
        uniform = ((drawn >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
        return np.cumsum(np.rint(-np.log(uniform) / rate * SECOND).astype(np.int64))
