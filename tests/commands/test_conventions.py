"""Conventions of every command: fast errors, names in any case, one preset, typed names."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

import pqchain as pq
from pqchain.bench import presets
from tests.commands.test_usage import MINE

REFUSED = {
    "study --list": 0,
    "reproduce --only nope": 2,
    "bench --algorithm nope": 2,
    "plot nope": 2,
    "bench --scheme Mine,size=3": 2,
    "study pqdpol --scheme Mine,size=3": 2,
    "plot sizes --scheme Mine,size=3": 2,
    "reproduce --scheme Mine,size=3": 2,
}

HEAVY = ("pandas", "matplotlib", "pyperf", "simpy", "numba")
"""What takes most of a second to load."""


@pytest.mark.parametrize("words", REFUSED)
def test_quick_answers_load_no_heavy_module(words: str) -> None:
    """Checks the imported modules, because a duration depends on the machine."""
    code = f"""import sys; from pqchain.commands.main import main; code = main({words.split()!r})
print(code, sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == f"{REFUSED[words]} []"


@pytest.mark.parametrize(
    "words",
    [
        "papers PQDPOL TABLE4",
        "study Ethereum --show",
        "algorithms --family falcon",
        "consensus --algorithm FALCON-512 --network MESH --exponents 2 --engine SIMPY",
    ],
)
def test_names_ignore_case(words: str, run) -> None:
    assert run(words.split()).out


def test_environment_preset_is_used_by_every_measurement(monkeypatch) -> None:
    monkeypatch.setenv(presets.PRESET_VARIABLE, "Paper")
    quick = presets.PRESETS["quick"]
    monkeypatch.setitem(presets.PRESETS, "paper", dataclasses.replace(quick, rounds=1, samples=2))
    frame = pq.measure("ed25519", "VERIFY", "CRYPTOGRAPHY/openssl")
    assert frame.attrs["provenance"]["preset"] == "paper"
    assert frame.loc[0, "samples"] == 2
    monkeypatch.setenv(presets.PRESET_VARIABLE, "long")
    with pytest.raises(pq.errors.UsageError, match="PQCHAIN_PRESET=long: preset must be"):
        pq.measure("Ed25519", "verify")


@pytest.mark.parametrize("asked", ["", "--algorithm mine,FALCON-512,falcon-512"])
def test_user_scheme_is_listed_once(asked: str, run) -> None:
    line = f"consensus --scheme {MINE} {asked} --network mesh --exponents 1 --json"
    assert sorted(row["algorithm"] for row in run(line).data["runs"]) == ["Falcon-512", "Mine"]


def test_changed_plan_keeps_user_schemes(run) -> None:
    line = f"study pqdpol --scheme {MINE} --set algorithms=FALCON-512 --draws 1 --json"
    assert {row["algorithm"] for row in run(line).data["figures"]} == {"Falcon-512", "Mine"}


@pytest.mark.native
@pytest.mark.parametrize(
    "words",
    [
        "bench --algorithm MAYO-2 --operation verify", "gas --algorithm MAYO-2 --rounds 2",
        "chain --algorithm MAYO-2 --transactions 5", "chain --algorithm MAYO-2,Hawk-512",
        "consensus --algorithm MAYO-2 --costs measured --nodes 8",
        "plot sizes --algorithm MAYO-2,Falcon-512 --output sizes.svg",
    ],
)  # fmt: skip
def test_broken_scheme_is_never_shown_without_its_attack(
    words: str, tmp_path: Path, run, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))  # gas times other verifiers if it has them
    monkeypatch.setenv(presets.PRESET_VARIABLE, "quick")
    captured = run(words)
    assert (captured.out + captured.err).count("MAYO-2 (round 2): broken. ") == 1


def test_plot_of_sound_schemes_names_no_attack(tmp_path, run) -> None:
    assert "broken" not in run(f"plot sizes --algorithm Falcon-512 --output {tmp_path}/a.svg").err
