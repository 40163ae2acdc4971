"""Ethereum before and after Glamsterdam, by the rules of its specifications."""

import math

import pytest

from pqchain.study import chain, load
from pqchain.study.figures import models
from tests.study.plans import COSTS, plan


def test_consensus_bytes_are_those_of_the_containers():
    """The containers of the consensus specification, field by field (Electra)."""
    bls, root, offset, address = 96, 32, 4, 20
    signed_block = offset + bls
    block = 8 + 8 + root + root + offset  # slot, proposer, parent, state, body
    # randao, eth1 data, graffiti, sync aggregate, and nine lists or containers of variable length
    body = bls + (root + 8 + root) + 32 + (512 // 8 + bls) + 9 * offset
    # parent, fee recipient, state, receipts, bloom, randao, number, gas limit and used, time,
    # extra data, base fee, hash, transactions, withdrawals, blob gas used and excess
    payload = 3 * root + address + 256 + root + 4 * 8 + offset + 32 + root + 2 * offset + 2 * 8
    requests, withdrawals, commitment = 3 * offset, 16 * (8 + 8 + address + 8), 48
    fixed = signed_block + block + body + payload + requests + withdrawals
    ethereum = load("ethereum")
    assert ethereum.votes.consensus_bytes == fixed + 14 * commitment
    then = next(row for row in ethereum.observed if row.quantity == "consensus_bytes_per_block")
    assert then.settings["consensus_bytes"] == fixed + 6 * commitment
    attestations = chain.vote_bytes(ethereum, 0.0)
    values = models(ethereum, COSTS)["ECDSA-secp256k1"]
    assert values["consensus_bytes_per_block"] == fixed + 14 * commitment + attestations
    assert math.isnan(models(plan(), COSTS)["Falcon-512"]["consensus_bytes_per_block"])

    # Gloas: the block has a bid, a vote on the last payload and that payload's requests instead of
    # the payload, which an envelope has. A bid names four hashes, the fee recipient, gas limit,
    # builder, slot and two payments, commitments, and the root of requests.
    bid = signed_block + 4 * root + address + 5 * 8 + offset + root
    payload_vote = 512 // 8 + (root + 8 + 1 + 1) + bls
    envelope = signed_block + 2 * offset + 8 + 2 * root
    payload += offset + 8  # block access list and slot number
    after = signed_block + block + body + bid + payload_vote + requests
    after += envelope + payload + requests + withdrawals
    assert load("ethereum-glamsterdam").votes.consensus_bytes == after + 14 * commitment


def test_glamsterdam_prices_bytes_of_keys_and_signatures():
    """EIP-7976: 64 gas a byte over EIP-2780's 15,000; EIP-7623: 40 over 21,000."""
    for name, base, floor in (("ethereum", 21_000, 40), ("ethereum-glamsterdam", 15_000, 64)):
        got = models(load(name), COSTS)["ML-DSA-44"]
        data = 294 + 1312 + 2420 + 2
        assert got["transaction_gas"] == base + floor * data
        limit = load(name).limits.block_gas
        assert got["transactions_per_block"] == limit // got["transaction_gas"]


def test_moves_pay_for_the_state_of_their_key():
    key = COSTS["Falcon-512"].public_key_bytes
    today, after = load("ethereum"), load("ethereum-glamsterdam")
    # Today one gas limit counts all; EIP-8037: a block holds 200M of state gas by itself.
    per_block = [
        (today, 60e6 // (21_000 + 66_900 + 16 * key + 200 * key)),
        (after, 200e6 // (1530 * key)),
        (after.with_(state_gas=0.0), 200e6 // (15_000 + 66_900 + 16 * key)),
    ]
    for one, moved in per_block:
        got = models(one, COSTS)["Falcon-512"]["migration_seconds"]
        assert got == pytest.approx(one.chain.accounts / moved * 12)


ETHEREUM = ("ethereum", "ethereum-glamsterdam", "ethereum-lean")


@pytest.mark.parametrize("name", ETHEREUM)
def test_execution_gas_follows_from_a_cited_month(name):
    # 70 million transactions in 30 days of half-full blocks; Lean Ethereum has the same gas a
    # second.
    one = load(name)
    today = load("ethereum")
    per_day = 0.5 * today.limits.block_gas * 86_400 / 12
    mean = per_day * 30 / 70e6
    rest = mean - today.limits.intrinsic_gas - today.limits.calldata_gas * today.chain.data_bytes
    assert one.limits.execution_gas == pytest.approx(rest, abs=50)
    source = one.sources["execution_gas"]
    assert "that of today" in source or "70 million transactions" in source
    assert "2026-01-22" not in source, "the month of the observation would make it an identity"


def test_derived_observations_say_so():
    (size,) = (row for row in load("ethereum").observed if row.quantity == "full_block_bytes")
    assert size.source.startswith("derived")
    assert size.value == pytest.approx((115.5 * 1.4 - 12.0) * 1024, abs=500)


def test_votes_are_of_their_month():
    now = load("ethereum")
    (row,) = (row for row in now.observed if row.quantity == "consensus_bytes_per_block")
    assert row.settings["votes_per_block"] == 1.06e6 / 32
    assert now.votes.votes_per_block == pytest.approx(899_000 / 32, abs=1)
    assert load("ethereum-lean").votes.vote_signature_bytes == 1208
