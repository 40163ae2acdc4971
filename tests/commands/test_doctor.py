"""`pqchain doctor`: what it shows, and when an installation counts as broken."""

import dataclasses
import json

from pqchain.bench import noise
from pqchain.commands.main import main
from pqchain.crypto import diagnosis
from pqchain.errors import DataError
from pqchain.works import papers


def test_unreadable_data_is_broken(monkeypatch, capsys):
    def fail():
        raise DataError("no folder")

    monkeypatch.setattr(papers, "published", fail)
    monkeypatch.setattr(diagnosis, "examine", list)
    assert main(["doctor"]) == 1
    assert "!!  published tables" in capsys.readouterr().out


def test_doctor_exits_1_only_if_an_essential_part_is_broken(monkeypatch, capsys):
    optional = diagnosis.Diagnosis("Group", "pynq", "missing", "absent", disables="boards")
    broken = diagnosis.Diagnosis("Group", "library", "broken", "bad", disables="x", fix="make")
    monkeypatch.setattr(diagnosis, "examine", lambda: [optional])
    assert main(["doctor"]) == 0
    assert "Optional parts: 0 broken, 1 missing." in capsys.readouterr().out
    monkeypatch.setattr(diagnosis, "examine", lambda: [optional, broken])
    assert main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "!!  library" in shown
    assert "Essential parts: 0 broken, 0 missing." in shown
    assert "Optional parts: 1 broken, 1 missing." in shown
    assert "to fix:   make" in shown
    assert main(["doctor", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["healthy"] is False


def test_noise_is_shown_and_judged(monkeypatch, capsys):
    found = noise.Noise(
        seconds=61.0, runs=30, rows=9, side_runs=8, compared=135, differ=3, undecided=9,
        deviation=0.012, largest_ratio=1.28, median_over_min=1.03, detectable_ratio=1.04,
        runs_for_resolution=6,
    )  # fmt: skip
    monkeypatch.setattr(noise, "measure_noise", lambda progress: found)
    assert main(["doctor", "--noise"]) == 0
    shown = capsys.readouterr().out
    assert "2.2% of 135 rows (0.8% to 6.3%)" in shown
    assert "1.2%, at most 28.0%" in shown
    assert "4.0% with 8 runs of each side" in shown
    assert "6 of each side" in shown
    busy = dataclasses.replace(found, median_over_min=1.4, runs_for_resolution=101)
    monkeypatch.setattr(noise, "measure_noise", lambda progress: busy)
    assert main(["doctor", "--noise"]) == 1
    assert "1.40, above 1.1: times are not ranked" in (shown := capsys.readouterr().out)
    assert "more than 100 of each side" in shown
    assert main(["doctor", "--noise", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["median_over_min"], data["max_median_over_min"]) == (1.4, 1.1)
