"""Who is a delegate, and in which order delegates propose."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from pqchain.consensus import draws
from pqchain.errors import UsageError

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
    chosen = np.zeros(nodes, dtype=np.int64)
    family = draws.key(seed, "ballot")
    weights = np.ones(nodes, dtype=np.int64)
    if voting == "weighted":
        drawn = draws.draws(draws.key(seed, "weight"), voters, 0)
        weights += _below(drawn, 1000)
    elif voting not in ("plurality", "approval"):
        raise UsageError(f"voting is {voting!r}; expected 'plurality', 'approval' or 'weighted'")
    for choice in range(min(APPROVALS, nodes) if voting == "approval" else 1):
        candidates = _below(draws.draws(family, voters, choice), nodes)
        np.add.at(chosen, candidates, weights)
    return chosen


def delegates(voting: Voting, *, nodes: int, count: int, seed: int) -> npt.NDArray[np.int64]:
    """Return the `count` nodes with most votes, most first; ties go to the lower number."""
    votes = tally(voting, nodes=nodes, seed=seed)
    ranked: npt.NDArray[np.int64] = np.argsort(-votes, kind="stable")[:count].astype(np.int64)
    return ranked


def _below(numbers: npt.NDArray[np.uint64], bound: int) -> npt.NDArray[np.int64]:
    """Scale draws to whole numbers from 0 to bound - 1."""
    high = numbers >> np.uint64(32)
    scaled: npt.NDArray[np.int64] = ((high * np.uint64(bound)) >> np.uint64(32)).astype(np.int64)
    return scaled
