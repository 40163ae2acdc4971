"""`pqchain gas`: measured prices compared with stated ones."""

import json

import pytest

from pqchain.bench.gas import ALGORITHMS
from pqchain.bench.gas_units import clients
from pqchain.commands import main as cli
from pqchain.commands import measuring


@pytest.fixture
def alone(monkeypatch):
    """Hide the distributions beside pqchain."""
    monkeypatch.setattr(measuring, "entry_points", lambda group: ())


@pytest.mark.native
def test_gas_prices_are_compared_with_statements(capsys, tmp_path, alone):
    saved = tmp_path / "gas.csv"
    words = ["gas", "--algorithm", "ECDSA-P256", "--rounds", "2"]
    assert cli.main([*words, "--output", str(saved)]) == 0
    out = capsys.readouterr()
    text = out.out.replace("\u202f", "")
    assert "3814gas" in text
    assert "EIP-7904, analysis of 2026-06-10" in text
    assert "if ecrecover were 841" in text
    assert "pip install" in text
    assert "TRON energy: missing; ecrecover by Bouncy Castle was not timed" in text
    assert "P-256 (cryptography/openssl) over ecrecover (coincurve/libsecp256k1)" in out.err
    assert saved.exists()
    assert cli.main([*words, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    units = {unit["name"] for unit in plain["units"]}
    assert {row["unit"] for row in plain["gas"]} == units
    assert {"evm", "near", "solana", "tron", "stellar"} == units
    assert plain["statements"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rounds", "1"], "rounds must be a"), (["--anchor-gas", "-3"], "anchor_gas must be"),
        (["--algorithm", "Kyber512"], "signature scheme"),
        (["--algorithm", "Falcon-500"], "Falcon-500"),
        (["--verifier", "circl"], 'pip install "pqchain[conform]"'),
    ],
)  # fmt: skip
def test_usage_errors_name_the_remedy(arguments, message, capsys, alone):
    assert cli.main(["gas", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.native
def test_scheme_that_fails_is_a_failed_check(capsys, tmp_path, alone):
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


def test_help_names_the_default_verifiers(capsys):
    assert cli.main(["gas", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"default: {', '.join(clients())}" in shown
    assert f"default: {', '.join(ALGORITHMS)}" in shown
