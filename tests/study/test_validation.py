"""The model compared with the chains of today."""

import math
from dataclasses import replace

import pytest

from pqchain import installation, results
from pqchain.errors import UsageError
from pqchain.plots.study import _NOTES
from pqchain.study import load, ready_names, times, validation
from pqchain.study.figures import models
from pqchain.study.files import with_settings
from pqchain.study.inputs import RELAYED, Observation
from pqchain.study.sampling import CostSamples
from pqchain.study.text import calibration_table
from pqchain.study.validation import calibrate, engine_bias, engines, large_errors, verdict
from tests.study.plans import ALL_COSTS, COSTS, found, plan, text

SEEN = Observation(quantity="capacity_per_second", value=1e-3, source="me", date="2026")

NO_TEST = {
    "algorand": 2,
    "bitcoin": 1,
    "bnb": 5,
    "ethereum": 12,
    "solana": 3,
    "solana-v0": 4,
    "tron": 3,
}
"""Number of observations that test nothing; those of other plans all do."""


def calibration(name):
    """Return the calibration of a ready plan."""
    base = load(name)
    return calibrate(base, _costs(base))


def _costs(base):
    return (CostSamples((ALL_COSTS,)) if base.costs == "measured" else times(base)).middle


@pytest.mark.parametrize("name", ready_names())
def test_observations_have_a_source_and_a_date_and_tests_are_counted(name):
    frame = calibration(name)
    seen = frame[frame["observed"].notna()]
    assert (seen["source"] != "").all() and seen["date"].str.fullmatch(r"\d{4}(-\d\d){0,2}").all()
    assert seen["error"].notna().all()
    # Quantities without a citation are rows as well.
    unseen = frame[frame["observed"].isna()]
    assert set(unseen["quantity"]) <= set(validation.EXPECTED)
    assert (unseen["source"] == "no cited observation").all()
    dependent = seen["dependence"] != ""
    assert dependent.sum() == NO_TEST.get(name, 0)
    assert calibration_table(frame).text().count("no: ") == dependent.sum()
    # A row to which an input was fitted returns its own value, and the plan has that input.
    fitted = seen[seen["dependence"].str.contains("with execution_gas,")]
    assert (fitted["error"].abs() < 0.005).all()


def test_series_have_thirty_dated_observations_of_chains():
    frames = {name: calibration(name) for name in ready_names()}
    dated = {name: frame["use"].count() for name, frame in frames.items()}
    assert dated["ethereum"] >= 25 and dated["bitcoin"] >= 10 and sum(dated.values()) >= 40


def test_identity_is_no_test_and_an_independent_observation_is():
    """Closed forms: gas over gas of a transaction, and a sum of two lengths."""
    gas = {"block_gas": 1e6, "intrinsic_gas": 3e4, "execution_gas": 7e4, "envelope_bytes": 200}
    gas["final_blocks"] = 2.0  # else blocks wait for finality, which limits their rate
    base = plan(algorithms=("Falcon-512",), block_bytes=10**6, **gas)
    assert models(base, COSTS)["ECDSA-secp256k1"]["transactions_per_block"] == 10
    moves = ("block_gas", "execution_gas", "block_seconds", "envelope_bytes")
    # Neither bytes nor nodes bind; intrinsic gas is only a part of a transaction's.
    for derived in ("", *moves, "block_bytes", "nodes", "intrinsic_gas", "nodes block_seconds"):
        moved = derived.split()[-1] if derived.endswith(moves) else ""
        seen = replace(SEEN, quantity="capacity_per_second", value=2.0, derived=derived)
        frame = calibrate(base.with_(observed=(seen,), block_gas=1e8, block_bytes=10**8), COSTS)
        assert frame["dependence"][0].startswith(f"moves one to one with {moved}," * bool(moved))
        assert bool(frame["dependence"][0]) == bool(moved), derived
        assert len(validation.tests(frame, "throughput")) == len(validation.tests(frame))
        assert len(validation.tests(frame, "time to final")) == 0
        assert len(validation.tests(frame)) == (not moved)


def test_date_with_the_inputs_of_a_fitted_row_returns_its_value():
    gas = {"block_gas": 1e8, "execution_gas": 7e4, "intrinsic_gas": 3e4, "final_blocks": 2.0}
    fitted = replace(SEEN, value=200.0, date="2026-01", derived="execution_gas")
    same, other = replace(SEEN, value=150.0), replace(SEEN, settings={"block_gas": 5e7})
    base = plan(observed=(same, other, fitted), block_bytes=10**8, **gas)
    why = calibrate(base, COSTS)["dependence"]
    assert why[0] == "returns the value of 2026-01, from which execution_gas was derived"
    assert why[1] == "" and why[2].startswith("moves one to one with execution_gas,")


