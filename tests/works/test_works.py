"""Properties of every work: key, folder, tables of its text and its verdicts."""

import re
from pathlib import Path

import pandas as pd
import pytest

from pqchain.errors import DataError
from pqchain.installation import read_toml
from pqchain.works import paper, papers, registry, tables
from pqchain.works.work import CLAIMS, by_sentence
from tests.frames import computed
from tests.works.expectations import SEEDS, WHY, text_of


def test_works_are_in_report_order():
    works = registry.works()
    assert {work.key for work in works} == set(papers.keys())
    assert [work.paper.place for work in works] == list(range(1, len(works) + 1))


def test_works_do_not_import_each_other():
    folder = Path(papers.__file__).parent
    names = {path.name for path in folder.iterdir() if (path / "work.py").is_file()}
    assert len(names) >= 5
    for file in folder.glob("*/*.py"):
        text = file.read_text(encoding="utf-8")
        imported = set(re.findall(r"pqchain\.works\.(\w+)", text)) & names
        assert imported <= {file.parent.name}, file


@pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)
def test_without_clock_nothing_is_measured(work):
    frames = computed(work.key)
    assert list(work.failures(frames)) == []
    assert work.facts({}) == {}


def claims(*rows: dict[str, str]) -> pd.DataFrame:
    """Return a claims frame of rows that differ from an empty one in given columns."""
    empty = dict.fromkeys(CLAIMS.columns, "") | {"paper": "sixth", "source": "published"}
    return CLAIMS.frame({**empty, **row} for row in rows)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["does not hold", "does not hold"], "does not hold"),
        (["does not hold", "holds"], "mixed"),
        (["does not hold", "cannot be decided here"], "mixed"),
        (["does not hold", "not at our threshold"], "not at our threshold"),
        (["holds", "cannot be decided here"], "mixed"),
        (["holds", "holds"], "holds"),
        (["holds", "holds on this machine"], "holds on this machine"),
        (["holds", "property of the algorithm"], "property of the algorithm"),
        (["fitted", "cannot be decided here"], "cannot be decided here"),
    ],
)
def test_sentence_is_contradicted_only_if_every_reading_is(verdicts, expected):
    rows = [{"sentence": "s", "statement": word, "verdict": word} for word in verdicts]
    other = {"sentence": "t", "verdict": "holds"}
    assert by_sentence(claims(*rows, other)).tolist() == [expected, "holds"]


def test_claim_table_has_every_verdict_and_the_sentence_once():
    about = {"claim_id": "a", "statement": "A is fast.", "quote": "A est rapide."}
    rows = [about | {"verdict": "holds", "evidence": "1; 1; 2"}]
    rows += [about | {"verdict": "not on this machine", "source": "measured", "setting": "a PC"}]
    table = tables.claim_table(claims(*rows))
    assert [row[1].text for row in table.rows] == ["holds", "not on this machine"]
    assert [row[3] for row in table.rows] == ["1; 2", "; setting: a PC"]
    assert table.html().count("A est rapide.") == table.html().count("A is fast.") == 1


def test_refuted_reading_lists_those_that_hold():
    about = {"sentence": "s", "claim_id": "a", "statement": "A is fast.", "reading": "all"}
    rows = [about | {"verdict": "does not hold"}]
    none = tables.claim_table(claims(*rows)).remarks
    assert none[0].endswith("Readings that hold: none.")
    rows += [about | {"claim_id": "b", "reading": "one", "verdict": "holds"}]
    rows += [about | {"claim_id": "c", "reading": "c", "verdict": "holds", "source": "measured"}]
    remarks = tables.claim_table(claims(*rows)).remarks
    assert remarks[0].endswith("Readings that hold: A is fast. (one)")
    assert "Readings that hold" not in "".join(remarks[1:])


SENTENCES = """
[sentences]
one = "It is so."
"""
CLAIM = """
[[claims]]
id = "so"
section = "1"
statement = "It is."
checks = [{ kind = "open", reason = "r" }]
"""


def written(folder: Path, text: str) -> Path:
    """Write claims into a folder."""
    (folder / "claims.toml").write_text(text, encoding="utf-8")
    return folder


def test_statement_has_its_quote(tmp_path):
    (one,) = paper.read_statements(written(tmp_path, SENTENCES + CLAIM + 'sentence = "one"\n'))
    assert (one.id, one.quote, one.ours, one.is_computed) == ("so", "It is so.", False, False)


def test_derived_statement_needs_no_quote(tmp_path):
    (one,) = paper.read_statements(written(tmp_path, CLAIM + "ours = true\n"))
    assert one.ours and not one.quote


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (CLAIM, "claim 'so' must have either .* got none"),
        (SENTENCES + CLAIM + 'sentence = "one"\nours = true\n', "must have either .* got both"),
        (SENTENCES + CLAIM + 'sentence = "two"\n', "must be a key of \\[sentences\\]; got 'two'"),
        (SENTENCES + CLAIM + "ours = true\n", "must have a claim; got none for \\['one'\\]"),
        (CLAIM + "ours = true\nverdict = 1\n", r"claims\.0\.verdict Unexpected"),
    ],
)
def test_statement_without_a_source_is_rejected(tmp_path, text, problem):
    with pytest.raises(DataError, match=problem):
        paper.read_statements(written(tmp_path, text))


@pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)
def test_ids_are_unique_and_readings_differ(work):
    assert len({statement.id for statement in work.statements}) == len(work.statements)
    seen = [
        (statement.sentence, statement.statement, statement.reading)
        for statement in work.statements
    ]
    assert len(set(seen)) == len(seen)


@pytest.mark.skipif(not SEEDS.is_dir(), reason=WHY)
@pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)
def test_every_quote_is_in_the_text_of_the_work(work):
    quotes = read_toml(work.paper.folder / "claims.toml")["sentences"]
    assert text_of(quotes)[1] == []


@pytest.mark.skipif(not SEEDS.is_dir(), reason=WHY)
def test_invented_quote_is_detected():
    quotes = read_toml(registry.get("pqdpol").paper.folder / "claims.toml")["sentences"]
    assert text_of(quotes | {"new": "Falcon 이 가장 느리다."})[1] == ["new"]
