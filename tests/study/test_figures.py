"""Figures of a study: arithmetic by hand, dependencies, kinds and sources."""

import math
from dataclasses import replace

import pytest

from pqchain.chain import encoding
from pqchain.consensus import Scenario
from pqchain.consensus import run as run_consensus
from pqchain.costs import CostTable, MissingCosts
from pqchain.errors import DataError, UsageError
from pqchain.study import QUANTITIES, evaluate, load, run, times
from pqchain.study.figures import models
from pqchain.works import papers
from tests.study.plans import COSTS, plan


def test_published_network_gives_the_published_model():
    found = run(load("pqdpol"), times(load("pqdpol")))
    for name in ("Falcon-512", "Dilithium2", "SPHINCS+-SHA2-128f-simple"):
        one = Scenario(algorithm=name, costs=papers.costs("pqdpol"), nodes=32)
        assert found.values[name]["final_seconds"] == run_consensus(one).latency_seconds
        assert found.values[name]["transactions_per_block"] == one.transactions_per_block()
    assert found.best == "Falcon-512"
    # All but one scheme carry less than the load, and yet their blocks take their time.
    fitting = [each for each in found.values.values() if each["transactions_per_block"]]
    assert len(fitting) == 7
    assert all(
        each["full_latency_seconds"] == pytest.approx(1.5 * each["final_seconds"])
        for each in fitting
    )


def test_figures_equal_the_hand_calculation():
    one = plan(block_seconds=10.0, transactions_per_second=2.0)
    got = models(one, COSTS)["ML-DSA-44"]
    size = encoding.encoded_size("ML-DSA-44")
    assert got["transaction_bytes"] == size
    per_block = (one.chain.block_bytes - encoding.header_bytes()) // size
    assert got["transactions_per_block"] == per_block
    assert got["capacity_per_second"] == per_block / 10.0
    rate = min(2.0, per_block / 10.0)
    assert got["throughput_per_second"] == rate
    assert got["verification_cores"] == pytest.approx(rate * COSTS["ML-DSA-44"].verify_seconds)
    year = 365.25 * 86_400
    growth = (rate * size + encoding.header_bytes() / 10.0) * year
    assert got["growth_bytes_per_year"] == pytest.approx(growth)
    assert got["coded_growth_bytes_per_year"] == pytest.approx(growth / 7)
    assert got["coded_factor"] == pytest.approx(10 / 7)
    days = growth * one.storage.retained_days * 86_400 / year
    assert got["repair_bytes"] == pytest.approx(days)
    assert got["repair_seconds"] == pytest.approx(8 * days / 100e6 + days / 589e6)
    assert got["transaction_bytes_ratio"] == pytest.approx(
        size / encoding.encoded_size("ECDSA-secp256k1")
    )


def test_latency_grows_with_load_below_capacity():
    slow, fast = plan(transactions_per_second=0.01), plan(transactions_per_second=1e6)
    there = models(slow, COSTS)["Falcon-512"]
    cycle = max(slow.chain.block_seconds, there["final_seconds"])
    assert there["full_latency_seconds"] == pytest.approx(cycle / 2 + there["final_seconds"])
    # Almost no load: half an interval and an almost empty block.
    assert there["latency_seconds"] == pytest.approx(
        slow.chain.block_seconds / 2 + there["single_transaction_final_seconds"], rel=0.01
    )
    beyond = models(fast, COSTS)["Falcon-512"]
    assert beyond["full_latency_seconds"] == there["full_latency_seconds"]
    assert math.isnan(beyond["latency_seconds"])


def test_scheme_larger_than_a_block_is_reported():
    frame = evaluate(plan(block_bytes=3000), COSTS)
    rows = frame[frame["algorithm"] == "ML-DSA-44"].set_index("quantity")
    assert rows.loc["capacity_per_second", "value"] == 0
    assert math.isnan(rows.loc["final_seconds", "value"])
    assert "no transaction of ML-DSA-44 fits" in rows.loc["final_seconds", "source"]


def differing(before, after, algorithm):
    """Return the figures of a scheme that differ; NaN equals itself."""
    first, second = before[algorithm], after[algorithm]
    equal = pytest.approx
    return [it for it in QUANTITIES if first[it] != equal(second[it], rel=0, abs=0, nan_ok=True)]


