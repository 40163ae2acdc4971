"""Rules of chains in 2026, those of Ethereum by its specifications."""

import math

import pytest

from pqchain.chain import encoding
from pqchain.consensus import network
from pqchain.errors import UsageError
from pqchain.study import chain, load, ready_names
from pqchain.study.figures import models
from tests.study.plans import COSTS, found, plan, used


def test_v1_transactions_of_solana_hold_lattice_signatures():
    answer = found(load("solana").with_(nodes=16, delegates=16))
    sphincs = "SPHINCS+-SHA2-128s-simple"
    assert answer.limits == {
        **dict.fromkeys(("Ed25519", *load("solana").chain.algorithms), "gas"), sphincs: "packet",
    }  # fmt: skip
    # Compute units bind, and verification is a small part of them.
    for name in ("ML-DSA-44", "Falcon-512", "Falcon-1024"):
        capacities = answer.values[name], answer.values["Ed25519"]
        ratio = capacities[0]["capacity_per_second"] / capacities[1]["capacity_per_second"]
        assert 0.97 < ratio <= 1.0


def test_votes_use_compute_of_their_block():
    one = load("solana")
    use = used(one, "Ed25519")
    allowed = chain.per_block(one, use, 0.0)["gas"]
    assert allowed == math.floor((50e6 - 1000 * 3428) / use.gas)
    assert chain.per_block(one.with_(voting_gas=0.0), use, 0.0)["gas"] == math.floor(50e6 / use.gas)
    # SIMD-0525 keeps the rate of compute units: half the slot has half of them.
    before = load("solana-v0")
    assert (
        before.limits.block_gas / before.chain.block_seconds
        == one.limits.block_gas / one.chain.block_seconds
    )


def test_block_must_reach_its_peers_before_the_next_one():
    one = plan(upload_copies=20, rate_bits_per_second=1e6, envelope_bytes=200, final_blocks=1.0)
    use = used(one, "ML-DSA-44")
    allowed = chain.per_block(one, use, 0.0)
    sent = 1e6 * one.chain.block_seconds / 8 / 20 - encoding.header_bytes()
    assert allowed["spread"] == math.floor(sent / use.bytes) < allowed["bytes"]
    half = chain.per_block(one.with_(upload_copies=40), use, 0.0)["spread"]
    assert half == pytest.approx(allowed["spread"] / 2, abs=1)
    # Votes in the block are sent with it.
    votes = chain.per_block(one, use, 10_000.0)["spread"]
    assert votes == math.floor((sent - 10_000) / use.bytes)
    assert "spread" not in chain.per_block(one.with_(upload_copies=0), use, 0.0)
    assert found(one).limits["ML-DSA-44"] == "spread"
    with pytest.raises(UsageError, match="upload_copies must be 0 where block_seconds is 0"):
        one.with_(block_seconds=0.0, final_blocks=0.0)
    with pytest.raises(UsageError, match="upload_copies must be 0 with host, which has no links"):
        one.with_(law="host")


@pytest.mark.parametrize("name", [name for name in ready_names() if load(name).chain.block_seconds])
def test_every_chain_with_slots_has_a_limit_of_spread(name):
    one = load(name)
    slowest = one.network.rate_bits_per_second
    if one.network.model.is_regional:
        slowest = min(region["upload_bits_per_second"] for region in network.regions())
    assert chain.uplink_bits_per_second(one) == slowest
    votes = chain.vote_bytes(one, 64.0) if one.votes.votes_in_block else 0.0
    sent = slowest * one.chain.block_seconds / 8 / one.network.upload_copies
    use = used(one, one.chain.baseline)
    expected = math.floor((sent - encoding.header_bytes() - votes) / use.bytes)
    assert chain.per_block(one, use, votes)["spread"] == expected


def test_solana_packet_was_too_small_for_post_quantum_signatures():
    answer = found(load("solana-v0").with_(nodes=16, delegates=16))
    assert answer.limits == {
        "Ed25519": "gas", **dict.fromkeys(load("solana-v0").chain.algorithms, "packet"),
    }  # fmt: skip
    assert answer.values["Falcon-512"]["capacity_per_second"] == 0
    rows = answer.frame.set_index(["algorithm", "quantity"])
    assert "packet of 1232 bytes" in rows.loc[("Falcon-512", "capacity_per_second"), "source"]
    # A key that the chain already knows saves space.
    known = found(load("solana-v0").with_(nodes=16, delegates=16, key_mode="registered"))
    assert known.limits["Falcon-512"] == "gas"


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
