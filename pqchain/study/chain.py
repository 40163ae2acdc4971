"""Transactions, votes and aggregated signatures of a block, and the limits on its content.

Each limit alone allows a number of transactions in a block; the smallest holds. Weight is Bitcoin's
(BIP 141): bytes outside keys and signatures count `witness_discount` times. Gas is Ethereum's with
the floor of EIP-7623: intrinsic + max(execution + per byte, floor per byte); chains that count
compute units set the prices per byte to 0. A packet bounds one transaction. Spread: the proposer
sends so many copies of a block over one uplink that the next block is not late.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pqchain import consensus
from pqchain.chain import encoding, p2mr
from pqchain.consensus import Layout, Network, Scenario, lengths
from pqchain.consensus import run as run_consensus
from pqchain.consensus.lengths import mean
from pqchain.consensus.network import regions
from pqchain.consensus.scenario import quorum
from pqchain.costs import Costs, CostTable
from pqchain.results.kept import KeptValues
from pqchain.study.plan import Plan
from pqchain.study.provers import Prover, prover_of

BLS_SIGNATURE_BYTES = 96
"""A compressed point of G2: minimal public keys (draft-irtf-cfrg-bls-signature)."""

FINALITY = "time to final"
"""Name of the limit of chains whose blocks wait for the finality of the previous one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """The bytes, weight and gas that one transaction uses in a block."""

    bytes: float
    weight: float
    gas: float
    most_bytes: float
    """Bytes with the longest possible signature."""
    is_floor: bool = False
    """Whether the gas is the floor price of the calldata, whatever a verification costs."""
    sigops: float = 1.0
    """Signature checks, counted in verifications of the baseline's signature, at least one each."""


def key_mode(plan: Plan, algorithm: str) -> str:
    """Return the plan's key mode; inline if it is recovery, which the scheme does not support."""
    if plan.chain.key_mode == "recovered" and algorithm not in encoding.RECOVERABLE:
        return "inline"
    return plan.chain.key_mode


def layout_of(plan: Plan, algorithm: str) -> Layout:
    """Return the transaction layout per signature, with a share of the other bytes.

    A transaction with several signatures counts as that many transactions, so that the times of
    signatures and of bytes are each counted once.
    """
    mode: Any = key_mode(plan, algorithm)
    if not plan.transaction.envelope_bytes:
        return Layout(data_bytes=plan.chain.data_bytes, key_mode=mode)
    rest = plan.transaction.envelope_bytes + plan.chain.data_bytes
    overhead = rest / plan.transaction.signatures + framing_bytes(plan, algorithm)
    return Layout(key_mode=mode, overhead_bytes=round(overhead))


def framing_bytes(plan: Plan, algorithm: str) -> int:
    """Return the framing of a key and a signature: lengths, opcodes, proof of the script."""
    rule = plan.transaction
    if rule.witness_rule == "fixed":
        return rule.framing_bytes
    row = plan.algorithm(algorithm)
    sizes = (row.name, row.public_key_bytes, row.signature_bytes)
    return rule.framing_bytes + p2mr.framing_bytes(*sizes, rule.merkle_depth)


def use(
    plan: Plan,
    row: Costs,
    lengths: Mapping[int, int],
    baseline: Costs | None,
    prover: Prover | None = None,
) -> Use:
    """Return the bytes, weight and gas of a transaction; `lengths` maps lengths to counts."""
    if prover is not None:
        # One proof of the block replaces all signatures.
        lengths = {0: 1}
        row = replace(row, verify_seconds=0.0, anchor_seconds=0.0)
    average = mean(lengths)
    key = row.public_key_bytes if key_mode(plan, row.algorithm) == "inline" else 0
    if plan.transaction.envelope_bytes:
        rest = float(plan.transaction.envelope_bytes + plan.chain.data_bytes)
        framing = framing_bytes(plan, row.algorithm)
        witness, most = (
            plan.transaction.signatures * (key + length + framing)
            for length in (average, max(lengths))
        )
    else:
        fixed = layout_of(plan, row.algorithm).transaction_bytes(row, 0)
        rest, witness, most = float(fixed - key), key + average, float(key + max(lengths))
    price, is_floor = gas(plan, row, witness, baseline)
    ratio = _verification_ratio(row, baseline) if baseline and plan.limits.block_sigops else 1.0
    return Use(
        bytes=rest + witness,
        weight=plan.limits.witness_discount * rest + witness,
        gas=price,
        is_floor=is_floor,
        most_bytes=rest + most,
        sigops=plan.transaction.signatures * max(1.0, ratio),
    )


