"""Sensitivity, load curves and migration of a study, and the cost of schemes on all chains."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pandas as pd

from pqchain import algorithms as registry
from pqchain import results
from pqchain.costs import CostTable
from pqchain.errors import UnknownName, UsageError
from pqchain.results import Contract
from pqchain.study import migration, queueing, text, validation
from pqchain.study.figures import OUTPUTS, QUANTITIES, SchemeModel, blocks, models
from pqchain.study.files import load
from pqchain.study.inputs import RELAYED
from pqchain.study.plan import INPUTS, Plan
from pqchain.study.plans import ready_names
from pqchain.study.sampling import Findings

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
    """Results of a study: figures, sensitivity, load, migration."""

    findings: Findings
    algorithm: str
    """The scheme that sensitivity and migration are about."""
    tornado: pd.DataFrame
    plane: pd.DataFrame | None
    """None without a post-quantum scheme."""
    load: pd.DataFrame
    migration: pd.DataFrame | None
    """None if no account can move to the scheme."""


def analyse(findings: Findings, *, output: str = "capacity_per_second") -> Analysis:
    """Compute the sensitivity of `output` and more, by a few hundred model evaluations.

    They are for the post-quantum scheme with the greatest capacity. Raises UnknownName for a figure
    whose sensitivity cannot be computed.
    """
    plan, costs, best = findings.plan, findings.costs, findings.best
    algorithm = best or plan.chain.algorithms[0]
    migrates = best and findings.figures[best]["migration_seconds"].value > 0
    values = findings.values.items()
    fitting = {name: blocks(plan, of) for name, of in values if of["transactions_per_block"]}
    return Analysis(
        findings=findings,
        algorithm=algorithm,
        tornado=tornado(plan, costs, algorithm=algorithm, output=output),
        plane=plane(plan, costs) if plan.post_quantum else None,
        load=queueing.curve(fitting),
        migration=migration.series(findings.migration(algorithm)) if migrates else None,
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
        plan = load(chain).with_(algorithms=names, migration={})
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
    across_factors: Iterable[float] = FEWER_KEYS,
    upwards_factors: Iterable[float] = SLOWER,
) -> pd.DataFrame:
    """Find the post-quantum scheme with the greatest capacity for each pair of factors.

    Two costs are multiplied, for every scheme alike: `verify_seconds` times 64 is a processor 64
    times slower, `public_key_bytes` times 1/16 a key in one of 16 transactions. Columns: across,
    upwards (names), across_factor, upwards_factor, winner (in a tie the one with the earliest
    finality; "" where no transaction fits), capacity_per_second, margin (ratio to the second; 1 for
    a tie, NaN without a second).
    """
    across, upwards = "public_key_bytes", "verify_seconds"
    contenders = plan.post_quantum
    if not contenders:
        raise UsageError("algorithms must include a post-quantum scheme; add one")
    # Gas is priced by the baseline's time; without gas the baseline is not needed here.
    baseline = plan.chain.baseline if plan.limits.verification_gas else ""
    alone = plan.with_(algorithms=contenders, migration={}, baseline=baseline)
    if plan.votes.final_blocks and plan.network.certificates == "none":
        # Blocks do not wait for finality there, so that its time only decides between equals.
        few = min(plan.network.voters, FEW_DELEGATES)
        changes = {"nodes": few, "delegates": 0, "data_chunks": 1, "parity_chunks": 1}
        alone = alone.with_(**{"delegates": few} if plan.network.law in RELAYED else changes)
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
