"""Figures (output quantities) of a study: a function for each, with unit and source."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import pandas as pd

from pqchain.chain import encoding
from pqchain.consensus.lengths import mean, observed
from pqchain.costs import CostTable
from pqchain.figures import Figure, Kind
from pqchain.results import Contract
from pqchain.study import chain, queueing
from pqchain.study.model import QUANTITIES, Evidence, SchemeModel, blocks, figure, models
from pqchain.study.plan import Plan
from pqchain.study.provers import BLS, CITED, prover_of

__all__ = ["QUANTITIES", "SchemeModel", "blocks", "evaluate", "framed", "models"]

STUDY = Contract.of(
    "study",
    ("str", "study algorithm quantity"),
    ("float64", "value low high"),
    ("str", "text unit kind source"),
)

OUTPUTS = (
    "capacity_per_second", "latency_seconds", "final_seconds", "verification_cores",
    "growth_bytes_per_year", "repair_seconds",
)  # fmt: skip
"""Figures whose sensitivity can be computed."""

YEAR_SECONDS = 365.25 * 86_400

# Figures of keys, transactions and votes exist even if no transaction fits in a block.
_basic = partial(figure, unconditional=True)


@_basic(cites="")
def public_key_bytes(model: SchemeModel) -> Evidence:
    """Length of a public key."""
    return model.size(float(model.row.public_key_bytes))


@_basic(cites="")
def signature_bytes(model: SchemeModel) -> Evidence:
    """Length of a signature, the mean if it varies."""
    value = mean(model.lengths)
    if model.algorithm in observed():
        counted = f"pqchain.consensus.lengths: {model.algorithm} of liboqs 0.13.0, counted"
        return Evidence(value, Kind.MEASURED, counted)
    return model.size(value)


@_basic(cites="")
def sign_seconds(model: SchemeModel) -> Evidence:
    """Time of one signing operation."""
    return Evidence(model.row.sign_seconds, model.cost_kind, model.row.source)


@_basic(cites="")
def verify_seconds(model: SchemeModel) -> Evidence:
    """Time of one verification."""
    return Evidence(model.row.verify_seconds, model.cost_kind, model.row.source)


@_basic(cites="transaction")
def transaction_bytes(model: SchemeModel) -> Evidence:
    """Bytes of a transaction."""
    share = model.proof_bytes / model.count if model.count else 0.0
    return model.exact(model.use.bytes + share)


@_basic(cites="transaction")
def transaction_weight(model: SchemeModel) -> float:
    """Weight of a transaction."""
    return model.use.weight if model.plan.limits.block_weight else math.nan


@_basic(cites="transaction")
def transaction_gas(model: SchemeModel) -> float:
    """Gas, or compute units, of a transaction."""
    return model.use.gas if model.plan.limits.block_gas else math.nan


@_basic(cites="")
def plain_vote_bytes_per_block(model: SchemeModel) -> float:
    """Bytes of the votes of a block if each has its own signature."""
    return chain.plain_vote_bytes(model.plan, model.row.signature_bytes) or math.nan


@_basic(cites="vote")
def vote_bytes_per_block(model: SchemeModel) -> float | Evidence:
    """Bytes of the votes of a block, aggregated if the chain aggregates votes."""
    value = chain.vote_bytes(model.plan, model.row.signature_bytes) or math.nan
    return _of_prover(model, value) or value


@_basic(cites="vote")
def consensus_bytes_per_block(model: SchemeModel) -> float:
    """Bytes of a block besides its transactions, votes included."""
    fixed = model.plan.votes.consensus_bytes
    return fixed + chain.vote_bytes(model.plan, model.row.signature_bytes) if fixed else math.nan


@_basic(cites="vote")
def plain_vote_verify_seconds(model: SchemeModel) -> float:
    """Time to verify the votes of a block on one core if the scheme signs each."""
    return chain.plain_vote_verify_seconds(model.plan, model.row)


@_basic(cites="vote")
def vote_verify_seconds(model: SchemeModel) -> float | Evidence:
    """Time to verify the votes of a block on one core, aggregated if the chain aggregates."""
    value = chain.vote_verify_seconds(model.plan, model.row, model.costs)
    if evidence := _of_prover(model, value):
        return evidence
    if model.plan.votes.vote_aggregation != BLS:
        return value
    measured = model.costs.aggregates
    source = f"votes times {measured.source}" if measured else "no aggregates were measured"
    return Evidence(value, Kind.MODELLED, source)


@_basic()
def transactions_per_block(model: SchemeModel) -> float | Evidence:
    """Transactions in a full block."""
    return model.exact(model.count) if model.count else 0.0


@figure(unit="B")
def full_block_bytes(model: SchemeModel) -> float:
    """Bytes of the transactions in a full block."""
    return model.count * model.use.bytes + model.proof_bytes


@figure()
def block_verify_seconds(model: SchemeModel) -> float:
    """Time to verify the signatures of a full block on one core."""
    proof = model.prover.counted_seconds(model.signatures) if model.prover else 0.0
    return model.signatures * model.checked.verify_seconds + proof


@figure()
def final_seconds(model: SchemeModel) -> Evidence:
    """Time from the proposal of a full block to finality at the last delegate."""
    source = f"pqchain.consensus, {model.plan.network.law}, over {model.row.source}"
    return Evidence(model.final(model.signatures), Kind.MODELLED, source)


@figure()
def single_transaction_final_seconds(model: SchemeModel) -> float:
    """Time from the proposal of a block of one transaction to finality at the last delegate."""
    return model.final(1)


@figure(unconditional=True)
def binding_limit(model: SchemeModel) -> float:
    """Binding limit. It has a name, `SchemeModel.limit`, not a number, so the value is NaN."""
    return math.nan


@figure()
def rule_seconds(model: SchemeModel) -> float:
    """Time to finality under the chain's own finality rule."""
    plan, late = model.plan, 0.0
    if plan.votes.most_votes:
        # Votes that do not fit in a block wait for the next ones.
        late = math.ceil(plan.votes.messages / plan.votes.most_votes) - 1
    return (plan.votes.final_blocks + late) * _full_cycle(model) + model["final_seconds"]


