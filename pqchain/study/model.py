"""From a plan and costs to figures, each with its unit, its kind and its source.

Knows which rooms to ask and how their answers combine. Knows no layout, no file and no plot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import pandas as pd

from pqchain import schemes
from pqchain.chain import encoding
from pqchain.consensus import Layout, Scenario
from pqchain.consensus import run as run_consensus
from pqchain.consensus.lengths import LENGTHS, distribution, mean
from pqchain.costs import Costs, CostTable
from pqchain.errors import DataError, UsageError
from pqchain.falcon import model as accelerator
from pqchain.study import bundles, limits, queueing, votes
from pqchain.study.plan import BLS, SIGNERS, Plan
from pqchain.study.provers import CITED, PROVERS
from pqchain.study.quantities import QUANTITIES, STUDY

Figures = dict[str, dict[str, float]]
"""Figures by scheme and quantity."""

MIX = "as migrated"
"""Name of the row in which schemes are used side by side."""

YEAR_SECONDS = 365.25 * 86_400


def evaluate(plan: Plan, costs: CostTable, *, seed: int = 0) -> pd.DataFrame:
    """Return all figures of one draw: a frame of the contract "study", without intervals.

    Columns: study, scheme, quantity, value (NaN where there is none), low and high (the value),
    text (what a value stands for that is no number, else ""), unit, kind ("registry", "published",
    "measured" or "modelled"), source (of the number, or what the model rests on).
    """
    found = figures(plan, costs, seed=seed)
    return framed(plan, costs, found, found, found)


def framed(
    plan: Plan, costs: CostTable, values: Figures, low: Figures, high: Figures
) -> pd.DataFrame:
    """Return figures and the ends of their intervals as a frame; see `evaluate`."""
    rows = []
    for scheme, own in values.items():
        for name, quantity in QUANTITIES.items():
            ends = (own[name], low[scheme][name], high[scheme][name])
            text = ""
            if name == "binding_limit" and math.isfinite(own[name]):
                text = limits.LIMITS[int(own[name])]
            origin = _origin(plan, costs, scheme, own, name)
            rows.append([plan.title, scheme, name, *ends, text, quantity.unit, *origin])
    return STUDY.frame(rows)


def figures(plan: Plan, costs: CostTable, *, seed: int = 0) -> Figures:
    """Return every figure by scheme and quantity, for a network that a seed draws."""
    own = {name: _own(plan, costs, name, seed) for name in plan.names}
    baseline = own.get(plan.baseline)
    if plan.migration:
        own[MIX] = _mixed(plan, own)
    none = dict.fromkeys(QUANTITIES, math.nan)
    return {name: none | each | _derived(plan, each, baseline) for name, each in own.items()}


def _origin(
    plan: Plan, costs: CostTable, scheme: str, values: Mapping[str, float], name: str
) -> tuple[str, str]:
    """Return kind and source of a figure; a prover of others is named wherever it had a part."""
    kind, source = _plain_origin(plan, costs, scheme, values, name)
    for how in ("vote_aggregation", "transaction_aggregation"):
        prover = PROVERS.get(getattr(plan, how))
        concerned = how == "vote_aggregation" or scheme in (plan.bundled, MIX)
        if prover and concerned and how in QUANTITIES[name].needs:
            source += f"; {prover.source}, {prover.date}: {CITED}"
    return kind, source


def _plain_origin(
    plan: Plan, costs: CostTable, scheme: str, values: Mapping[str, float], name: str
) -> tuple[str, str]:
    kind = {"paper": "published", "measured": "measured"}.get(costs.source.partition(":")[0])
    if kind is None:
        raise DataError(
            f"costs come from {costs.source!r}; expected 'paper:<key>' or 'measured:<machine>'"
        )
    if scheme == MIX:
        return "modelled", f"mean by share over {costs.source}"
    row, signer = costs[scheme], _signer_row(plan, scheme)
    if row.is_given:
        kind = "given"
    if name == "signature_bytes" and scheme in LENGTHS:
        return "measured", f"pqchain.consensus.lengths: {scheme} of liboqs 0.13.0, counted"
    if name in ("public_key_bytes", "signature_bytes") and kind == "measured":
        return "registry", f"pqchain.algorithms, {scheme}"
    if name == "sign_seconds" and signer:
        return "modelled", f"pqchain.falcon.model: {signer}"
    if name == "sign_seconds" and plan.signing_factor != 1.0:
        return "modelled", f"{row.source}, over {plan.signing_factor:g}"
    if name in ("public_key_bytes", "signature_bytes", "sign_seconds", "verify_seconds"):
        return kind, row.source
    if not name.startswith("transaction_bytes") and not values["transactions_per_block"]:
        what = f"a block of {plan.block_bytes} bytes holds"
        if values["binding_limit"] == limits.LIMITS.index("packet"):
            what = f"a packet of {plan.packet_bytes} bytes holds"
        return "modelled", f"{what} no transaction of {scheme}"
    if name in ("vote_bytes_per_block", "vote_verify_seconds") and plan.vote_aggregation in PROVERS:
        return "published", f"data/provers/{plan.vote_aggregation}.toml"
    if name == "vote_verify_seconds" and plan.vote_aggregation == BLS:
        each = costs.aggregates
        return "modelled", f"votes times {each.source}" if each else "no aggregates were measured"
    if name in ("transaction_bytes", "transactions_per_block", "transaction_bytes_ratio"):
        room = "limits of the plan" if plan.envelope_bytes else "pqchain.chain.encoding"
        return "modelled", f"{room}, exact for the sizes given"
    if name == "final_seconds":
        return "modelled", f"pqchain.consensus, {plan.network.law}, over {row.source}"
    return "modelled", f"arithmetic of pqchain.study over {row.source}"


def _own(plan: Plan, costs: CostTable, scheme: str, seed: int) -> dict[str, float]:
    """Return the figures of one scheme that owe nothing to the others but the baseline's time."""
    row = costs[scheme]
    baseline = costs[plan.baseline] if plan.baseline else None
    lengths = dict(distribution(row.algorithm, row.signature_bytes))
    if limits.key_mode(plan, scheme) == "recovered":
        lengths = {encoding.RECOVERABLE[scheme]: 1}
    signing = row.sign_seconds / plan.signing_factor
    if signer := _signer_row(plan, row.algorithm):
        signing = _rebuilt_seconds().get((signer, row.algorithm), row.sign_seconds)
    bundle = bundles.of_scheme(plan, scheme, costs)
    one = limits.use(plan, row, lengths, baseline, bundle)
    carried = votes.vote_bytes(plan, mean(lengths))
    checking = votes.verify_seconds(plan, row, costs)
    own = {
        "public_key_bytes": float(row.public_key_bytes),
        "signature_bytes": mean(lengths),
        "sign_seconds": signing,
        "verify_seconds": row.verify_seconds,
        "transaction_bytes": one.bytes,
        "transaction_weight": one.weight if plan.block_weight else math.nan,
        "transaction_gas": one.gas if plan.block_gas else math.nan,
        "plain_vote_bytes_per_block": votes.plain_bytes(plan, mean(lengths)) or math.nan,
        "vote_bytes_per_block": carried or math.nan,
        "plain_vote_verify_seconds": votes.plain_verify_seconds(plan, row),
        "vote_verify_seconds": checking,
        "transactions_per_block": 0.0,
        "final_seconds": math.nan,
        "single_final_seconds": math.nan,
        "registrations_per_block": _registrations(plan, row, baseline),
    }
    allowed = limits.per_block(plan, one, carried, bundle, baseline)
    limit = limits.binding(allowed)
    own["binding_limit"] = float(limits.LIMITS.index(limit))
    if not allowed[limit]:
        return own
    layout = limits.layout(plan, scheme)
    checked = replace(row, sign_seconds=signing)
    if bundle is not None:
        checked = _unsigned(checked, bundle.signature_seconds)
    scenario = _scenario(plan, checked, layout, seed)
    count = allowed[limit]
    if limit == "bytes" and not plan.envelope_bytes and bundle is None:
        # Signatures of varying length: the mean of what fits, exactly.
        count = scenario.transactions_per_block()
    signatures = count * plan.signatures
    full = _holding(scenario, signatures)
    beside = _votes_seconds(plan, checking)
    proof_bytes = seconds = 0.0
    if bundle is not None:
        proof_bytes, seconds = bundle.bytes(signatures), bundle.seconds(0)
    own |= {
        "transactions_per_block": count,
        "transaction_bytes": one.bytes + proof_bytes / count,
        "full_block_bytes": count * one.bytes + proof_bytes,
        "block_verify_seconds": signatures * checked.verify_seconds + seconds,
        "final_seconds": _final_seconds(full) + seconds + beside,
        "single_final_seconds": _final_seconds(_holding(scenario, 1)) + seconds + beside,
    }
    return own


