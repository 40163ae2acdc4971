"""The generated pages of docs/papers are up to date."""

from functools import cache
from pathlib import Path

import pytest

from pqchain.bench import stored, variation
from pqchain.commands import main as cli
from pqchain.report import findings
from pqchain.works import papers, registry

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "papers"


@cache
def page(key: str) -> str:
    """Write a page once for all tests."""
    return findings.page(key)


@pytest.mark.parametrize("key", papers.keys())
def test_committed_page_is_up_to_date(key):
    assert (FOLDER / f"{key}.md").read_text(encoding="utf-8") == page(key).rstrip() + "\n"


@pytest.mark.parametrize("key", papers.keys())
def test_page_states_how_noisy_its_times_are(key):
    ratio = variation.median_over_min(stored.load())
    assert f"preset paper, median/min of verifications {ratio:.2f}" in page(key)


def test_every_work_has_one_page():
    assert sorted(path.stem for path in FOLDER.glob("*.md")) == sorted(papers.keys())


@pytest.mark.parametrize("key", papers.keys())
def test_every_statement_is_listed(key):
    result = findings.judged(registry.get(key))

    assert set(result["claim_id"]) >= set(registry.get(key).claims()["claim_id"])
    assert not result.duplicated(["claim_id", "source"]).any()


def test_command_writes_a_page(capsys):
    assert cli.main(["papers", "round3", "--findings"]) == 0
    assert capsys.readouterr().out == (FOLDER / "round3.md").read_text(encoding="utf-8")
