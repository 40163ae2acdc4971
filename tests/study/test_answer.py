"""Answers of `whatif`: eight statements that agree with their figures."""

import json
import math
import re
from dataclasses import replace

import pytest

from pqchain import algorithms, schemes, study
from pqchain.costs import CostTable, MissingCosts
from pqchain.errors import UnknownName, UsageError
from pqchain.study import answer
from pqchain.study.figures import models
from pqchain.study.sampling import CostSamples
from tests import frames
from tests.study.plans import ALL_COSTS as COSTS

SUBJECTS = [
    "transaction", "capacity", "limit", "latency", "storage", "gas", "model", "read next",
]  # fmt: skip


@pytest.fixture
def asked(monkeypatch):
    """Return a function that answers with synthetic costs instead of a measurement."""

    def ask(chain, algorithm, costs=COSTS, warnings=()):
        monkeypatch.setattr(
            answer, "times", lambda *given, **named: CostSamples((costs,), warnings=warnings)
        )
        return study.whatif(chain, algorithm, draws=1)

    return ask


def percentages(text):
    return [int(number) for number in re.findall(r"(\d+) % of today's", text)]


def test_eight_statements_fit_on_a_screen_of_eighty_columns(asked):
    found = asked("ethereum", "ml-dsa-44")
    assert list(found.statements) == SUBJECTS
    text = found.text()
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) <= 32
    # No word is cut: the text has the same words as the statements.
    said = " ".join(text.split())
    assert all(" ".join(statement.split()) in said for statement in found.statements.values())


def test_capacity_is_stated_for_both_places_of_the_key(asked):
    found = asked("ethereum", "ML-DSA-44")
    plan = study.load("ethereum").with_(algorithms=("ML-DSA-44",))
    today = models(plan, COSTS)["ECDSA-secp256k1"]["capacity_per_second"]
    shares = []
    for mode in ("inline", "registered"):
        kept = models(plan.with_(key_mode=mode), COSTS)["ML-DSA-44"]["capacity_per_second"]
        shares.append(kept / today)
        assert found.share(mode) == pytest.approx(kept / today)
    assert shares[0] < shares[1]
    assert percentages(found.statements["capacity"]) == [round(100 * share) for share in shares]
    # Each number stands beside the limit of its own mode.
    said = found.sentence.split(". ")
    assert f"would keep {round(100 * shares[0])} % of the capacity" in said[0]
    assert f"in the account, it would keep {round(100 * shares[1])} % (" in said[1]
    assert said[1].endswith("limited by the gas of a block)")
    # Today's chain keeps its own rule: the key is recovered from the signature.
    assert found.today.plan.chain.key_mode == "recovered"


@pytest.mark.parametrize("name", study.ready_names())
def test_every_plan_answers_for_schemes_that_it_does_not_name(name, monkeypatch):
    plan = study.load(name)
    others = {row.algorithm for row in plan.observed} - {"", plan.chain.baseline}
    # Times of the schemes, not the network, are tested here.
    few = [row for row in plan.observed if row.settings.get("nodes", 0) < 24]
    plan = plan.with_(nodes=min(plan.network.nodes, 12), delegates=0, observed=tuple(few))
    monkeypatch.setattr(answer, "load", lambda source: plan)
    with algorithms.temporary_registrations():
        schemes.register("Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms")
        for scheme in ("ML-DSA-44", "Falcon-512", "SLH-DSA-SHA2-128s", "Mine"):
            own = (*plan.own_schemes, *filter(None, [schemes.costs_of(scheme)]))
            asked = plan.with_(algorithms=(scheme,), own_schemes=own)
            if plan.costs != "measured":
                with pytest.raises(UsageError, match="whose times are printed ones"):
                    study.whatif(name, scheme)
                if scheme not in ("Falcon-512", "Mine"):  # neither printed nor defined
                    with pytest.raises(MissingCosts, match=f"no costs of '{scheme}' in 'paper:"):
                        study.times(asked)
                continue
            # Only what was asked and the baseline: a scheme of an observation is not measured.
            times = frames.measurements([plan.chain.baseline, *({scheme} - {"Mine"})])
            found = study.run(asked, study.times(asked, times), draws=1)
            assert found.figures[scheme]["capacity_per_second"].value >= 0
            rows = found.calibration
            unmeasured = rows[rows["algorithm"].isin(others - {scheme})]
            assert (unmeasured["dependence"] == "not compared: not measured").all()
            assert rows["error"].notna().sum() == rows["observed"].notna().sum() - len(unmeasured)
            said = study.whatif(name, scheme, measurements=times, draws=1)
            assert said.text().startswith(scheme) and "nan" not in said.text()


def test_observation_that_contradicts_the_inputs_is_not_compared():
    plan = study.load("cometbft").with_(nodes=40, data_chunks=12, parity_chunks=12)
    rows = study.validation.calibrate(plan, COSTS)
    refused = rows[rows["dependence"].str.startswith("not compared: ")]
    assert len(refused) and refused["error"].isna().all()
    assert refused["dependence"].str.contains("data_chunks").all()


