"""A reproduction: chosen works, failures and replaced files."""

import math
import re

import pandas as pd
import pytest

from pqchain import bench, plots, report
from pqchain.errors import UnknownPaper, UsageError
from pqchain.render import html
from pqchain.report import figures, folder
from pqchain.results import outputs
from pqchain.works import papers
from pqchain.works.pqdpol.work import PqDpol
from pqchain.works.work import Work
from tests import frames
from tests.report.fakes import blank_figure, fake_measure, pages_of


def test_busy_machine_is_reported_before_any_number(tmp_path, monkeypatch):
    def busy(measured: pd.DataFrame) -> None:
        measured.attrs["provenance"] |= {"load_average": 7.5, "cpu_count": 2}

    monkeypatch.setattr(bench, "measure", fake_measure(busy))
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    for text in pages_of(report.reproduce(tmp_path / "results", only="falcon-hls")).values():
        main = text[text.index("<main>") :]
        before = main[: main.index("The machine was busy: a load of 7.5 on 2 processors")]
        assert not re.search(r"\d", re.sub(r"<[^>]*>", "", before))


def test_every_page_states_how_noisy_its_times_are(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    pages = pages_of(report.reproduce(tmp_path / "results", only="falcon-hls"))
    for name in ("index.html", "falcon-hls.html"):
        assert "preset quick, median/min of verifications 1.05" in pages[name]


def test_unsupported_rows_are_kept_with_the_reason(tmp_path, monkeypatch):
    def without_ntru(measured: pd.DataFrame) -> None:
        lacking = measured["algorithm"] == "NTRU-HPS-2048-509"
        measured.loc[lacking, "status"] = "unsupported"
        measured.loc[lacking, "reason"] = "no library holds NTRU"

    monkeypatch.setattr(bench, "measure", fake_measure(without_ntru))
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    done = report.reproduce(tmp_path / "results", only="round3")
    assert "no library holds NTRU" in pages_of(done)["round3.html"]


def test_only_chosen_works_are_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "write", lambda done: done.index)
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(PqDpol, "compute", lambda *given: pytest.fail("modelled"))
    assert set(report.reproduce(tmp_path / "results", only="round3").frames) == {"round3"}


def test_failed_computation_and_a_wrong_size_are_failures(tmp_path, monkeypatch):
    def fail(measured: pd.DataFrame) -> None:
        measured.loc[0, ["status", "reason"]] = "failed", "a valid signature did not verify"
        measured.loc[0, [name for name in measured if name.endswith("_seconds")]] = math.nan

    monkeypatch.setattr(bench, "measure", fake_measure(fail))
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    wrong = papers.published("pqdpol").replace({"value": {897.0: 898.0}})
    monkeypatch.setattr(Work, "published", wrong)
    reproduction = report.reproduce(tmp_path / "results", only="pqdpol")
    assert reproduction.keys == ("pqdpol",)
    assert reproduction.failures == [
        "pqdpol, table2: public_key_bytes of Falcon-512 is printed as 898 but is 897",
        "generate_keypair of Dilithium2 in liboqs-0.13/avx2 failed: a valid signature did not "
        "verify",
    ]
    written = reproduction.index.read_text(encoding="utf-8")
    assert "2 checks failed" in written
    assert 'class="verdict bad"' in written


def test_slow_machine_is_not_a_failure(tmp_path, monkeypatch):
    def slow(measured: pd.DataFrame) -> None:
        for name in measured.columns[measured.columns.str.endswith("_seconds")]:
            measured[name] *= 1000

    monkeypatch.setattr(bench, "measure", fake_measure(slow))
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    assert report.reproduce(tmp_path / "results", only="pqdpol").failures == []


