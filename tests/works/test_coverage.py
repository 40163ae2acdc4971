"""Coverage: every printed number has an entry, and every number of the texts is printed data."""

import csv
from pathlib import Path

import pandas as pd
import pytest

from pqchain.errors import DataError, UnknownName
from pqchain.installation import read_toml
from pqchain.works import coverage, papers, registry
from pqchain.works.coverage import COVERAGE, KINDS
from pqchain.works.work import Bench, Work
from tests import frames
from tests.works.expectations import EXPECTED, KEYS
from tests.works.sixth.test_sixth import FOLDER
from tests.works.sources import SEEDS, WHY, numbers, text_of

WORKS = pytest.mark.parametrize("work", registry.works(), ids=lambda work: work.key)


@WORKS
def test_every_printed_number_has_an_entry(work):
    frame = coverage.coverage(work, frames=work.compute(Bench()))
    printed = papers.published(work.paper)
    for column in ("paper", "table", "printed_name", "implementation", "quantity", "unit"):
        assert frame[column].tolist() == printed[column].tolist()
    assert frame["printed"].tolist() == printed["value"].tolist()
    assert set(frame["kind"]) <= set(KINDS)
    without = frame["kind"] == "none"
    assert frame.loc[without, "ours"].isna().all()
    assert (frame.loc[frame["ours"].isna(), "reason"] != "").all()
    assert dict(coverage.counts(frame)) == EXPECTED[work.key]["coverage"]


@WORKS
def test_facts_need_no_run_and_sizes_are_those_of_the_registry(work):
    frame = coverage.coverage(work, frames=work.compute(Bench()))
    facts = frame[frame["kind"] == "registry"]
    assert facts["ours"].notna().all()
    keys = facts[facts["quantity"].str.endswith("_key_bytes")]
    assert ((keys["ours"] - keys["printed"]).abs() <= 16).all()


@WORKS
def test_every_rule_fits_a_printed_number(work):
    cells = papers.cells(work.paper)
    rules = coverage.rules(work)
    first = {next(index for index, rule in enumerate(rules) if rule.fits(cell)) for cell in cells}
    assert first == set(range(len(rules)))


def test_measurements_fill_in_times_cycles_ratios_and_counts():
    measurements = frames.measurements()
    frame = coverage.coverage(registry.get("round3"), measurements).set_index(
        ["table", "printed_name", "implementation", "quantity"]
    )["ours"]
    assert frame["table1-kem", "Kyber", "avx2", "encapsulate_seconds"] > 0
    assert frame["table1-kem", "Kyber", "avx2", "encapsulate_cycles"] > 0
    ratios = frame.xs("ratio", level="quantity").droplevel(["table", "implementation"])
    assert ratios["McEliece public key / NTRU public key"] == pytest.approx(373.6, abs=0.1)
    quotient = frame["table1-signature", "Falcon", "avx2", "generate_keypair_seconds"]
    quotient /= frame["table1-signature", "Dilithium", "avx2", "generate_keypair_seconds"]
    found = ratios["Falcon key generation / Dilithium key generation, AVX2"]
    assert found == pytest.approx(quotient)
    mini = coverage.coverage(registry.get("mini-blockchain"), measurements)
    counts = mini.set_index("quantity")["ours"]
    assert counts["generate_keypair_iterations"] >= 1


def test_the_table_of_phases_stands_beside_the_replays():
    frame = coverage.coverage(registry.get("quic-reencoding"), frames=frames.replays())
    ours = frame[frame["table"] == "table1"].set_index(["printed_name", "quantity"])["ours"]
    assert ours.notna().all()
    assert ours["총 소요 시간", "share_percent"] == 100
    shares = [value for (name, what), value in ours.items() if what == "share_percent"]
    assert sum(shares) == pytest.approx(200)


def test_planted_a_number_without_an_entry_is_refused(tmp_path):
    for file in FOLDER.iterdir():
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "coverage.toml").write_text('[[rules]]\nrows = ["Kyber"]\nkind = "measured"\n')
    with pytest.raises(DataError, match="nothing says what ours is of Falcon, verify_seconds"):
        coverage.coverage(Work(tmp_path))


@pytest.mark.parametrize(
    ("text", "error", "problem"),
    [
        ('kind = "guessed"', UnknownName, "kind of number"),
        ('kind = "none"', DataError, "a reason is wanted where ours is none"),
        ('kind = "measured"\nnone = "no clock"', DataError, "a reason is wanted"),
        ('kind = "measured"\ntable = "t"', DataError, "unknown field"),
    ],
)
def test_a_wrong_rule_is_refused(tmp_path, text, error, problem):
    for file in FOLDER.iterdir():
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "coverage.toml").write_text(f"[[rules]]\n{text}\n")
    with pytest.raises(error, match=problem):
        coverage.rules(Work(tmp_path))


def test_the_frame_keeps_its_contract():
    frame = coverage.coverage(Work(FOLDER), frames.measurements())
    assert list(frame.columns) == list(COVERAGE.columns)
    assert not pd.isna(frame["ours"].iloc[0])


PHRASES = {
    "registry": "are sizes of the registry", "measured": "are measured",
    "run": "come from a run of the whole system", "replayed": "from a replay",
    "synthesised": "from a synthesis", "modelled": "from a model",
    "fitted": "from a law fitted to the paper", "cited": "have a cited figure", "none": "nothing",
}  # fmt: skip
"""How docs/works.md speaks of each kind."""


def test_the_page_of_works_quotes_the_counts():
    frames = [coverage.coverage(work, frames=work.compute(Bench())) for work in registry.works()]
    whole = pd.concat(frames)
    text = (Path(__file__).resolve().parents[2] / "docs" / "works.md").read_text(encoding="utf-8")
    assert f"print {len(whole)} numbers" in text
    for kind, count in coverage.counts(whole):
        assert f" {count} {PHRASES[kind]}" in text


@pytest.mark.skipif(not SEEDS.is_dir(), reason=WHY)
@pytest.mark.parametrize("key", KEYS)
def test_every_number_of_the_text_is_data_or_no_quantity(key):
    paper = papers.paper(key)
    known = set(EXPECTED[key]["no_quantities"])
    for layout in paper.tables.values():
        with (paper.folder / layout.file).open(encoding="utf-8", newline="") as file:
            known.update(
                number for row in csv.reader(file) for text in row for number in numbers(text)
            )
    text, _ = text_of(read_toml(paper.folder / "claims.toml")["sentences"])
    assert sorted({number for number in numbers(text) if number not in known}) == []
