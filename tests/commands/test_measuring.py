"""`pqchain bench`, `chain` and `gas`: measurements, output and saved files."""

from __future__ import annotations

import json

import pytest

from pqchain import results
from pqchain.bench import operations as bench
from pqchain.bench import stored
from pqchain.bench.gas import ALGORITHMS
from pqchain.bench.gas_units import clients
from pqchain.commands import measuring
from pqchain.commands.main import main
from pqchain.results import machine
from tests import frames


def test_bench_shows_medians_and_reasons(measured, capsys):
    assert main(["bench"]) == 0
    shown = capsys.readouterr().out
    assert "310\N{NARROW NO-BREAK SPACE}µs" in shown
    assert "unsupported: no implementation of Hawk-512" in shown
    assert measured == [(None, None, None, "quick", False)]


def test_bench_takes_names_repeated_and_by_commas(measured, capsys):
    arguments = "--algorithm falcon-512,ed25519 --algorithm Kyber512 --operation sign --json"
    assert main(["bench", *arguments.split(), "--preset", "paper"]) == 0
    assert measured == [(["Falcon-512", "Ed25519", "Kyber512"], ["sign"], None, "paper", False)]
    shown = json.loads(capsys.readouterr().out)
    assert shown["provenance"]["machine_id"] == frames.PROVENANCE["machine_id"]
    assert shown["measurements"][0]["status"] == "ok"


def test_bench_saves_with_provenance(measured, tmp_path):
    output = tmp_path / "times.csv"
    assert main(["bench", "--output", str(output)]) == 0
    saved = results.load(output)
    assert saved.attrs["provenance"]["machine_id"] == frames.PROVENANCE["machine_id"]


def test_failed_operation_exits_1(monkeypatch, capsys):
    frame = frames.measurements(["Falcon-512"])
    frame.attrs["provenance"] |= {"preset": "quick"}
    frame.loc[0, "status"] = "failed"
    monkeypatch.setattr(bench, "measure", lambda *given, **named: frame)
    assert main(["bench"]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "--algorithm", "Falcon512"], "Falcon-512"),
        (["bench", "--algorithm", ","], "names separated by commas"),
        (["bench", "--preset", "slow"], "must be one of quick, paper"),
        (["bench", "--algorithm", "Falcon-512", "--operation", "encapsulate"], "got encapsulate"),
        (["bench", "--output", "times.txt"], "must end in .csv"),
    ],
)
def test_usage_errors_of_bench_exit_2(arguments, message, refused):
    refused(arguments, message)


def test_warnings_come_first_and_are_in_json(measured, monkeypatch, capsys) -> None:
    monkeypatch.setitem(frames.PROVENANCE, "load_average", 7.5)
    assert main(["bench", "--algorithm", "Falcon-512"]) == 0
    assert capsys.readouterr().out.startswith("Warning: The machine was busy: a load of 7.5 on 4")
    assert main(["bench", "--algorithm", "Falcon-512", "--json"]) == 0
    assert "busy" in json.loads(capsys.readouterr().out)["warnings"][0]


def test_history_is_not_overwritten(measured, tmp_path, capsys) -> None:
    history = tmp_path / "history.csv"
    assert main(["bench", "--append", str(history)]) == 0
    before = history.read_bytes()
    capsys.readouterr()
    assert main(["bench", "--output", str(history)]) == 2
    assert "is a history; use --append" in capsys.readouterr().err
    assert history.read_bytes() == before
    plain = tmp_path / "plain.csv"
    assert main(["bench", "--output", str(plain)]) == 0
    assert main(["plot", "history", str(plain), "--output", str(tmp_path / "x.svg")]) == 2
    assert "history needs a file of `pqchain bench --append`" in capsys.readouterr().err


@pytest.fixture
def clean(monkeypatch):
    facts = frames.PROVENANCE | {"commit": "0" * 40}
    monkeypatch.setattr(machine, "provenance", lambda: facts)
    return facts


def test_submit_measures_everything_with_preset_paper(measured, clean, tmp_path, capsys):
    assert main(["bench", "--submit", str(tmp_path)]) == 1  # the replaced run has no commit
    assert measured == [(None, None, None, "paper", False)]
    assert "commit must be known" in capsys.readouterr().err
    assert not list(tmp_path.glob(f"*/{stored.FILE}"))