def _unsigned(row: Costs, verify_seconds: float) -> Costs:
    """Return costs whose signature is one byte, the least there is, and stands for none."""
    return Costs.given(
        f"{row.algorithm} bundled", public_key_bytes=row.public_key_bytes, signature_bytes=1,
        sign_seconds=row.sign_seconds, verify_seconds=verify_seconds, source=row.source,
    )  # fmt: skip


def _votes_seconds(plan: Plan, seconds: float) -> float:
    """Return by how much verifying aggregates of votes delays a block; plain ones are run."""
    if plan.vote_aggregation == "plain" or math.isnan(seconds):
        return 0.0
    return seconds / plan.verification_threads


def _registrations(plan: Plan, row: Costs, baseline: Costs | None) -> float:
    """Return how many accounts a block full of moves moves to a scheme.

    A move is a transaction of the baseline, with the new key as its data if keys are registered.
    """
    if baseline is None or not plan.accounts or row.public_key_bytes > encoding.MAX_DATA_BYTES:
        return math.nan
    counted = dict(distribution(baseline.algorithm, baseline.signature_bytes))
    moving, each = plan, plan.signatures
    if plan.moves_register:
        moving, each = replace(plan, data_bytes=row.public_key_bytes), 1.0
    allowed = limits.per_block(plan, limits.use(moving, baseline, counted, baseline), 0.0)
    return each * allowed[limits.binding(allowed)] or math.nan