@figure()
def vote_deadline_ratio(model: SchemeModel) -> float:
    """Time to distribute a full block and vote on it, divided by the deadline of votes."""
    deadline = model.plan.votes.vote_deadline_seconds
    return model["final_seconds"] / deadline if deadline else math.nan


@figure(unconditional=True)
def capacity_per_second(model: SchemeModel) -> float:
    """Capacity: the maximum throughput."""
    return blocks(model.plan, model).capacity_per_second if model["transactions_per_block"] else 0.0


@figure(unconditional=True)
def sustained_per_second(model: SchemeModel) -> float:
    """Throughput at the share of full blocks that is sustained in the long run."""
    return model.plan.limits.sustained_share * model["capacity_per_second"]


@figure(unconditional=True)
def throughput_per_second(model: SchemeModel) -> float:
    """Throughput at the target load."""
    return min(model.plan.chain.transactions_per_second, model["capacity_per_second"])


@figure()
def latency_seconds(model: SchemeModel) -> float:
    """Mean latency of a transaction at the target load, with its wait in the queue."""
    # At and above the capacity the queue grows without end, and no mean exists.
    load = model.plan.chain.transactions_per_second
    seconds = queueing.latency_seconds(blocks(model.plan, model), load)
    return seconds if math.isfinite(seconds) else math.nan


@figure()
def full_latency_seconds(model: SchemeModel) -> float:
    """Mean latency of a transaction that the next block includes, if blocks are full."""
    return _full_cycle(model) / 2 + model["final_seconds"]


@figure()
def received_bits_per_second(model: SchemeModel) -> float:
    """Bandwidth that a node receives: each transaction arrives alone and in its block."""
    transactions = 2 * model["throughput_per_second"] * model["transaction_bytes"]
    is_carried = model.plan.votes.votes_in_block or model.plan.network.certificates == "next-block"
    other = encoding.header_bytes() + (model["vote_bytes_per_block"] if is_carried else 0.0)
    return 8 * (transactions + other / _cycle(model))


@figure()
def verification_cores(model: SchemeModel) -> float:
    """Cores of a node that are busy with verification."""
    blocks_per_second = model["throughput_per_second"] / model["transactions_per_block"]
    return blocks_per_second * model["block_verify_seconds"]


@figure()
def growth_bytes_per_year(model: SchemeModel) -> float:
    """Growth of the storage of a full node in a year."""
    # Headers follow the block interval at the carried load, also where blocks are nearly empty.
    headers = encoding.header_bytes() / _cycle(model)
    per_second = model["throughput_per_second"] * model["transaction_bytes"] + headers
    growth = per_second * YEAR_SECONDS
    # Also the certificates that only travel beside blocks: they prove that a block is final.
    if model.plan.votes.votes_in_block or model.plan.network.certificates != "none":
        growth += model["vote_bytes_per_block"] / _cycle(model) * YEAR_SECONDS
    return growth


