"""What matters: one input halved and doubled at a time, and who wins where in a plane of two.

Knows how to vary a plan and its costs; every figure comes from `model`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from pqchain import results
from pqchain.costs import CostTable
from pqchain.errors import UnknownName, UsageError
from pqchain.results import Contract
from pqchain.study import model
from pqchain.study.plan import Plan
from pqchain.study.quantities import QUANTITIES

TORNADO = Contract.of(
    "study-tornado",
    ("str", "scheme output unit input"),
    ("float64", "base low high"),
)

PLANE = Contract.of(
    "study-plane",
    ("str", "across upwards"),
    ("float64", "across_factor upwards_factor"),
    ("str", "winner"),
    ("float64", "capacity_per_second margin"),
)


FACTOR = 2.0
"""By how much an input is divided and multiplied."""

OUTPUTS = (
    "capacity_per_second", "latency_seconds", "final_seconds", "verification_cores",
    "growth_bytes_per_year", "repair_seconds",
)  # fmt: skip
"""Figures whose sensitivity is asked for."""

FEWER_KEYS = (1 / 256, 1 / 128, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Factors of the bytes of public keys: one transaction in 256 carries its key, ..., all do."""

SLOWER = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
"""Factors of the time of a verification."""

Varied = tuple[Plan, CostTable]


def _input(name: str, *, whole: bool = False) -> Callable[[Plan, CostTable, float], Varied]:
    """Vary an input of the plan."""

    def vary(plan: Plan, costs: CostTable, factor: float) -> Varied:
        value = getattr(plan, name) * factor
        return plan.with_(**{name: max(1, round(value)) if whole else value}), costs

    return vary


def _network(name: str) -> Callable[[Plan, CostTable, float], Varied]:
    """Vary a parameter of the network."""

    def vary(plan: Plan, costs: CostTable, factor: float) -> Varied:
        changed = replace(plan.network, **{name: getattr(plan.network, name) * factor})
        return plan.with_(network=changed), costs

    return vary


def _cost(name: str, *, whole: bool = False) -> Callable[[Plan, CostTable, float], Varied]:
    """Vary a cost of every scheme."""

    def vary(plan: Plan, costs: CostTable, factor: float) -> Varied:
        rows = tuple(
            replace(row, **{name: max(1, round(value)) if whole else value})
            for row in costs.rows
            for value in [getattr(row, name) * factor]
        )
        return plan, CostTable(rows, costs.source)

    return vary


INPUTS: dict[str, Callable[[Plan, CostTable, float], Varied]] = {
    "transactions_per_second": _input("transactions_per_second"),
    "block_bytes": _input("block_bytes", whole=True),
    "block_seconds": _input("block_seconds"),
    "data_bytes": _input("data_bytes", whole=True),
    "nodes": _input("nodes", whole=True),
    "delegates": _input("delegates", whole=True),
    "verification_threads": _input("verification_threads", whole=True),
    "rate_bits_per_second": _network("rate_bits_per_second"),
    "latency_of_links": _network("latency_seconds"),
    "retained_days": _input("retained_days"),
    "repair_bits_per_second": _input("repair_bits_per_second"),
    "data_chunks": _input("data_chunks", whole=True),
    "verify_seconds": _cost("verify_seconds"),
    "sign_seconds": _cost("sign_seconds"),
    "public_key_bytes": _cost("public_key_bytes", whole=True),
}
"""What can be varied, and how. Lengths of signatures are not: those of Falcon are counted."""


def check_output(output: str) -> None:
    """Raise UnknownName unless the sensitivity of that figure can be asked for."""
    if output not in OUTPUTS:
        raise UnknownName("figure", output, OUTPUTS, "--matters-for in `pqchain study --help`.")