def _holding(scenario: Scenario, count: float) -> Scenario:
    """Return the scenario with blocks that hold about so many signatures, at most as they are."""
    fixed = scenario.layout.transaction_bytes(scenario.cost, 0)
    lengths = scenario.signature_lengths()
    room = scenario.layout.block_overhead_bytes() + fixed + max(lengths)
    if count > 1:
        room += math.ceil((count - 1) * (fixed + mean(lengths)))
    return scenario.with_(block_bytes=min(scenario.block_bytes, room))


def _signer_row(plan: Plan, scheme: str) -> str:
    """Return the row of the rebuilt Table 3 that a scheme is signed by; "" for the costs' own."""
    return SIGNERS[plan.signer] if plan.scheme(scheme).family == "Falcon" else ""


@cache
def _rebuilt_seconds() -> dict[tuple[str, str], float]:
    """Return the times of the rebuilt Table 3 by row and algorithm; a sensitivity asks often."""
    seconds: Any = accelerator.rebuild_table3().set_index(["row", "algorithm"])["seconds"].to_dict()
    return dict(seconds)


def _scenario(plan: Plan, row: Costs, layout: Layout, seed: int) -> Scenario:
    return Scenario(
        algorithm=row.algorithm,
        costs=CostTable((row,), row.source),
        nodes=plan.nodes,
        delegates=plan.delegates or None,
        network=plan.network,
        exchange="broadcast" if plan.vote_phases else None,
        vote_phases=plan.vote_phases,
        block_bytes=plan.block_bytes,
        layout=layout,
        signed_blocks=plan.network.law != "paper-serial",
        signed_votes=plan.vote_aggregation == "plain",
        verification_threads=plan.verification_threads,
        seed=seed,
    )


@lru_cache(maxsize=4096)
def _final_seconds(scenario: Scenario) -> float:
    """Run the consensus; equal scenarios are run once."""
    return run_consensus(scenario).latency_seconds


def _mixed(plan: Plan, own: Mapping[str, dict[str, float]]) -> dict[str, float]:
    """Return the figures of a chain on which schemes are used side by side.

    Bytes and times of a transaction are means by share. A full block holds each scheme's share of
    its bytes, and its time to be final is the mean by those: exact where that time grows evenly
    with verifications, as on every law here but for who is last.
    """
    shares = {name: share for name, share in plan.migration.items() if share > 0}
    for name in shares:
        if not own[name]["transactions_per_block"]:
            raise UsageError(
                f"migration names {name}, of which a block of {plan.block_bytes} bytes holds no "
                "transaction; give larger blocks or another scheme"
            )
    parts = [(share, own[name]) for name, share in shares.items()]
    mixed = {key: sum(share * part[key] for share, part in parts) for key in parts[0][1]}
    mixed["transactions_per_block"] = 1 / sum(
        share / part["transactions_per_block"] for share, part in parts
    )
    for name in ("final_seconds", "single_final_seconds"):
        mixed[name] = sum(
            share * part["transaction_bytes"] / mixed["transaction_bytes"] * part[name]
            for share, part in parts
        )
    mixed["block_verify_seconds"] = mixed["transactions_per_block"] * sum(
        share * part["block_verify_seconds"] / part["transactions_per_block"]
        for share, part in parts
    )
    mixed["full_block_bytes"] = mixed["transactions_per_block"] * mixed["transaction_bytes"]
    # Of several limits the one of the scheme that takes most of the block.
    heaviest = max(parts, key=lambda each: each[0] / each[1]["transactions_per_block"])[1]
    mixed["binding_limit"] = heaviest["binding_limit"]
    return mixed


