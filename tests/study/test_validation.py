"""The model compared with the chains of today."""

import math
from dataclasses import replace

import pytest

from pqchain import installation, results
from pqchain.errors import UsageError
from pqchain.study import load, ready, ready_names
from pqchain.study.figures import models
from pqchain.study.inputs import Observation
from pqchain.study.sampling import CostSamples, known
from pqchain.study.text import calibration_table
from pqchain.study.validation import EXPECTED, FAR, calibrate, engine_bias, engines, large_errors
from tests.study.plans import ALL_COSTS, COSTS, found, plan, text

ERRORS = {
    "pqdpol": [("final_seconds", -0.029), ("capacity_per_second", 0.031)],
    "ethereum": [
        ("sustained_per_second", -0.018), ("full_block_bytes", -0.130),
        ("consensus_bytes_per_block", -0.116), ("rule_seconds", 0.069),
    ],
    "ethereum-glamsterdam": [],
    "ethereum-lean": [],
    "bitcoin": [("transactions_per_block", -0.120), ("transactions_per_block", -0.138)],
    "bitcoin-p2mr": [],
    "solana": [],
    "solana-v0": [("sustained_per_second", -0.018), ("rule_seconds", 0.018)],
    "algorand": [("transactions_per_block", 0.018), ("capacity_per_second", 0.103)],
    "bnb": [("capacity_per_second", 0.004)],
    "tron": [("capacity_per_second", 0.0)],
    "near": [],
    "sui": [],
    "aptos": [("capacity_per_second", -0.063)],
    "simplex": [
        *(("single_transaction_final_seconds", error) for error in (
            0.002, 0.000, 0.001, 0.002, 0.004, 0.001, 0.004, 0.004, 0.012, 0.005, 0.011,
            0.012, 0.013, 0.000, 0.003, 0.002, 0.004, 0.002, -0.157,
        )),
    ],
    "cometbft": [
        *(("single_transaction_final_seconds", error) for error in (
            -0.023, -0.025, -0.006, -0.006, 0.029, 0.020, 0.000, -0.012, 0.010,
            -0.011, 0.005, 0.004, 0.001, -0.019, 0.000, -0.019, 0.007, -0.018,
        )),
        *(("final_seconds", error) for error in (
            0.007, -0.016, 0.014, -0.006, -0.002, -0.001, -0.504,
        )),
        ("capacity_per_second", 9.190),
    ],
}  # fmt: skip
"""Model over observation, less 1: what docs/chains.md states."""

SEEN = Observation(quantity="capacity_per_second", value=1e-3, source="me", date="2026")

DEPENDENT = {
    "pqdpol": ["final_seconds", "capacity_per_second"], "solana-v0": ["rule_seconds"],
    "ethereum": ["rule_seconds"],
    "algorand": ["transactions_per_block", "capacity_per_second"],
    "tron": ["capacity_per_second"], "aptos": ["capacity_per_second"],
}  # fmt: skip
"""Observations that are arithmetic of a plan's inputs, or to which one was fitted."""


@pytest.mark.parametrize("name", ready_names())
def test_validation_rows_equal_the_page(name):
    base = load(name)
    frame = calibrate(base, (known(base) or CostSamples((ALL_COSTS,))).middle)
    seen = frame[frame["observed"].notna()]
    got = list(zip(seen["quantity"], seen["error"].round(3), strict=True))
    assert [quantity for quantity, _ in got] == [quantity for quantity, _ in ERRORS[name]]
    for (_, error), (_, expected) in zip(got, ERRORS[name], strict=True):
        assert error == pytest.approx(expected, abs=0.004)
    assert (seen["source"] != "").all() and (seen["date"] != "").all()
    # Quantities without a citation are rows as well.
    unseen = frame[frame["observed"].isna()]
    assert set(unseen["quantity"]) <= set(EXPECTED)
    assert (unseen["source"] == "no cited observation").all()
    # Rows that share their origin with the inputs say so, and never count as a test.
    dependent = seen["dependence"] != ""
    assert set(DEPENDENT.get(name, ())) <= set(seen[dependent]["quantity"])
    assert "dependence" not in ready(name) or dependent.any()
    tests = [
        abs(error) for error, shared in zip(seen["error"], dependent, strict=True) if not shared
    ]
    told = large_errors(frame)
    assert len(told) == (sum(error > FAR for error in tests) if tests else 1)
    table = calibration_table(frame).text()
    assert table.count("no: ") == dependent.sum()