def test_error_of_a_dependent_row_is_no_warning():
    seen = replace(SEEN, derived="block_seconds")
    frame = calibrate(plan(observed=(seen,)), COSTS)
    assert large_errors(frame) == [validation.NOT_CALIBRATED]
    assert verdict(frame, "throughput") == "none"


def test_verdict_is_of_one_quantity():
    near = models(plan(), COSTS)["ECDSA-secp256k1"]
    good = replace(SEEN, value=near["capacity_per_second"] / 1.1)
    bad = replace(SEEN, quantity="final_seconds", value=near["final_seconds"] / 3)
    frame = calibrate(plan(observed=(good, bad)), COSTS)
    assert verdict(frame, "throughput") == "near" and verdict(frame, "time to final") == "far"
    assert verdict(frame, "block bytes") == "none"
    (told,) = large_errors(frame)
    assert told == "Calibration errors: time to final +200\N{NARROW NO-BREAK SPACE}% (2026)."
    assert f"{100 * validation.FAR:g} % off" in _NOTES[1]


def test_mix_gives_the_least_and_largest_share():
    """Closed form: with gas alone, the share is the gas of today's transaction over the new one."""
    gas = {"block_gas": 1e8, "execution_gas": 6e4, "intrinsic_gas": 4e4, "final_blocks": 2.0}
    base = plan(block_bytes=10**9, envelope_bytes=1, calldata_gas=16.0, **gas)
    today = models(base, COSTS)["ECDSA-secp256k1"]
    rate, used = today["capacity_per_second"], today["transaction_gas"]
    rows = [replace(SEEN, value=rate / use, date=str(2020 + use)) for use in (0.8, 1.5)]
    # What replaces the transactions of the plan, or is arithmetic of them, tells no mix.
    rows.append(replace(SEEN, value=rate / 9, settings={"execution_gas": 6e4}))
    rows.append(replace(SEEN, value=rate / 9, derived="execution_gas"))
    frame = calibrate(base.with_(observed=tuple(rows)), COSTS)
    assert frame["use"].tolist()[:2] == pytest.approx([0.8, 1.5]) and frame["use"].count() == 2
    more = models(base, COSTS)["ML-DSA-44"]["transaction_gas"] - used
    low, high = validation.kept_over_mix(base, base, COSTS, frame)["ML-DSA-44"]
    assert low == pytest.approx(0.8 * used / (0.8 * used + more), rel=2e-3)
    assert high == pytest.approx(1.5 * used / (1.5 * used + more), rel=2e-3)
    assert validation.kept_over_mix(base, base, COSTS, frame.tail(1)) == {}


@pytest.mark.parametrize("limit", ["bytes", "weight"])
def test_resized_transactions_use_as_much_more(limit):
    size = {"block_weight": 1e6, "witness_discount": 4.0} if limit == "weight" else {}
    base = plan(envelope_bytes=200, block_bytes=10**6, **size)
    before = models(base, COSTS)["ECDSA-secp256k1"]
    after = models(validation.resized(base, before, 1.5), COSTS)["ECDSA-secp256k1"]
    assert before.block_limit == after.block_limit == limit
    used = {"bytes": "transaction_bytes", "weight": "transaction_weight"}[limit]
    assert after[used] == pytest.approx(1.5 * before[used], rel=0.02)


# The whole model of simplex takes seconds.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name == "simplex" else ())
        for name in ready_names()
    ],
)
def test_number_of_nodes_has_an_effect_or_is_refused(name):
    base = load(name)
    costs = _costs(base)
    few = base.with_(nodes=64, delegates=16 if base.network.law in RELAYED else 0)
    before, after = (
        {key: figure.value for key, figure in models(one, costs)[one.names[0]].figures().items()}
        for one in (few, few.with_(nodes=128))
    )
    # NaN differs from itself.
    has_effect = any(before[key] != after[key] for key in before if before[key] == before[key])
    assert has_effect == ("nodes" not in base.unused)
    if has_effect:
        assert with_settings(base, ["nodes=128"]).network.nodes == 128
        return
    with pytest.raises(UsageError, match=r"nodes must be 21, because no figure .* got 128\. Le"):
        with_settings(base, ["nodes=128"])


def test_nodes_that_do_nothing_are_refused():
    with pytest.raises(UsageError, match=r"nodes must be 16 as delegates with mesh.*got 64. Give"):
        plan(law="mesh", nodes=64, delegates=16)
    assert plan(law="mesh", nodes=16, delegates=16) and plan(law="gossip", nodes=64, delegates=16)


def test_large_errors_precede_the_numbers():
    seen = SEEN
    answer = found(plan(observed=(seen,)))
    said = text(answer)
    assert 0 < said.index("Calibration errors: throughput ") < said.index("figure  ")
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
