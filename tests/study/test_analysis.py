"""Predictions compared with published outcomes, and the capacity that schemes cost chains."""

import math

import pytest

from pqchain import installation
from pqchain.algorithms import get
from pqchain.costs import Costs, CostTable, MissingCosts
from pqchain.errors import DataError
from pqchain.study import analysis, cost_on_chains, load, ready_names
from pqchain.study.figures import models
from pqchain.study.text import outcomes_table
from tests.study.plans import COSTS

WITH_NEAR = CostTable(
    (
        *COSTS.rows,
        Costs(
            algorithm="ML-DSA-65", public_key_bytes=get("ML-DSA-65").public_key_bytes,
            signature_bytes=get("ML-DSA-65").signature_bytes, generate_keypair_seconds=1e-3,
            sign_seconds=1e-4, verify_seconds=120e-6, source="liboqs-0.13/avx2 on a-machine",
        ),
    ),
    COSTS.source,
)  # fmt: skip


def test_validation_reports_exact_bytes_and_errors():
    predicted = analysis.predictions(WITH_NEAR).set_index(["chain", "quantity", "algorithm"])
    tron = predicted.loc["tron", "capacity_per_second"]
    assert tron.loc["Falcon-512", "error"] == pytest.approx(0.0, abs=0.01)
    assert tron.loc["ML-DSA-44", "error"] == pytest.approx(0.0, abs=0.01)
    assert predicted.loc[("bsc", "transaction_bytes", "ML-DSA-44"), "error"] == pytest.approx(
        2465 / 2500 - 1
    )
    # Full blocks with ML-DSA-44 must reach 20 validators within a slot: 2.8 MB.
    spread = predicted.loc[("bsc", "capacity_per_second", "ML-DSA-44")]
    assert spread["predicted"] == pytest.approx(0.45 * 1e9 / 8 / 20 / 2465 / 0.45, rel=0.001)
    assert spread["error"] == pytest.approx(-0.155, abs=0.002)
    # Gas of both schemes is of one machine; only the ratio of times is predicted.
    near = predicted.loc[("near", "verification_gas", "ML-DSA-65")]
    assert near["predicted"] == pytest.approx(50.234e9 * 120 / 80)
    assert near["outcome"] / 50.234e9 == pytest.approx(2.085, abs=0.001)


def test_undated_outcome_is_rejected(tmp_path):
    text = (installation.data("outcomes") / "near.toml").read_text(encoding="utf-8")
    (tmp_path / "near.toml").write_text(text.replace("checked = ", "read = "), encoding="utf-8")
    with pytest.raises(DataError, match="must have checked, the date"):
        analysis.read_trial(tmp_path / "near.toml")


def test_every_outcome_and_input_has_a_source():
    for one in analysis.trials().values():
        assert one.source and one.date and one.outcomes
        assert {row["kind"] for row in one.outcomes} <= {
            "measured by its makers", "arithmetic of its makers",
        }  # fmt: skip
        if one.plan is not None:
            assert one.plan.source("block_seconds") != "set for this study"
            assert one.plan.source("envelope_bytes") != "set for this study"


def test_missing_costs_are_reported():
    predicted = analysis.predictions(COSTS)
    near = predicted[predicted["chain"] == "near"].iloc[0]
    assert math.isnan(near["predicted"])
    assert near["decided_by"] == "no costs of ML-DSA-65 in this study"
    assert "ML-DSA-65" in analysis.algorithm_names()
    assert "TIP-899" in outcomes_table(predicted).text()


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
