"""Sensitivity analysis: each input halved and doubled alone, and the best scheme by two inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pandas as pd

from pqchain import results
from pqchain.costs import CostTable
from pqchain.errors import UnknownName, UsageError
from pqchain.results import Contract
from pqchain.study.figures import OUTPUTS, QUANTITIES, SchemeModel, models
from pqchain.study.inputs import INPUTS, Plan

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
    *(
        "block_weight",
        "block_sigops",
        "block_gas",
        "intrinsic_gas",
        "execution_gas",
        "calldata_gas",
        "floor_gas",
    ),
    *("envelope_bytes", "packet_bytes"),
    *("verify_seconds", "sign_seconds", "public_key_bytes"),
)
"""Inputs and costs that can be varied; signature lengths cannot, as those of Falcon are counted."""

COSTS = frozenset({"verify_seconds", "sign_seconds", "public_key_bytes"})
"""The costs among them, varied for every scheme."""


def varied(plan: Plan, costs: CostTable, name: str, factor: float) -> tuple[Plan, CostTable]:
    """Return plan and costs with one input of VARIED times `factor`. Raises UsageError."""
    if name in COSTS:
        rows = tuple(_scaled(row, name, factor) for row in costs.rows)
        return plan, replace(costs, rows=rows)
    return _scaled(plan, name, factor), costs


def _scaled(subject: Any, name: str, factor: float) -> Any:
    value = getattr(subject, name) * factor
    is_plan = isinstance(subject, Plan)
    # An input of 1 stays 1 when halved, as there is no half node.
    is_whole = INPUTS[name].types == (int,) if is_plan else name.endswith("_bytes")
    change = {name: max(1, round(value)) if is_whole else value}
    return subject.with_(**change) if is_plan else replace(subject, **change)


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
    chosen = plan.algorithms[0] if algorithm is None else algorithm
    if chosen not in plan.names:
        raise UnknownName("scheme of this study", chosen, plan.names, "its plan.")
    return ranked(one_at_a_time(plan, costs, chosen), output)


def ranked(variations: Variations, output: str) -> pd.DataFrame:
    """Return the effect of each input on the figure `output` as a frame; see `tornado`."""
    base = variations.base[output]
    frame = TORNADO.frame(
        [variations.base.algorithm, output, str(QUANTITIES[output].unit), name]
        + [float(variations.inputs[name]), base]
        + [model[output] if model else math.nan for model in ends]
        for name, ends in variations.ends.items()
    )
    # Without a figure to start from, any value is a change beyond all others.
    change = frame[["low", "high"]].sub(-math.inf if math.isnan(base) else base).abs().max(axis=1)
    order = change[change > 0].sort_values(ascending=False, kind="stable").index
    return results.check(frame.loc[order], TORNADO)


@dataclass(frozen=True, slots=True)
class Variations:
    """Models of a scheme: with the plan unchanged, and with each input halved and doubled."""

    base: SchemeModel
    inputs: dict[str, float]
    """Unchanged inputs."""
    ends: dict[str, list[SchemeModel | None]]
    """By input; None where the plan would be impossible."""


def one_at_a_time(plan: Plan, costs: CostTable, algorithm: str) -> Variations:
    """Return the models of a scheme with each input of VARIED halved and doubled."""
    # Only this scheme and the baseline: others cost time and change nothing.
    alone = plan.with_(algorithms=(algorithm,), migration={})
    ends, inputs = {}, {}
    for name in VARIED:
        inputs[name] = getattr(costs[algorithm] if name in COSTS else plan, name)
        # Multiples of 0 are 0.
        if name in COSTS or inputs[name]:
            # Halving and doubling is symmetric on the logarithmic scale on which inputs differ.
            varied = (_models(alone, costs, (name, by)) for by in (1 / FACTOR, FACTOR))
            ends[name] = [models_of.get(algorithm) for models_of in varied]
    return Variations(models(alone, costs)[algorithm], inputs, ends)


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
    baseline = plan.baseline if plan.verification_gas else ""
    alone = plan.with_(algorithms=contenders, migration={}, baseline=baseline)
    if plan.final_blocks and plan.certificates == "none":
        # Blocks do not wait for finality there, so that its time only decides between equals.
        alone = alone.with_(delegates=min(plan.delegates or plan.nodes, FEW_DELEGATES))
    return PLANE.frame(
        [across, upwards, right, up, *_winner(alone, costs, (across, right), (upwards, up))]
        for right, up in product(across_factors, upwards_factors)
    )


def _models(plan: Plan, costs: CostTable, *changes: tuple[str, float]) -> dict[str, SchemeModel]:
    try:
        for name, factor in changes:
            plan, costs = varied(plan, costs, name, factor)
        return models(plan, costs)
    except UsageError:
        return {}


def _winner(plan: Plan, costs: CostTable, *changes: tuple[str, float]) -> tuple[str, float, float]:
    """Return the scheme with the greatest capacity, that capacity, and its ratio to the second."""
    # Ties in capacity are common, as gas or bytes bind alike; earlier finality then decides.
    order = sorted(
        (-model["capacity_per_second"], model["final_seconds"], name)
        for name, model in _models(plan, costs, *changes).items()
        if model["transactions_per_block"] and name in plan.algorithms
    )
    if not order:
        return "", math.nan, math.nan
    best, runner_up = [*(-capacity for capacity, *_ in order), math.nan][:2]
    return order[0][2], best, best / runner_up
