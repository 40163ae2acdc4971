"""The page of a study: content, labels and writing."""

import re

import pytest

from pqchain.errors import UsageError
from pqchain.study import analyse, model, write
from pqchain.study.page import markup
from pqchain.study.tables import figures_table, inputs_table, sources_table
from tests.study import plans
from tests.study.plans import plan


@pytest.fixture(scope="module")
def found():
    one = plan(migration={"Falcon-512": 0.5, "ECDSA-secp256k1": 0.5}, title="A <small> chain")
    return plans.found(one, draws=3)


@pytest.fixture(scope="module")
def analysis(found):
    return analyse(found)


@pytest.fixture(scope="module")
def written(analysis):
    return markup(analysis)


def test_page_has_every_figure_and_loads_nothing_external(written):
    assert "A &lt;small&gt; chain" in written
    for algorithm in ("ECDSA-secp256k1", "Falcon-512", "ML-DSA-44", "mix of schemes"):
        assert algorithm in written
    for identifier in (
        "calibration",
        "limits",
        "figures",
        "load",
        "sensitivity",
        "plane",
        "inputs",
    ):
        assert f'id="{identifier}"' in written
    used = re.findall(r' id="([^"]+)"', written)
    assert len(used) == len(set(used))
    assert written.count("<svg") == 4
    assert not re.search(r"""(src|href)=["']?https?:""", written)
    assert "<script" not in written
    for label in ("registry", "measured", "modelled"):
        assert f'class="label {label}"' in written


def test_terminal_and_page_share_tables(found):
    table = figures_table(found)
    row = {record["figure"]: record for record in table.records()}["signature_bytes"]
    assert row["kind"] == ["registry", "measured", "modelled"]
    assert row["Falcon-512"] == found.values["Falcon-512"]["signature_bytes"]
    assert "Length of a signature, the mean if it varies" in table.html()
    assert "signature_bytes" in table.text() and "signature_bytes" not in table.html()
    inputs = {record["input"]: record for record in inputs_table(found.plan).records()}
    assert inputs["target load"] == {
        "input": "target load", "value": "2", "unit": "tx/s", "source": "set for this study",
    }  # fmt: skip
    sources = {record["figure"]: record for record in sources_table(found).records()}
    assert sources["coded_factor"]["depends on"] == "data_chunks, parity_chunks"


def test_page_opens_with_a_card_for_each_scheme_and_folds_wide_tables(found, written):
    head = written[: written.index('id="calibration"')]
    assert head.count('class="tally"') == len(found.figures)
    assert head.count("<dt>capacity, relative to today</dt>") == len(found.figures)
    for words in ("All figures", "All inputs", "Sources of all figures", "Outcomes of all chains"):
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
