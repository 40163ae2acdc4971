"""The model against the chain of today: what is observed, what the model gives, how far apart.

Nothing is fitted here. Where an input of a plan was taken from the same source as an observation,
the plan's sources say so.
"""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from pqchain.results import Contract
from pqchain.study import model
from pqchain.study.plan import Plan
from pqchain.study.quantities import QUANTITIES
from pqchain.study.times import Times

CALIBRATION = Contract.of(
    "study-calibration",
    ("str", "quantity scheme unit"),
    ("float64", "model observed error"),
    ("str", "settings date source"),
)

FAR = 0.25
"""An error above this stands at the head of the page."""

ASKED = ("throughput", "block bytes", "vote bytes", "time to final")
"""What every chain is asked for."""

_ASKED_BY = {
    "capacity_per_second": "throughput", "sustained_per_second": "throughput",
    "transactions_per_block": "throughput", "full_block_bytes": "block bytes",
    "vote_bytes_per_block": "vote bytes", "rule_seconds": "time to final",
    "final_seconds": "time to final",
}  # fmt: skip


def calibrate(plan: Plan, times: Times) -> pd.DataFrame:
    """Return a row for each observation of the plan, and one for each that nobody cites.

    Columns: quantity (a figure of the study, or one of ASKED without an observation), scheme, unit,
    model, observed (NaN where none is cited), error (model over observed, less 1), settings (inputs
    as they were then), date, source.
    """
    rows: list[tuple[Any, ...]] = []
    for seen in plan.observed:
        scheme = seen.scheme or plan.baseline
        today = {"transaction_aggregation": "plain", **seen.settings}
        then = plan.with_(schemes=(scheme,), migration={}, **today)
        got = model.figures(then, times.middle)[scheme][seen.quantity]
        settings = ", ".join(f"{name}={value:g}" for name, value in seen.settings.items())
        unit = QUANTITIES[seen.quantity].unit
        error = got / seen.value - 1
        told = (settings, seen.date, seen.source)
        rows.append((seen.quantity, scheme, unit, got, seen.value, error, *told))
    cited = {_ASKED_BY.get(seen.quantity) for seen in plan.observed}
    for name in ASKED:
        if name not in cited:
            none = [math.nan] * 3
            rows.append((name, plan.baseline, "", *none, "", "", "no cited observation"))
    return CALIBRATION.frame(rows)


def far(frame: pd.DataFrame) -> list[str]:
    """Say what is off by more than FAR, or that nothing is calibrated at all."""
    seen = frame[frame["observed"].notna()]
    if seen.empty:
        return ["Not calibrated: nothing that was observed on such a chain is cited."]
    return [
        f"Calibration: the model's {row['quantity'].replace('_', ' ')} with {row['scheme']} is "
        f"{row['error']:+.0%} off what was observed ({row['date']})."
        for row in seen.to_dict("records")
        if abs(row["error"]) > FAR
    ]
