"""Tables and sentences of notebooks have units, sources and computed values."""

import pandas as pd
import pytest

import pqchain as pq
from pqchain.errors import UsageError
from pqchain.figures import NARROW_SPACE
from pqchain.render.table import Column, Table


def plain(output):
    return str(output).replace(NARROW_SPACE, " ")


def test_a_table_has_units_and_its_machine():
    frame = pd.DataFrame({"algorithm": ["A", "B"], "verify_seconds": [2.5e-5, float("nan")]})
    frame.attrs["provenance"] = {
        "cpu_model": "a processor", "preset": "quick", "load_average": 0.25, "cpu_count": 2
    }  # fmt: skip
    lines = plain(pq.show(frame, caption="Times")).splitlines()
    assert lines[0] == "Times"
    assert lines[1].split() == ["algorithm", "verify"]
    assert lines[3].split() == ["A", "25.0", "µs"]
    assert lines[4].split() == ["B", "–"]
    assert lines[5] == "measured on a processor, preset quick, load 0.2 on 2 processors"
    page = pq.show(frame).data["text/html"]
    assert "25.0" in page
    assert "a processor" in page


def test_columns_are_chosen_and_indices_kept():
    frame = pd.DataFrame({"a": ["x"], "b": [1], "c": [None]}).set_index("a")
    assert plain(pq.show(frame)).splitlines()[0].split() == ["a", "b", "c"]
    assert plain(pq.show(frame, ["b", "a"])).splitlines()[2].split() == ["1", "x"]
    with pytest.raises(UsageError, match="no column 'd'; its columns are a, b, c"):
        pq.show(frame, ["d"])


def test_headings_of_a_pivot_are_grouped_with_their_unit():
    frame = pd.DataFrame(
        {"a": ["x", "x"], "operation": ["sign", "verify"], "median_seconds": [1e-3, 2e-6]}
    )
    wide = frame.pivot(index="a", columns="operation", values=["median_seconds"])
    lines = plain(pq.show(wide)).splitlines()
    assert lines[0].split() == ["median"]
    assert lines[1].split() == ["a", "sign", "verify"]
    assert lines[3].split() == ["x", "1.00", "ms", "2.00", "µs"]


def test_text_of_a_cell_is_escaped():
    assert "<b>" not in pq.show(pd.DataFrame({"a": ["<b>"]})).data["text/html"]


def test_units_of_a_sentence_follow_from_names():
    said = pq.sentence("{a} signs in {sign_seconds}, {of_share} of {b}.",
                       a="A", b="B", sign_seconds=2.4e-4, of_share=0.25)  # fmt: skip
    assert plain(said) == "A signs in 240 µs, 25.0 % of B."
    data, metadata = said._repr_mimebundle_()
    assert data["text/markdown"] == str(said)
    assert metadata["sentence"]["values"]["a"] == "A"


def test_fields_and_values_of_a_sentence_must_match():
    with pytest.raises(UsageError, match="differ in b"):
        pq.sentence("{a}", a="x", b="y")
    with pytest.raises(UsageError, match="differ in a"):
        pq.sentence("{a}")
    for wrong in (float("nan"), None, True):
        with pytest.raises(UsageError, match="expected text or a finite number"):
            pq.sentence("{a}", a=wrong)


def test_a_table_of_pqchain_is_shown_as_it_is():
    table = Table(columns=[Column("figure"), Column("a", numeric=True)], rows=[["x", 1]])
    shown = pq.show(table)
    assert shown.text == table.text(100) and "<table" in shown.data["text/html"]


def test_facts_of_a_sentence_have_formats_and_may_be_missing():
    facts = {"share": 3.701, "other": "x", "sign_seconds": 2.4e-4}
    said = pq.sentence("{share:.1f} % in {sign_seconds}", facts)
    assert plain(said) == "3.7 % in 240 µs"
    about = said.metadata["sentence"]
    assert about["template"].format(**about["values"]) == str(said)
    assert plain(pq.sentence("{share:g} {gone}", facts)) == "Not computed in this run: gone."
