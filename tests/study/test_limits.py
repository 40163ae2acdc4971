"""Limits as chains have them: closed forms of Bitcoin, Ethereum and Solana, and which one binds."""

import math

import pytest

from pqchain.costs import CostTable
from pqchain.errors import UsageError
from pqchain.study import limits, load, model
from pqchain.study.plan import Plan
from tests.study.plans import COSTS, found, plan

ECDSA = COSTS["ECDSA-secp256k1"]


def used(one: Plan, scheme: str, lengths: dict[int, int] | None = None) -> limits.Use:
    row = COSTS[scheme]
    baseline = COSTS[one.baseline] if one.baseline else None
    return limits.use(one, row, lengths or {row.signature_bytes: 1}, baseline)


def test_a_p2wpkh_transaction_of_two_inputs_and_outputs_weighs_what_bip_141_says():
    # 10 bytes, two inputs of 41 and outputs of 31 count four times; marker, flag and two
    # witnesses of 108 bytes once.
    assert used(load("bitcoin"), "ECDSA-secp256k1").weight == 4 * (10 + 82 + 62) + 2 + 2 * 108
    assert used(load("bitcoin"), "ECDSA-secp256k1").bytes == 10 + 82 + 62 + 2 + 2 * 108


def test_a_p2tr_key_path_spend_carries_no_key():
    taproot = load("bitcoin").with_(
        baseline="Schnorr-secp256k1", public_key="registered", envelope_bytes=10 + 82 + 86,
        framing_bytes=3,
    )  # fmt: skip
    # A witness of 66 bytes: a count, a length, a signature of 64; outputs of 43 hold the key.
    assert used(taproot, "Schnorr-secp256k1").weight == 4 * (10 + 82 + 86) + 2 + 2 * 66


@pytest.mark.parametrize(("execution", "floor"), [(0.0, True), (100_000.0, False)])
def test_gas_has_the_floor_of_eip_7623(execution, floor):
    chain = load("ethereum").with_(execution_gas=execution, data_bytes=0)
    assert used(chain, "ECDSA-secp256k1", {65: 1}).gas == 21_000 + execution
    data = 1312 + 2420 + 2
    verification = 3000 * COSTS["ML-DSA-44"].verify_seconds / ECDSA.verify_seconds
    expected = max(16 * data + execution + verification, 40 * data)
    assert (expected == 40 * data) == floor
    assert used(chain, "ML-DSA-44").gas == pytest.approx(21_000 + expected)


def test_ethereum_lets_no_more_transfers_through_than_its_gas_allows():
    simple = {"execution_gas": 0.0, "data_bytes": 0}
    for gas, rate in ((30e6, 119), (60e6, 238)):
        chain = load("ethereum").with_(block_gas=gas, schemes=("Falcon-512",), **simple)
        values = model.figures(chain.with_(migration={}), COSTS)
        assert values["ECDSA-secp256k1"]["capacity_per_second"] == pytest.approx(rate, rel=0.01)


def test_a_packet_of_solana_holds_no_inline_post_quantum_signature():
    answer = found(load("solana").with_(nodes=16, delegates=16))
    assert answer.limits == {
        "Ed25519": "gas", **dict.fromkeys(load("solana").schemes, "packet"),
    }  # fmt: skip
    assert answer.values["Falcon-512"]["capacity_per_second"] == 0
    rows = answer.frame.set_index(["scheme", "quantity"])
    assert "packet of 1232 bytes" in rows.loc[("Falcon-512", "capacity_per_second"), "source"]
    # A key that the chain knows already leaves room.
    known = found(load("solana").with_(nodes=16, delegates=16, public_key="registered"))
    assert known.limits["Falcon-512"] == "gas"


def test_votes_take_room_only_where_the_block_carries_them():
    one = plan(votes_per_block=10.0, vote_bytes=100.0, envelope_bytes=200)
    without = limits.per_block(one, used(one, "ML-DSA-44"), 10_000.0)["bytes"]
    inside = limits.per_block(
        one.with_(votes_in_block=True), used(one, "ML-DSA-44"), 10_000.0
    )["bytes"]  # fmt: skip
    size = used(one, "ML-DSA-44").bytes
    assert without - inside == pytest.approx(10_000 / size, abs=1)


def test_the_smallest_number_binds_and_a_full_block_keeps_every_limit():
    one = plan(
        envelope_bytes=200, block_weight=90_000.0, witness_discount=4.0, block_gas=1e6,
        intrinsic_gas=40_000.0,
    )  # fmt: skip
    for scheme in ("ML-DSA-44", "Falcon-512", "ECDSA-secp256k1"):
        use = used(one, scheme)
        allowed = limits.per_block(one, use, 0.0)
        count = allowed[limits.binding(allowed)]
        assert count == min(allowed.values())
        assert count * use.bytes <= one.block_bytes
        assert count * use.weight <= one.block_weight
        assert count * use.gas <= one.block_gas


def test_a_transaction_longer_than_the_block_is_refused_even_if_the_mean_would_fit():
    one = plan(block_bytes=700, envelope_bytes=20, public_key="registered")
    use = used(one, "Falcon-512", {400: 9, 600: 1})
    assert limits.per_block(one, use, 0.0)["bytes"] == 0


def test_several_signatures_need_an_envelope_and_gas_a_baseline():
    with pytest.raises(UsageError, match="give envelope_bytes"):
        plan(signatures=2.0)
    with pytest.raises(UsageError, match="there is none"):
        plan(baseline="", verification_gas=3000.0)
    with pytest.raises(UsageError, match="final_blocks is 2"):
        plan(final_blocks=2.0, block_seconds=0.0)


def test_a_slower_verification_costs_gas_in_proportion():
    chain = load("ethereum")
    row = COSTS["Falcon-512"]
    slow = model.replace(row, verify_seconds=10 * row.verify_seconds)
    costs = CostTable((ECDSA, slow), COSTS.source)
    dear, cheap = (
        limits.use(chain, each["Falcon-512"], {655: 1}, ECDSA).gas for each in (costs, COSTS)
    )
    assert dear - cheap == pytest.approx(3000 * 9 * row.verify_seconds / ECDSA.verify_seconds)
    assert math.isfinite(dear)


def test_falcon_with_key_recovery_carries_no_key_where_a_chain_recovers_keys():
    chain, name = load("ethereum"), "Falcon-recovery-512"
    assert limits.key_mode(chain, name) == "recovered"
    assert limits.key_mode(chain, "Falcon-512") == "inline"
    plain = COSTS["Falcon-512"]
    row = model.replace(plain, algorithm=name, public_key_bytes=32, signature_bytes=1291)
    short = limits.use(chain, row, {1291: 1}, ECDSA)
    assert limits.use(chain, plain, {655: 1}, ECDSA).bytes - short.bytes == 897 + 655 - 1291
    assert short.most_bytes == short.bytes
