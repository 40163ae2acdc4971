"""Signatures of a block as one: bytes by hand, what binds, and whose numbers they are."""

import math
from dataclasses import replace

import pytest

from pqchain.algorithms import get
from pqchain.chain import encoding
from pqchain.costs import AggregateCosts, Costs, CostTable
from pqchain.errors import UsageError
from pqchain.study import load, model, plane, run, tornado
from pqchain.study.provers import CITED, PROVERS
from tests.study.plans import COSTS, found, plan

AGGREGATES = AggregateCosts(
    algorithm="BLS12-381", add_seconds=1e-4, verify_seconds=1e-3, signer_seconds=1e-6,
    message_seconds=3e-4, source="blst/assembly",
)  # fmt: skip

BLS = Costs(
    algorithm="BLS12-381", public_key_bytes=48, signature_bytes=96, generate_keypair_seconds=1e-3,
    sign_seconds=4e-4, verify_seconds=1.2e-3, source="blst/assembly on a-machine",
)  # fmt: skip

TABLE = CostTable((*COSTS.rows, BLS), COSTS.source, aggregates=AGGREGATES)


def test_a_block_holds_one_proof_beside_its_transactions():
    one = plan(
        block_bytes=500_000, transaction_aggregation="labrador", envelope_bytes=200,
        schemes=("Falcon-512", "ML-DSA-44"),
    )  # fmt: skip
    got = model.figures(one, COSTS)
    each = 200 + 897
    count = (500_000 - encoding.header_bytes() - 74_000) // each
    assert got["Falcon-512"]["transactions_per_block"] == count
    assert got["Falcon-512"]["full_block_bytes"] == count * each + 74_000
    assert got["Falcon-512"]["transaction_bytes"] == pytest.approx(each + 74_000 / count)
    plain = model.figures(one.with_(transaction_aggregation="plain"), COSTS)
    assert plain["Falcon-512"]["transactions_per_block"] < count
    assert plain["ML-DSA-44"] == got["ML-DSA-44"]


def test_few_transactions_are_longer_with_a_proof():
    """A proof of 74 kB is worth it from some 113 signatures of 655 bytes on."""
    one = plan(block_bytes=150_000, envelope_bytes=200, schemes=("Falcon-512",))
    proven = one.with_(transaction_aggregation="labrador")
    counts = [model.figures(each, COSTS)["Falcon-512"]["transactions_per_block"]
              for each in (one, proven)]  # fmt: skip
    assert counts[0] == (150_000 - encoding.header_bytes()) // (200 + 897 + 655.05)
    assert counts[1] < counts[0]


def test_what_a_prover_cannot_prove_in_time_is_not_in_the_block():
    one = plan(
        block_bytes=10_000_000, block_seconds=60.0, transaction_aggregation="risc-zero-slh-dsa",
        schemes=("SPHINCS+-SHA2-128s-simple",),
    )  # fmt: skip
    answer = found(one)
    values = answer.values["SPHINCS+-SHA2-128s-simple"]
    rate = PROVERS["risc-zero-slh-dsa"].rates[0][1]
    assert values["transactions_per_block"] == math.floor(rate * 60)
    assert answer.limits["SPHINCS+-SHA2-128s-simple"] == "proving"


def test_every_figure_of_a_prover_says_that_it_is_cited():
    one = plan(block_bytes=500_000, transaction_aggregation="labrador")
    rows = found(one).frame.set_index(["scheme", "quantity"])["source"]
    for name in ("transactions_per_block", "capacity_per_second", "final_seconds"):
        assert CITED in rows[("Falcon-512", name)]
        assert CITED not in rows[("ML-DSA-44", name)]
    assert CITED not in rows[("Falcon-512", "verify_seconds")]


def test_a_bls_aggregate_of_a_block_by_hand():
    one = plan(
        schemes=("BLS12-381",), transaction_aggregation="bls", envelope_bytes=100, data_bytes=0,
        block_bytes=20_000,
    )  # fmt: skip
    got = model.figures(one, TABLE)["BLS12-381"]
    count = (20_000 - encoding.header_bytes() - 96) // (100 + 48)
    assert got["transactions_per_block"] == count
    assert got["block_verify_seconds"] == pytest.approx(1e-3 + count * 3e-4)
    plain = model.figures(one.with_(transaction_aggregation="plain"), TABLE)["BLS12-381"]
    assert plain["transaction_bytes"] == 100 + 48 + 96
    assert plain["block_verify_seconds"] == pytest.approx(plain["transactions_per_block"] * 1.2e-3)


