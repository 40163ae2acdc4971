"""`pqchain falcon`: what it shows."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.native


def test_profile_is_shown(run) -> None:
    steps = run("falcon profile --degree 1024 --json").data["steps"]
    assert {row["where"] for row in steps} == {"software", "engine"}
    assert "SamplerZ" in run("falcon profile").out


def test_model_labels_every_row(run) -> None:
    data = run("falcon model --json").data
    kinds = {"published", "cited", "estimated", "modelled"}
    assert {row["kind"] for row in data["table3"]} == kinds
    assert data["resources"]
    shown = run("falcon model")
    assert "0.0401" in shown.out.replace("\u202f", "") or "40.1" in shown.out
    assert "assumed" in shown.err


def test_doctor_tries_every_backend(run) -> None:
    rows = run("falcon doctor --json").data["backends"]
    assert [row["backend"] for row in rows] == [
        "reference", "kernel", "simboard", "overlay", "serial",
    ]  # fmt: skip
    assert all(row["works"] or row["reason"] for row in rows)
    assert "ok  kernel" in run("falcon doctor").out


def test_rtl_figures_are_shown(run) -> None:
    data = run("falcon rtl --json").data
    totals = [row for row in data["cycles"] if row["phase"] == "total"]
    signed = {(row["configuration"], row["degree"]) for row in totals}
    assert signed >= {("compact", 512), ("compact", 1024), ("fast", 512), ("fast, new key", 512)}
    assert all(row["known_answers"] >= 1 for row in totals)
    assert {row["phase"] for row in data["model"]} >= {"transforms", "leaves and sampler"}
    assert data["limits"]
    shown = run("falcon rtl")
    assert "11\u202f522" in shown.out
    assert "not placed" in shown.err