@pytest.mark.parametrize(
    ("options", "facts", "message"),
    [
        (["--algorithm", "Ed25519"], {}, "leave out --algorithm"),
        (["--preset", "quick"], {}, "preset must be paper; got quick"),
        ([], {"commit": "1-dirty"}, "the checkout must be clean"),
        ([], {"load_average": 9.0}, "The machine was busy"),
    ],
)
def test_submission_is_refused_before_measuring(
    measured, clean, refused, tmp_path, options, facts, message
):
    clean |= facts
    refused(["bench", "--submit", str(tmp_path / "mine"), *options], message)
    assert not measured and not (tmp_path / "mine").exists()


def test_one_block_is_text_and_many_are_a_table(blocks, capsys):
    assert main(["chain"]) == 0
    assert "Falcon-512" in capsys.readouterr().out.splitlines()[0]
    assert main(["chain", "--algorithm", "all", "--threads", "1,4", "--transactions", "7"]) == 0
    shown = capsys.readouterr().out
    assert "Hawk-512" in shown
    assert "unsupported: no Hawk-512 here" in shown
    (first, _), (second, options) = blocks
    assert (first, second) == (["Falcon-512"], None)
    assert (options["threads"], options["transactions"]) == ([1, 4], 7)


def test_chain_writes_json_and_files(blocks, tmp_path, capsys):
    output = tmp_path / "blocks.csv"
    assert main(["chain", "--algorithm", "Hawk-512", "--json", "--output", str(output)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["blocks"][0]["block_bytes"] is None
    assert found["blocks"][0]["status"] == "unsupported"
    assert len(results.load(output)) == len(found["blocks"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--algorithm", "all,Ed25519"], "unknown algorithm 'all'"),
        (["--threads", "many"], "whole numbers or ranges, such as 1..5 or 1,2,8; got 'many'"),
        (["--threads", "0"], "threads must be a whole number from 1 to 1024; got 0"),
        (["--output", "blocks.txt"], "must end in .csv"),
        (["--algorithm", "Falcon512"], "did you mean 'Falcon-512'"),
        (["--transactions", "0"], "transactions must be a"),
        (["--data-bytes", "-1"], "data_bytes must be a whole number from 0 to 65535; got -1"),
        (["--data-bytes", "70000"], "data_bytes must be a"),
        (["--algorithm", "Falcon-512+Falcon-512"], "distinct algorithms"),
    ],
)
def test_usage_errors_of_chain_exit_2(arguments, said, refused):
    refused(["chain", *arguments], said)


@pytest.fixture
def alone(monkeypatch):
    """Hide the distributions beside pqchain."""
    monkeypatch.setattr(measuring, "entry_points", lambda group: ())


@pytest.mark.native
def test_gas_prices_are_compared_with_statements(capsys, tmp_path, alone):
    saved = tmp_path / "gas.csv"
    words = ["gas", "--algorithm", "ECDSA-P256", "--rounds", "2"]
    assert main([*words, "--output", str(saved)]) == 0
    out = capsys.readouterr()
    text = out.out.replace("\u202f", "")
    assert "3814gas" in text
    assert "EIP-7904, analysis of 2026-06-10" in text
    assert "if ecrecover were 841" in text
    assert "pip install" in text
    assert "TRON energy: missing; ecrecover by Bouncy Castle was not timed" in text
    assert "P-256 (cryptography/openssl) over ecrecover (coincurve/libsecp256k1)" in out.err
    assert saved.exists()
    assert main([*words, "--json"]) == 0
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
def test_usage_errors_of_gas_name_the_remedy(arguments, message, capsys, alone):
    assert main(["gas", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.native
def test_scheme_that_fails_is_a_failed_check(capsys, tmp_path, alone):
    (tmp_path / "broken.py").write_text(
        "class Broken:\n"
        "    name = 'Broken'\n"
        "    public_key_bytes = secret_key_bytes = signature_bytes = 1\n"
        "    generate_keypair = sign = verify = lambda *_: 1 / 0\n"
    )
    words = ["gas", "--algorithm", "ML-DSA-44", "--rounds", "2", "--scheme"]
    assert main([*words, f"{tmp_path / 'broken.py'}:Broken"]) == 1
    assert "broken.py:4: ZeroDivisionError" in capsys.readouterr().out


def test_help_names_the_default_verifiers(capsys):
    assert main(["gas", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"default: {', '.join(clients())}" in shown
    assert f"default: {', '.join(ALGORITHMS)}" in shown
