"""`pqchain engine`: tables, saved frames, exit codes."""

from __future__ import annotations

import json

import pytest

from pqchain import results
from pqchain.commands.main import main
from pqchain_engines import registry


def test_list_names_every_engine(capsys):
    assert main(["engine", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["engines"]
    assert [row["engine"] for row in rows] == list(registry.engines())


def test_run_shows_medians_and_saves_heights(fake_engine, tmp_path, capsys):
    fake_engine("right")
    path = tmp_path / "heights.csv"
    arguments = ["engine", "run", "simplex", "--algorithm", "Ed25519", "--nodes", "4,7"]
    assert main([*arguments, "--heights", "3", "--output", str(path)]) == 0
    assert "Ed25519" in capsys.readouterr().out
    assert results.load(path)["nodes"].tolist() == [4] * 3 + [7] * 3
    assert main([*arguments, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2


def test_a_run_that_fails_exits_1(fake_engine, capsys):
    fake_engine("crash")
    assert main(["engine", "run", "simplex", "--algorithm", "Ed25519"]) == 1
    assert "exit code 101" in capsys.readouterr().out


def test_prices_are_shown(fake_engine, capsys):
    fake_engine("right")
    assert main(["engine", "prices", "simplex", "--runs", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prices"][0]["sign_seconds"] == 1e-4


@pytest.mark.native
def test_precompiles_of_an_evm_are_shown(fake_engine, capsys, refused):
    fake_engine("evm")
    assert main(["engine", "run", "revm", "--algorithm", "ML-DSA-44", "--runs", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["precompiles"]
    assert [row["precompile"] for row in rows] == ["ecrecover", "verify ML-DSA-44"]
    refused(["engine", "run", "revm", "--block-bytes", "2000"], "an EVM without validators")
    refused(["engine", "prices", "revm"], "must be a consensus engine")


def test_wrong_use_is_rejected(refused):
    refused(["engine", "run", "simplx"], "unknown engine")
    refused(["engine", "run", "simplex", "--algorithm", "Hawk-512"], "Hawk-512")
    refused(["engine", "run", "simplex", "--timeout", "0"], "--timeout")
    refused(["engine", "build", "none"], "unknown engine")


def test_a_failed_build_exits_1(monkeypatch, capsys):
    monkeypatch.setattr(registry, "build", lambda names: {"simplex": ("failed", "no memory")})
    assert main(["engine", "build"]) == 1
    assert "no memory" in capsys.readouterr().out
    monkeypatch.setattr(registry, "build", lambda names: {"simplex": ("unsupported", "no cargo")})
    assert main(["engine", "build"]) == 0
    assert main(["engine", "build", "simplex"]) == 1


def test_certificates_are_shown_and_saved(tmp_path, capsys, refused):
    path = tmp_path / "certificates.csv"
    arguments = ["engine", "certificates", "--nodes", "4,16", "--output", str(path)]
    assert main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["certificates"]
    assert {row["nodes"] for row in rows if row["form"] != "proof"} == {4, 16}
    assert len(results.load(path)) == len(rows)
    refused(["engine", "certificates", "--nodes", "3"], "nodes must be a whole number from 4")
