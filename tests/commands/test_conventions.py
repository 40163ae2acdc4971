"""Conventions of every command: fast errors, names in any case, one preset, typed names."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

import pqchain as pq
from pqchain.bench import presets

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
    code = (
        "import sys; from pqchain.commands.main import main; "
        f"code = main({words.split()!r}); "
        f"print(code, sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"
    )
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


def test_environment_preset_is_used_by_every_measurement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(presets.PRESET_VARIABLE, "Paper")
    quick = presets.PRESETS["quick"]
    monkeypatch.setitem(presets.PRESETS, "paper", dataclasses.replace(quick, rounds=1, samples=2))
    frame = pq.measure("ed25519", "VERIFY", "CRYPTOGRAPHY/openssl")
    assert frame.attrs["provenance"]["preset"] == "paper"
    assert frame.loc[0, "samples"] == 2
    monkeypatch.setenv(presets.PRESET_VARIABLE, "long")
    with pytest.raises(pq.errors.UsageError, match="PQCHAIN_PRESET=long: preset must be"):
        pq.measure("Ed25519", "verify")


MINE = "Mine,public_key=1000,signature=300,sign=1ms,verify=0.1ms"


@pytest.mark.parametrize("asked", [[], ["--algorithm", "mine,FALCON-512,falcon-512"]])
def test_user_scheme_is_listed_once(asked: list[str], run) -> None:
    arguments = ["consensus", "--scheme", MINE, *asked, "--network", "mesh", "--exponents", "1"]
    runs = run([*arguments, "--json"]).data["runs"]
    assert sorted(row["algorithm"] for row in runs) == ["Falcon-512", "Mine"]


def test_changed_plan_keeps_user_schemes(run) -> None:
    changes = ["--set", "algorithms=FALCON-512", "--draws", "1"]
    figures = run(["study", "pqdpol", "--scheme", MINE, *changes, "--json"]).data["figures"]
    assert {row["algorithm"] for row in figures} == {"Falcon-512", "Mine"}


@pytest.mark.native
@pytest.mark.parametrize(
    "words",
    [
        "bench --algorithm MAYO-2 --operation verify", "gas --algorithm MAYO-2 --rounds 2",
        "chain --algorithm MAYO-2 --transactions 5", "chain --algorithm MAYO-2,Hawk-512",
        "consensus --algorithm MAYO-2 --costs measured --nodes 8",
    ],
)  # fmt: skip
def test_broken_scheme_is_never_shown_without_its_attack(
    words: str, tmp_path: Path, run, monkeypatch
) -> None:
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))  # gas times other verifiers if it has them
    captured = run([*words.split(), *(["--preset", "quick"] * ("gas" not in words))])
    assert (captured.out + captured.err).count("MAYO-2 (round 2): broken. ") == 1


def test_plot_of_a_broken_scheme_is_never_saved_without_its_attack(tmp_path, run) -> None:
    words = ["plot", "sizes", "--output", str(tmp_path / "sizes.svg"), "--algorithm"]
    assert run([*words, "MAYO-2,Falcon-512"]).err.count("MAYO-2 (round 2): broken. ") == 1
    assert "broken" not in run([*words, "Falcon-512"]).err
