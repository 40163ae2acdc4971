"""`pqchain algorithms`: the registry as a table and as JSON."""

from __future__ import annotations

import json

import pytest

from pqchain.commands.main import main


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