ANCHORED = "ECDSA-secp256k1"
"""The baseline that the `anchor_seconds` of given times are a time of."""


def _verification_ratio(row: Costs, baseline: Costs) -> float:
    # Both times of one machine: given ones are of another than the baseline's.
    is_anchored = row.anchor_seconds and baseline.algorithm == ANCHORED
    return row.verify_seconds / (row.anchor_seconds if is_anchored else baseline.verify_seconds)


def gas(plan: Plan, row: Costs, witness_bytes: float, baseline: Costs | None) -> tuple[float, bool]:
    """Return the gas that one transaction uses, and whether it is the floor of its calldata.

    The baseline's signature is not calldata, and its verification is part of the intrinsic gas.
    Any other scheme carries keys and signatures as calldata, and a verification costs
    its price in `gas_prices`, else `verification_gas` times its time relative to the baseline's.
    """
    limits, data, verification = plan.limits, float(plan.chain.data_bytes), 0.0
    if baseline is not None and row.algorithm != baseline.algorithm:
        data += witness_bytes
        by_time = limits.verification_gas * _verification_ratio(row, baseline)
        price = limits.gas_prices.get(row.algorithm, by_time)
        verification = plan.transaction.signatures * price
    execution = limits.execution_gas + limits.calldata_gas * data + verification
    # EIP-7623: transactions that consist mostly of data pay at least the floor price per byte.
    floor = limits.floor_gas * data
    return limits.intrinsic_gas + max(execution, floor), floor > execution


def per_block(
    plan: Plan,
    transaction: Use,
    votes_bytes: float,
    prover: Prover | None = None,
    baseline: Costs | None = None,
) -> dict[str, float]:
    """Return for each limit of the plan how many transactions it alone allows in a block.

    `votes_bytes` is what a block reserves for votes. The counts are whole numbers, 0 where
    no transaction fits. A proof takes bytes of the block, and calldata gas if the plan limits gas.
    """
    limits, signatures, seconds = plan.limits, plan.transaction.signatures, plan.chain.block_seconds
    taken = encoding.header_bytes() + votes_bytes
    room = plan.chain.block_bytes - taken
    # The longest transaction must fit: a mean that fits does not make the longest one valid.
    fits = room >= transaction.most_bytes
    # Before the bytes, which would bind as well and not tell why.
    allowed = {"votes": 0.0} if not fits and room + votes_bytes >= transaction.most_bytes else {}
    allowed["bytes"] = _fitting(plan, room, transaction.bytes, prover) if fits else 0.0
    if limits.block_weight:
        left = limits.block_weight - limits.witness_discount * taken
        fits = left >= transaction.weight
        allowed["weight"] = _fitting(plan, left, transaction.weight, prover) if fits else 0.0
    if limits.block_sigops:
        allowed["sigops"] = math.floor(limits.block_sigops / transaction.sigops)
    if limits.block_gas:
        # Ethereum would verify a proof once per block, so that its gas is paid once.
        left = limits.block_gas - plan.votes.votes_per_block * plan.votes.voting_gas
        per_second = limits.verification_gas / baseline.verify_seconds if baseline else 0.0
        prices, gas = (limits.calldata_gas, per_second), transaction.gas
        allowed["gas"] = _fitting(plan, left, gas, prover, prices) if gas else math.inf
    if plan.network.upload_copies:
        sent = uplink_bits_per_second(plan) * seconds / 8 / plan.network.upload_copies
        allowed["spread"] = _fitting(plan, sent - taken, transaction.bytes, prover)
    if limits.most_transactions:
        allowed["count"] = math.floor(limits.most_transactions)
    if limits.packet_bytes:
        # A packet bounds a single transaction and not their number.
        allowed["packet"] = math.inf if transaction.most_bytes <= limits.packet_bytes else 0.0
    if prover is not None and seconds and prover.rates:
        proven = prover.rate_per_second() * seconds
        # The prover keeps up with the chain, or blocks wait for proofs.
        allowed["proving"] = math.floor(proven / signatures)
    return {name: float(count) for name, count in allowed.items()}


