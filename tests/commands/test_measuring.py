"""`pqchain bench`, `chain` and `gas`: measurements, output and saved files."""

import pytest

from pqchain import results
from pqchain.bench import operations as bench
from pqchain.bench import stored
from pqchain.bench.gas import ALGORITHMS
from pqchain.bench.gas_units import clients
from pqchain.commands import measuring
from pqchain.results import machine
from tests import frames


def test_bench_shows_medians_and_reasons(measured, run):
    shown = run("bench").out
    assert "310\N{NARROW NO-BREAK SPACE}µs" in shown
    assert "unsupported: no implementation of Hawk-512" in shown
    assert measured == [(None, None, None, "quick")]


def test_bench_takes_names_repeated_and_by_commas_and_saves(measured, run, tmp_path):
    names, output = "--algorithm falcon-512,ed25519 --algorithm Kyber512", tmp_path / "times.csv"
    line = f"bench {names} --operation sign --json --preset paper --output {output}"
    shown = run(line).data
    assert measured == [(["Falcon-512", "Ed25519", "Kyber512"], ["sign"], None, "paper")]
    assert shown["measurements"][0]["status"] == "ok"
    for facts in (shown["provenance"], results.load(output).attrs["provenance"]):
        assert facts["machine_id"] == frames.PROVENANCE["machine_id"]


def test_failed_operation_exits_1(monkeypatch, run):
    frame = frames.measurements(["Falcon-512"])
    frame.attrs["provenance"] |= {"preset": "quick"}
    frame.loc[0, "status"] = "failed"
    monkeypatch.setattr(bench, "measure", lambda *given, **named: frame)
    run("bench", 1)


def test_warnings_come_first_and_are_in_json(measured, monkeypatch, run) -> None:
    monkeypatch.setitem(frames.PROVENANCE, "load_average", 7.5)
    shown = run("bench --algorithm Falcon-512").out
    assert shown.startswith("Warning: The machine was busy: a load of 7.5 on 4")
    assert "busy" in run("bench --algorithm Falcon-512 --json").data["warnings"][0]


def test_history_is_not_overwritten(measured, tmp_path, run) -> None:
    history, plain = tmp_path / "history.csv", tmp_path / "plain.csv"
    run(f"bench --append {history}")
    before = history.read_bytes()
    assert "is a history; use --append" in run(["bench", "--output", str(history)], 2).err
    assert history.read_bytes() == before
    run(f"bench --output {plain}")
    said = run(f"plot history {plain} --output {tmp_path / 'x.svg'}", 2)
    assert "history needs a file of `pqchain bench --append`" in said.err


@pytest.fixture
def clean(monkeypatch):
    facts = frames.PROVENANCE | {"commit": "0" * 40}
    monkeypatch.setattr(machine, "provenance", lambda: facts)
    return facts


def test_submit_measures_everything_with_preset_paper(measured, clean, tmp_path, run):
    # the replaced run has no commit
    assert "commit must be known" in run(f"bench --submit {tmp_path}", 1).err
    assert measured == [(None, None, None, "paper")]
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


def test_blocks_are_a_table(blocks, run):
    assert "Falcon-512" in run("chain").out
    shown = run("chain --algorithm all --threads 1,4 --transactions 7").out
    assert "Hawk-512" in shown
    assert "unsupported: no Hawk-512 here" in shown
    (first, _), (second, options) = blocks
    assert (first, second) == (["Falcon-512"], None)
    assert (options["threads"], options["transactions"]) == ([1, 4], 7)


def test_chain_writes_json_and_files(blocks, tmp_path, run):
    output = tmp_path / "blocks.csv"
    found = run(f"chain --algorithm Hawk-512 --json --output {output}", 1).data
    assert found["blocks"][0]["block_bytes"] is None
    assert found["blocks"][0]["status"] == "unsupported"
    assert len(results.load(output)) == len(found["blocks"])


@pytest.fixture
def alone(monkeypatch):
    """Hide the distributions beside pqchain."""
    monkeypatch.setattr(measuring, "entry_points", lambda group: ())


@pytest.mark.native
def test_gas_prices_are_compared_with_statements(run, tmp_path, alone):
    saved = tmp_path / "gas.csv"
    words = ["gas", "--algorithm", "ECDSA-P256", "--rounds", "2"]
    out = run([*words, "--output", str(saved)])
    text = out.out.replace("\u202f", "")
    assert "3814gas" in text
    assert "EIP-7904, analysis of 2026-06-10" in text
    assert "if ecrecover were 841" in text
    assert "pip install" in text
    assert "TRON energy: missing; ecrecover by Bouncy Castle was not timed" in text
    assert saved.exists()
    plain = run([*words, "--json"]).data
    units = {unit["name"] for unit in plain["units"]}
    assert {row["unit"] for row in plain["gas"]} == units
    assert {"evm", "near", "solana", "tron", "stellar"} == units
    assert plain["statements"]


@pytest.mark.native
def test_scheme_that_fails_is_a_failed_check(run, tmp_path, alone):
    (tmp_path / "broken.py").write_text(
        "class Broken:\n"
        "    name = 'Broken'\n"
        "    public_key_bytes = secret_key_bytes = signature_bytes = 1\n"
        "    generate_keypair = sign = verify = lambda *_: 1 / 0\n"
    )
    scheme = f"--scheme {tmp_path / 'broken.py'}:Broken"
    said = run(f"gas --algorithm ML-DSA-44 --rounds 2 {scheme}", 1)
    assert "broken.py:4: ZeroDivisionError" in said.out


def test_help_names_the_default_verifiers(run):
    shown = " ".join(run("gas --help").out.replace("│", "").split())
    assert f"default: {', '.join(clients())}" in shown
    assert f"default: {', '.join(ALGORITHMS)}" in shown