def test_gas_of_an_aggregate_is_paid_once():
    one = load("ethereum").with_(
        schemes=("BLS12-381",), migration={}, transaction_aggregation="bls", public_key="inline",
        nodes=64, delegates=8,
    )  # fmt: skip
    got = model.figures(one, TABLE)["BLS12-381"]
    ratio = 1 / COSTS["ECDSA-secp256k1"].verify_seconds
    data = 294 + 48 + 2
    each = 21_000 + 67_300 + 16 * data + 3000 * 3e-4 * ratio
    assert got["transaction_gas"] == pytest.approx(each)
    fixed = 3000 * 1e-3 * ratio + 16 * 96
    assert got["transactions_per_block"] == (60e6 - fixed) // each


def test_votes_by_bls_are_worth_what_aggregates_cost():
    one = plan(votes_per_block=1000.0, vote_aggregation="bls", vote_aggregates=2.0)
    got = model.figures(one, TABLE)["Falcon-512"]
    assert got["vote_verify_seconds"] == pytest.approx(2 * 1e-3 + 1000 * 1e-6)
    assert got["plain_vote_verify_seconds"] == 1000 * COSTS["Falcon-512"].verify_seconds
    without = model.figures(one, COSTS)["Falcon-512"]
    assert math.isnan(without["vote_verify_seconds"])
    # What is not known delays nothing.
    assert got["final_seconds"] - without["final_seconds"] == pytest.approx(3e-3)
    slower = model.figures(one, replace(TABLE, aggregates=replace(AGGREGATES, verify_seconds=2.0)))
    assert slower["Falcon-512"]["final_seconds"] > got["final_seconds"] + 3.9


def test_votes_of_a_prover_that_says_how_long():
    one = plan(votes_per_block=1000.0, vote_aggregation="leanvm-b", vote_aggregates=4.0)
    assert model.figures(one, COSTS)["Falcon-512"]["vote_verify_seconds"] == 4 * 0.0128
    silent = one.with_(vote_aggregation="leanmultisig")
    assert math.isnan(model.figures(silent, COSTS)["Falcon-512"]["vote_verify_seconds"])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("bls", "signatures of BLS12-381; add that"),
        ("leanmultisig", "XMSS of leanSig; add that"),
        ("labrador", "Falcon-512; add that"),
        ("magic", "expected one of plain, bls"),
    ],
)
def test_an_aggregation_of_nobody_is_refused(how, message):
    with pytest.raises(UsageError, match=message):
        run(plan(schemes=("ML-DSA-44",), transaction_aggregation=how))


def test_a_prover_may_prove_a_scheme_of_ones_own():
    xmss = Costs.given(
        "XMSS of leanSig", public_key_bytes=32, signature_bytes=2536, sign_seconds=0.02,
        verify_seconds=1e-4, source="leanSpec, 2026-06-26",
    )  # fmt: skip
    one = plan(
        schemes=("XMSS of leanSig",), own_schemes=(xmss,), envelope_bytes=200,
        block_bytes=2_000_000, block_seconds=12.0, transaction_aggregation="leanmultisig",
    )  # fmt: skip
    answer = found(one, CostTable((*COSTS.rows, xmss), COSTS.source))
    assert answer.values["XMSS of leanSig"]["transaction_bytes"] < 200 + 32 + 2536
    assert get("Falcon-512").name == PROVERS["labrador"].algorithm


def test_a_chain_with_one_proof_a_block_is_studied_as_any_other():
    """Against the chain of today, which has none; its sensitivity; who wins where."""
    one = load("ethereum").with_(
        transaction_aggregation="labrador", schemes=("Falcon-512", "ML-DSA-44"), migration={},
        nodes=64, delegates=8,
    )  # fmt: skip
    answer = found(one)
    plain = found(one.with_(transaction_aggregation="plain"))
    assert answer.calibration.equals(plain.calibration)
    assert (
        answer.values["Falcon-512"]["capacity_per_second"]
        > plain.values["Falcon-512"]["capacity_per_second"]
    )
    assert len(tornado(one, COSTS, scheme="ML-DSA-44"))
    winners = plane(one, COSTS, across_factors=(1.0,), upwards_factors=(1.0,))
    assert winners["winner"].tolist() == ["Falcon-512"]
