"""Mean latency of a transaction by arrival rate: wait for a block, queue, and finality.

A closed form. Transactions arrive as a Poisson process; every cycle a block takes the first n of
them. The queue after a block is the maximum of a random walk, whose mean is Spitzer's sum:
E[Q] = sum over k >= 1 of E[(S_k - k n)+] / k, with S_k the arrivals of k cycles (F. Spitzer, A
combinatorial lemma and its application to probability theory, 1956; for n = 1 it is the M/D/1
queue). A transaction then takes half a cycle until the next block, E[Q] over the rate by Little's
law, and the time from proposal to finality of a block of that fill, which is linear in the fill.
Linearity and the arrivals are the only assumptions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pqchain.results import Contract

LOAD = Contract.of(
    "study-load", ("str", "algorithm"), ("float64", "arrivals_per_second load latency_seconds")
)

LOADS = (0.05, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""Shares of the capacity in tables."""

_CURVE_LOADS = sorted({*LOADS, 0.3, 0.5, 0.65, 0.75, 0.84, 0.87, 0.92, 0.935, 0.96, 0.97})
"""Shares of the capacity at the points of the curve, which bends near the capacity."""

MOST_TERMS = 10_000
"""Terms of Spitzer's sum; where more would matter, Kingman's bound replaces it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Parameters of blocks: number of transactions, interval and time to finality."""

    transactions: float
    """Transactions of a full block."""
    seconds: float
    """Minimum block interval."""
    waits: bool
    """Whether a block waits for the finality of the previous one."""
    empty_seconds: float
    """Time from proposal to finality of a block of one transaction."""
    full_seconds: float
    """The same for a full block."""

    def final_seconds(self, fill: float) -> float:
        """Return the time from proposal to finality of a block filled to this share, 0 to 1."""
        return self.empty_seconds + fill * (self.full_seconds - self.empty_seconds)

    def cycle_seconds(self, rate: float) -> float:
        """Return the block interval at this rate of arrivals per second."""
        fixed = self.final_seconds(min(1.0, rate * self.seconds / self.transactions))
        if not self.waits or fixed <= self.seconds:
            return self.seconds
        # A block takes the arrivals of the last cycle: cycle = final(rate * cycle / n).
        growth = (self.full_seconds - self.empty_seconds) * rate / self.transactions
        if growth < 1.0 and (cycle := self.empty_seconds / (1.0 - growth)) < self.full_seconds:
            return max(self.seconds, cycle)
        return max(self.seconds, self.full_seconds)

    @property
    def capacity_per_second(self) -> float:
        """Maximum throughput in transactions per second."""
        cycle = max(self.seconds, self.full_seconds) if self.waits else self.seconds
        return self.transactions / cycle


def latency_seconds(blocks: Blocks, rate: float) -> float:
    """Return the mean latency of a transaction; infinite at and above the capacity."""
    cycle = blocks.cycle_seconds(rate)
    arrivals, room = rate * cycle, max(1, math.floor(blocks.transactions))
    if rate >= blocks.capacity_per_second or arrivals >= room:
        return math.inf
    waiting = left_over(arrivals, room) / rate
    # A transaction arrives at a random time of a cycle, so the next block is half a cycle away.
    return cycle / 2 + waiting + blocks.final_seconds(arrivals / blocks.transactions)


def left_over(arrivals: float, room: int) -> float:
    """Return the mean number of transactions that stay in the queue after a block.

    `arrivals` is the mean number in a cycle, `room` the number that fits in a block.

    >>> round(left_over(0.5, 1), 6)  # M/D/1: 0.5 ** 2 / (2 * 0.5)
    0.25
    """
    if arrivals <= 0:
        return 0.0
    # Terms decrease about as exp(-k drift^2 / (2 arrivals)), so those left out sum to about 1e-14.
    drift = room - arrivals
    terms = math.ceil(64 * arrivals / drift**2) + 8
    # Near the capacity the sum converges slowly, and heavy traffic makes Kingman's bound tight.
    if terms > MOST_TERMS:
        return arrivals / (2 * drift)
    return math.fsum(_excess(k * arrivals, k * room) / k for k in range(1, terms + 1))


def _excess(mean: float, bound: int) -> float:
    """Return E[(X - bound)+] for a Poisson variable X with a mean below the bound."""
    # Logarithms: the factors overflow long before their quotient does.
    first = math.exp(bound * math.log(mean) - mean - math.lgamma(bound + 1))
    if first == 0.0:
        return 0.0
    # Twelve standard deviations above the bound the terms are negligible.
    steps = np.arange(1, 64 + math.ceil(12 * math.sqrt(mean)))
    return float(first * (steps * np.cumprod(mean / (bound + steps))).sum())


def curve(blocks_of: dict[str, Blocks]) -> pd.DataFrame:
    """Return the latency of each scheme at several shares of its capacity.

    Columns: algorithm, arrivals_per_second, load (share of the scheme's capacity), latency_seconds.
    """
    return LOAD.frame(
        [algorithm, load * blocks.capacity_per_second, load,
         latency_seconds(blocks, load * blocks.capacity_per_second)]
        for algorithm, blocks in blocks_of.items()
        for load in _CURVE_LOADS
    )  # fmt: skip
