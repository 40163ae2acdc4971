"""What chains published when they tried, and what a study would have said from their plan.

Nothing is fitted: a plan is made of what the chain's own documents say, with a source or the word
assumption for each input, and the error stands beside every outcome. Which input decides is found
by halving and doubling each input, as for the sensitivity of a page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

from pqchain import installation
from pqchain.consensus import named
from pqchain.costs import CostTable
from pqchain.results import Contract
from pqchain.study import model, sensitivity
from pqchain.study.plan import Plan
from pqchain.study.wiring import WIRES

OUTCOMES = Contract.of(
    "study-outcomes",
    ("str", "chain quantity scheme"),
    ("float64", "predicted outcome error"),
    ("str", "decided_by kind date source"),
)

_FILES: Mapping[str, dict[str, Any]] = {
    path.stem: installation.read_toml(path)
    for path in sorted(installation.data("outcomes").glob("*.toml"))
}

CHAINS = tuple(_FILES)
"""Chains with published outcomes."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a chain tried: the plan of it and what came out."""

    title: str
    plan: Plan | None
    """None where only the price of a verification was published."""
    gas: Mapping[str, Any]
    date: str
    source: str
    outcomes: tuple[Mapping[str, Any], ...]


def trial(chain: str) -> Trial:
    """Return what a chain of CHAINS tried."""
    row = _FILES[chain]
    plan = None
    if "plan" in row:
        values = dict(row["plan"])
        wires = {name: values.pop(name) for name in WIRES if name in values}
        network = named(wires.pop("law"), **wires)
        values["schemes"] = tuple(values["schemes"])
        plan = Plan(
            title=row["title"], network=network, sources=row["plan_sources"], **values
        )  # fmt: skip
    return Trial(
        row["title"], plan, row.get("gas", {}), row["date"], row["source"], tuple(row["outcome"])
    )


def scheme_names() -> tuple[str, ...]:
    """Return the schemes whose costs `scoreboard` needs."""
    names: list[str] = []
    for chain in CHAINS:
        one = trial(chain)
        names += one.plan.names if one.plan else (one.gas["scheme"], one.gas["anchor"])
    return tuple(dict.fromkeys(names))


def scoreboard(costs: CostTable) -> pd.DataFrame:
    """Return prediction, outcome and error of everything that chains published.

    Columns: chain, quantity, scheme, predicted, outcome, error (predicted over outcome, less 1),
    decided_by (the input that moves the prediction most when halved and doubled; what prices it,
    for gas; why there is none), kind ("measured by its makers" or "arithmetic of its makers"),
    date, source.
    """
    rows = []
    for chain in CHAINS:
        one = trial(chain)
        for outcome in one.outcomes:
            asked = (chain, outcome["quantity"], outcome["scheme"])
            predicted, decided = math.nan, outcome.get("unpredicted", "")
            if not decided:
                predicted, decided = _predicted(*asked, costs)
            error = predicted / outcome["value"] - 1
            told = (decided, outcome["kind"], one.date, one.source)
            rows.append((*asked, predicted, outcome["value"], error, *told))
    return OUTCOMES.frame(rows)


@lru_cache(maxsize=256)
def _predicted(chain: str, quantity: str, scheme: str, costs: CostTable) -> tuple[float, str]:
    """Return a prediction and the input that decides it; every page of a study asks."""
    one = trial(chain)
    needed = one.plan.names if one.plan else (scheme, one.gas["anchor"])
    if missing := [name for name in needed if name not in costs]:
        return math.nan, f"no costs of {', '.join(missing)} in this study"
    if one.plan is None:
        ratio = costs[scheme].verify_seconds / costs[one.gas["anchor"]].verify_seconds
        return one.gas["anchor_gas"] * ratio, f"verify_seconds over {one.gas['anchor']}'s"
    value = model.figures(one.plan, costs)[scheme][quantity]
    if quantity not in sensitivity.OUTPUTS:
        return value, "bytes, counted"
    strongest = sensitivity.tornado(one.plan, costs, scheme=scheme, output=quantity)
    return value, str(strongest["input"].iloc[0]) if len(strongest) else "no input alone"