def test_error_of_a_dependent_row_is_no_warning():
    seen = replace(SEEN, dependence="the same bytes")
    assert large_errors(calibrate(plan(observed=(seen,)), COSTS)) == [
        "Not calibrated: no independent observation of such a chain is cited."
    ]


def test_large_errors_precede_the_numbers():
    seen = SEEN
    answer = found(plan(observed=(seen,)))
    said = text(answer)
    assert (
        0
        < said.index("Calibration: the model's capacity per second with ECDSA")
        < said.index("figure  ")
    )
    assert "Not calibrated" in text(found(plan()))


def test_observations_use_the_chain_of_their_date():
    then = replace(SEEN, settings={"block_seconds": 50.0})
    now = SEEN
    frame = calibrate(plan(observed=(then, now)), COSTS)
    assert frame["model"][1] == pytest.approx(10 * frame["model"][0])
    assert frame["settings"].tolist()[:2] == ["block_seconds=50", ""]
    assert math.isnan(frame["error"][2])


def test_study_says_whether_an_engine_checked_its_plan():
    assert engines(load("bitcoin")) == "Not checked against an engine."
    assert engines(load("cometbft")) == "Checked against an engine: CometBFT v0.40.0."
    assert engines(load("simplex")) == "Checked against an engine: commonware simplex 2026.10.0."
    assert "Not checked against an engine." in text(found(plan()))


def test_a_study_states_the_measured_bias_of_an_engines_model(monkeypatch):
    skill = results.load(installation.data("engines") / "skill.csv")
    titles = {"cometbft": "CometBFT v0.40.0", "simplex": "commonware simplex 2026.10.0"}
    for name, title in titles.items():
        failed = skill.assign(status="failed", bias_percent=-60.0, no_effect_skill=0.5)
        monkeypatch.setattr(results, "load", lambda path, frame=failed: frame)
        (warning,) = engine_bias(load(name))
        assert f"40 % of what {title} shows" in warning
        assert "skill 0.50" in warning
        monkeypatch.setattr(results, "load", lambda path: skill.assign(status="ok"))
        assert engine_bias(load(name)) == []
    monkeypatch.setattr(results, "load", lambda path: failed)
    assert engine_bias(load("bitcoin")) == []
    assert warning in text(found(load("simplex").with_(algorithms=("ML-DSA-44",))))


@pytest.mark.parametrize("name", ["simplex", "cometbft"])
def test_certificates_explain_the_engines(name):
    base = load(name)
    tested = [row for row in base.observed if row.engine]
    costs = CostSamples((ALL_COSTS,)).middle
    errors = calibrate(replace(base, observed=tuple(tested)), costs)["error"].abs()
    plain = {"certificates": "none", "pipelined": False, "extra_hops": 0, "hop_wait_seconds": 0.0}
    without = tuple(replace(row, settings={**row.settings, **plain}) for row in tested)
    errors_without = calibrate(replace(base, observed=without), costs)["error"].abs()
    assert errors.mean() < errors_without.mean() / 3
    # CometBFT polls at random phases, of which the model has the mean.
    assert errors.max() < {"simplex": 0.015, "cometbft": 0.035}[name]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"certificates": "next-block"}, "certificates must be .* without vote_phases"),
        ({"certificates": "broadcast", "vote_phases": 1}, "law must be .uplink. with certificates"),
        ({"law": "uplink", "pipelined": True}, "pipelined must be false unless vote_phases is 2"),
        ({"law": "regions", "extra_hops": 1}, "must be 0 with regions"),
    ],
)
def test_combinations_without_a_model_are_rejected(changes, why):
    with pytest.raises(UsageError, match=why):
        plan(**changes)


def test_hops_and_waits_add_to_the_time_to_finality():
    base = plan(law="mesh", vote_phases=2)
    before = models(base, COSTS)["Falcon-512"]["final_seconds"]
    slower = base.with_(extra_hops=1, hop_wait_seconds=0.05)
    after = models(slower, COSTS)["Falcon-512"]["final_seconds"]
    latency = base.network.model.latency_seconds
    assert after - before == pytest.approx(3 * 0.05 + latency, rel=1e-6)
