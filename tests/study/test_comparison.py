"""The capacity that each scheme costs each chain."""

import pytest

from pqchain.costs import MissingCosts
from pqchain.study import analysis, cost_on_chains, load, ready_names
from pqchain.study.figures import models
from tests.study.plans import COSTS


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
        plan = small[row["chain"]].with_(algorithms=(row["algorithm"],), migration={})
        values = models(plan, COSTS)
        capacity, today = (
            values[name]["capacity_per_second"] for name in (row["algorithm"], plan.chain.baseline)
        )
        assert row["lost_share"] == pytest.approx(1 - capacity / today)
        assert row["limit"] == values[row["algorithm"]].limit
    assert dict(zip(frame["chain"], frame["calibrated"], strict=True)) == {
        "bnb": True, "tron": False, "bitcoin": True,
    }  # fmt: skip


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
