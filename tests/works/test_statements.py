"""Statements: each names the sentence that makes it, and the sentence is in the source."""

from pathlib import Path

import pytest

from pqchain.errors import DataError
from pqchain.installation import read_toml
from pqchain.works import registry, statements
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


def test_a_statement_has_its_quote(tmp_path):
    (one,) = statements.read(written(tmp_path, SENTENCES + CLAIM + 'sentence = "one"\n'))
    assert (one.id, one.quote, one.ours, one.is_computed) == ("so", "It is so.", False, False)


def test_a_statement_of_ours_needs_no_sentence(tmp_path):
    (one,) = statements.read(written(tmp_path, CLAIM + "ours = true\n"))
    assert one.ours and not one.quote


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (CLAIM, "claim 'so' must have either .* got none"),
        (SENTENCES + CLAIM + 'sentence = "one"\nours = true\n', "must have either .* got both"),
        (SENTENCES + CLAIM + 'sentence = "two"\n', "must be a key of \\[sentences\\]; got 'two'"),
        (SENTENCES + CLAIM + "ours = true\n", "must have a claim; got none of \\['one'\\]"),
        (CLAIM + "ours = true\nverdict = 1\n", "unexpected keyword argument 'verdict'"),
    ],
)
def test_planted_a_statement_that_nobody_made_is_refused(tmp_path, text, problem):
    with pytest.raises(DataError, match=problem):
        statements.read(written(tmp_path, text))


@pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)
def test_ids_are_unique_and_readings_tell_claims_of_a_sentence_apart(work):
    assert len({each.id for each in work.statements}) == len(work.statements)
    seen = [(each.sentence, each.statement, each.reading) for each in work.statements]
    assert len(set(seen)) == len(seen)


@pytest.mark.skipif(not SEEDS.is_dir(), reason=WHY)
@pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)
def test_every_quote_is_in_the_text_of_the_work(work):
    quotes = read_toml(work.paper.folder / "claims.toml")["sentences"]
    assert text_of(quotes)[1] == []


@pytest.mark.skipif(not SEEDS.is_dir(), reason=WHY)
def test_planted_a_quote_that_nobody_wrote_is_found_out():
    quotes = read_toml(registry.get("pqdpol").paper.folder / "claims.toml")["sentences"]
    assert text_of(quotes | {"new": "Falcon 이 가장 느리다."})[1] == ["new"]
