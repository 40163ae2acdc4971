"""Statements: each has a quote, and the quote is in the source text."""

from pathlib import Path

import pytest

from pqchain.errors import DataError
from pqchain.installation import read_toml
from pqchain.works import paper, registry
from tests.works.sources import SEEDS, WHY, text_of

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
