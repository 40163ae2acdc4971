"""`pqchain bench`: measurements, output and saved files."""

from __future__ import annotations

import json

import pytest

from pqchain import results
from pqchain.bench import operations as bench
from pqchain.bench import stored
from pqchain.commands.main import main
from pqchain.results import machine
from tests import frames


def test_bench_shows_medians_and_reasons(measured, capsys):
    assert main(["bench"]) == 0
    shown = capsys.readouterr().out
    assert "310\N{NARROW NO-BREAK SPACE}µs" in shown
    assert "unsupported: no implementation of Hawk-512" in shown
    assert measured == [(None, None, None, "quick", False)]


def test_bench_takes_names_repeated_and_by_commas(measured, capsys):
    arguments = "--algorithm falcon-512,ed25519 --algorithm Kyber512 --operation sign --json"
    assert main(["bench", *arguments.split(), "--preset", "paper"]) == 0
    assert measured == [(["Falcon-512", "Ed25519", "Kyber512"], ["sign"], None, "paper", False)]
    shown = json.loads(capsys.readouterr().out)
    assert shown["provenance"]["machine_id"] == frames.PROVENANCE["machine_id"]
    assert shown["measurements"][0]["status"] == "ok"


def test_bench_saves_with_provenance(measured, tmp_path):
    output = tmp_path / "times.csv"
    assert main(["bench", "--output", str(output)]) == 0
    saved = results.load(output)
    assert saved.attrs["provenance"]["machine_id"] == frames.PROVENANCE["machine_id"]


def test_failed_operation_exits_1(monkeypatch, capsys):
    frame = frames.measurements(["Falcon-512"])
    frame.attrs["provenance"] |= {"preset": "quick"}
    frame.loc[0, "status"] = "failed"
    monkeypatch.setattr(bench, "measure", lambda *given, **named: frame)
    assert main(["bench"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "--algorithm", "Falcon512"], "Falcon-512"),
        (["bench", "--algorithm", ","], "names separated by commas"),
        (["bench", "--preset", "slow"], "must be one of quick, paper"),
        (["bench", "--algorithm", "Falcon-512", "--operation", "encapsulate"], "got encapsulate"),
        (["bench", "--output", "times.txt"], "must end in .csv"),
    ],
)
def test_usage_errors_of_bench_exit_2(arguments, message, refused):
    refused(arguments, message)


def test_warnings_come_first_and_are_in_json(measured, monkeypatch, capsys) -> None:
    monkeypatch.setitem(frames.PROVENANCE, "load_average", 7.5)
    assert main(["bench", "--algorithm", "Falcon-512"]) == 0
    assert capsys.readouterr().out.startswith("Warning: The machine was busy: a load of 7.5 on 4")
    assert main(["bench", "--algorithm", "Falcon-512", "--json"]) == 0
    assert "busy" in json.loads(capsys.readouterr().out)["warnings"][0]


def test_history_is_not_overwritten(measured, tmp_path, capsys) -> None:
    history = tmp_path / "history.csv"
    assert main(["bench", "--append", str(history)]) == 0
    before = history.read_bytes()
    capsys.readouterr()
    assert main(["bench", "--output", str(history)]) == 2
    assert "is a history; use --append" in capsys.readouterr().err
    assert history.read_bytes() == before
    plain = tmp_path / "plain.csv"
    assert main(["bench", "--output", str(plain)]) == 0
    assert main(["plot", "history", str(plain), "--output", str(tmp_path / "x.svg")]) == 2
    assert "history needs a file of `pqchain bench --append`" in capsys.readouterr().err


@pytest.fixture
def clean(monkeypatch):
    facts = frames.PROVENANCE | {"commit": "0" * 40}
    monkeypatch.setattr(machine, "provenance", lambda: facts)
    return facts


def test_submit_measures_everything_with_preset_paper(measured, clean, tmp_path, capsys):
    assert main(["bench", "--submit", str(tmp_path)]) == 1  # the replaced run has no commit
    assert measured == [(None, None, None, "paper", False)]
    assert "commit must be known" in capsys.readouterr().err
    assert not list(tmp_path.glob(f"*/{stored.FILE}"))


@pytest.mark.parametrize(
    ("options", "facts", "message"),
    [
        (["--algorithm", "Ed25519"], {}, "leave out --algorithm"),
        (["--preset", "quick"], {}, "preset must be paper; got quick"),
        ([], {"commit": "1-dirty"}, "the checkout must be clean"),
        ([], {"load_average": 9.0}, "The machine was busy"),
    ],
)
def test_submission_is_refused_before_measuring(
    measured, clean, refused, tmp_path, options, facts, message
):
    clean |= facts
    refused(["bench", "--submit", str(tmp_path / "mine"), *options], message)
    assert not measured and not (tmp_path / "mine").exists()
