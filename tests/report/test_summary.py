"""The summary: its warning of a busy machine, contradictions, and counts of verdicts."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from pqchain.figures import Kind
from pqchain.report import summary as overview
from pqchain.works.work import CLAIMS


def test_busy_machine_is_reported_above_a_load_bound():
    assert "load of 3.5" in overview.busy({"load_average": 3.5, "cpu_count": 4})
    assert overview.busy({"load_average": 0.5, "cpu_count": 4}) == ""
    assert "load of 1.2" in overview.busy({"load_average": 1.2, "cpu_count": 2})
    assert overview.busy({"load_average": 1.0, "cpu_count": 2}) == ""  # the run itself
    assert overview.busy({}) == ""


def test_settings_taken_from_the_paper_are_not_counted_as_results():
    kinds = [Kind.RUN, Kind.REGISTRY, Kind.TAKEN, Kind.TAKEN, Kind.TAKEN, "none"]
    run = SimpleNamespace(works=[], sizes=(), printed=pd.DataFrame({"kind": kinds}))
    (text,) = overview._counted(run)
    assert "2 are compared" in text and "3 are settings" in text and "1 have no" in text


def claims(*rows: dict[str, str]) -> pd.DataFrame:
    """Return a claims frame of rows that differ from an empty one in given columns."""
    empty = dict.fromkeys(CLAIMS.columns, "") | {"paper": "sixth", "source": "published"}
    return CLAIMS.frame({**empty, **row} for row in rows)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        # (statement, verdict) of the readings of one sentence
        ([("a", "does not hold"), ("a", "does not hold")], (["s"], [])),
        ([("a", "does not hold"), ("a", "holds")], ([], ["s"])),
        ([("a", "does not hold"), ("b", "holds")], (["s"], [])),
        ([("a", "does not hold"), ("a", "cannot be decided here")], ([], ["s"])),
        ([("a", "holds")], ([], [])),
    ],
)
def test_sentence_is_contradicted_if_every_reading_of_a_statement_fails(verdicts, expected):
    rows = [{"sentence": "s", "statement": text, "verdict": word} for text, word in verdicts]
    assert overview.contradictions(claims(*rows)) == expected


def test_statements_of_ours_and_other_settings_are_not_counted_as_holding():
    frame = claims(
        {"claim_id": "1", "sentence": "s", "verdict": "holds"},
        {"claim_id": "2", "sentence": "s", "verdict": "holds on this clock", "source": "replayed"},
        {"claim_id": "3", "sentence": "", "verdict": "holds"},
        {"claim_id": "3", "sentence": "", "verdict": "holds", "source": "measured"},
    )
    none: Any = pd.DataFrame({"paper": [], "ratio": [], "verdict": []})
    made: Any = SimpleNamespace(keys=["sixth"], claims=frame, times=none, sizes=none)
    table = overview.works_table(made)
    (row,) = table.rows
    cells = dict(zip([(c.group, c.title) for c in table.columns], row, strict=True))
    theirs, ours = "claims checked with the paper's numbers", "with ours"
    counts = {name: cells[ours, name] for name in ("hold", "do not", "hold here", "not here")}
    assert cells[theirs, "hold"] == 1
    assert counts == {"hold": 0, "do not": 0, "hold here": 1, "not here": 0}
    assert "which no work makes, are not counted: 1." in " ".join(table.notes)
