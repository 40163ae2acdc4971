"""Costs on chains, and sensitivity to single inputs."""

import math

import pytest

from pqchain.costs import MissingCosts
from pqchain.errors import UnknownName
from pqchain.study import analysis, cost_on_chains, load, ready_names, tornado
from pqchain.study.figures import models
from tests.study.plans import COSTS, plan


def test_present_chains_are_compared():
    assert {*ready_names()} - {*analysis.chains()} == {"pqdpol", "solana-v0"}


@pytest.fixture
def small(monkeypatch):
    """Compare three chains with few nodes."""
    plans = {name: load(name).with_(nodes=24, delegates=24) for name in ("bnb", "tron", "bitcoin")}
    monkeypatch.setattr(analysis, "chains", lambda: tuple(plans))
    monkeypatch.setattr(analysis, "load", plans.__getitem__)
    return plans


def test_lost_share_is_one_less_the_capacity_that_remains(small):
    frame = cost_on_chains(COSTS, ["falcon-512", "ML-DSA-44", "Falcon-512"])
    assert list(frame["algorithm"].unique()) == ["Falcon-512", "ML-DSA-44"]
    assert list(frame["chain"].unique()) == [*small]
    for row in frame.to_dict("records"):
        plan = small[row["chain"]].with_(algorithms=(row["algorithm"],))
        values = models(plan, COSTS)
        capacity, today = (
            values[name]["capacity_per_second"] for name in (row["algorithm"], plan.chain.baseline)
        )
        assert row["lost_share"] == pytest.approx(1 - capacity / today)
        assert row["limit"] == values[row["algorithm"]].limit
    # Of the throughput only: what TRON's makers compute from bytes is no test.
    assert dict(zip(frame["chain"], frame["test"], strict=True)) == {
        "bnb": "far", "tron": "none", "bitcoin": "far",
    }  # fmt: skip
    is_known = frame["chain"] != "tron"
    assert (frame["lost_low"].notna() == is_known).all()
    ordered = frame[is_known][["lost_low", "lost_share", "lost_high"]].diff(axis=1)
    assert (ordered.iloc[:, 1:] >= 0).all(axis=None)


def test_key_is_in_each_transaction_also_where_accounts_have_it(small):
    before = cost_on_chains(COSTS, ["ML-DSA-44"]).set_index("chain")["lost_share"]
    small["tron"] = small["tron"].with_(key_mode="registered")
    after = cost_on_chains(COSTS, ["ML-DSA-44"]).set_index("chain")["lost_share"]
    # Its transactions today have 64 bytes of signature instead of 65 of which a key is recovered.
    assert after["tron"] == pytest.approx(before["tron"], abs=0.001)
    assert after["bnb"] == before["bnb"]


def test_missing_times_are_reported(small):
    with pytest.raises(MissingCosts):
        cost_on_chains(COSTS, ["Hawk-512"])


def rows(frame):
    """Return rows by input."""
    return {row["input"]: row for row in frame.to_dict("records")}


def test_half_the_block_interval_doubles_the_capacity():
    found = rows(tornado(plan(block_seconds=1000.0), COSTS, algorithm="ML-DSA-44"))
    row = found["block_seconds"]
    assert (row["low"], row["high"]) == pytest.approx((2 * row["base"], row["base"] / 2))
    assert "verify_seconds" not in found  # hidden by the interval, so it changes nothing
    assert "retained_days" not in found


def test_inputs_are_sorted_by_effect():
    frame = tornado(plan(block_seconds=0.0), COSTS, algorithm="ML-DSA-44")
    span = (frame[["low", "high"]].sub(frame["base"], axis=0)).abs().max(axis=1)
    assert list(span) == sorted(span, reverse=True)
    assert frame.loc[0, "input"] in ("nodes", "rate_bits_per_second")


def test_impossible_variations_are_empty():
    found = rows(tornado(plan(nodes=10, block_seconds=0.0), COSTS))
    assert math.isnan(found["nodes"]["low"])  # ten chunks need ten nodes
    assert math.isfinite(found["nodes"]["high"])


def test_other_figures_and_schemes_can_be_selected():
    frame = tornado(plan(), COSTS, algorithm="ECDSA-secp256k1", output="repair_seconds")
    found = rows(frame)
    assert found["retained_days"]["high"] == pytest.approx(2 * found["retained_days"]["base"])
    assert set(frame["unit"]) == {"s"}
    with pytest.raises(UnknownName, match="'repair_seconds'"):
        tornado(plan(), COSTS, output="repair_second")
    with pytest.raises(UnknownName, match="scheme of this study"):
        tornado(plan(), COSTS, algorithm="MAYO-2")