CHANGES = {
    "transactions_per_second": 0.5, "block_bytes": 60_000, "block_seconds": 99.0, "data_bytes": 100,
    "key_mode": "registered", "accounts": 7, "nodes": 20, "delegates": 9, "vote_phases": 2,
    "transaction_aggregation": "labrador",
    "law": "star", "rate_bits_per_second": 1e6, "link_latency_seconds": 0.3, "peers": 3,
    "world": True, "verification_threads": 3,
    "data_chunks": 4, "parity_chunks": 2, "retained_days": 30.0, "repair_bits_per_second": 1e6,
    "decode_bytes_per_second": 1e6,
    "moves_register": False,
    "envelope_bytes": 300, "framing_bytes": 7, "signatures": 3.0, "witness_discount": 2.0,
    "block_weight": 60_000.0, "block_gas": 1e6, "sustained_share": 0.5, "intrinsic_gas": 1e5,
    "execution_gas": 1e5, "calldata_gas": 20.0, "floor_gas": 60.0, "verification_gas": 1e5,
    "gas_prices": {"Falcon-512": 9e5}, "most_transactions": 2.0,
    "state_gas": 1000.0, "separate_state_gas": True, "consensus_bytes": 500.0,
    "votes_per_block": 40.0, "vote_bytes": 50.0,
    "vote_signature_bytes": 9.0, "vote_aggregation": "bls", "vote_aggregates": 2.0,
    "votes_in_block": True, "most_votes": 3.0, "vote_deadline_seconds": 4.0,
    "final_blocks": 2.0, "certificates": "next-block", "pipelined": True, "extra_hops": 1,
    "hop_wait_seconds": 0.1,
}  # fmt: skip


BEFORE = {
    "vote_aggregates": {"vote_aggregation": "bls"},
    "certificates": {"votes_per_block": 0.0},
    "delegates": {"law": "gossip"},
    "final_blocks": {"block_seconds": 0.5},
    "peers": {"law": "gossip"},
    "pipelined": {"law": "uplink", "vote_phases": 2},
    "world": {"law": "gossip"},
    "separate_state_gas": {"state_gas": 40.0},
    "transaction_aggregation": {"block_bytes": 500_000, "block_weight": 2e6, "block_gas": 2e8},
}
"""Inputs without which a change would be hidden, or impossible."""


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_input_changes_figures_but_not_the_scheme(name):
    base = plan(
        accounts=1000, vote_phases=1, block_seconds=0.0, law="mesh",
        envelope_bytes=200, block_gas=2e6, intrinsic_gas=1e4,
        calldata_gas=16.0, block_weight=200_000.0, witness_discount=4.0, votes_per_block=10.0,
        vote_bytes=40.0, data_bytes=20,
    ).with_(**BEFORE.get(name, {}))  # fmt: skip
    before = models(base, COSTS)
    after = models(base.with_(**{name: CHANGES[name]}), COSTS)
    changed = {quantity for algorithm in before for quantity in differing(before, after, algorithm)}
    assert changed, f"{name} changes nothing at all"
    # Keys and signatures depend on the scheme alone.
    assert name == "key_mode" or not changed & {"public_key_bytes", "signature_bytes"}


def test_costs_of_one_scheme_change_only_that_scheme():
    base = plan(accounts=5)
    before = models(base, COSTS)
    rows = tuple(
        row if row.algorithm != "Falcon-512" else replace(row, verify_seconds=1.0)
        for row in COSTS.rows
    )
    after = models(base, CostTable(rows, COSTS.source))
    assert differing(before, after, "ML-DSA-44") == []
    assert "verify_seconds" in differing(before, after, "Falcon-512")


def test_every_figure_has_kind_and_source():
    frame = evaluate(plan(), COSTS)
    assert set(frame["kind"]) == {"registry", "measured", "modelled"}
    assert (frame["source"] != "").all()
    published = run(load("pqdpol"), times(load("pqdpol"))).frame
    assert set(published["kind"]) == {"published", "measured", "modelled"}
    # Only Falcon's lengths are measured by pqchain there.
    counted = published[published["kind"] == "measured"]
    assert set(counted["quantity"]) == {"signature_bytes"}


def test_costs_must_cover_the_plan():
    with pytest.raises(MissingCosts, match="Hawk-512"):
        times(load("pqdpol").with_(algorithms=("Hawk-512",)))
    with pytest.raises(UsageError, match="to use measurements"):
        times(load("pqdpol"), evaluate(plan(), COSTS))
    with pytest.raises(DataError, match="must be 'paper:<key>'"):
        evaluate(plan(), CostTable(COSTS.rows, "rumour"))
