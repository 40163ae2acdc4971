"""`pqchain gas`: prices beside what is stated."""

import json

import pytest

from pqchain.commands import main as cli


@pytest.mark.native
def test_prices_stand_beside_what_drafts_state(capsys, tmp_path):
    saved = tmp_path / "gas.csv"
    assert (
        cli.main(["gas", "--algorithm", "ECDSA-P256", "--rounds", "2", "--output", str(saved)]) == 0
    )
    out = capsys.readouterr()
    assert "3814 (EIP-7904, draft)" in out.out.replace("\u202f", "")
    assert "P-256 over ecrecover" in out.err
    assert saved.exists()
    assert cli.main(["gas", "--algorithm", "ECDSA-P256", "--rounds", "2", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert {row["unit"] for row in plain["gas"]} == {"evm", "near", "solana"}
    assert plain["statements"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rounds", "1"], "rounds is 1"), (["--anchor-gas", "-3"], "anchor_gas is -3"),
        (["--algorithm", "Kyber512"], "signature scheme"),
        (["--algorithm", "Falcon-500"], "Falcon-500"),
    ],
)  # fmt: skip
def test_wrong_use_says_what_is_needed(arguments, message, capsys):
    assert cli.main(["gas", *arguments]) == 2
    assert message in capsys.readouterr().err
