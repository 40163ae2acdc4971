"""The bytes of votes in a block: each for itself, as BLS aggregates, or as one proof.

Sizes only. An aggregate has a bit for every voter, as attestations have since EIP-7549.
"""

from __future__ import annotations

import math

from pqchain.study.plan import Plan
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
    if plan.vote_aggregation != "bls":
        proof = PROVERS[plan.vote_aggregation].proof_bytes(voters)
    return plan.vote_aggregates * (plan.vote_bytes + proof + bits) if voters else 0.0


def plain_bytes(plan: Plan, signature_bytes: float) -> float:
    """Return the bytes of the votes of one block if each came with its own signature."""
    signature = plan.vote_signature_bytes or signature_bytes
    return plan.votes_per_block * (plan.vote_bytes + signature)


def messages(plan: Plan) -> float:
    """Return how many votes or aggregates a block has to carry."""
    return plan.votes_per_block if plan.vote_aggregation == "plain" else plan.vote_aggregates
