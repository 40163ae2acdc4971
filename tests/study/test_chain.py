"""Limits in closed form, votes, and aggregates of signatures."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest

from pqchain.chain import encoding
from pqchain.costs import AggregateCosts, Costs, CostTable
from pqchain.errors import UsageError
from pqchain.figures import SECONDS
from pqchain.study import chain, figures, load, ready_names, times, tornado
from pqchain.study.figures import QUANTITIES, models
from pqchain.study.provers import CITED, MEASURED, names, prover
from pqchain.study.text import conclusions, warnings
from tests.study.plans import ALL_COSTS, COSTS, found, plan, used

ECDSA = COSTS["ECDSA-secp256k1"]


def test_p2wpkh_weight_equals_bip_141():
    # 10 bytes, two inputs of 41 and outputs of 31 count four times; marker, flag and two
    # witnesses of 108 bytes once.
    two = load("bitcoin").with_(envelope_bytes=10 + 82 + 62, signatures=2.0)
    assert used(two, "ECDSA-secp256k1").weight == 4 * (10 + 82 + 62) + 2 + 2 * 108
    assert used(two, "ECDSA-secp256k1").bytes == 10 + 82 + 62 + 2 + 2 * 108


def test_p2tr_key_path_spend_has_no_key():
    taproot = load("bitcoin").with_(
        baseline="Schnorr-secp256k1", key_mode="registered", envelope_bytes=10 + 82 + 86,
        framing_bytes=3, signatures=2.0,
    )  # fmt: skip
    # A witness of 66 bytes: a count, a length, a signature of 64; outputs of 43 hold the key.
    assert used(taproot, "Schnorr-secp256k1").weight == 4 * (10 + 82 + 86) + 2 + 2 * 66


@pytest.mark.parametrize(("execution", "floor"), [(0.0, True), (100_000.0, False)])
def test_gas_has_the_floor_of_eip_7623(execution, floor):
    one = load("ethereum").with_(execution_gas=execution, data_bytes=0)
    assert used(one, "ECDSA-secp256k1", {65: 1}).gas == 21_000 + execution
    data = 1312 + 2420 + 2
    verification = 3000 * COSTS["ML-DSA-44"].verify_seconds / ECDSA.verify_seconds
    expected = max(16 * data + execution + verification, 40 * data)
    assert (expected == 40 * data) == floor
    assert used(one, "ML-DSA-44").gas == pytest.approx(21_000 + expected)


def test_ethereum_transfers_are_limited_by_gas():
    simple = {"execution_gas": 0.0, "data_bytes": 0}
    for gas, rate in ((30e6, 119), (60e6, 238)):
        one = load("ethereum").with_(block_gas=gas, algorithms=("Falcon-512",), **simple)
        values = models(one, COSTS)
        assert values["ECDSA-secp256k1"]["capacity_per_second"] == pytest.approx(rate, rel=0.01)


def test_votes_take_block_space_only_where_included():
    one = plan(votes_per_block=10.0, vote_bytes=100.0, envelope_bytes=200)
    without = models(one, COSTS)["ML-DSA-44"].allowed["bytes"]
    inside = models(one.with_(votes_in_block=True), COSTS)["ML-DSA-44"].allowed["bytes"]
    size, votes = used(one, "ML-DSA-44").bytes, 10 * (100 + 2420)
    assert without - inside == pytest.approx(votes / size, abs=1)


def test_smallest_limit_binds_and_full_blocks_keep_every_limit():
    one = plan(
        envelope_bytes=200, block_weight=90_000.0, witness_discount=4.0, block_gas=1e6,
        intrinsic_gas=40_000.0,
    )  # fmt: skip
    for algorithm in ("ML-DSA-44", "Falcon-512", "ECDSA-secp256k1"):
        use = used(one, algorithm)
        allowed = chain.per_block(one, use, 0.0)
        count = allowed[chain.binding(allowed)]
        assert count == min(allowed.values())
        assert count * use.bytes <= one.chain.block_bytes
        assert count * use.weight <= one.limits.block_weight
        assert count * use.gas <= one.limits.block_gas


def test_transaction_longer_than_the_block_is_rejected_even_if_the_mean_would_fit():
    one = plan(block_bytes=700, envelope_bytes=20, key_mode="registered")
    use = used(one, "Falcon-512", {400: 9, 600: 1})
    assert chain.per_block(one, use, 0.0)["bytes"] == 0


def test_stated_price_of_a_scheme_replaces_the_measured_ratio():
    one = load("ethereum").with_(floor_gas=0.0)
    at_draft = one.with_(gas_prices={"falcon-512": 3000})
    assert at_draft.limits.gas_prices == {"Falcon-512": 3000}
    ratio = COSTS["Falcon-512"].verify_seconds / ECDSA.verify_seconds
    difference = used(one, "Falcon-512").gas - used(at_draft, "Falcon-512").gas
    assert difference == pytest.approx(one.limits.verification_gas * ratio - 3000)
    # Other schemes are priced by their time, and the baseline's verification is intrinsic.
    for other in ("ML-DSA-44", "ECDSA-secp256k1"):
        assert used(one, other) == used(at_draft, other)
    with pytest.raises(UsageError, match="gas_prices must be left out without block_gas"):
        plan(gas_prices={"Falcon-512": 3000})
    with pytest.raises(UsageError, match=r"gas_prices of Falcon-512 must be .*got -1"):
        one.with_(gas_prices={"Falcon-512": -1})
    with pytest.raises(UsageError, match="gas_prices: unknown algorithm"):
        one.with_(gas_prices={"Falcon-511": 1})


def test_number_of_transactions_limits_a_block():
    one = plan(most_transactions=3.0)
    assert chain.per_block(one, used(one, "ML-DSA-44"), 0.0)["count"] == 3
    found_limits = found(one).limits
    assert set(found_limits.values()) == {"count"}
    assert "count" not in chain.per_block(plan(), used(one, "ML-DSA-44"), 0.0)


def test_falcon_with_key_recovery_has_no_key_on_recovering_chains():
    one, name = load("ethereum"), "Falcon-recovery-512"
    assert chain.key_mode(one, name) == "recovered"
    assert chain.key_mode(one, "Falcon-512") == "inline"
    plain = COSTS["Falcon-512"]
    row = replace(plain, algorithm=name, public_key_bytes=32, signature_bytes=1291)
    short = chain.use(one, row, {1291: 1}, ECDSA)
    assert chain.use(one, plain, {655: 1}, ECDSA).bytes - short.bytes == 897 + 655 - 1291
    assert short.most_bytes == short.bytes


def test_plain_votes_have_one_signature_each():
    one = plan(votes_per_block=100.0, vote_bytes=40.0)
    assert chain.vote_bytes(one, 600.0) == chain.plain_vote_bytes(one, 600.0) == 100 * 640
    fixed = one.with_(vote_signature_bytes=64.0)
    assert chain.vote_bytes(fixed, 600.0) == 100 * 104


def test_bls_aggregate_has_one_signature_and_a_bit_for_each_voter():
    ethereum = load("ethereum")
    # notes.ethereum.org: an attestation of n voters has 236 bytes and n / 8 more.
    assert chain.vote_bytes(ethereum, 655.0) == 2 * (236 + -(-28_094 // 8))


def test_votes_of_lean_ethereum_without_aggregation_are_too_many():
    lean = load("ethereum-lean").with_(vote_aggregation="leanmultisig")
    assert chain.plain_vote_bytes(lean, 655.0) == 4096 * (140 + 1208)
    proofs = chain.vote_bytes(lean, 655.0)
    assert proofs == 8 * (140 + 346_112 + 512)
    late = found(lean.with_(algorithms=("Falcon-512",), most_votes=4.0)).values
    soon = found(lean.with_(algorithms=("Falcon-512",))).values
    apart = late["Falcon-512"]["rule_seconds"] - soon["Falcon-512"]["rule_seconds"]
    assert apart == pytest.approx(4.0)  # a second block has to include the other half


def test_figures_of_a_prover_are_labelled():
    lean = load("ethereum-lean").with_(algorithms=("Falcon-512",))
    labels = {"leanmultisig": ("published", CITED), "py-lean-pq": ("modelled", MEASURED)}
    for how, (kind, evidence) in labels.items():
        rows = found(lean.with_(vote_aggregation=how)).frame.set_index(["algorithm", "quantity"])
        row = rows.loc[("Falcon-512", "vote_bytes_per_block")]
        assert row["kind"] == kind
        assert evidence in row["source"]
    assert lean.votes.vote_aggregation == "py-lean-pq"


@pytest.mark.parametrize("name", names())
def test_every_prover_cites_its_source(name):
    one = prover(name)
    assert one.source and one.date and one.machine and one.algorithm
    assert all(size > 1000 for _, size in one.proofs)
    assert one.proof_bytes(one.proofs[0][0]) == one.proofs[0][1]


def test_rates_are_interpolated_and_not_extrapolated():
    known = prover("leanvm-eip8292")
    assert (
        known.rate_per_second(1) == known.rate_per_second(2) == pytest.approx(1000 / 11, rel=0.01)
    )
    assert known.rate_per_second(5) == pytest.approx((90.9 + 270.3) / 2, rel=0.01)
    assert known.rate_per_second(64) == known.rate_per_second(16)
    assert replace(known, rates=()).rate_per_second(8) == math.inf


AGGREGATES = AggregateCosts(
    algorithm="BLS12-381", verify_seconds=1e-3, signer_seconds=1e-6,
    source="blst/assembly",
)  # fmt: skip

BLS = Costs(
    algorithm="BLS12-381", public_key_bytes=48, signature_bytes=96, generate_keypair_seconds=1e-3,
    sign_seconds=4e-4, verify_seconds=1.2e-3, source="blst/assembly on a-machine",
)  # fmt: skip

TABLE = CostTable((*COSTS.rows, BLS), COSTS.source, aggregates=AGGREGATES)


def test_block_has_one_proof_and_its_transactions():
    one = plan(
        block_bytes=500_000, transaction_aggregation="labrador", envelope_bytes=200,
        algorithms=("Falcon-512", "ML-DSA-44"),
    )  # fmt: skip
    got = models(one, COSTS)
    each = 200 + 897
    count = (500_000 - encoding.header_bytes() - 77_830) // each
    assert got["Falcon-512"]["transactions_per_block"] == count
    assert got["Falcon-512"]["full_block_bytes"] == count * each + 77_830
    assert got["Falcon-512"]["transaction_bytes"] == pytest.approx(each + 77_830 / count)
    plain = models(one.with_(transaction_aggregation="plain"), COSTS)
    assert plain["Falcon-512"]["transactions_per_block"] < count
    for name in QUANTITIES:
        assert plain["ML-DSA-44"][name] == pytest.approx(got["ML-DSA-44"][name], nan_ok=True)


def test_transactions_not_proved_in_time_are_not_in_the_block():
    one = plan(
        block_bytes=10_000_000, block_seconds=60.0, transaction_aggregation="risc-zero-slh-dsa",
        algorithms=("SPHINCS+-SHA2-128s-simple",),
    )  # fmt: skip
    answer = found(one)
    values = answer.values["SPHINCS+-SHA2-128s-simple"]
    rate = prover("risc-zero-slh-dsa").rates[0][1]
    assert values["transactions_per_block"] == math.floor(rate * 60)
    assert answer.limits["SPHINCS+-SHA2-128s-simple"] == "proving"


def test_bls_votes_cost_their_aggregates():
    one = plan(votes_per_block=1000.0, vote_aggregation="bls", vote_aggregates=2.0)
    got = models(one, TABLE)["Falcon-512"]
    assert got["vote_verify_seconds"] == pytest.approx(2 * 1e-3 + 1000 * 1e-6)
    assert got["plain_vote_verify_seconds"] == 1000 * COSTS["Falcon-512"].verify_seconds
    without = models(one, COSTS)["Falcon-512"]
    assert math.isnan(without["vote_verify_seconds"])
    # Unknown times count as zero.
    assert got["final_seconds"] - without["final_seconds"] == pytest.approx(3e-3)
    slower = models(one, replace(TABLE, aggregates=replace(AGGREGATES, verify_seconds=2.0)))
    assert slower["Falcon-512"]["final_seconds"] > got["final_seconds"] + 3.9


def test_published_verification_times_limit_the_gas_of_a_block():
    """Without a time, the proof would cost only its bytes."""
    known = prover("labrador")
    assert known.verify_seconds(10_000) == 2.6492
    assert known.verify_seconds(3500) == pytest.approx((0.7739 + 1.0321) / 2)
    # Outside the published range proportional; a single time holds for every number.
    assert known.verify_seconds(300) == pytest.approx(0.07739)
    assert known.verify_seconds(20_000) == pytest.approx(2 * 2.6492)
    assert prover("risc-zero-slh-dsa").verify_seconds(1) == 0.015
    free = replace(known, verifications=())
    one = load("ethereum").with_(algorithms=("Falcon-512",), transaction_aggregation="labrador")
    row = chain.Use(bytes=1000.0, weight=4000.0, gas=50_000.0, most_bytes=1000.0)
    limits = [chain.per_block(one, row, 0.0, bundle, ECDSA)["gas"] for bundle in (free, known)]
    left = one.limits.block_gas - one.limits.calldata_gas * 77_830
    assert limits[0] == left // 50_000
    each = 50_000 + one.limits.verification_gas / ECDSA.verify_seconds * 0.7739 / 3000
    assert limits[1] == left // each < limits[0]
    assert free.counted_seconds(300) == 0.0


def test_votes_of_another_instance_than_the_provers_are_warned_of():
    lean = load("ethereum-lean").with_(algorithms=("Falcon-512",), vote_aggregation="leanmultisig")
    other, same = (
        " ".join(warnings(found(lean.with_(vote_signature_bytes=length))))
        for length in (2536.0, 1171.0)
    )
    other = other.replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert "leanmultisig was measured with signatures of 1171 B" in other
    assert "another instance" not in same


def test_votes_follow_a_prover_with_stated_times():
    one = plan(votes_per_block=1000.0, vote_aggregation="leanvm-b", vote_aggregates=4.0)
    assert models(one, COSTS)["Falcon-512"]["vote_verify_seconds"] == 4 * 0.0128
    silent = one.with_(vote_aggregation="leanmultisig")
    assert math.isnan(models(silent, COSTS)["Falcon-512"]["vote_verify_seconds"])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("leanmultisig", "must include XMSS of leanSig"),
        ("labrador", "must include Falcon-512"),
        ("magic", "must be one of plain, lab"),
    ],
)
def test_invalid_transaction_aggregation_is_rejected(how, message):
    with pytest.raises(UsageError, match=message):
        times(plan(algorithms=("ML-DSA-44",), transaction_aggregation=how))


def test_chain_with_one_proof_per_block_can_be_studied():
    one = load("ethereum").with_(
        transaction_aggregation="labrador", algorithms=("Falcon-512", "ML-DSA-44"),
        nodes=64, delegates=8,
    )  # fmt: skip
    answer = found(one)
    plain = found(one.with_(transaction_aggregation="plain"))
    assert answer.calibration.equals(plain.calibration)
    # The proof saves calldata, and its verification, at the plan's price, costs more than that.
    count = answer.values["Falcon-512"]["transactions_per_block"]
    assert count < plain.values["Falcon-512"]["transactions_per_block"]
    whole = one.limits.block_gas * ECDSA.verify_seconds / one.limits.verification_gas
    sentence = conclusions(answer)[-1]
    assert f"{prover('labrador').verify_seconds(count) / whole:.0%} of its gas" in sentence
    assert f"At {SECONDS.text(whole)} it would use all gas" in sentence
    assert len(tornado(one, COSTS, algorithm="ML-DSA-44"))


def test_signature_checks_of_a_block_count_by_their_time():
    one = plan(
        envelope_bytes=200, signatures=2.0, block_sigops=1000.0, block_bytes=10**9,
        baseline="ECDSA-secp256k1",
    )  # fmt: skip
    for name, ratio in (("ECDSA-secp256k1", 1.0), ("SPHINCS+-SHA2-128s-simple", None)):
        row = COSTS[name]
        ratio = ratio or max(1.0, row.verify_seconds / ECDSA.verify_seconds)
        allowed = chain.per_block(one, used(one, name), 0.0, None, ECDSA)
        assert used(one, name).sigops == pytest.approx(2 * ratio)
        assert allowed["sigops"] == math.floor(1000 / (2 * ratio))
    faster = replace(COSTS["ML-DSA-44"], verify_seconds=ECDSA.verify_seconds / 10)
    assert chain.use(one, faster, {2420: 1}, ECDSA).sigops == 2.0  # at least one each


def certified(name, validators, **changes):
    one = load(name).with_(nodes=validators, delegates=0, algorithms=("ML-DSA-65",), **changes)
    return models(one.with_(observed=()), ALL_COSTS)["ML-DSA-65"]


@pytest.mark.parametrize(
    ("validators", "block_bytes", "count"),
    [(100, 4_194_304, 719), (175, 4_194_304, 672), (4, 100_000, 16), (100, 100_000, 0)],
)
def test_block_reserves_a_vote_of_every_validator(validators, block_bytes, count):
    """CometBFT: 94 bytes and, for each validator, a signature with 47 bytes (MaxCommitBytes)."""
    model = certified("cometbft", validators, block_bytes=block_bytes)
    assert model["transactions_per_block"] == count
    reserved = 94 + validators * (3309 + 47)
    assert model.votes[1] == pytest.approx(reserved, rel=0.01)
    assert count == max(0, (block_bytes - encoding.header_bytes() - reserved) // model.use.bytes)
    if not count:
        assert model.limit == "votes" and model["capacity_per_second"] == 0
        assert (
            f"bytes, {model.votes[1]:.0f} of them for votes"
            in model.figure("growth_bytes_per_year").source
        )


@pytest.mark.parametrize(
    "name", [name for name in ready_names() if load(name).network.certificates != "none"]
)
def test_certificate_is_counted_in_every_figure(name):
    fixed = {"block_bytes": 4_194_304, "block_seconds": 10.0, "transactions_per_second": 1.0}
    for changes in ({}, fixed):
        rows = [certified(name, count, **changes) for count in (4, 10, 16, 25, 40)]
        capacities = [row["capacity_per_second"] for row in rows]
        assert all(a >= b for a, b in pairwise(capacities)) and capacities[0] > 0
        fitting = [row for row in rows if row.count]
        for quantity in ("single_transaction_final_seconds", "vote_bytes_per_block"):
            assert all(a[quantity] < b[quantity] for a, b in pairwise(fitting))
        for row in fitting:
            # The bytes of a cycle: what the load carries, a header, and a certificate.
            seconds = figures.blocks(row.plan, row).cycle_seconds(row["throughput_per_second"])
            carried = row["throughput_per_second"] * seconds * row["transaction_bytes"]
            stored = carried + encoding.header_bytes() + row["vote_bytes_per_block"]
            expected = stored / seconds * figures.YEAR_SECONDS
            assert row["growth_bytes_per_year"] == pytest.approx(expected)
            assert row["repair_bytes"] == pytest.approx(
                expected * row.plan.storage.retained_days / 365.25
            )
            count = 2 * row.plan.network.nodes // 3 + 1
            assert row["vote_bytes_per_block"] == pytest.approx(
                4 + count * (5 + 3309 + row.plan.votes.vote_bytes)
            )
    growth = [row["growth_bytes_per_year"] for row in rows]
    assert all(a < b for a, b in pairwise(growth))


def test_consensus_sends_the_bytes_that_a_block_stores():
    model = certified("cometbft", 10)
    votes, overhead = model.votes[0], model.scenario.layout.block_overhead_bytes()
    assert overhead + model.scenario.certificate_bytes == encoding.header_bytes() + votes
    room = model.scenario.block_bytes - overhead
    assert room == model.plan.chain.block_bytes - encoding.header_bytes() - model.votes[1]
    # Votes that are counted in a block travel with it as well.
    solana = load("solana-v0").with_(nodes=16, delegates=16, algorithms=("ML-DSA-44",))
    without = solana.with_(votes_in_block=False, voting_gas=0.0)
    for name in ("single_transaction_final_seconds", "received_bits_per_second"):
        inside, outside = (models(one, COSTS)["Ed25519"][name] for one in (solana, without))
        assert inside > outside


@pytest.mark.parametrize("name", ready_names())
def test_votes_have_their_bytes_wherever_they_are_counted(name):
    one = load(name)
    if one.costs != "measured":
        return
    row = models(one, ALL_COSTS)[one.chain.baseline]
    is_counted = bool(one.votes.votes_per_block) or one.network.certificates != "none"
    assert math.isnan(row["vote_bytes_per_block"]) == (not is_counted)
    assert not math.isnan(row["growth_bytes_per_year"] + row["received_bits_per_second"])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"votes_in_block": True},
            "votes_in_block must be False unless votes_per_block is above 0",
        ),
        ({"vote_aggregation": "bls"}, "vote_aggregation must be 'plain' unless votes_per_block"),
        ({"vote_signature_bytes": 64.0}, "vote_signature_bytes must be 0.0 unless votes_per_block"),
    ],
)
def test_switch_of_votes_without_votes_is_an_error(changes, why):
    with pytest.raises(UsageError, match=f"{why}.*Leave it out, or give votes_per_block"):
        plan(**changes)
    with pytest.raises(UsageError, match=why):
        load("cometbft").with_(**changes)
    assert plan(**changes, votes_per_block=4.0)
    with pytest.raises(UsageError, match=r"votes_per_block must be 0 with .*give certificates ="):
        load("cometbft").with_(votes_per_block=100.0)


def test_each_aggregate_proves_its_share_of_the_votes():
    one = plan(votes_per_block=8192.0, vote_aggregation="leanmultisig", vote_aggregates=4.0)
    proof = prover("leanmultisig").proof_bytes(2048)
    assert chain.vote_bytes(one, 600.0) == 4 * (one.votes.vote_bytes + proof + 1024)


def test_votes_of_another_scheme_have_no_known_time():
    row = COSTS["Falcon-512"]
    one = plan(votes_per_block=10.0)
    assert chain.plain_vote_verify_seconds(one, row) == 10 * row.verify_seconds
    assert math.isnan(chain.plain_vote_verify_seconds(one.with_(vote_signature_bytes=64.0), row))