def uplink_bits_per_second(plan: Plan) -> float:
    """Return the rate at which a proposer sends a block; with regions, that of the slowest one."""
    network = plan.network.model
    if network.is_regional:
        # Every node proposes at some time, so the limit must hold in each region.
        return float(min(region["upload_bits_per_second"] for region in regions()))
    return network.rate_bits_per_second


def _fitting(
    plan: Plan,
    room: float,
    size: float,
    prover: Prover | None,
    prices: tuple[float, float] = (1.0, 0.0),
) -> float:
    """Return how many transactions fit; `prices` are of the proof's bytes and seconds."""
    most = max(0, math.floor(room / size))
    if prover is None:
        return most
    per_byte, per_second = prices

    def too_many(count: int) -> bool:
        signatures = count * plan.transaction.signatures
        proof = per_byte * prover.proof_bytes(signatures)
        proof += per_second * prover.counted_seconds(signatures)
        return count * size + proof > room

    # A search, because a proof and its time grow with its signatures, by interpolated steps.
    return bisect_left(range(1, most + 1), True, key=too_many)


def binding(allowed: Mapping[str, float]) -> str:
    """Return the name of the limit that allows the fewest transactions; in a tie the first."""
    return min(allowed, key=lambda name: allowed[name])


def votes_in_block(plan: Plan, signature_bytes: float) -> tuple[float, float]:
    """Return the bytes of the votes that a block contains, and of those that it reserves."""
    if not plan.votes.votes_in_block and plan.network.certificates != "next-block":
        return 0.0, 0.0
    carried = vote_bytes(plan, signature_bytes)
    if plan.votes.votes_in_block:
        return carried, carried
    # A vote of each validator, absent ones included, as CometBFT's MaxCommitBytes reserves.
    return carried, _certificate_bytes(plan, signature_bytes, plan.network.voters)


def with_votes(scenario: Scenario, plan: Plan, votes: tuple[float, float]) -> Scenario:
    """Return a scenario whose blocks contain and reserve these bytes of `votes_in_block`."""
    # The consensus model adds its own list of a quorum; the header has the rest.
    listed = scenario.certificate_bytes if plan.network.certificates == "next-block" else 0
    carried, left = math.floor(votes[0]) - listed, math.floor(plan.chain.block_bytes - votes[1])
    layout = replace(scenario.layout, header_bytes=encoding.header_bytes() + carried)
    return scenario.with_(layout=layout, block_bytes=left + carried)


def _certificate_bytes(plan: Plan, signature_bytes: float, votes: int) -> float:
    # The consensus model's list; vote_bytes is what the chain's own encoding adds to a vote.
    listed = lengths.certificate_bytes(math.ceil(signature_bytes), votes)
    return listed + votes * plan.votes.vote_bytes


def vote_bytes(plan: Plan, signature_bytes: float) -> float:
    """Return the total bytes of a block's votes, aggregated as the plan says."""
    votes = plan.votes
    if votes.vote_aggregation == "plain":
        return plain_vote_bytes(plan, signature_bytes)
    voters = votes.votes_per_block / votes.vote_aggregates
    # An aggregate has a bit for every voter, as attestations have since EIP-7549.
    bits = math.ceil(votes.votes_per_block / 8)
    by = prover_of(votes.vote_aggregation)
    proof = by.proof_bytes(voters) if by else float(BLS_SIGNATURE_BYTES)
    return votes.vote_aggregates * (votes.vote_bytes + proof + bits) if voters else 0.0


