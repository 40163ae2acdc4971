"""Sensitivity analysis: each input halved and doubled alone, and the best scheme by two inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from typing import Any

import pandas as pd

from pqchain import results
from pqchain.costs import CostTable
from pqchain.errors import UnknownName, UsageError
from pqchain.results import Contract
from pqchain.study.figures import OUTPUTS, QUANTITIES, SchemeModel, models
from pqchain.study.plan import INPUTS, Plan

TORNADO = Contract.of(
    "study-tornado",
    ("str", "algorithm output unit input"),
    ("float64", "input_value base low high"),
)

PLANE = Contract.of(
    "study-plane",
    ("str", "across upwards"),
    ("float64", "across_factor upwards_factor"),
    ("str", "winner"),
    ("float64", "capacity_per_second margin"),
)

FACTOR = 2.0
"""The factor by which an input is divided and multiplied."""

FEWER_KEYS = (1 / 256, 1 / 128, 1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Factors of public-key bytes: from one transaction in 256 with its key to all of them."""

SLOWER = (0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
"""Factors of the verification time."""

FEW_DELEGATES = 64
"""Delegates that `plane` simulates if blocks do not wait for finality."""

VARIED = (
    *("transactions_per_second", "block_bytes", "block_seconds", "data_bytes", "nodes"),
    *("delegates", "verification_threads", "rate_bits_per_second", "link_latency_seconds"),
    *("retained_days", "repair_bits_per_second", "data_chunks"),
    *("block_weight", "block_sigops", "block_gas", "intrinsic_gas", "execution_gas"),
    *("calldata_gas", "floor_gas"),
    *("envelope_bytes", "packet_bytes"),
    *("verify_seconds", "sign_seconds", "public_key_bytes"),
)
"""Inputs and costs that can be varied; signature lengths cannot, as those of Falcon are counted."""

COSTS = frozenset({"verify_seconds", "sign_seconds", "public_key_bytes"})
"""The costs among them, varied for every scheme."""


def check_output(output: str) -> None:
    """Raise UnknownName unless the sensitivity of this figure can be computed."""
    if output not in OUTPUTS:
        raise UnknownName("figure", output, OUTPUTS, "--sensitivity in `pqchain study --help`.")


def tornado(
    plan: Plan,
    costs: CostTable,
    *,
    algorithm: str | None = None,
    output: str = "capacity_per_second",
) -> pd.DataFrame:
    """Return the effect on a figure of halving and doubling each input, the largest effect first.

    Columns: algorithm, output, unit, input, input_value (unchanged), base, low, high (the figure
    with the input unchanged, halved and doubled; NaN where the plan would be impossible or has no
    such figure). Inputs without an effect are left out. `algorithm` defaults to the first of the
    plan. Raises UnknownName.
    """
    check_output(output)
    chosen = plan.chain.algorithms[0] if algorithm is None else algorithm
    if chosen not in plan.names:
        raise UnknownName("scheme of this study", chosen, plan.names, "its plan.")
    # Only this scheme and the baseline: others cost time and change nothing.
    alone = plan.with_(algorithms=(chosen,), migration={})
    base = models(alone, costs)[chosen][output]
    rows = []
    for name in VARIED:
        value = getattr(costs[chosen], name) if name in COSTS else plan.value(name)
        # Multiples of 0 are 0.
        if name not in COSTS and not value:
            continue
        # Halving and doubling is symmetric on the logarithmic scale on which inputs differ.
        varied = (_models(alone, costs, (name, by)).get(chosen) for by in (1 / FACTOR, FACTOR))
        ends = [model[output] if model else math.nan for model in varied]
        rows.append([chosen, output, str(QUANTITIES[output].unit), name, float(value), base, *ends])
    frame = TORNADO.frame(rows)
    # Without a figure to start from, any value is a change beyond all others.
    change = frame[["low", "high"]].sub(-math.inf if math.isnan(base) else base).abs().max(axis=1)
    order = change[change > 0].sort_values(ascending=False, kind="stable").index
    return results.check(frame.loc[order], TORNADO)


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

    Two of VARIED are multiplied, for every scheme alike: `verify_seconds` times 64 is a processor
    64 times slower, `public_key_bytes` times 1/16 a key in one of 16 transactions. Columns: across,
    upwards (names), across_factor, upwards_factor,
    winner (in a tie the one with the earliest finality; "" where the plan is impossible),
    capacity_per_second, margin (ratio to the second; 1 for a tie, NaN without a second).
    """
    for name in (across, upwards):
        if name not in VARIED:
            raise UnknownName("input to vary", name, VARIED, "pqchain.study.sensitivity.VARIED.")
    contenders = plan.post_quantum
    if not contenders:
        raise UsageError("algorithms must include a post-quantum scheme; add one")
    # Gas is priced by the baseline's time; without gas the baseline is not needed here.
    baseline = plan.chain.baseline if plan.limits.verification_gas else ""
    alone = plan.with_(algorithms=contenders, migration={}, baseline=baseline)
    if plan.votes.final_blocks and plan.network.certificates == "none":
        # Blocks do not wait for finality there, so that its time only decides between equals.
        alone = alone.with_(delegates=min(plan.network.voters, FEW_DELEGATES))
    return PLANE.frame(
        [across, upwards, right, up, *_winner(alone, costs, (across, right), (upwards, up))]
        for right, up in product(across_factors, upwards_factors)
    )


def _models(plan: Plan, costs: CostTable, *changes: tuple[str, float]) -> dict[str, SchemeModel]:
    """Return the models with inputs of VARIED times a factor; {} for an impossible plan."""
    try:
        for name, factor in changes:
            if name in COSTS:
                rows = (_scaled(name, getattr(row, name), factor, row) for row in costs.rows)
                costs = replace(costs, rows=tuple(rows))
            else:
                plan = _scaled(name, plan.value(name), factor, plan)
        return models(plan, costs)
    except UsageError:
        return {}


def _scaled(name: str, value: float, factor: float, subject: Any) -> Any:
    """Return a plan or costs with a value times a factor."""
    is_plan = isinstance(subject, Plan)
    is_whole = INPUTS[name].field.type is int if is_plan else name.endswith("_bytes")
    # An input of 1 stays 1 when halved, as there is no half node.
    change = {name: max(1, round(value * factor)) if is_whole else value * factor}
    return subject.with_(**change) if is_plan else replace(subject, **change)


def _winner(plan: Plan, costs: CostTable, *changes: tuple[str, float]) -> tuple[str, float, float]:
    """Return the scheme with the greatest capacity, that capacity, and its ratio to the second."""
    # Ties in capacity are common, as gas or bytes bind alike; earlier finality then decides.
    order = sorted(
        (-model["capacity_per_second"], model["final_seconds"], name)
        for name, model in _models(plan, costs, *changes).items()
        if model["transactions_per_block"] and name in plan.chain.algorithms
    )
    if not order:
        return "", math.nan, math.nan
    best, runner_up = [*(-capacity for capacity, *_ in order), math.nan][:2]
    return order[0][2], best, best / runner_up
