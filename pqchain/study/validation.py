"""The model compared with observations: chains of today, and trials that chains published.

Nothing is fitted. Where an input and an observation have the same source, the sources of the plan
name it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

from pqchain import installation
from pqchain.costs import CostTable
from pqchain.results import Contract
from pqchain.study import sensitivity
from pqchain.study.figures import QUANTITIES, models
from pqchain.study.inputs import Plan

CALIBRATION = Contract.of(
    "study-calibration",
    ("str", "quantity scheme unit"),
    ("float64", "model observed error"),
    ("str", "settings date source"),
)

FAR = 0.25
"""Relative error above which the page starts with a warning."""

EXPECTED = ("throughput", "block bytes", "vote bytes", "time to final")
"""Quantities that every chain should be calibrated with."""

_EXPECTED_OF = {
    "capacity_per_second": "throughput", "sustained_per_second": "throughput",
    "transactions_per_block": "throughput", "full_block_bytes": "block bytes",
    "vote_bytes_per_block": "vote bytes", "rule_seconds": "time to final",
    "final_seconds": "time to final",
}  # fmt: skip


def calibrate(plan: Plan, costs: CostTable) -> pd.DataFrame:
    """Return a row for each observation of the plan, and one for each missing observation.

    Columns: quantity (a figure, or one of EXPECTED without an observation), scheme, unit, model,
    observed (NaN if missing), error (model over observed, less 1), settings (inputs that had other
    values at the time), date, source.
    """
    rows: list[tuple[Any, ...]] = []
    for observed in plan.observed:
        scheme = observed.scheme or plan.baseline
        settings = {"transaction_aggregation": "plain", **observed.settings}
        then = plan.with_(schemes=(scheme,), migration={}, **settings)
        value = models(then, costs)[scheme][observed.quantity]
        unit = str(QUANTITIES[observed.quantity].unit)
        error = value / observed.value - 1
        text = ", ".join(f"{name}={setting:g}" for name, setting in observed.settings.items())
        origin = (text, observed.date, observed.source)
        rows.append((observed.quantity, scheme, unit, value, observed.value, error, *origin))
    present = {_EXPECTED_OF.get(observed.quantity) for observed in plan.observed}
    for name in EXPECTED:
        if name not in present:
            missing = [math.nan] * 3
            rows.append((name, plan.baseline, "", *missing, "", "", "no cited observation"))
    return CALIBRATION.frame(rows)


def large_errors(frame: pd.DataFrame) -> list[str]:
    """Return a warning for each error above FAR, or that there is no observation at all."""
    observed = frame[frame["observed"].notna()]
    if observed.empty:
        return ["Not calibrated: no observation of such a chain is cited."]
    return [
        f"Calibration: the model's {row['quantity'].replace('_', ' ')} with {row['scheme']} is "
        f"{row['error']:+.0%} from the observed value ({row['date']})."
        for row in observed.to_dict("records")
        if abs(row["error"]) > FAR
    ]


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
    """A published trial of a chain: its plan and its outcomes."""

    title: str
    plan: Plan | None
    """None if only the gas of a verification was published."""
    gas: Mapping[str, Any]
    date: str
    source: str
    outcomes: tuple[Mapping[str, Any], ...]


def trial_of(chain: str) -> Trial:
    """Return the trial of a chain of CHAINS."""
    row = _FILES[chain]
    plan = None
    if "plan" in row:
        plan = Plan(title=row["title"], sources=row["plan_sources"], **row["plan"])
    return Trial(
        row["title"], plan, row.get("gas", {}), row["date"], row["source"], tuple(row["outcome"])
    )


def scheme_names() -> tuple[str, ...]:
    """Return the schemes whose costs `predictions` needs."""
    names: list[str] = []
    for chain in CHAINS:
        trial = trial_of(chain)
        names += trial.plan.names if trial.plan else (trial.gas["scheme"], trial.gas["anchor"])
    return tuple(dict.fromkeys(names))


def predictions(costs: CostTable) -> pd.DataFrame:
    """Return prediction, outcome and error of every published outcome.

    Columns: chain, quantity, scheme, predicted, outcome, error (predicted over outcome, less 1),
    decided_by (the input that changes the prediction most when halved and doubled; for gas, the
    ratio that prices it; or why there is no prediction), kind ("measured by its makers" or
    "arithmetic of its makers"), date, source.
    """
    rows = []
    for chain in CHAINS:
        trial = trial_of(chain)
        for outcome in trial.outcomes:
            key = (chain, outcome["quantity"], outcome["scheme"])
            value, decided_by = math.nan, outcome.get("unpredicted", "")
            if not decided_by:
                value, decided_by = _predicted(*key, costs)
            error = value / outcome["value"] - 1
            origin = (decided_by, outcome["kind"], trial.date, trial.source)
            rows.append((*key, value, outcome["value"], error, *origin))
    return OUTCOMES.frame(rows)


@lru_cache(maxsize=256)
def _predicted(chain: str, quantity: str, scheme: str, costs: CostTable) -> tuple[float, str]:
    """Return a prediction and the input that decides it; cached, as every page has them."""
    trial = trial_of(chain)
    needed = trial.plan.names if trial.plan else (scheme, trial.gas["anchor"])
    if missing := [name for name in needed if name not in costs]:
        return math.nan, f"no costs of {', '.join(missing)} in this study"
    if trial.plan is None:
        ratio = costs[scheme].verify_seconds / costs[trial.gas["anchor"]].verify_seconds
        return trial.gas["anchor_gas"] * ratio, f"verify_seconds over {trial.gas['anchor']}'s"
    value = models(trial.plan, costs)[scheme][quantity]
    if quantity not in sensitivity.OUTPUTS:
        return value, "bytes, counted"
    strongest = sensitivity.tornado(trial.plan, costs, scheme=scheme, output=quantity)
    return value, str(strongest["input"].iloc[0]) if len(strongest) else "no input alone"
