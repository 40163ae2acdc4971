"""Rules of chains in 2026: votes that use compute, spread of blocks, lengths of transactions."""

import math

import pytest

from pqchain.chain import encoding
from pqchain.errors import UsageError
from pqchain.study import chain, load, ready_names
from tests.study.plans import COSTS, found, plan


def used(one, algorithm):
    row = COSTS[algorithm]
    baseline = COSTS[one.chain.baseline] if one.chain.baseline else None
    return chain.use(one, row, {row.signature_bytes: 1}, baseline)


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
        slowest = min(region["upload_bits_per_second"] for region in one.network.model.regions)
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
