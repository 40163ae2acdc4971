"""Verifiers of other projects in `pqchain gas`."""

import json
import math

import pytest

from pqchain.bench.gas_units import CLIENTS, OWN, UNITS
from pqchain.commands.main import main
from pqchain_conform import registry


@pytest.fixture
def nothing_built(monkeypatch, tmp_path):
    """Make every adapter unavailable that needs a build."""
    monkeypatch.setattr(registry, "build_folder", lambda folder: tmp_path / folder)
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))


@pytest.mark.native
def test_missing_clients_state_the_remedy_and_do_not_fail(capsys, nothing_built):
    words = ["gas", "--algorithm", "Ed25519", "--rounds", "2"]
    assert main([*words, "--verifier", "circl"]) == 0
    text = capsys.readouterr().out
    assert "circl: " in text
    assert "pqchain conform build" in text
    assert "TRON energy: missing; ecrecover by Bouncy Castle was not timed" in text


@pytest.mark.native
def test_other_verifiers_are_rows_beside_pqchains(capsys, nothing_built):
    name = "pqchain liboqs-0.13/ref"
    words = ["gas", "--algorithm", "ML-DSA-44", "--verifier", name, "--rounds", "2", "--json"]
    assert main(words) == 0
    rows = json.loads(capsys.readouterr().out)["gas"]
    evm = {
        row["verifier"]: row
        for row in rows
        if (row["algorithm"], row["unit"]) == ("ML-DSA-44", "evm")
    }
    assert len(evm) == 2
    # Portable code, which is slower than that with AVX2, if the processor has it.
    assert evm[name]["gas"] > 0
    # The slope of two rounds may be below zero on a busy machine.
    assert math.isfinite(evm[name]["word_seconds"])


def test_unknown_verifier_gets_a_suggestion(capsys):
    assert main(["gas", "--verifier", "circle"]) == 2
    assert "did you mean 'circl'" in capsys.readouterr().err


def test_verifiers_of_the_units_are_registered():
    known = registry.verifiers()
    assert set(CLIENTS) <= set(known)
    for unit in UNITS.values():
        for name in unit.anchor_verifiers:
            assert name == OWN or unit.anchor in known[name].anchors
