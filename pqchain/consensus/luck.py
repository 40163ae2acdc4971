"""Proof of Luck as its authors' code has it: luck, release delay, who wins, who switches.

Milutinovic, He, Wu, Kanwal, Proof of Luck (arXiv 1703.05435) and luckychain/lucky, commit d86d7fc:
a round lasts ROUND_TIME; then l is uniform in [0, 1) with 52 random bits, and the block is
released after f(l) = (1 - l) * ROUND_TIME / 2 + 1 seconds. A node that hears of a luckier block
before its own release keeps silent; the chain with the larger sum of luck is followed.
"""

from __future__ import annotations

from pqchain.consensus import draws

ROUND_SECONDS = 10.0
"""ROUND_TIME of the authors' code; the paper's summary says 15."""

LEAST_SECONDS = 1.0
"""Every release waits this long, so that all know their own number first."""


def luck(seed: int, *, height: int, node: int) -> float:
    """Return the luck of a node at a height."""
    return draws.unit(draws.draw(draws.key(seed, "luck", round_number=height), node))


def release_delay_seconds(value: float, *, round_seconds: float = ROUND_SECONDS) -> float:
    """Return f(l), the wait before a block of that luck is released."""
    return (1.0 - value) * round_seconds / 2.0 + LEAST_SECONDS
