"""`pqchain gas`: measured prices compared with stated ones."""

import json

import pytest

from pqchain.commands import main as cli


@pytest.mark.native
def test_gas_prices_are_compared_with_drafts(capsys, tmp_path):
    saved = tmp_path / "gas.csv"
    assert (
        cli.main(["gas", "--algorithm", "ECDSA-P256", "--rounds", "2", "--output", str(saved)]) == 0
    )
    out = capsys.readouterr()
    assert "3814gas (EIP-7904, draft)" in out.out.replace("\u202f", "")
    assert "P-256 over ecrecover" in out.err
    assert saved.exists()
    assert cli.main(["gas", "--algorithm", "ECDSA-P256", "--rounds", "2", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert {row["unit"] for row in plain["gas"]} == {"evm", "near", "solana"}
    assert plain["statements"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rounds", "1"], "rounds must be a"), (["--anchor-gas", "-3"], "anchor_gas must be"),
        (["--algorithm", "Kyber512"], "signature scheme"),
        (["--algorithm", "Falcon-500"], "Falcon-500"),
    ],
)  # fmt: skip
def test_usage_errors_name_the_remedy(arguments, message, capsys):
    assert cli.main(["gas", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.native
def test_scheme_that_fails_is_a_failed_check(capsys, tmp_path):
    (tmp_path / "broken.py").write_text(
        "class Broken:\n"
        "    name = 'Broken'\n"
        "    public_key_bytes = secret_key_bytes = signature_bytes = 1\n"
        "    generate_keypair = sign = verify = lambda *_: 1 / 0\n"
    )
    words = ["gas", "--rounds", "2", "--scheme", f"{tmp_path / 'broken.py'}:Broken"]
    assert cli.main(words) == 1
    assert "broken.py:4: ZeroDivisionError" in capsys.readouterr().out