@figure()
def coded_growth_bytes_per_year(model: SchemeModel) -> float:
    """Growth of the storage of a node in a year if it stores one chunk of each block."""
    return model["growth_bytes_per_year"] / model.plan.storage.data_chunks


@figure(cites="")
def coded_factor(model: SchemeModel) -> float:
    """Storage of all chunks of a block, relative to one copy."""
    plan = model.plan
    return (plan.storage.data_chunks + plan.storage.parity_chunks) / plan.storage.data_chunks


@figure()
def repair_bytes(model: SchemeModel) -> float:
    """Traffic to rebuild the chunks of a failed node."""
    days = model.plan.storage.retained_days
    return model["growth_bytes_per_year"] * days * 86_400 / YEAR_SECONDS


@figure()
def repair_seconds(model: SchemeModel) -> float:
    """Time to gather and decode the chunks of a failed node."""
    storage, size = model.plan.storage, model["repair_bytes"]
    return 8 * size / storage.repair_bits_per_second + size / storage.decode_bytes_per_second


@figure(cites="transaction")
def transaction_bytes_ratio(model: SchemeModel) -> float | Evidence:
    """Bytes of a transaction, relative to the baseline."""
    if model.baseline is None:
        return math.nan
    return model.exact(model["transaction_bytes"] / model.baseline["transaction_bytes"])


@figure()
def capacity_ratio(model: SchemeModel) -> float:
    """Capacity, relative to the baseline."""
    baseline = model.baseline["capacity_per_second"] if model.baseline else 0.0
    return model["capacity_per_second"] / baseline if baseline else math.nan


@figure(cites="")
def verification_ratio(model: SchemeModel) -> float:
    """Time of a verification, relative to the baseline."""
    baseline = model.baseline["verify_seconds"] if model.baseline else math.nan
    return model["verify_seconds"] / baseline


@figure()
def migration_seconds(model: SchemeModel) -> float:
    """Time to register new keys for all accounts if full blocks contain nothing else."""
    plan, baseline = model.plan, model.baseline
    if baseline is None or not plan.chain.accounts or not baseline["capacity_per_second"]:
        return math.nan
    return plan.chain.accounts / model.registrations * _full_cycle(baseline)


def _of_prover(model: SchemeModel, value: float) -> Evidence | None:
    """Return a figure of the votes with the evidence of their prover; None without a prover."""
    if not (prover := prover_of(model.plan.votes.vote_aggregation)):
        return None
    if prover.evidence == CITED:
        return Evidence(value, Kind.PUBLISHED, f"data/provers/{prover.name}.toml")
    return Evidence(value, Kind.MODELLED, f"arithmetic over proofs that were {prover.evidence}")


def _cycle(model: SchemeModel) -> float:
    return blocks(model.plan, model).cycle_seconds(model["throughput_per_second"])


def _full_cycle(model: SchemeModel) -> float:
    return model["transactions_per_block"] / model["capacity_per_second"]


def evaluate(plan: Plan, costs: CostTable, *, seed: int = 0) -> pd.DataFrame:
    """Return all figures for one random network as a frame, without intervals.

    Columns: study, algorithm, quantity, value (NaN if there is none), low and high (the ends of
    the interval, or the value), text (the name of the limit for "binding_limit", else ""), unit,
    kind ("registry", "published", "measured", "given" or "modelled"), source (of the number, or
    of the model's inputs).
    """
    by_algorithm = models(plan, costs, seed=seed)
    figures = {name: model.figures() for name, model in by_algorithm.items()}
    return framed(plan, figures, {name: model.limit for name, model in by_algorithm.items()})


def framed(
    plan: Plan, figures: Mapping[str, Mapping[str, Figure]], limits: Mapping[str, str]
) -> pd.DataFrame:
    """Return figures as a frame with the columns of `evaluate`."""
    return STUDY.frame(
        [plan.title, algorithm, name, figure.value, figure.low, figure.high,
         limits[algorithm] if name == "binding_limit" else "",
         str(figure.unit), figure.kind.value, figure.source]
        for algorithm, by_name in figures.items()
        for name, figure in by_name.items()
    )  # fmt: skip
