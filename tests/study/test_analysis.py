"""Published outcomes of chains compared with predictions."""

import math

import pytest

from pqchain.algorithms import get
from pqchain.costs import Costs, CostTable
from pqchain.study import analysis
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
    # The model overestimates the measured capacity of the BNB chain.
    assert predicted.loc[("bsc", "capacity_per_second", "ML-DSA-44"), "error"] > 0.25
    near = predicted.loc[("near", "verification_gas", "ML-DSA-65")]
    assert near["predicted"] == pytest.approx(68_093_951_344 * 120 / 80)


def test_every_outcome_and_input_has_a_source():
    for chain in analysis.CHAINS:
        one = analysis.trial_of(chain)
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