def test_statement_says_where_the_calldata_floor_binds(asked):
    found = asked("ethereum", "ML-DSA-44")
    prices = found.statements["gas"].split("; ")
    plan = study.load("ethereum").with_(algorithms=("ML-DSA-44",), key_mode="inline")
    free = models(plan.with_(gas_prices={"ML-DSA-44": 0.0}), COSTS)["ML-DSA-44"]["transaction_gas"]
    for text, gas in zip(
        prices, [None, *(row.transaction_gas for row in found.drafts)], strict=True
    ):
        used = models(plan, COSTS)["ML-DSA-44"]["transaction_gas"] if gas is None else gas
        # A verification for nothing costs the same: the floor binds.
        assert ("the calldata floor binds" in text or "the same at" in text) == (used == free)
    assert [row.is_floor for row in found.drafts] == [True, True, False]
    # So does twice the gas of a verification.
    assert "verification_gas changes nothing" in prices[0]
    twice = plan.with_(verification_gas=2 * plan.limits.verification_gas)
    assert models(twice, COSTS)["ML-DSA-44"]["transaction_gas"] == free
    assert "verification_gas" not in asked("ethereum", "Falcon-512").statements["gas"]


def test_latency_is_none_exactly_where_the_load_reaches_the_capacity():
    # A few draws have room for the load, most have not.
    slow, fast = (replace(COSTS["ML-DSA-44"], verify_seconds=value) for value in (40e-6, 4e-6))
    rest = tuple(row for row in COSTS.rows if row.algorithm != "ML-DSA-44")
    tables = [CostTable((*rest, row), COSTS.source) for row in (slow, slow, fast)]
    base = study.load("cometbft").with_(
        algorithms=("ML-DSA-44",), verification_threads=1, block_bytes=4_000_000, observed=()
    )
    loads = [models(base, table)["ML-DSA-44"]["capacity_per_second"] for table in tables]
    base = base.with_(transactions_per_second=(loads[0] + loads[2]) / 2)
    by_name = study.run(base, CostSamples(tuple(tables)), draws=3).figures["ML-DSA-44"]
    assert by_name["capacity_per_second"].value < base.chain.transactions_per_second
    assert math.isnan(by_name["latency_seconds"].value)


def test_chain_without_accounts_has_one_place_for_the_key(asked):
    found = asked("bitcoin", "ML-DSA-44")
    assert list(found.modes) == ["inline"]
    assert found.statements["capacity"].endswith("The chain keeps no keys in accounts.")
    assert "in the account" not in found.sentence
    assert found.statements["gas"] == "The plan of this chain has no gas or compute units."


def test_scheme_that_fits_in_no_transaction(asked):
    found = asked("solana-v0", "Falcon-512")
    assert found.statements["capacity"].startswith("no transaction fits with the key in each")
    assert found.statements["limit"] == (
        "The longest transaction with the key in each transaction, the gas of a block with the "
        "key in the account; today the gas of a block."
    )
    assert "none (no transaction fits)" in found.statements["storage"]
    first, second, _ = found.sentence.split(". ")
    assert "would keep 0 % of the capacity" in first and "the longest transaction)" in first
    assert "it would keep 99 %" in second and "limited by the gas of a block)" in second


def test_drafts_price_the_verification(asked):
    found = asked("bnb", "Falcon-512")
    assert [draft.gas for draft in found.drafts] == [3000.0]
    plan = study.load("bnb").with_(algorithms=("Falcon-512",), gas_prices={"Falcon-512": 3000})
    expected = models(plan, COSTS)["Falcon-512"]
    draft = found.drafts[0]
    assert draft.transaction_gas == expected["transaction_gas"]
    today = models(plan, COSTS)["ECDSA-secp256k1"]["capacity_per_second"]
    assert draft.capacity_share == expected["capacity_per_second"] / today
    assert "3000 gas of EIP-8052" in found.statements["gas"]
    assert len(asked("ethereum", "ML-DSA-44").drafts) == 3
    assert asked("algorand", "Falcon-512").drafts == ()


def test_warnings_come_first_and_no_difference_is_said(asked):
    row = replace(COSTS["ML-DSA-44"], verify_seconds=COSTS["ECDSA-secp256k1"].verify_seconds)
    others = tuple(other for other in COSTS.rows if other.algorithm != "ML-DSA-44")
    found = asked(
        "ethereum", "ML-DSA-44", CostTable((*others, row), COSTS.source), ("the machine was busy",)
    )
    lines = found.text().splitlines()
    assert lines[1].startswith("! Warning: the machine was busy")
    assert "Verification ×1.00 the time" in found.statements["transaction"]
    assert not asked("sui", "ML-DSA-44").warnings


def test_broken_scheme_is_never_answered_without_its_attack(asked):
    assert "broken" in asked("ethereum", "MAYO-2").text()


def test_unknown_chain_lists_all():
    with pytest.raises(UnknownName) as caught:
        study.whatif("dogecoin", "ML-DSA-44")
    assert all(name in str(caught.value) for name in study.ready_names())
    with pytest.raises(UsageError, match="pqdpol, whose times are printed ones"):
        study.whatif("pqdpol", "ML-DSA-44")
    with pytest.raises(UnknownName, match="Falcon-512"):
        study.whatif("ethereum", "Falcon-511")


def test_data_are_json(asked):
    data = asked("near", "ML-DSA-44").data()
    text = json.dumps(data, allow_nan=False)
    assert json.loads(text)["calibrated"] is False
    assert set(data["capacity_share"]) == {"inline", "registered"}
    assert {row["key_mode"] for row in data["figures"]} == {"inline", "registered"}
    assert data["bibtex"].startswith("@misc{pqchain")
