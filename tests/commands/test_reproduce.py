"""`pqchain reproduce`: the printed counts and path, JSON and exit codes."""

import pytest

from pqchain import bench
from pqchain.reproduce import notebooks
from pqchain.works.quic_reencoding import replays
from tests.reproduce.fakes import fake_measure, fake_replays, no_pages
from tests.works import studies


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure, replay and execute nothing."""
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(replays, "reproduce", fake_replays)
    monkeypatch.setattr(notebooks, "write_pages", no_pages)
    studies.small(monkeypatch)


def test_reproduce_writes_the_index_and_prints_its_path(tmp_path, run):
    output = tmp_path / "results"
    captured = run(["reproduce", "--output", str(output), "--only", "falcon-hls"])
    assert captured.out.strip() == str(output / "index.html")
    assert "by the paper's numbers" in captured.err
    assert (output / "index.html").is_file()


def test_json_has_the_frames_of_the_work(tmp_path, run):
    output = str(tmp_path / "results")
    shown = run(["reproduce", "--output", output, "--only", "pqdpol", "--json"]).data
    computed = shown["frames"]["pqdpol"]
    cells = [*computed["table5-6"], *computed["table5-6-here"]]
    assert len(cells) == 60
    assert {cell["costs"] for cell in cells} == {"paper:pqdpol", "measured:test-machine-00000000"}


def test_reproduce_fails_on_a_failed_computation_only(tmp_path, monkeypatch, run):
    def fail(measured):
        measured.loc[0, "status"] = "failed"

    monkeypatch.setattr(bench, "measure", fake_measure(fail))
    shown = run(["reproduce", "--output", str(tmp_path), "--only", "pqdpol", "--json"], 1).data
    assert shown["ok"] is False and len(shown["failures"]) == 1
    (work,) = shown["works"]
    assert work["work"] == "pqdpol" and work["by the paper's numbers hold"] > 0


def test_uncreatable_folder_is_a_usage_error(tmp_path, monkeypatch, run):
    occupied = tmp_path / "file"
    occupied.touch()
    monkeypatch.setattr(bench, "measure", lambda *given, **named: pytest.fail("measured"))
    assert "cannot be written" in run(["reproduce", "--output", str(occupied / "below")], 2).err
