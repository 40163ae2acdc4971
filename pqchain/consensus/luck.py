"""Proof of Luck as its authors' code has it: luck, release delay, who wins, who switches.

Milutinovic, He, Wu, Kanwal, Proof of Luck (arXiv 1703.05435) and luckychain/lucky, commit d86d7fc:
a round lasts ROUND_TIME; then l is uniform in [0, 1) with 52 random bits, and the block is
released after f(l) = (1 - l) * ROUND_TIME / 2 + 1 seconds. A node that hears of a luckier block
before its own release keeps silent; the chain with the larger sum of luck is followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pqchain.consensus import draws

ROUND_SECONDS = 10.0
"""ROUND_TIME of the authors' code; the paper's summary says 15."""

LEAST_SECONDS = 1.0
"""Every release waits this long, so that all know their own number first."""


@dataclass(frozen=True, slots=True)
class Race:
    """One round: who released when, and whose block stays."""

    winner: int
    """Position of the luckiest."""
    released_seconds: float
    """When the winner's block leaves, from the start of the round."""
    released: int
    """How many released a block: the winner, and who had not heard of it in time."""
    switched: int
    """How many first held a less lucky block and switched to the winner's."""


def luck(seed: int, *, height: int, node: int) -> float:
    """Return the luck of a node at a height."""
    return draws.unit(draws.draw(draws.key(seed, "luck", round_number=height), node))


def release_delay_seconds(value: float, *, round_seconds: float = ROUND_SECONDS) -> float:
    """Return f(l), the wait before a block of that luck is released."""
    return (1.0 - value) * round_seconds / 2.0 + LEAST_SECONDS


def race(lucks: Sequence[float], *, round_seconds: float, propagation_seconds: float) -> Race:
    """Play one round in which every block reaches everybody after `propagation_seconds`."""
    winner = max(range(len(lucks)), key=lambda node: (lucks[node], -node))
    release = [
        round_seconds + release_delay_seconds(value, round_seconds=round_seconds) for value in lucks
    ]
    # The winner releases first, so only who is within the propagation time releases as well.
    heard = release[winner] + propagation_seconds
    rivals = [node for node in range(len(lucks)) if node != winner and release[node] < heard]
    # A rival's block travels as fast and left later, so only rivals themselves held another one.
    return Race(winner, release[winner], 1 + len(rivals), len(rivals))


def mean_interval_seconds(miners: int, *, round_seconds: float = ROUND_SECONDS) -> float:
    """Return the mean time between blocks without propagation: E[max luck] is M / (M + 1)."""
    return round_seconds + LEAST_SECONDS + round_seconds / 2.0 / (miners + 1)
