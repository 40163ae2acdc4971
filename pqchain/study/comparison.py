"""The capacity that each signature scheme costs each chain."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from pqchain import algorithms as registry
from pqchain.costs import CostTable
from pqchain.results import Contract
from pqchain.study import validation, words
from pqchain.study.figures import models
from pqchain.study.files import load
from pqchain.study.plans import ready_names

COST_ON_CHAINS = Contract.of(
    "cost-on-chains",
    ("str", "chain title algorithm baseline"),
    ("float64", "lost_share"),
    ("str", "limit"),
    ("bool", "calibrated"),
)

ALGORITHMS = (
    "Falcon-512", "Falcon-1024", "ML-DSA-44", "ML-DSA-65", "SPHINCS+-SHA2-128s-simple",
)  # fmt: skip
"""Schemes that are compared unless others are named, from short to long."""


def chains() -> tuple[str, ...]:
    """Return the ready studies of chains under their present or next rules."""
    plans = {name: load(name) for name in ready_names()}
    # A study with printed times has none of other schemes.
    measured = {name: plan.chain for name, plan in plans.items() if plan.costs == "measured"}
    return tuple(name for name, chain in measured.items() if chain.baseline and not chain.is_past)


def cost_on_chains(costs: CostTable, algorithms: Sequence[str] = ALGORITHMS) -> pd.DataFrame:
    """Return the share of its capacity that each chain loses with each scheme.

    The key is in each transaction, unless the signature gives it. `costs` has the times of the
    schemes and of today's schemes (ECDSA-secp256k1, Ed25519, Schnorr-secp256k1). Columns: chain (a
    ready study), title, algorithm, baseline, lost_share (0 to 1; 1 if no transaction fits;
    negative for a gain), limit (the binding limit), calibrated (whether an independent observation
    tests the plan). Raises MissingCosts.
    """
    names = tuple(dict.fromkeys(registry.get(name).name for name in algorithms))
    rows = []
    for chain in chains():
        plan = load(chain).with_(algorithms=names, migration={})
        tested = len(validation.tests(validation.calibrate(plan, costs))) > 0
        # Today's keys are where they are today; those of the schemes are in each transaction.
        today = models(plan, costs)
        new = today if plan.chain.key_mode != "registered" else models(
            plan.with_(key_mode="inline"), costs
        )  # fmt: skip
        before = today[plan.chain.baseline]["capacity_per_second"]
        rows += [
            [chain, words.chain_name(plan), name, plan.chain.baseline,
             1 - new[name]["capacity_per_second"] / before, new[name].limit, tested]
            for name in names
        ]  # fmt: skip
    return COST_ON_CHAINS.frame(rows)
