"""`pqchain algorithms`, `doctor` and `falcon`."""

from unittest.mock import Mock

import pytest

from pqchain.crypto import diagnosis
from pqchain.errors import DataError
from pqchain.works import papers


def test_json_output_equals_the_registry(run):
    records = {
        record["name"]: record for record in run("algorithms --json --all --kind signature").data
    }
    falcon = records["Falcon-512"]
    assert (falcon["public_key_bytes"], falcon["signature_max_bytes"]) == (897, 752)
    assert falcon["security_source"]
    assert "Falcon 512" in falcon["aliases"]
    assert records["ML-DSA-44"]["avx2_corrected"]
    assert "OV-Is" in records
    assert "Kyber512" not in records


def test_attacks_and_versions_are_shown(run):
    captured = run("algorithms --family MAYO")
    assert "candidate, broken (set of round 2)" in captured.out
    assert captured.err.count("MAYO-2 (round 2): broken. ") == 1
    assert "MAYO-1 (round 2): warning. " in captured.err
    records = {record["name"]: record for record in run("algorithms --family MAYO --json").data}
    assert "ePrint 2025/1143" in records["MAYO-2"]["broken"]
    assert records["MAYO-2"]["title"] == "MAYO-2 (round 2)"
    assert records["MAYO-3"]["broken"] == records["MAYO-3"]["warning"] == ""
    assert records["MAYO-3"]["checked"] == "2026-11-23"


def test_implementations_show_their_availability(run):
    records = run("algorithms --implementations --json").data
    assert all(record["available"] == (record["reason"] == "") for record in records)
    assert "liboqs-0.13/ref" in run("algorithms --implementations").out


def test_unreadable_data_is_broken(monkeypatch, run):
    monkeypatch.setattr(papers, "published", Mock(side_effect=DataError("no folder")))
    monkeypatch.setattr(diagnosis, "examine", list)
    assert "published tables  broken" in run("doctor", 1).out


def test_doctor_exits_1_only_if_an_essential_part_is_broken(monkeypatch, run):
    optional = diagnosis.Diagnosis("Group", "pynq", "missing", "absent", disables="boards")
    broken = diagnosis.Diagnosis("Group", "library", "broken", "bad", disables="x", fix="make")
    monkeypatch.setattr(diagnosis, "examine", lambda: [optional])
    assert "Optional parts: 0 broken, 1 missing." in run("doctor").out
    monkeypatch.setattr(diagnosis, "examine", lambda: [optional, broken])
    shown = run("doctor", 1).out
    assert "library" in shown
    assert "Essential parts: 0 broken, 0 missing." in shown
    assert "Optional parts: 1 broken, 1 missing." in shown
    assert "make" in shown
    assert run("doctor --json", 1).data["healthy"] is False


@pytest.mark.native
def test_profile_is_shown(run) -> None:
    steps = run("falcon profile --degree 1024 --json").data["steps"]
    assert {row["where"] for row in steps} == {"software", "engine"}
    assert "SamplerZ" in run("falcon profile").out


@pytest.mark.native
def test_doctor_tries_every_backend(run) -> None:
    rows = run("falcon doctor --json").data["backends"]
    assert [row["backend"] for row in rows] == [
        "reference", "kernel", "simboard", "overlay", "serial",
    ]  # fmt: skip
    assert all(row["works"] or row["reason"] for row in rows)
    assert "kernel     True" in run("falcon doctor").out
