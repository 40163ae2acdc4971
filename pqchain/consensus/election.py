"""Who is a delegate, and in which order delegates propose: by votes, or by Proof of Luck.

Milutinovic, He, Wu, Kanwal, Proof of Luck (arXiv 1703.05435) and luckychain/lucky, commit d86d7fc:
a round lasts ROUND_TIME (10 s there; 15 in the paper's summary); then l is uniform in [0, 1) with
52 random bits, and the block is released after f(l) = (1 - l) * ROUND_TIME / 2 + 1 seconds. A node
that hears of a luckier block before its own release keeps silent; the chain with the larger sum of
luck is followed.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from pqchain.consensus import draws

Voting = Literal["plurality", "approval", "weighted"]

VOTING: tuple[Voting, ...] = get_args(Voting)
"""Every way to vote."""

APPROVALS = 30
"""Candidates that one voter may approve, as in EOSIO's delegated proof of stake."""

LEAST_SECONDS = 1.0
"""Every release waits this long, so that all know their own number first."""


def tally(voting: Voting, *, nodes: int, seed: int) -> npt.NDArray[np.int64]:
    """Count the votes that every node gives; every node is voter and candidate.

    plurality: one vote of weight 1 for one candidate. approval: weight 1 for each of up to 30.
    weighted: one vote of weight 1 to 1000, the stake of the voter. The paper that names delegation
    does not say which; voters here choose at random, from the scenario's seed.
    """
    voters = np.arange(nodes, dtype=np.uint64)
    votes = np.zeros(nodes, dtype=np.int64)
    weights = np.ones(nodes, dtype=np.int64)
    if voting == "weighted":
        weights += draws.below(draws.key(seed, "weight"), voters, 0, 1000)
    for choice in range(min(APPROVALS, nodes) if voting == "approval" else 1):
        candidates = draws.below(draws.key(seed, "ballot"), voters, choice, nodes)
        np.add.at(votes, candidates, weights)
    return votes


def delegates(voting: Voting, *, nodes: int, count: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the `count` nodes with most votes, most first; ties go to the lower number."""
    votes = tally(voting, nodes=nodes, seed=seed)
    return np.argsort(-votes, kind="stable")[:count].astype(np.int64)


def luck(seed: int, *, height: int, node: int) -> float:
    """Return the luck of a node at a height."""
    return draws.unit(draws.draw(draws.key(seed, "luck", round_number=height), node))


def release_delay_seconds(value: float, *, round_seconds: float) -> float:
    """Return f(l), the wait before a block of that luck is released."""
    return (1.0 - value) * round_seconds / 2.0 + LEAST_SECONDS