def blocks(plan: Plan, own: Mapping[str, float]) -> queueing.Blocks:
    """Return how blocks of a scheme follow each other."""
    return queueing.Blocks(
        transactions=own["transactions_per_block"],
        seconds=plan.block_seconds,
        waits=not plan.final_blocks,
        empty_seconds=own["single_final_seconds"],
        full_seconds=own["final_seconds"],
    )


def _derived(
    plan: Plan, own: Mapping[str, float], baseline: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the figures that follow from a scheme's own; those that there are not are left out."""
    if own["transactions_per_block"] == 0:
        nothing = ("capacity_per_second", "sustained_per_second", "throughput_per_second")
        return dict.fromkeys((*nothing, "carried_share"), 0.0)
    following = blocks(plan, own)
    capacity = following.capacity_per_second
    rate = min(plan.transactions_per_second, capacity)
    cycle = following.cycle_seconds(rate)
    full_cycle = own["transactions_per_block"] / capacity
    growth = (rate * own["transaction_bytes"] + encoding.header_bytes() / cycle) * YEAR_SECONDS
    if plan.votes_in_block:
        growth += own["vote_bytes_per_block"] / cycle * YEAR_SECONDS
    repair = growth * plan.retained_days * 86_400 / YEAR_SECONDS
    received = 2 * rate * own["transaction_bytes"] + encoding.header_bytes() / cycle
    latency = queueing.latency_seconds(following, plan.transactions_per_second)
    derived = {
        "capacity_per_second": capacity,
        "sustained_per_second": plan.sustained_share * capacity,
        "throughput_per_second": rate,
        "carried_share": rate / plan.transactions_per_second,
        "block_fill": rate / capacity,
        "latency_seconds": latency if math.isfinite(latency) else math.nan,
        "full_latency_seconds": full_cycle / 2 + own["final_seconds"],
        "rule_seconds": _rule_seconds(plan, own, full_cycle),
        "vote_deadline_ratio": own["final_seconds"] / plan.vote_deadline_seconds
        if plan.vote_deadline_seconds
        else math.nan,
        "received_bits_per_second": 8 * received,
        "verification_cores": rate / own["transactions_per_block"] * own["block_verify_seconds"],
        "signing_cores": rate * plan.signatures * own["sign_seconds"],
        "growth_bytes_per_year": growth,
        "coded_growth_bytes_per_year": growth / plan.data_chunks,
        "coded_factor": (plan.data_chunks + plan.parity_chunks) / plan.data_chunks,
        "repair_bytes": repair,
        "repair_seconds": 8 * repair / plan.repair_bits_per_second
        + repair / plan.decode_bytes_per_second,
    }
    if following.waits and own["final_seconds"] > plan.block_seconds > 0:
        derived["binding_limit"] = float(limits.LIMITS.index("time to final"))
    if baseline is None:
        return derived
    first = blocks(plan, baseline).capacity_per_second
    derived |= {
        "transaction_bytes_ratio": own["transaction_bytes"] / baseline["transaction_bytes"],
        "capacity_ratio": capacity / first if first else math.nan,
        "verification_ratio": own["verify_seconds"] / baseline["verify_seconds"],
    }
    if plan.accounts and first:
        cycle = baseline["transactions_per_block"] / first
        derived["migration_seconds"] = plan.accounts / own["registrations_per_block"] * cycle
    return derived


def _rule_seconds(plan: Plan, own: Mapping[str, float], cycle: float) -> float:
    """Return the time to final by the chain's rule; what votes do not fit waits for more blocks."""
    late = 0.0
    if plan.most_votes:
        late = math.ceil(votes.messages(plan) / plan.most_votes) - 1
    return (plan.final_blocks + late) * cycle + own["final_seconds"]


def post_quantum(plan: Plan) -> tuple[str, ...]:
    """Return the schemes of a plan that a quantum computer does not break."""
    return tuple(name for name in plan.schemes if schemes.is_post_quantum(plan.scheme(name)))
