"""The votes of a block: each for itself, as BLS aggregates, or as proofs; bytes and seconds.

An aggregate has a bit for every voter, as attestations have since EIP-7549.
"""

from __future__ import annotations

import math

from pqchain.costs import Costs, CostTable
from pqchain.study.plan import BLS, Plan
from pqchain.study.provers import PROVERS

BLS_SIGNATURE_BYTES = 96
"""A point of G2, compressed: minimal public keys (draft-irtf-cfrg-bls-signature)."""


def vote_bytes(plan: Plan, signature_bytes: float) -> float:
    """Return the bytes of the votes of one block as the plan carries them."""
    if plan.vote_aggregation == "plain":
        return plain_bytes(plan, signature_bytes)
    voters = plan.votes_per_block / plan.vote_aggregates if plan.votes_per_block else 0.0
    bits = math.ceil(plan.votes_per_block / 8)
    proof = float(BLS_SIGNATURE_BYTES)
    if plan.vote_aggregation != BLS:
        proof = PROVERS[plan.vote_aggregation].proof_bytes(voters)
    return plan.vote_aggregates * (plan.vote_bytes + proof + bits) if voters else 0.0


def plain_bytes(plan: Plan, signature_bytes: float) -> float:
    """Return the bytes of the votes of one block if each came with its own signature."""
    signature = plan.vote_signature_bytes or signature_bytes
    return plan.votes_per_block * (plan.vote_bytes + signature)


def verify_seconds(plan: Plan, row: Costs, costs: CostTable) -> float:
    """Return the time to verify the votes of a block as the chain carries them, on one core.

    NaN where it is not known: of an aggregate that was not measured, of a prover whose source does
    not say, of votes signed by another scheme than the transactions.
    """
    if plan.vote_aggregation == "plain":
        return plain_verify_seconds(plan, row)
    if not plan.votes_per_block:
        return math.nan
    if plan.vote_aggregation == BLS:
        each = costs.aggregates
        if each is None:
            return math.nan
        fixed = plan.vote_aggregates * each.verify_seconds
        return fixed + plan.votes_per_block * each.signer_seconds
    proof = PROVERS[plan.vote_aggregation].verify_seconds
    return math.nan if proof is None else plan.vote_aggregates * proof


def plain_verify_seconds(plan: Plan, row: Costs) -> float:
    """Return the time to verify as many votes if the scheme of the transactions signed each."""
    if not plan.votes_per_block or (plan.vote_aggregation == "plain" and plan.vote_signature_bytes):
        return math.nan
    return plan.votes_per_block * row.verify_seconds


def messages(plan: Plan) -> float:
    """Return how many votes or aggregates a block has to carry."""
    return plan.votes_per_block if plan.vote_aggregation == "plain" else plan.vote_aggregates
