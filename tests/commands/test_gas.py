"""`pqchain gas`: measured prices compared with stated ones."""

import json
import math

import pytest

from pqchain import installation
from pqchain.bench.gas import ALGORITHMS
from pqchain.bench.gas_units import CLIENTS
from pqchain.commands import main as cli
from pqchain.conform import registry


@pytest.fixture
def nothing_built(monkeypatch, tmp_path):
    """Make every adapter unavailable that needs a build."""
    monkeypatch.setattr(registry, "build_folder", lambda folder: tmp_path / folder)
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))


@pytest.mark.native
def test_gas_prices_are_compared_with_statements(capsys, tmp_path, nothing_built):
    saved = tmp_path / "gas.csv"
    words = ["gas", "--algorithm", "ECDSA-P256", "--rounds", "2"]
    assert cli.main([*words, "--output", str(saved)]) == 0
    out = capsys.readouterr()
    text = out.out.replace("\u202f", "")
    assert "3814gas" in text
    assert "EIP-7904, analysis of 2026-06-10" in text
    assert "if ecrecover were 841" in text
    assert "EVM gas in revm" in text
    assert "run `pqchain engine build revm`" in text or "install Rust" in text
    assert "P-256 (cryptography/openssl) over ecrecover (coincurve/libsecp256k1)" in out.err
    assert saved.exists()
    assert cli.main([*words, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    units = {unit["name"] for unit in plain["units"]}
    assert {row["unit"] for row in plain["gas"]} == units | {""}
    assert {"evm", "near", "solana", "tron", "stellar"} == units
    assert plain["statements"]


@pytest.mark.native
def test_missing_clients_state_the_remedy_and_do_not_fail(capsys, nothing_built):
    words = ["gas", "--algorithm", "Ed25519", "--rounds", "2"]
    assert cli.main([*words, "--verifier", "circl"]) == 0
    text = capsys.readouterr().out
    assert "circl: " in text
    assert "pqchain conform build" in text
    assert "TRON energy: missing; ecrecover by Bouncy Castle was not timed" in text


@pytest.mark.native
def test_other_verifiers_are_rows_beside_pqchains(capsys, nothing_built):
    name = "pqchain liboqs-0.13/ref"
    words = ["gas", "--algorithm", "ML-DSA-44", "--verifier", name, "--rounds", "2", "--json"]
    assert cli.main(words) == 0
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rounds", "1"], "rounds must be a"), (["--anchor-gas", "-3"], "anchor_gas must be"),
        (["--algorithm", "Kyber512"], "signature scheme"),
        (["--algorithm", "Falcon-500"], "Falcon-500"),
        (["--verifier", "circle"], "did you mean 'circl'"),
    ],
)  # fmt: skip
def test_usage_errors_name_the_remedy(arguments, message, capsys):
    assert cli.main(["gas", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.native
def test_scheme_that_fails_is_a_failed_check(capsys, tmp_path, nothing_built):
    (tmp_path / "broken.py").write_text(
        "class Broken:\n"
        "    name = 'Broken'\n"
        "    public_key_bytes = secret_key_bytes = signature_bytes = 1\n"
        "    generate_keypair = sign = verify = lambda *_: 1 / 0\n"
    )
    words = [
        "gas",
        "--algorithm",
        "ML-DSA-44",
        "--rounds",
        "2",
        "--scheme",
        f"{tmp_path / 'broken.py'}:Broken",
    ]
    assert cli.main(words) == 1
    assert "broken.py:4: ZeroDivisionError" in capsys.readouterr().out


def test_help_names_the_default_verifiers():
    options = installation.read_toml(installation.HOME / "commands" / "gas.toml")["options"]
    assert options["--verifier"]["help"].endswith(f"default: {', '.join(CLIENTS)}")
    assert f"default: {', '.join(ALGORITHMS)}" in options["--algorithm"]["help"]
