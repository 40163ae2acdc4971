"""Published outcomes of chains compared with predictions."""

import math

import pytest

from pqchain import installation
from pqchain.algorithms import get
from pqchain.costs import Costs, CostTable
from pqchain.errors import DataError
from pqchain.study import analysis
from pqchain.study.tables import outcomes_table
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