def test_report_without_native_code_shows_published_numbers(tmp_path, monkeypatch):
    def without_libraries(measured: pd.DataFrame) -> None:
        measured["status"], measured["reason"] = "unsupported", "not installed"
        for name in measured.columns[measured.columns.str.endswith("_seconds")]:
            measured[name] = math.nan

    monkeypatch.setattr(bench, "measure", fake_measure(without_libraries))
    monkeypatch.setattr(plots, "figure_bytes", blank_figure)
    reproduction = report.reproduce(tmp_path / "results", only=["round3", "pqdpol"])
    assert reproduction.keys == ("pqdpol", "round3")
    assert reproduction.failures == []
    modelled = ["latency", "networks", "throughput", "winners"]
    assert sorted(path.name for path in (reproduction.output / "figures").iterdir()) == [
        *(f"pqdpol-{name}.{kind}" for name in modelled for kind in ("png", "svg")),
        "round3-sizes.png",
        "round3-sizes.svg",
        "sizes.png",
        "sizes.svg",
    ]
    assert "11.444" in pages_of(reproduction)["pqdpol.html"]


def test_write_failure_keeps_the_old_report(tmp_path, monkeypatch):
    output = tmp_path / "results"
    with outputs.staged(output) as building:
        (building / "index.html").write_text("old")
    (output / "mine.txt").write_text("mine")
    manifest = (output / outputs.MANIFEST).read_text()
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(plots, "figure_bytes", blank_figure)
    monkeypatch.setattr(html, "document", lambda *parts, **more: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        report.reproduce(output, only="falcon-hls")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results"]
    assert {path.name: path.read_text() for path in output.iterdir()} == {
        "index.html": "old",
        "mine.txt": "mine",
        outputs.MANIFEST: manifest,
    }


def test_only_files_of_an_earlier_run_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    output = tmp_path / "results"
    report.reproduce(output, only=["round3", "falcon-hls"])
    assert (output / "round3" / "sizes.csv").is_file()
    (output / "mine.csv").write_text("mine")
    (output / "round3" / "mine.csv").write_text("mine")
    report.reproduce(output, only="falcon-hls")
    left = {path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file()}
    now = {file.as_posix() for file in outputs.manifest_files(output)}
    assert left == now | {outputs.MANIFEST, "mine.csv", "round3/mine.csv"}
    assert not any(name.startswith("round3") for name in now)


def test_foreign_folder_is_rejected_before_measuring(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "measure", lambda *given, **named: pytest.fail("measured"))
    (tmp_path / "index.html").write_text("mine")
    for place in (tmp_path, "/", "/etc"):
        with pytest.raises(UsageError, match=r"must be new, empty or written by pqchain"):
            report.reproduce(place, only="falcon-hls")
    assert (tmp_path / "index.html").read_text() == "mine"


def test_invalid_arguments_are_rejected_before_measuring(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "measure", lambda *given, **named: pytest.fail("measured"))
    with pytest.raises(UnknownPaper, match="pqdpol"):
        report.reproduce(tmp_path, only="pqdpool")
    with pytest.raises(UsageError, match="only must name at least one"):
        report.reproduce(tmp_path, only=[])
    occupied = tmp_path / "file"
    occupied.touch()
    with pytest.raises(UsageError, match="is a file"):
        report.reproduce(occupied)


def test_blocks_are_measured_only_for_works_with_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "write", lambda done: done.index)
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(bench, "measure_blocks", None)
    reproduction = report.reproduce(tmp_path / "results", only="pqdpol")
    assert set(reproduction.frames) == {"pqdpol"}


def test_failed_block_is_a_failure(tmp_path, monkeypatch):
    def failing(names, **options):
        measured = frames.blocks(names)
        measured.loc[measured["algorithm"] == "ML-DSA-65", ["status", "reason"]] = "failed", "why"
        return measured

    monkeypatch.setattr(folder, "write", lambda done: done.index)
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(bench, "measure_blocks", failing)
    reproduction = report.reproduce(tmp_path / "results", only="mini-blockchain")
    assert reproduction.failures == ["mini-blockchain, blocks: ML-DSA-65 failed: why"]
