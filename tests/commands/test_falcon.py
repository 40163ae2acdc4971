"""`pqchain falcon`: what it shows."""

from __future__ import annotations

import json

import pytest

from pqchain.commands import main as cli

pytestmark = pytest.mark.native


def test_profile_is_shown(capsys) -> None:
    assert cli.main(["falcon", "profile", "--degree", "1024", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert {row["where"] for row in steps} == {"software", "engine"}
    assert cli.main(["falcon", "profile"]) == 0
    assert "SamplerZ" in capsys.readouterr().out


def test_model_labels_every_row(capsys) -> None:
    assert cli.main(["falcon", "model", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    kinds = {"published", "cited", "estimated", "modelled"}
    assert {row["kind"] for row in data["table3"]} == kinds
    assert data["resources"]
    assert cli.main(["falcon", "model"]) == 0
    shown = capsys.readouterr()
    assert "0.0401" in shown.out.replace("\u202f", "") or "40.1" in shown.out
    assert "assumed" in shown.err


def test_doctor_tries_every_backend(capsys) -> None:
    assert cli.main(["falcon", "doctor", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["backends"]
    assert [row["backend"] for row in rows] == [
        "reference", "kernel", "simboard", "overlay", "serial",
    ]  # fmt: skip
    assert all(row["works"] or row["reason"] for row in rows)
    assert cli.main(["falcon", "doctor"]) == 0
    assert "ok  kernel" in capsys.readouterr().out


def test_rtl_figures_are_shown(capsys) -> None:
    assert cli.main(["falcon", "rtl", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    totals = [row for row in data["cycles"] if row["phase"] == "total"]
    signed = {(row["configuration"], row["degree"]) for row in totals}
    assert signed >= {("compact", 512), ("compact", 1024), ("fast", 512), ("fast, new key", 512)}
    assert all(row["known_answers"] >= 1 for row in totals)
    assert {row["phase"] for row in data["model"]} >= {"transforms", "leaves and sampler"}
    assert data["limits"]
    assert cli.main(["falcon", "rtl"]) == 0
    shown = capsys.readouterr()
    assert "11\u202f522" in shown.out
    assert "not placed" in shown.err
