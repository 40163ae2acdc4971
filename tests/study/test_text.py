"""Sentences of a study."""

import pytest

from pqchain.study import analyse, load
from pqchain.study.page import markup
from pqchain.study.tables import outcomes_table
from pqchain.study.text import conclusions, fit, status, warnings
from pqchain.study.validation import calibrate
from tests.study import plans
from tests.study.plans import plan, text


def test_late_blocks_are_named():
    base = plan(vote_deadline_seconds=1e-3)
    text = " ".join(conclusions(plans.found(base)))
    assert "longer than the deadline of votes, 1.00" in text
    assert "Falcon-512" in text[text.index("longer than") :]
    late = plans.found(base).values["Falcon-512"]
    assert late["vote_deadline_ratio"] == pytest.approx(late["final_seconds"] / 1e-3)
    assert "deadline of votes" not in " ".join(
        conclusions(plans.found(plan(vote_deadline_seconds=1e5)))
    )


def test_schemes_without_key_recovery_are_named():
    ethereum = load("ethereum").with_(nodes=16, delegates=16, algorithms=("ML-DSA-44",))
    assert conclusions(plans.found(ethereum))[0] == (
        "Figures are with the key recovered from the signature (ECDSA-secp256k1) and with the key "
        "in each transaction (ML-DSA-44, Falcon-512); --set key_mode=registered: with the key in "
        "the account."
    )


def test_study_and_page_start_with_the_date_of_their_sources():
    one = load("solana-v0").with_(nodes=16, delegates=16, algorithms=("Falcon-512",))
    found = plans.found(one)
    dated = status(one)
    assert dated == "Sources read on 2026-11-23; rules in force until 2026-08-20."
    assert dated in text(found) and dated in markup(analysis := analyse(found))
    # Published outcomes have the date on which their source was read.
    assert "read on 2026-11-23" in outcomes_table(analysis.outcomes).text()
    assert "status unknown after that date" in text(
        plans.found(load("algorand").with_(nodes=16, delegates=16))
    )


def test_study_starts_with_attacks_on_its_schemes():
    """Each once in the whole text, although several tables name the scheme."""
    attacked = plans.found(plan(algorithms=("Falcon-512", "MAYO-2")))
    assert warnings(attacked)[0].startswith("MAYO-2 (round 2): broken. ")
    assert text(attacked).count("MAYO-2 (round 2): broken. ") == 1
    assert not any("broken" in line for line in warnings(plans.found(plan())))


def test_compared_figures_are_named_once_with_their_number_and_errors():
    plan = load("cometbft")
    told = fit(calibrate(plan, plans.ALL_COSTS))
    parts = told.removeprefix("Compared with this chain: ").split("; ")
    names = ("time to final of a block with one transaction -", "time to final -", "throughput +")
    assert [part.startswith(name) for part, name in zip(parts, names, strict=True)] == [True] * 3
    assert " % to +3 % (18 observations, Ed25519, ML-DSA-44, Falcon-padded-512," in (
        parts[0].replace("\N{NARROW NO-BREAK SPACE}", " ")
    )
    assert "(7 observations, " in parts[1] and parts[2].endswith(" (2024).")
    assert "_" not in told
