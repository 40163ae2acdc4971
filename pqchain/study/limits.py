"""What a block gives and what a transaction takes of it: bytes, weight, gas, a packet.

Every limit alone would let so many transactions into a block; the smallest number binds. Weight is
Bitcoin's (BIP 141): bytes that are no signature or key count `witness_discount` times. Gas is
Ethereum's, with the floor of EIP-7623: intrinsic + max(execution + per byte, floor per byte);
chains that count compute units set the prices per byte to 0. A packet is the longest transaction.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Any

from pqchain.chain import encoding
from pqchain.consensus import Layout
from pqchain.costs import Costs
from pqchain.study.bundles import Bundle
from pqchain.study.plan import Plan

LIMITS = ("bytes", "weight", "gas", "packet", "proving", "time to final")
"""What can bind; the value of the figure `binding_limit` is a place in this tuple."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What one transaction takes of a block."""

    bytes: float
    weight: float
    gas: float
    most_bytes: float
    """With the longest signature that there is."""


def key_mode(plan: Plan, algorithm: str) -> str:
    """Return how a scheme's key is carried: "recovered" only by schemes that can, else inline."""
    if plan.public_key == "recovered" and algorithm not in encoding.RECOVERABLE:
        return "inline"
    return plan.public_key


def layout(plan: Plan, algorithm: str) -> Layout:
    """Return the bytes of one signature of a transaction with its share of all that is beside it.

    A transaction of several signatures is that many of these, so that time for signatures and time
    for bytes are both counted once.
    """
    mode: Any = key_mode(plan, algorithm)
    if not plan.envelope_bytes:
        return Layout(data_bytes=plan.data_bytes, public_key=mode)
    beside = (plan.envelope_bytes + plan.data_bytes) / plan.signatures + plan.framing_bytes
    return Layout(public_key=mode, overhead_bytes=round(beside))


def witness_bytes(plan: Plan, row: Costs, signature_bytes: float) -> float:
    """Return the bytes of all keys and signatures of a transaction, with what frames them."""
    key = row.public_key_bytes if key_mode(plan, row.algorithm) == "inline" else 0
    return plan.signatures * (key + signature_bytes + plan.framing_bytes)


def use(
    plan: Plan,
    row: Costs,
    lengths: dict[int, int],
    baseline: Costs | None,
    bundle: Bundle | None = None,
) -> Use:
    """Return what a transaction of a scheme takes; `lengths` counts its signatures by length.

    With a bundle it takes no signature of its own.
    """
    if bundle is not None:
        lengths, row = {0: 1}, replace(row, verify_seconds=bundle.signature_seconds)
    mean = sum(length * count for length, count in lengths.items()) / sum(lengths.values())
    if plan.envelope_bytes:
        beside = float(plan.envelope_bytes + plan.data_bytes)
        witness, most = (witness_bytes(plan, row, each) for each in (mean, max(lengths)))
    else:
        fixed = layout(plan, row.algorithm).transaction_bytes(row, 0)
        key = row.public_key_bytes if key_mode(plan, row.algorithm) == "inline" else 0
        beside, witness, most = float(fixed - key), key + mean, float(key + max(lengths))
    return Use(
        bytes=beside + witness,
        weight=plan.witness_discount * beside + witness,
        gas=gas(plan, row, witness, baseline),
        most_bytes=beside + most,
    )


def gas(plan: Plan, row: Costs, witness: float, baseline: Costs | None) -> float:
    """Return the gas of a transaction.

    The baseline's signature is no calldata, and its verification is part of the intrinsic gas. Any
    other scheme carries keys and signatures as calldata and pays for its verification what
    `verification_gas`, the price of one of the baseline's, is worth in seconds.
    """
    data, verification = float(plan.data_bytes), 0.0
    if baseline is not None and row.algorithm != baseline.algorithm:
        data += witness
        ratio = row.verify_seconds / baseline.verify_seconds
        verification = plan.signatures * plan.verification_gas * ratio
    execution = plan.execution_gas + plan.calldata_gas * data + verification
    return plan.intrinsic_gas + max(execution, plan.floor_gas * data)


def per_block(
    plan: Plan,
    one: Use,
    votes_bytes: float,
    bundle: Bundle | None = None,
    baseline: Costs | None = None,
) -> dict[str, float]:
    """Return how many transactions each limit alone would let into a block, by limit.

    Only limits that the plan has; `votes_bytes` is what votes take of a block that carries them.
    A block holds whole transactions, so these are whole numbers, and 0 where not one fits. The
    bytes of a bundle are those of a proof or aggregate, and calldata where there is gas.
    """
    taken = encoding.header_bytes() + (votes_bytes if plan.votes_in_block else 0.0)
    room = plan.block_bytes - taken
    allowed = {"bytes": _fitting(plan, room, one.bytes, bundle) if room >= one.most_bytes else 0.0}
    if plan.block_weight:
        left = plan.block_weight - plan.witness_discount * taken
        allowed["weight"] = _fitting(plan, left, one.weight, bundle) if left >= one.weight else 0.0
    if plan.block_gas:
        gas_left = plan.block_gas - _fixed_gas(plan, bundle, baseline)
        price = plan.calldata_gas
        allowed["gas"] = _fitting(plan, gas_left, one.gas, bundle, price) if one.gas else math.inf
    if plan.packet_bytes:
        allowed["packet"] = math.inf if one.most_bytes <= plan.packet_bytes else 0.0
    if bundle is not None and plan.block_seconds and math.isfinite(bundle.rate_per_second):
        proven = bundle.rate_per_second * plan.block_seconds
        allowed["proving"] = math.floor(proven / plan.signatures)
    return {name: float(count) for name, count in allowed.items()}


def _fitting(
    plan: Plan, room: float, each: float, bundle: Bundle | None, price: float = 1.0
) -> float:
    """Return how many transactions fit beside the bundle that stands for their signatures."""
    most = max(0, math.floor(room / each))
    if bundle is None:
        return most

    def too_many(count: int) -> bool:
        return count * each + price * bundle.bytes(count * plan.signatures) > room

    return bisect_left(range(1, most + 1), True, key=too_many)


def _fixed_gas(plan: Plan, bundle: Bundle | None, baseline: Costs | None) -> float:
    """Return the gas of verifying a bundle, apart from what each signature adds."""
    if bundle is None or baseline is None:
        return 0.0
    return plan.verification_gas * bundle.seconds(0) / baseline.verify_seconds


def binding(allowed: dict[str, float]) -> str:
    """Return the limit that lets the fewest transactions into a block; of equals the first."""
    return min(allowed, key=lambda name: allowed[name])
