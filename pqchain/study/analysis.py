"""Sensitivity and load curves of a study, and the cost of schemes on all chains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from pqchain import algorithms as registry
from pqchain import results
from pqchain.costs import CostTable
from pqchain.errors import UnknownName, UsageError
from pqchain.results import Contract
from pqchain.study import queueing, text, validation
from pqchain.study.figures import OUTPUTS, QUANTITIES, SchemeModel, blocks, models
from pqchain.study.files import load
from pqchain.study.plan import INPUTS, Plan
from pqchain.study.plans import ready_names
from pqchain.study.sampling import Findings

TORNADO = Contract.of(
    "study-tornado",
    ("str", "algorithm output unit input"),
    ("float64", "input_value base low high"),
)

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

COST_ON_CHAINS = Contract.of(
    "cost-on-chains",
    ("str", "chain title algorithm baseline"),
    ("float64", "lost_share lost_low lost_high"),
    ("str", "test limit"),
)

COMPARED = (
    "Falcon-512", "Falcon-1024", "ML-DSA-44", "ML-DSA-65", "SPHINCS+-SHA2-128s-simple",
)  # fmt: skip
"""Schemes that are compared unless others are named, from short to long."""


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """Results of a study: figures, sensitivity, load."""

    findings: Findings
    tornado: pd.DataFrame
    load: pd.DataFrame


def analyse(findings: Findings) -> Analysis:
    """Compute the load, and by dozens of model evaluations the sensitivity of the capacity.

    The sensitivity is for the post-quantum scheme with the greatest capacity.
    """
    plan, costs = findings.plan, findings.costs
    algorithm = findings.best or plan.chain.algorithms[0]
    values = findings.values.items()
    fitting = {name: blocks(plan, of) for name, of in values if of["transactions_per_block"]}
    return Analysis(
        findings=findings,
        tornado=tornado(plan, costs, algorithm=algorithm),
        load=queueing.curve(fitting),
    )


def chains() -> tuple[str, ...]:
    """Return the ready studies of chains under their present or next rules."""
    plans = {name: load(name) for name in ready_names()}
    # A study with printed times has none of other schemes.
    measured = {name: plan.chain for name, plan in plans.items() if plan.costs == "measured"}
    return tuple(name for name, chain in measured.items() if chain.baseline and not chain.is_past)


def cost_on_chains(costs: CostTable, algorithms: Sequence[str] = COMPARED) -> pd.DataFrame:
    """Return the share of its capacity that each chain loses with each scheme.

    The key is in each transaction, unless the signature gives it. `costs` has the times of the
    schemes and of today's schemes (ECDSA-secp256k1, Ed25519, Schnorr-secp256k1). Columns: chain (a
    ready study), title, algorithm, baseline, lost_share (0 to 1; 1 if no transaction fits;
    negative for a gain), lost_low, lost_high (over the observed mix of transactions; NaN without
    one), test (of the plan's throughput: "none", "near", or "far" if one is off by more than 25 %),
    limit (the binding limit). Raises MissingCosts.
    """
    names = tuple(dict.fromkeys(registry.get(name).name for name in algorithms))
    rows = []
    for chain in chains():
        plan = load(chain).with_(algorithms=names)
        calibration = validation.calibrate(plan, costs)
        # Today's keys are where they are today; those of the schemes are in each transaction.
        today = models(plan, costs)
        is_registered = plan.chain.key_mode == "registered"
        inline = plan.with_(key_mode="inline") if is_registered else plan
        new = models(inline, costs) if is_registered else today
        kept = validation.kept_over_mix(inline, plan, costs, calibration)
        before = today[plan.chain.baseline]["capacity_per_second"]
        rows += [
            [chain, text.chain_name(plan), name, plan.chain.baseline,
             1 - new[name]["capacity_per_second"] / before,
             *(1 - share for share in reversed(kept.get(name, (math.nan, math.nan)))),
             validation.verdict(calibration, "throughput"), new[name].limit]
            for name in names
        ]  # fmt: skip
    return COST_ON_CHAINS.frame(rows)


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
    if output not in OUTPUTS:
        raise UnknownName("figure", output, OUTPUTS, "pqchain.study.figures.OUTPUTS.")
    chosen = plan.chain.algorithms[0] if algorithm is None else algorithm
    if chosen not in plan.names:
        raise UnknownName("scheme of this study", chosen, plan.names, "its plan.")
    # Only this scheme and the baseline: others cost time and change nothing.
    alone = plan.with_(algorithms=(chosen,))
    base = models(alone, costs)[chosen][output]
    rows = []
    for name in VARIED:
        value = getattr(costs[chosen], name) if name in COSTS else plan.value(name)
        # Multiples of 0 are 0.
        if name not in COSTS and not value:
            continue
        # Halving and doubling is symmetric on the logarithmic scale on which inputs differ.
        varied = (_models(alone, costs, name, by).get(chosen) for by in (0.5, 2.0))
        ends = [model[output] if model else math.nan for model in varied]
        rows.append([chosen, output, str(QUANTITIES[output].unit), name, float(value), base, *ends])
    frame = TORNADO.frame(rows)
    # Without a figure to start from, any value is a change beyond all others.
    change = frame[["low", "high"]].sub(-math.inf if math.isnan(base) else base).abs().max(axis=1)
    order = change[change > 0].sort_values(ascending=False, kind="stable").index
    return results.check(frame.loc[order], TORNADO)


def _models(plan: Plan, costs: CostTable, name: str, factor: float) -> dict[str, SchemeModel]:
    """Return the models with an input of VARIED times a factor; {} for an impossible plan."""
    try:
        if name not in COSTS:
            return models(_scaled(name, plan.value(name), factor, plan), costs)
        rows = tuple(_scaled(name, getattr(row, name), factor, row) for row in costs.rows)
        return models(plan, replace(costs, rows=rows))
    except UsageError:
        return {}


def _scaled(name: str, value: float, factor: float, subject: Any) -> Any:
    """Return a plan or costs with a value times a factor."""
    is_plan = isinstance(subject, Plan)
    is_whole = INPUTS[name].field.type is int if is_plan else name.endswith("_bytes")
    # An input of 1 stays 1 when halved, as there is no half node.
    change = {name: max(1, round(value * factor)) if is_whole else value * factor}
    return subject.with_(**change) if is_plan else replace(subject, **change)
