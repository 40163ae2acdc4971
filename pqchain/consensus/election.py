"""Who is a delegate, and in which order delegates propose."""

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
