"""Sentences and pages of a study."""

import re

import pytest

from pqchain.errors import UsageError
from pqchain.study import analyse, load, model, write
from pqchain.study.page import markup
from pqchain.study.text import (
    conclusions,
    figures_table,
    fit,
    inputs_table,
    sources_table,
    status,
    warnings,
)
from pqchain.study.validation import calibrate
from tests.study import plans
from tests.study.plans import plan, text


@pytest.fixture(scope="module")
def found():
    one = plan(title="A <small> chain")
    return plans.found(one, draws=3)


@pytest.fixture(scope="module")
def analysis(found):
    return analyse(found)


@pytest.fixture(scope="module")
def written(analysis):
    return markup(analysis)


def test_page_has_every_figure_and_loads_nothing_external(written):
    assert "A &lt;small&gt; chain" in written
    for algorithm in ("ECDSA-secp256k1", "Falcon-512", "ML-DSA-44"):
        assert algorithm in written
    sections = ["calibration", "limits", "figures", "load", "sensitivity", "inputs"]
    assert all(f'id="{section}"' in written for section in sections)
    used = re.findall(r' id="([^"]+)"', written)
    assert len(used) == len(set(used))
    assert written.count("<svg") == 3
    assert not re.search(r"""(src|href)=["']?https?:""", written)
    assert "<script" not in written
    for label in ("registry", "measured", "modelled"):
        assert f'class="label {label}"' in written


def test_terminal_and_page_share_tables(found):
    table = figures_table(found)
    row = {record["figure"]: record for record in table.records()}["signature_bytes"]
    assert row["kind"] == ["registry", "measured"]
    assert row["Falcon-512"] == found.values["Falcon-512"]["signature_bytes"]
    assert "Length of a signature, the mean if it varies" in table.html()
    assert "signature_bytes" in table.text() and "signature_bytes" not in table.html()
    inputs = {record["input"]: record for record in inputs_table(found.plan).records()}
    assert inputs["target load"] == {
        "input": "target load", "value": "2", "unit": "tx/s", "source": "set for this study",
    }  # fmt: skip
    sources = {record["figure"]: record for record in sources_table(found).records()}
    assert sources["coded_factor"]["source"].startswith("arithmetic of pqchain.study")


def test_page_opens_with_the_main_figures_and_folds_wide_tables(found, written):
    head = written[: written.index('id="calibration"')]
    assert all(name in head for name in ("capacity, relative to today", *found.figures))
    for words in ("All figures", "All inputs", "Sources of all figures"):
        assert re.search(rf"<details><summary>{words} \(\d+ rows\)</summary>", written)
    # A mark states the kind; its word is for screen readers.
    mark = r'class="label modelled mark" title="[^"]+"><span class="unseen">modelled<'
    assert re.search(mark, written)


def test_page_is_written_atomically_without_evaluation(tmp_path, analysis, monkeypatch):
    monkeypatch.setattr(model.SchemeModel, "_compute", lambda *given: pytest.fail("evaluated"))
    place = write(analysis, tmp_path / "a.html")
    assert place.read_text(encoding="utf-8").endswith("</html>\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]
    assert write(analysis, place) == place  # a page of pqchain may be replaced, another file not
    place.write_text("<html>about pqchain</html>")
    with pytest.raises(UsageError, match=r"a\.html was not written by pqchain"):
        write(analysis, place)


def test_unwritable_path_is_rejected(tmp_path, analysis):
    (tmp_path / "b.html").mkdir()
    for place, told in (
        ("none/a.html", "does not exist"), ("a.txt", "must end in .html"),
        ("b.html", "must be a file"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=told):
            write(analysis, tmp_path / place)
    assert [path.name for path in tmp_path.iterdir()] == ["b.html"]


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
        "in each transaction (ML-DSA-44); --set key_mode=registered: with the key in "
        "the account."
    )


def test_study_and_page_start_with_the_date_of_their_sources():
    one = load("solana-v0").with_(nodes=16, delegates=16, algorithms=("Falcon-512",))
    found = plans.found(one)
    dated = status(one)
    assert dated == "Sources read on 2026-11-23; rules in force until 2026-08-20."
    assert dated in text(found) and dated in markup(analyse(found))
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
    assert parts[0].endswith("-3 to +3\N{NARROW NO-BREAK SPACE}% (18 observations, 2026-11-26)")
    assert "(7 observations, " in parts[1] and parts[2].endswith(" (2024).")
    assert "_" not in told