def tornado(
    plan: Plan, costs: CostTable, *, scheme: str | None = None, output: str = "capacity_per_second"
) -> pd.DataFrame:
    """Halve and double one input at a time; the figure that changes most comes first.

    Columns: scheme, output, unit, input, base, low, high (the figure with the input halved and
    doubled; NaN where the plan would be impossible or there is no such figure). Inputs that change
    nothing are left out. Without `scheme` the first of the plan. Raises UnknownName.
    """
    check_output(output)
    chosen = plan.schemes[0] if scheme is None else scheme
    if chosen not in plan.names:
        raise UnknownName("scheme of this study", chosen, plan.names, "its plan.")
    # Only this scheme and what it is compared with: the others cost time and change nothing.
    alone = plan.with_(schemes=(chosen,), migration={})
    base = _figure(alone, costs, chosen, output)
    rows = []
    for name, vary in INPUTS.items():
        if name == "delegates" and not plan.delegates:
            continue
        low, high = (
            _varied(alone, costs, vary, factor, chosen, output) for factor in (1 / FACTOR, FACTOR)
        )
        if any(np.isfinite(value) and value != base for value in (low, high)):
            rows.append([chosen, output, QUANTITIES[output].unit, name, base, low, high])
    columns = list(TORNADO.columns)
    frame = pd.DataFrame(rows, columns=columns)
    span = (frame[["low", "high"]].sub(frame["base"], axis=0)).abs().max(axis=1)
    order = span.sort_values(ascending=False, kind="stable").index
    return results.check(frame.loc[order].reset_index(drop=True), TORNADO)


def plane(
    plan: Plan,
    costs: CostTable,
    *,
    across: str = "public_key_bytes",
    upwards: str = "verify_seconds",
    across_factors: Iterable[float] = FEWER_KEYS,
    upwards_factors: Iterable[float] = SLOWER,
) -> pd.DataFrame:
    """Find the post-quantum scheme with the greatest capacity for each pair of factors.

    Two inputs of INPUTS are multiplied, for every scheme alike: `verify_seconds` times 64 is a
    processor 64 times slower, `public_key_bytes` times 1/16 a key that only one transaction in 16
    carries. Columns: across, upwards (names), across_factor, upwards_factor,
    winner (of equals the one that is final first; "" where the plan is impossible),
    capacity_per_second, margin (over the second; 1 for a tie, NaN for none).
    """
    for name in (across, upwards):
        if name not in INPUTS:
            raise UnknownName("input to vary", name, INPUTS, "pqchain.study.sensitivity.INPUTS.")
    contenders = model.post_quantum(plan)
    if not contenders:
        raise UsageError("no post-quantum scheme is in the plan; add one to schemes")
    alone = plan.with_(schemes=contenders, migration={}, baseline="")
    rows = []
    upwards_list = list(upwards_factors)
    for right in across_factors:
        for up in upwards_list:
            rows.append([across, upwards, right, up, *_winner(alone, costs, across, right,
                                                              upwards, up)])  # fmt: skip
    columns = list(PLANE.columns)
    return results.check(pd.DataFrame(rows, columns=columns), PLANE)


def _winner(
    plan: Plan, costs: CostTable, across: str, right: float, upwards: str, up: float
) -> tuple[str, float, float]:
    """Return the scheme with the greatest capacity, that capacity, and its margin."""
    try:
        varied, priced = INPUTS[upwards](*INPUTS[across](plan, costs, right), up)
    except UsageError:
        return "", float("nan"), float("nan")
    ranked = []
    for name in varied.schemes:
        wide = model.figures(varied.with_(schemes=(name,)), priced)[name]
        if wide["transactions_per_block"] == 0:
            continue
        ranked.append((-wide["capacity_per_second"], wide["final_seconds"], name))
    if not ranked:
        return "", float("nan"), float("nan")
    ranked.sort()
    best = -ranked[0][0]
    second = -ranked[1][0] if len(ranked) > 1 else float("nan")
    return ranked[0][2], best, best / second


def _figure(plan: Plan, costs: CostTable, scheme: str, output: str) -> float:
    """Return one figure."""
    return model.figures(plan, costs)[scheme][output]


def _varied(
    plan: Plan,
    costs: CostTable,
    vary: Callable[[Plan, CostTable, float], Varied],
    factor: float,
    scheme: str,
    output: str,
) -> float:
    """Return one figure of a varied plan, NaN where that cannot be."""
    try:
        return _figure(*vary(plan, costs, factor), scheme, output)
    except UsageError:
        return float("nan")
