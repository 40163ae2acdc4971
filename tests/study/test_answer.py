"""Answers of `whatif`: eight statements that agree with their figures."""

import json
import re
from dataclasses import replace

import pytest

from pqchain import figures, study
from pqchain.costs import CostTable
from pqchain.errors import UnknownName, UsageError
from pqchain.study import answer, wording
from pqchain.study.figures import models
from pqchain.study.sampling import Times
from tests.study.plans import ALL_COSTS as COSTS

SUBJECTS = [
    "transaction", "capacity", "limit", "latency", "storage", "gas", "model", "read next",
]  # fmt: skip


@pytest.fixture
def asked(monkeypatch):
    """Return a function that answers with synthetic costs instead of a measurement."""

    def ask(chain, algorithm, costs=COSTS, warnings=()):
        monkeypatch.setattr(
            answer, "times_of", lambda plan, measured, **named: (Times((costs,)), warnings)
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
    plan = study.load("ethereum").with_(algorithms=("ML-DSA-44",), migration={})
    today = models(plan, COSTS)["ECDSA-secp256k1"]["capacity_per_second"]
    shares = []
    for mode in ("inline", "registered"):
        kept = models(plan.with_(key_mode=mode), COSTS)["ML-DSA-44"]["capacity_per_second"]
        shares.append(kept / today)
        assert found.share(mode) == pytest.approx(kept / today)
    assert shares[0] < shares[1]
    assert percentages(found.statements["capacity"]) == [round(100 * share) for share in shares]
    assert f"keep {round(100 * shares[0])} % of the capacity" in found.sentence
    # Today's chain keeps its own rule: the key is recovered from the signature.
    assert found.today.plan.key_mode == "recovered"


@pytest.mark.parametrize("name", [name for name in study.READY if name != "pqdpol"])
def test_every_chain_has_an_answer(asked, name, monkeypatch):
    plan = study.load(name).with_(migration={})
    if plan.nodes > 24:  # the words, not the network, are tested here
        plan = plan.with_(nodes=24, delegates=24)
    monkeypatch.setattr(answer, "load", lambda source: plan)
    found = asked(name, "Falcon-512")
    assert list(found.statements) == SUBJECTS
    assert all(statement.endswith(".") for statement in found.statements.values())
    text = found.text()
    assert "None" not in text and figures.MISSING not in text
    assert found.is_calibrated == ("Compared with this chain" in found.statements["model"])
    assert found.is_calibrated != ("uncalibrated" in found.sentence)


def test_chain_without_accounts_has_one_place_for_the_key(asked):
    found = asked("bitcoin", "ML-DSA-44")
    assert list(found.modes) == ["inline"] and found.registered is None
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
    assert "would keep 0 % of the capacity" in found.sentence


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
    assert "A verification takes ×1.00" in found.statements["transaction"]
    assert not asked("near", "ML-DSA-44").warnings


def test_broken_scheme_is_never_answered_without_its_attack(asked):
    assert "broken" in asked("ethereum", "MAYO-2").text()


def test_unknown_chain_lists_all():
    with pytest.raises(UnknownName) as caught:
        study.whatif("dogecoin", "ML-DSA-44")
    assert all(name in str(caught.value) for name in study.READY)
    with pytest.raises(UsageError, match="pqdpol, whose times are printed ones"):
        study.whatif("pqdpol", "ML-DSA-44")
    with pytest.raises(UnknownName, match="Falcon-512"):
        study.whatif("ethereum", "Falcon-511")


def test_other_names_of_chains_are_ready():
    assert answer.chain_of("BSC") == "bnb"
    assert answer.chain_of("Ethereum") == "ethereum"
    assert answer.chain_of("mine.toml") == "mine.toml"


def test_every_main_figure_and_limit_has_words():
    assert {*wording.MAIN} <= {*study.QUANTITIES}
    assert wording.limit("gas") == "gas of a block"
    assert wording.limit("something else") == "something else"
    assert wording.percent(0.0004) == "0.1 %"


def test_data_are_json(asked):
    data = asked("near", "ML-DSA-44").data()
    text = json.dumps(data, allow_nan=False)
    assert json.loads(text)["calibrated"] is False
    assert set(data["capacity_share"]) == {"inline", "registered"}
    assert {row["key_mode"] for row in data["figures"]} == {"inline", "registered"}
    assert data["bibtex"].startswith("@misc{pqchain")
