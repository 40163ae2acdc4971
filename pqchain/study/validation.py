"""Comparison of the model with dated observations of existing chains.

Whether an observation is a test is computed: each input that was derived from the same figures, or
assumed for the row, is scaled; where the prediction moves with one of them one to one, the row
tests nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from pqchain import installation, results
from pqchain.costs import CostTable, MissingCosts
from pqchain.errors import UsageError
from pqchain.figures import percent
from pqchain.results import Contract
from pqchain.study.figures import QUANTITIES, SchemeModel, models
from pqchain.study.inputs import Observation
from pqchain.study.plan import Plan

CALIBRATION = Contract.of(
    "study-calibration",
    ("str", "quantity algorithm unit"),
    ("float64", "model observed error use"),
    ("str", "settings date published source dependence"),
)

FAR = 0.25
"""Relative error above which the page starts with a warning, and a chart has a mark."""

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

NOT_CALIBRATED = "Not calibrated: no independent observation of the chain's throughput is cited."
"""Warning of a plan whose throughput no observation tests."""

_TRANSACTION = frozenset({"execution_gas", "data_bytes", "envelope_bytes", "signatures"})
"""Inputs of how much of a block the mean transaction uses."""

# Large enough that rounding to whole bytes does not hide a move one to one.
_STEP = 1.1


def calibrate(plan: Plan, costs: CostTable) -> pd.DataFrame:
    """Compare the model with the plan's observations; expected but missing ones get a row, too.

    Columns: quantity (a figure, or one of EXPECTED without an observation), algorithm, unit, model,
    observed (NaN if missing), error (model / observed - 1), use (gas, weight or bytes of the mean
    transaction of that time, relative to the plan's; NaN if the row does not tell), settings
    (inputs that had other values at the time), date, published (date of the source), source,
    dependence (why the row tests nothing or was not compared; "" if it is a test).
    """
    rows: list[list[Any]] = []
    fitted: list[tuple[Observation, float]] = []
    for seen in plan.observed:
        algorithm = seen.algorithm or plan.chain.baseline
        # No chain of today aggregates its transactions, so its observations are of plain ones.
        settings = {"transaction_aggregation": "plain", **seen.settings}
        value, derived = math.nan, {*seen.derived.split()}
        try:
            then = plan.with_(algorithms=(algorithm,), **settings)
            model = models(then, costs)[algorithm]
            value, dependence = model[seen.quantity], _dependence(seen, model)
            if dependence and derived & _TRANSACTION:
                fitted.append((seen, value))
        except (MissingCosts, UsageError) as problem:
            # The caller has measured other schemes, or has inputs that contradict these settings.
            reason = "not measured" if isinstance(problem, MissingCosts) else str(problem)
            dependence = f"not compared: {reason}".replace("\n", "; ")
        unit, error = str(QUANTITIES[seen.quantity].unit), value / seen.value - 1
        # With the plan's transactions, more of them in a block means that each used less of it.
        is_mix = EXPECTED_OF.get(seen.quantity) == "throughput" and not seen.engine
        is_mix = is_mix and not _TRANSACTION & {*seen.settings, *derived}
        text = ", ".join(
            f"{name}={setting if isinstance(setting, str) else format(setting, 'g')}"
            for name, setting in seen.settings.items()
        )
        numbers = (value, seen.value, error, 1 + error if is_mix else math.nan)
        origin = (text, seen.date, seen.published, seen.source, dependence)
        rows.append([seen.quantity, algorithm, unit, *numbers, *origin])
    for row in rows:
        for seen, value in fitted:
            # The inputs of that time cancel: only the figure that was used is left.
            is_same = row[0] == seen.quantity and math.isclose(row[3], value, rel_tol=1e-3)
            if is_same and not row[-1]:
                row[-1] = f"returns the value of {seen.date}, from which {seen.derived} was derived"
    present = {EXPECTED_OF.get(seen.quantity) for seen in plan.observed}
    # A missing observation gets a row, to show what was not compared.
    for name in (name for name in EXPECTED if name not in present):
        origin = ("", "", "", "no cited observation", "")
        rows.append([name, plan.chain.baseline, "", *[math.nan] * 4, *origin])
    return CALIBRATION.frame(rows)


def _dependence(seen: Observation, model: SchemeModel) -> str:
    """Return with which derived input the prediction moves one to one; "" if with none."""
    for name in seen.derived.split():
        scaled, value = resized(model.plan, model, _STEP), model.plan.value(name)
        if name not in _TRANSACTION:
            scaled = model.plan.with_(**{name: type(value)(value * _STEP)})
        moved = models(scaled, model.costs)[model.algorithm][seen.quantity] / model[seen.quantity]
        if abs(abs(math.log(moved, _STEP)) - 1) < 0.05:
            return f"moves one to one with {name}, derived from the same figures or assumed for it"
    return ""


def resized(plan: Plan, today: SchemeModel, factor: float) -> Plan:
    """Return the plan with transactions of `factor` times the gas, weight or bytes of today's.

    What binds the blocks of `today`, the model of the baseline, decides which; signatures stay.
    """
    more = factor - 1
    if today.block_limit == "gas":
        gas = plan.limits.execution_gas + more * today.use.gas
        return plan.with_(execution_gas=max(0.0, gas))
    length = today.use.bytes
    if today.block_limit == "weight":
        length = today.use.weight / plan.limits.witness_discount
    name = "envelope_bytes" if plan.transaction.envelope_bytes else "data_bytes"
    # At most what each of these inputs may be: an observation can be far from the plan.
    return plan.with_(**{name: min(max(1, round(plan.value(name) + more * length)), 65_535)})


def kept_over_mix(
    plan: Plan, today: Plan, costs: CostTable, calibration: pd.DataFrame
) -> dict[str, tuple[float, float]]:
    """Return the least and the largest share of today's capacity that each scheme keeps.

    The mean transaction is the lightest and the heaviest of the calibration. {} if no row tells it.
    """
    baseline, use = today.chain.baseline, calibration["use"].dropna()
    if not baseline or use.empty:
        return {}
    model, shares, rate = models(today, costs)[baseline], [], "capacity_per_second"
    for factor in (min(1.0, use.min()), 1.0, max(1.0, use.max())):
        before = models(resized(today, model, factor), costs)[baseline][rate] or math.nan
        after = models(resized(plan, model, factor), costs)
        shares.append({name: after[name][rate] / before for name in plan.names})
    kept = pd.DataFrame(shares)
    return {name: (kept[name].min(), kept[name].max()) for name in plan.names}


def tests(frame: pd.DataFrame, name: str = "") -> pd.DataFrame:
    """Return the rows of `calibrate` that test the model, or one expected quantity of it."""
    is_test = frame["observed"].notna() & (frame["dependence"] == "")
    return frame[is_test & (frame["quantity"].map(EXPECTED_OF) == name if name else True)]


def verdict(frame: pd.DataFrame, name: str) -> str:
    """Return "near" or "far", by the worst test of an expected quantity; "none" without a test."""
    errors = tests(frame, name)["error"].abs()
    return "none" if errors.empty else "far" if errors.max() > FAR else "near"


def by_name(frame: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the name of each tested quantity, the range of its errors and dates, and its rows."""
    rows = tests(frame)
    names = rows["quantity"].map(EXPECTED_OF).fillna(rows["quantity"].str.replace("_", " "))
    for name, group in rows.groupby(names, sort=False):
        low, high = (percent(100 * end, 0) for end in group["error"].agg(["min", "max"]))
        errors = high if low == high else f"{low[:-2]} to {high}"
        dates = dict.fromkeys(group["date"].agg(["min", "max"]))
        yield f"{name} {errors}", " to ".join(dates), group


def large_errors(frame: pd.DataFrame) -> list[str]:
    """Return a warning without a test of the throughput, and one for each large error."""
    return [NOT_CALIBRATED] * (verdict(frame, "throughput") == "none") + [
        f"Calibration errors: {errors} ({dates})."
        for errors, dates, rows in by_name(frame)
        if rows["error"].abs().max() > FAR
    ]


def engines(plan: Plan) -> str:
    """Return which consensus engine the plan's observations are runs of, if any."""
    names = ", ".join(sorted({seen.engine for seen in plan.observed} - {""}))
    return f"Checked against an engine: {names}." if names else "Not checked against an engine."


def engine_bias(plan: Plan) -> list[str]:
    """Return a warning for each engine of the plan from which the model was found to differ.

    data/engines/skill.csv has the skill and the bias of the model over the stored runs of engines
    (`pqchain engine compare`).
    """
    names = sorted({seen.engine for seen in plan.observed} - {""})
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
