"""A reproduction: chosen works, saved frames, failures, the first page, replaced files."""

import math

import pandas as pd
import pytest

from pqchain import bench, reproduce, results
from pqchain.errors import DataError, UnknownPaper, UsageError
from pqchain.render import html
from pqchain.reproduce import Reproduction, notebooks
from pqchain.results import outputs
from pqchain.works import papers, registry
from pqchain.works.quic_reencoding import replays
from pqchain.works.verdicts import HOLDS
from pqchain.works.work import Work, split_ours
from tests import frames
from tests.render.test_html import Reader
from tests.reproduce.fakes import fake_blocks, fake_measure, fake_replays, no_pages
from tests.works import studies


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """One reproduction of all works on synthetic measurements, without pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "measure", fake_measure())
        patch.setattr(bench, "measure_blocks", fake_blocks)
        patch.setattr(replays, "reproduce", fake_replays)
        patch.setattr(notebooks, "write_pages", no_pages)
        studies.small(patch)
        return reproduce.run(tmp_path_factory.mktemp("all") / "results")


def index_of(reproduction: Reproduction) -> str:
    """Return the first page."""
    return (reproduction.output / "index.html").read_text(encoding="utf-8")


def keys(reproduction: Reproduction) -> set[str]:
    """Return the keys of the works."""
    return {result.work.key for result in reproduction.results}


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch):
    """Return a function that sets the synthetic measurements, as `change` leaves them."""
    monkeypatch.setattr(notebooks, "write_pages", no_pages)

    def set_measurements(change=None):
        monkeypatch.setattr(bench, "measure", fake_measure(change))

    set_measurements()
    return set_measurements


def test_all_works_are_computed_and_none_fails(reproduction):
    assert keys(reproduction) == set(papers.keys())
    assert reproduction.failures == []
    assert len(reproduction.printed) == len(papers.published())
    assert set(reproduction.claims["paper"]) == set(papers.keys())
    assert not len(reproduction.results[3].comparisons["comparison"])


def test_saved_results_load_as_computed(reproduction, monkeypatch):
    monkeypatch.setenv(notebooks.RESULTS_VARIABLE, str(reproduction.output))
    for computed in reproduction.results:
        loaded = reproduce.results(computed.work.key)
        assert set(loaded.frames) == set(computed.frames)
        for name, frame in computed.frames.items():
            pd.testing.assert_frame_equal(loaded.frames[name], frame, check_dtype=False)
        # Verdicts are computed again, so the files of verdicts are those of the frames.
        saved = results.load(reproduction.output / computed.work.key / "claims.csv")
        pd.testing.assert_frame_equal(loaded.claims, saved)
        assert loaded.facts == computed.facts
    provenance = results.load(reproduction.output / "round3" / "comparison.csv").attrs["provenance"]
    assert provenance["machine_id"] == frames.PROVENANCE["machine_id"]


def test_facts_count_the_verdicts(reproduction):
    facts = {result.work.key: result.facts for result in reproduction.results}
    assert (facts["pqdpol"]["sentences"], facts["pqdpol"]["contradicted"]) == (27, 0)
    assert (facts["pqdpol"]["partly"], facts["round3"]["partly"]) == (3, 8)
    assert facts["round3"]["sizes"] == facts["round3"]["sizes_equal"] + 3
    assert facts["round3"]["Kyber least_ratio"] == pytest.approx(3)
    total = sum(fact["numbers"] for fact in facts.values())
    assert total == len(reproduction.printed)


def test_results_are_computed_once_per_build_and_preset(measured, monkeypatch, tmp_path):
    monkeypatch.delenv(notebooks.RESULTS_VARIABLE, raising=False)
    monkeypatch.setenv("PQCHAIN_KEPT", str(tmp_path / "kept"))
    first = reproduce.results("falcon-hls", preset="quick")
    work = type(registry.get("falcon-hls"))
    monkeypatch.setattr(work, "compute", lambda *given: pytest.fail("computed"))
    again = reproduce.results("falcon-hls", preset="quick")
    pd.testing.assert_frame_equal(again.measurements, first.measurements)
    with pytest.raises(pytest.fail.Exception, match="computed"):
        reproduce.results("falcon-hls", preset="paper")


def test_folder_without_the_work_is_rejected(monkeypatch, tmp_path):
    monkeypatch.setenv(notebooks.RESULTS_VARIABLE, str(tmp_path))
    with pytest.raises(DataError, match="must have the results of pqdpol; it has none"):
        reproduce.results("pqdpol")


def test_index_is_well_formed_and_links_every_file(reproduction):
    reader = Reader(index_of(reproduction))
    assert len(reader.all("h1")) == 1
    for tag in ("script", "link", "img", "iframe", "object", "embed", "source"):
        assert not reader.all(tag)
    written = {
        path.relative_to(reproduction.output).as_posix()
        for path in reproduction.output.rglob("*")
        if path.is_file()
    }
    assert {tag["href"] for tag in reader.all("a")} | {"index.html"} == written
    assert {"measurements.csv", "pqdpol/sizes.csv", "pqdpol/claims.json"} <= written


def test_index_counts_the_verdicts(reproduction):
    table = notebooks.works_table(reproduction)
    rows = {
        row[0].value: dict(zip([(c.group, c.title) for c in table.columns], row, strict=True))
        for row in table.rows
    }
    claims, added = split_ours(reproduction.claims)
    ours = claims[claims["source"] != "published"]
    # Agreement in another setting, or of other code, is not counted as a confirmation.
    assert not set(ours.loc[ours["verdict"] == HOLDS, "source"]) & {"measured", "replayed", "run"}
    assert rows["falcon-hls"]["by numbers of pqchain", "property"] == 3
    # Sentences as counted by hand.
    for key, numbers in {"pqdpol": (14, 6, 7), "round3": (15, 9, 1)}.items():
        words = [rows[key]["by the paper's numbers", word] for word in ("hold", "mixed", "open")]
        assert (
            tuple(words) == numbers
            and sum(numbers) == claims.query("paper == @key")["sentence"].nunique()
        )
    assert len(added)  # and not counted
    text = index_of(reproduction)
    assert "preset quick, median/min of verifications 1.05" in text


def test_busy_machine_is_reported_before_any_verdict(tmp_path, measured):
    def busy(frame: pd.DataFrame) -> None:
        frame.attrs["provenance"] |= {"load_average": 7.5, "cpu_count": 2}

    measured(busy)
    text = index_of(reproduce.run(tmp_path / "results", only="falcon-hls"))
    assert text.index("a load of 7.5 on 2 processors") < text.index("<table")


def test_failed_computation_and_a_wrong_size_are_failures(tmp_path, measured, monkeypatch):
    def fail(frame: pd.DataFrame) -> None:
        frame.loc[0, ["status", "reason"]] = "failed", "a valid signature did not verify"
        frame.loc[0, [name for name in frame if name.endswith("_seconds")]] = math.nan

    measured(fail)
    wrong = papers.published("pqdpol").replace({"value": {897.0: 898.0}})
    monkeypatch.setattr(Work, "published", wrong)
    reproduction = reproduce.run(tmp_path / "results", only="pqdpol")
    assert reproduction.failures == [
        "pqdpol, table2: public_key_bytes of Falcon-512 is printed as 898 but is 897",
        "generate_keypair of Dilithium2 in liboqs-0.13/avx2 failed: a valid signature did not "
        "verify",
    ]
    written = index_of(reproduction)
    assert written.count("<li>Failed: ") == 2 and 'class="verdict bad"' in written


def test_without_native_code_nothing_fails(tmp_path, measured):
    def without_libraries(frame: pd.DataFrame) -> None:
        frame["status"], frame["reason"] = "unsupported", "not installed"
        for name in frame.columns[frame.columns.str.endswith("_seconds")]:
            frame[name] = math.nan

    measured(without_libraries)
    assert reproduce.run(tmp_path / "results", only=["round3", "pqdpol"]).failures == []


def test_failed_block_is_a_failure(tmp_path, measured, monkeypatch):
    def failing(names, **options):
        blocks = frames.blocks(names)
        blocks.loc[blocks["algorithm"] == "ML-DSA-65", ["status", "reason"]] = "failed", "why"
        return blocks

    monkeypatch.setattr(bench, "measure_blocks", failing)
    reproduction = reproduce.run(tmp_path / "results", only="mini-blockchain")
    assert reproduction.failures == ["mini-blockchain, blocks: ML-DSA-65 failed: why"]


def test_write_failure_keeps_the_old_results(tmp_path, measured, monkeypatch):
    output = tmp_path / "results"
    with outputs.staged(output) as building:
        (building / "index.html").write_text("old")
    (output / "mine.txt").write_text("mine")
    before = {path.name: path.read_text() for path in output.iterdir()}
    monkeypatch.setattr(html, "document", lambda *parts, **more: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        reproduce.run(output, only="falcon-hls")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results"]
    assert {path.name: path.read_text() for path in output.iterdir()} == before


def test_only_files_of_an_earlier_run_are_removed(tmp_path, measured):
    output = tmp_path / "results"
    reproduce.run(output, only=["round3", "falcon-hls"])
    assert (output / "round3" / "sizes.csv").is_file()
    (output / "round3" / "mine.csv").write_text("mine")
    reproduce.run(output, only="falcon-hls")
    left = {path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file()}
    now = {file.as_posix() for file in outputs.manifest_files(output)}
    assert left == now | {outputs.MANIFEST, "round3/mine.csv"}
    assert not any(name.startswith("round3") for name in now)


def test_invalid_arguments_are_rejected_before_measuring(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "measure", lambda *given, **named: pytest.fail("measured"))
    with pytest.raises(UnknownPaper, match="pqdpol"):
        reproduce.run(tmp_path, only="pqdpool")
    with pytest.raises(UsageError, match="only must name at least one"):
        reproduce.run(tmp_path, only=[])
    (tmp_path / "index.html").write_text("mine")
    for place in (tmp_path, "/", "/etc"):
        with pytest.raises(UsageError, match=r"must be new, empty or written by pqchain"):
            reproduce.run(place, only="falcon-hls")
    with pytest.raises(UsageError, match="is a file"):
        reproduce.run(tmp_path / "index.html")
