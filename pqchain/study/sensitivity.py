"""What matters: one input halved and doubled at a time, and who wins where in a plane of two.

Knows how to vary a plan and its costs; every figure comes from `model`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields, replace
from itertools import product
from typing import Any

import pandas as pd

from pqchain import results
from pqchain.costs import CostTable
from pqchain.errors import UnknownName, UsageError
from pqchain.results import Contract
from pqchain.study import model
from pqchain.study.plan import Plan
from pqchain.study.quantities import QUANTITIES

TORNADO = Contract.of(
    "study-tornado", ("str", "scheme output unit input"), ("float64", "base low high")
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
"""Figures that have a sensitivity."""

FEWER_KEYS = (1 / 256, 1 / 128, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Factors of the bytes of public keys: one transaction in 256 carries its key, ..., all do."""

SLOWER = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
"""Factors of the time of a verification."""

FEW_DELEGATES = 64
"""Of a plane where nothing waits for them."""

INPUTS = (
    *("transactions_per_second", "block_bytes", "block_seconds", "data_bytes", "nodes"),
    *("delegates", "verification_threads", "rate_bits_per_second", "latency_of_links"),
    *("retained_days", "repair_bits_per_second", "data_chunks"),
    *("block_weight", "block_gas", "intrinsic_gas", "execution_gas", "calldata_gas", "floor_gas"),
    *("envelope_bytes", "packet_bytes"),
    *("verify_seconds", "sign_seconds", "public_key_bytes"),
)
"""What can be varied. Lengths of signatures are not: those of Falcon are counted."""

OF_NETWORK = {"rate_bits_per_second": "rate_bits_per_second", "latency_of_links": "latency_seconds"}
"""Inputs that are parameters of the network, which names them so."""

COSTS = frozenset({"verify_seconds", "sign_seconds", "public_key_bytes"})
"""Inputs that are costs of every scheme."""


def varied(plan: Plan, costs: CostTable, name: str, factor: float) -> tuple[Plan, CostTable]:
    """Return plan and costs with one of INPUTS multiplied. Raises UsageError if that cannot be."""
    if name in COSTS:
        rows = tuple(_scaled(row, name, factor) for row in costs.rows)
        return plan, replace(costs, rows=rows)
    if name in OF_NETWORK:
        return plan.with_(network=_scaled(plan.network, OF_NETWORK[name], factor)), costs
    return _scaled(plan, name, factor), costs


def _scaled(thing: Any, name: str, factor: float) -> Any:
    """Return a plan, network or costs with one field multiplied; whole numbers stay whole."""
    value = getattr(thing, name) * factor
    is_whole = next(each.type == "int" for each in fields(thing) if each.name == name)
    change = {name: max(1, round(value)) if is_whole else value}
    return thing.with_(**change) if isinstance(thing, Plan) else replace(thing, **change)


def check_output(output: str) -> None:
    """Raise UnknownName unless that figure has a sensitivity."""
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
    figures = swings(plan, costs, chosen)
    base = figures.pop("")[0][output]
    frame = TORNADO.frame(
        [chosen, output, QUANTITIES[output].unit, name, base]
        + [each.get(output, math.nan) for each in ends]
        for name, ends in figures.items()
    )
    # Where there is no such figure yet, any is more than that.
    change = frame[["low", "high"]].sub(-math.inf if math.isnan(base) else base).abs().max(axis=1)
    order = change[change > 0].sort_values(ascending=False, kind="stable").index
    return results.check(frame.loc[order], TORNADO)


def swings(plan: Plan, costs: CostTable, scheme: str) -> dict[str, list[dict[str, float]]]:
    """Return the figures of a scheme with each of INPUTS halved and doubled, by input.

    Under "" stands one entry, the figures as they are; an impossible plan has none.
    """
    # Only this scheme and what it is compared with: the others cost time and change nothing.
    alone = plan.with_(schemes=(scheme,), migration={})
    found = {"": [model.figures(alone, costs)[scheme]]}
    for name in INPUTS:
        if name in COSTS | set(OF_NETWORK) or getattr(plan, name):
            changed = (_figures(alone, costs, (name, by)) for by in (1 / FACTOR, FACTOR))
            found[name] = [each.get(scheme, {}) for each in changed]
    return found


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
    # Gas is priced by the baseline's time; without gas the baseline only costs time here.
    baseline = plan.baseline if plan.verification_gas else ""
    alone = plan.with_(schemes=contenders, migration={}, baseline=baseline)
    if plan.final_blocks:
        # Blocks do not wait to be final there, so that the time only decides between equals.
        alone = alone.with_(delegates=min(plan.delegates or plan.nodes, FEW_DELEGATES))
    return PLANE.frame(
        [across, upwards, right, up, *_winner(alone, costs, (across, right), (upwards, up))]
        for right, up in product(across_factors, upwards_factors)
    )


def _figures(
    plan: Plan, costs: CostTable, *changes: tuple[str, float]
) -> dict[str, dict[str, float]]:
    """Return the figures with inputs multiplied, none where that cannot be."""
    try:
        for name, factor in changes:
            plan, costs = varied(plan, costs, name, factor)
        return model.figures(plan, costs)
    except UsageError:
        return {}


def _winner(plan: Plan, costs: CostTable, *changes: tuple[str, float]) -> tuple[str, float, float]:
    """Return the scheme with the greatest capacity, that capacity, and its margin."""
    ranked = sorted(
        (-each["capacity_per_second"], each["final_seconds"], name)
        for name, each in _figures(plan, costs, *changes).items()
        if each["transactions_per_block"] and name in plan.schemes
    )
    if not ranked:
        return "", math.nan, math.nan
    best, runner_up = [*(-capacity for capacity, *_ in ranked), math.nan][:2]
    return ranked[0][2], best, best / runner_up
