"""`pqchain algorithms` and `doctor`."""

from __future__ import annotations

import dataclasses
import json

import pytest

from pqchain.bench import noise
from pqchain.commands.main import main
from pqchain.crypto import diagnosis
from pqchain.errors import DataError
from pqchain.works import papers


def test_json_output_equals_the_registry(capsys):
    assert main(["algorithms", "--json", "--all", "--kind", "signature"]) == 0
    records = {record["name"]: record for record in json.loads(capsys.readouterr().out)}
    falcon = records["Falcon-512"]
    assert (falcon["public_key_bytes"], falcon["signature_max_bytes"]) == (897, 752)
    assert falcon["security_source"]
    assert "Falcon 512" in falcon["aliases"]
    assert records["ML-DSA-44"]["avx2_corrected"]
    assert "OV-Is" in records
    assert "Kyber512" not in records


def test_attacks_and_versions_are_shown(capsys):
    assert main(["algorithms", "--family", "MAYO"]) == 0
    captured = capsys.readouterr()
    assert "candidate, broken (set of round 2)" in captured.out
    assert captured.err.count("MAYO-2 (round 2): broken. ") == 1
    assert "MAYO-1 (round 2): warning. " in captured.err
    assert main(["algorithms", "--family", "MAYO", "--json"]) == 0
    records = {record["name"]: record for record in json.loads(capsys.readouterr().out)}
    assert "ePrint 2025/1143" in records["MAYO-2"]["broken"]
    assert records["MAYO-2"]["title"] == "MAYO-2 (round 2)"
    assert records["MAYO-3"]["broken"] == records["MAYO-3"]["warning"] == ""
    assert records["MAYO-3"]["checked"] == "2026-11-23"


def test_implementations_show_their_availability(capsys):
    assert main(["algorithms", "--implementations", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert all(record["available"] == (record["reason"] == "") for record in records)
    assert main(["algorithms", "--implementations"]) == 0
    assert "liboqs-0.13/ref" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["algorithms", "--family", "Falcn"], "did you mean 'Falcon'"),
        (["algorithms", "--implementations", "--kind", "kem"], "cannot be combined with --kind"),
    ],
)
def test_invalid_selections_are_rejected(arguments, message, refused):
    refused(arguments, message)


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