def plain_vote_bytes(plan: Plan, signature_bytes: float) -> float:
    """Return the total bytes of a block's votes if each has its own signature."""
    if plan.network.certificates != "none":
        return _certificate_bytes(plan, signature_bytes, quorum(plan.network.voters))
    signature = plan.votes.vote_signature_bytes or signature_bytes
    return plan.votes.votes_per_block * (plan.votes.vote_bytes + signature)


def vote_verify_seconds(plan: Plan, row: Costs, costs: CostTable) -> float:
    """Return the time to verify a block's votes, aggregated as the plan says, on one core.

    NaN where it is unknown: an aggregate that was not measured, a prover without a published time,
    votes signed by another scheme than the transactions.
    """
    votes = plan.votes
    if votes.vote_aggregation == "plain":
        return plain_vote_verify_seconds(plan, row)
    if not votes.votes_per_block:
        return math.nan
    if by := prover_of(votes.vote_aggregation):
        voters = votes.votes_per_block / votes.vote_aggregates
        return votes.vote_aggregates * by.verify_seconds(voters)
    if (measured := costs.aggregates) is None:
        return math.nan
    fixed = votes.vote_aggregates * measured.verify_seconds
    return fixed + votes.votes_per_block * measured.signer_seconds


def plain_vote_verify_seconds(plan: Plan, row: Costs) -> float:
    """Return the time to verify a block's votes if the transactions' scheme signs each."""
    if plan.network.certificates != "none":
        return quorum(plan.network.voters) * row.verify_seconds
    votes = plan.votes
    # vote_signature_bytes means that votes are signed by another scheme, whose times are unknown.
    is_unknown = votes.vote_aggregation == "plain" and votes.vote_signature_bytes
    if not votes.votes_per_block or is_unknown:
        return math.nan
    return votes.votes_per_block * row.verify_seconds


def final_seconds(scenario: Scenario, signatures: float) -> float:
    """Return the time from proposal to finality of a block with about this many signatures."""
    fixed = scenario.layout.transaction_bytes(scenario.cost, 0)
    lengths = scenario.signature_lengths()
    room = scenario.layout.block_overhead_bytes() + fixed + max(lengths)
    # One transaction may have the longest signature; further ones count with the mean length.
    if signatures > 1:
        room += math.ceil((signatures - 1) * (fixed + mean(lengths)))
    return _run(scenario.with_(block_bytes=min(scenario.block_bytes, room)))


@lru_cache(maxsize=4096)
def _run(scenario: Scenario) -> float:
    """Return the consensus latency; cached, because a sensitivity repeats most scenarios.

    It is also kept in the user's cache: a question that is asked again loads no engine.
    """
    kept, key = _kept()
    name = f"{key} {scenario.identifier}"
    if (seconds := kept.get(name)) is None:
        kept.put(name, seconds := _latency_seconds(scenario))
    return float(seconds)


@cache
def _kept() -> tuple[KeptValues, str]:
    """Return the kept values, and the beginning of the keys of those of this consensus model."""
    sources = Path(consensus.__file__).parent.rglob("*.py")
    return KeptValues(), f"latency {max(path.stat().st_mtime_ns for path in sources)}"


def _latency_seconds(scenario: Scenario) -> float:
    if scenario.certificates != "next-block" and not scenario.pipelined:
        return run_consensus(scenario).latency_seconds
    # The first block has no parent with a certificate, and the last one no successor beside it.
    heights = run_consensus(scenario.with_(blocks=4)).heights[1:3]
    return math.fsum(height.latency_seconds for height in heights) / len(heights)


def waiting_network(plan: Plan) -> Network:
    """Return the plan's network with the mean wait at each hop as latency."""
    network, wait = plan.network.model, plan.network.hop_wait_seconds
    return replace(network, latency_seconds=network.latency_seconds + wait) if wait else network
