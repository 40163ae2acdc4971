"""`pqchain reproduce`: the page, the printed tables and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pqchain import bench, plots, report
from pqchain.commands.main import main
from pqchain.report import figures
from pqchain.works.quic_reencoding import replays
from tests.report.fakes import blank_figure, fake_measure, fake_replays
from tests.works import studies


@pytest.fixture(autouse=True)
def blank_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw nothing; figures are tested with the plots and the report."""
    monkeypatch.setattr(plots, "figure_bytes", blank_figure)


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let later commands of a test print its first reproduction."""
    monkeypatch.setattr(report, "reproduce", _kept(report.reproduce))


def _kept(reproduce: Callable[..., report.Reproduction]) -> Callable[..., report.Reproduction]:
    made: list[report.Reproduction] = []

    def keep(*arguments: Any, **options: Any) -> report.Reproduction:
        if not made:
            made.append(reproduce(*arguments, **options))
        return made[0]

    return keep


def test_reproduce_writes_the_page_and_prints_its_path(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "measure", fake_measure())
    output = tmp_path / "results"
    assert main(["reproduce", "--output", str(output), "--only", "falcon-hls"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("Table 3 and other figures for it")
    assert captured.out.splitlines()[-1] == str(output / "index.html")
    assert "holds" in captured.err
    assert (output / "index.html").is_file()


def test_reproduce_prints_tables_5_and_6_of_pqdpol(tmp_path, once, monkeypatch, capsys):
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    studies.small(monkeypatch)
    output = tmp_path / "results"
    assert main(["reproduce", "--output", str(output), "--only", "pqdpol"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Table 5, transactions per second: as printed (! is a misprint")
    assert "\nTable 6, latency: as printed (! is a misprint" in shown
    assert shown.splitlines()[-1] == str(output / "index.html")
    assert main(["reproduce", "--output", str(output), "--only", "pqdpol", "--json"]) == 0
    computed = json.loads(capsys.readouterr().out)["frames"]["pqdpol"]
    cells = [*computed["table5-6"], *computed["table5-6-here"]]
    assert len(cells) == 60
    assert {cell["costs"] for cell in cells} == {"paper:pqdpol", "measured:test-machine-00000000"}


def test_reproduce_prints_table_1_of_round3(tmp_path, once, monkeypatch, capsys):
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    output = tmp_path / "results"
    assert main(["reproduce", "--output", str(output), "--only", "round3"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Table 1 in its own layout, KEM half")
    assert "\nTable 1 in its own layout, signature half" in shown
    assert shown.splitlines()[-1] == str(output / "index.html")
    assert main(["reproduce", "--output", str(output), "--only", "round3", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["frames"]["round3"]["table1"]
    assert len({(cell["printed_name"], cell["variant"]) for cell in cells}) == 14
    times = [cell for cell in cells if cell["quantity"].endswith("_seconds")]
    assert {cell["verdict"] for cell in times} == {"ok"}
    assert main(["reproduce", "--output", str(output)]) == 0, "all works: tables are on the page"
    assert capsys.readouterr().out.strip() == str(output / "index.html")


def test_reproduce_prints_the_replays_of_the_re_encoding(tmp_path, once, monkeypatch, capsys):
    monkeypatch.setattr(bench, "measure", fake_measure())
    monkeypatch.setattr(replays, "reproduce", fake_replays)
    arguments = ["reproduce", "--output", str(tmp_path), "--only", "quic-reencoding"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Table 1, printed and replayed")
    assert shown.splitlines()[-1] == str(tmp_path / "index.html")
    names = ("table1", "figure1", "contrast", "libraries", "impaired", "transports", "runs")
    assert all((tmp_path / "quic-reencoding" / f"{name}.csv").is_file() for name in names)
    page = (tmp_path / "quic-reencoding.html").read_text(encoding="utf-8")
    assert "Where the time goes" in page
    assert 'id="figure-quic-reencoding-phases"' in page
    assert main([*arguments, "--json"]) == 0
    computed = json.loads(capsys.readouterr().out)["frames"]["quic-reencoding"]
    assert set(computed) == set(names)


def test_reproduce_fails_on_a_failed_computation_only(tmp_path, monkeypatch, capsys):
    def fail(measured):
        measured.loc[0, "status"] = "failed"

    studies.small(monkeypatch)
    monkeypatch.setattr(bench, "measure", fake_measure(fail))
    monkeypatch.setattr(figures, "draw", lambda reproduction: {})
    arguments = ["reproduce", "--output", str(tmp_path), "--only", "pqdpol", "--json"]
    assert main(arguments) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["ok"] is False
    assert len(shown["failures"]) == 1
    assert shown["operations_timed"]["failed"] == 1
    assert shown["claims_checked_with_the_papers_numbers"]["holds"] > 0


def test_uncreatable_folder_is_a_usage_error(tmp_path, monkeypatch, capsys):
    occupied = tmp_path / "file"
    occupied.touch()
    monkeypatch.setattr(bench, "measure", lambda *given, **named: pytest.fail("measured"))
    assert main(["reproduce", "--output", str(occupied / "below")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_unknown_work_is_rejected(refused):
    refused(["reproduce", "--only", "nobody"], "unknown paper 'nobody'")
