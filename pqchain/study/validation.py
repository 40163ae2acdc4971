"""Comparison of the model with observations of existing chains.

An observation that is arithmetic of the plan's own inputs, or to which an input was fitted, states
this as its dependence and tests nothing. No input is fitted to any other observation.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from pqchain import installation, results
from pqchain.costs import CostTable, MissingCosts
from pqchain.errors import UsageError
from pqchain.results import Contract
from pqchain.study.figures import QUANTITIES, models
from pqchain.study.plan import Plan

CALIBRATION = Contract.of(
    "study-calibration",
    ("str", "quantity algorithm unit"),
    ("float64", "model observed error"),
    ("str", "settings date source dependence"),
)

FAR = 0.25
"""Relative error above which the page starts with a warning."""

EXPECTED = ("throughput", "block bytes", "vote bytes", "time to final")
"""Quantities that every chain should be calibrated with."""

EXPECTED_OF = {
    "capacity_per_second": "throughput", "sustained_per_second": "throughput",
    "transactions_per_block": "throughput", "full_block_bytes": "block bytes",
    "vote_bytes_per_block": "vote bytes", "consensus_bytes_per_block": "vote bytes",
    "rule_seconds": "time to final", "final_seconds": "time to final",
    "single_transaction_final_seconds": "time to final of a block with one transaction",
}  # fmt: skip
"""The expected quantity that each figure stands for."""

NOT_CALIBRATED = "Not calibrated: no independent observation of such a chain is cited."
"""Warning of a plan that no observation tests."""


def calibrate(plan: Plan, costs: CostTable) -> pd.DataFrame:
    """Compare the model with the plan's observations; expected but missing ones get a row, too.

    Columns: quantity (a figure, or one of EXPECTED without an observation), algorithm, unit, model,
    observed (NaN if missing), error (model / observed - 1), settings (inputs that had other
    values at the time), date, source, dependence (what the observation shares with the inputs, or
    why it was not compared, so that the row tests nothing; "" if it is a test).
    """
    rows: list[tuple[Any, ...]] = []
    for observed in plan.observed:
        algorithm = observed.algorithm or plan.chain.baseline
        # No chain of today aggregates its transactions, so its observations are of plain ones.
        settings = {"transaction_aggregation": "plain", **observed.settings}
        value, dependence = math.nan, observed.dependence
        try:
            then = plan.with_(algorithms=(algorithm,), migration={}, **settings)
            value = models(then, costs)[algorithm][observed.quantity]
        except (MissingCosts, UsageError) as problem:
            # The caller has measured other schemes, or has inputs that contradict these settings.
            reason = "not measured" if isinstance(problem, MissingCosts) else str(problem)
            dependence = f"not compared: {reason}".replace("\n", "; ")
        unit = str(QUANTITIES[observed.quantity].unit)
        error = value / observed.value - 1
        text = ", ".join(
            f"{name}={setting if isinstance(setting, str) else format(setting, 'g')}"
            for name, setting in observed.settings.items()
        )
        origin = (text, observed.date, observed.source, dependence)
        rows.append((observed.quantity, algorithm, unit, value, observed.value, error, *origin))
    present = {EXPECTED_OF.get(observed.quantity) for observed in plan.observed}
    # A missing observation gets a row, to show what was not compared.
    for name in EXPECTED:
        if name not in present:
            missing = [math.nan] * 3
            rows.append(
                (name, plan.chain.baseline, "", *missing, "", "", "no cited observation", "")
            )
    return CALIBRATION.frame(rows)


def tests(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `calibrate` that test the model: independent observations."""
    return frame[frame["observed"].notna() & (frame["dependence"] == "")]


def large_errors(frame: pd.DataFrame) -> list[str]:
    """Return a warning for each large error of a test, or one for a plan without any test."""
    observed = tests(frame)
    if observed.empty:
        return [NOT_CALIBRATED]
    return [
        f"Calibration: the model's {row['quantity'].replace('_', ' ')} with {row['algorithm']} is "
        f"{row['error']:+.0%} from the observed value ({row['date']})."
        for row in observed.to_dict("records")
        if abs(row["error"]) > FAR
    ]


def engines(plan: Plan) -> str:
    """Return which consensus engine the plan's observations are runs of, if any."""
    names = sorted({observed.engine for observed in plan.observed if observed.engine})
    if not names:
        return "Not checked against an engine."
    return f"Checked against an engine: {', '.join(names)}."


def engine_bias(plan: Plan) -> list[str]:
    """Return a warning for each engine of the plan from which the model was found to differ.

    data/engines/skill.csv has the skill and the bias of the model over the stored runs of engines
    (`pqchain engine compare`).
    """
    names = sorted({observed.engine for observed in plan.observed if observed.engine})
    if not names:
        return []
    skills = results.load(installation.data("engines") / "skill.csv")
    ratios = skills[(skills["quantity"] == "ratio") & (skills["mode"] == "virtual")]
    return [
        f"Measured bias: of a scheme's effect on the latency, the model has "
        f"{100 + row['bias_percent']:.0f} % of what {name} shows (median of {row['informative']} "
        f"setups, skill {row['no_effect_skill']:.2f}; `pqchain engine compare`)."
        for name in names
        for row in ratios[ratios["status"] == "failed"].to_dict("records")
        if row["engine"] in name.lower()
    ]
