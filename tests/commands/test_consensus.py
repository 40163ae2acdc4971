"""`pqchain consensus`: scenarios in, tables out, exit codes."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from pqchain import consensus, results
from pqchain.bench import operations as bench
from pqchain.commands import main as cli
from pqchain.consensus import model
from pqchain.wire.transports import registry
from tests import frames


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Run the command; return exit code, stdout and stderr."""
    code = cli.main(["consensus", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_table_6_is_shown_next_to_published_values(capsys):
    code, out, err = run(
        capsys, "--algorithm", "Falcon-512", "--exponents", "1..5", "--network", "paper-serial"
    )
    assert code == 0
    rows = [line.split() for line in out.splitlines()[2:]]
    assert [row[2] for row in rows] == ["2", "4", "8", "16", "32"]
    assert "26.4582" in out
    assert "-2.9" in rows[-1]
    assert "Modelled. Costs of the schemes: published" in err
    assert "no physical meaning" in err


def test_lists_are_combined_and_stdout_is_json_only(capsys):
    code, out, err = run(
        capsys, "--algorithm", "Falcon-512,Dilithium2", "--network", "mesh", "--network", "star",
        "--nodes", "4,6", "--delegates", "2,all", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["kind"] == "modelled"
    assert data["costs"] == "paper:pqdpol"
    assert len(data["runs"]) == 16
    assert {row["delegates"] for row in data["runs"]} == {2, 4, 6}
    assert "over_seeds" not in data


def test_delegates_are_capped_at_the_nodes_with_a_note(capsys):
    arguments = ["--network", "mesh", "--exponents", "1..4", "--delegates", "5", "--json"]
    code, out, err = run(capsys, *arguments)
    assert [row["delegates"] for row in json.loads(out)["runs"]] == [2, 4, 5, 5]
    assert (code, err.count("\n")) == (0, 1)
    assert "In networks of 2, 4 nodes" in err


def test_several_seeds_become_means_with_intervals(capsys):
    arguments = ["--network", "regions", "--nodes", "8", "--seeds", "0..3"]
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert len(out.splitlines()) == 3
    assert "± 95 %" in out.replace("\N{NARROW NO-BREAK SPACE}", " ")
    code, out, _ = run(capsys, *arguments, "--json")
    data = json.loads(out)
    assert len(data["runs"]) == 4
    (mean,) = data["over_seeds"]
    latencies = [row["latency_seconds"] for row in data["runs"]]
    assert mean["latency_seconds"] == pytest.approx(sum(latencies) / 4)


def test_faults_need_a_timeout_and_are_modelled(capsys):
    faulty = ["--network", "mesh", "--nodes", "8", "--faults.crashed", "0,1"]
    code, _, err = run(capsys, *faulty)
    assert code == 2
    assert "--timeout" in err
    code, out, _ = run(capsys, *faulty, "--timeout", "3", "--json")
    assert code == 0
    (row,) = json.loads(out)["runs"]
    assert row["views"] == 3
    assert row["latency_seconds"] > 6
    # 3 of 8 is more than f of 3f + 1: nothing becomes final, which is a result, not a failure.
    faulty[-1] = "0..2"
    code, out, _ = run(capsys, *faulty, "--timeout", "3")
    assert code == 0
    assert "not live" in out


def test_network_can_be_changed(capsys):
    def latency(*arguments: str) -> float:
        _, out, _ = run(capsys, "--nodes", "64", "--network", "gossip", "--json", *arguments)
        return json.loads(out)["runs"][0]["latency_seconds"]

    assert latency("--delay-seconds", "0.5") > 0.5
    assert latency("--bits-per-second", "1e9", "--delay-seconds", "0.01") < 0.5
    assert latency("--peers", "32") != latency() != latency("--world")


def test_costs_are_measured_or_read_from_a_file(capsys, tmp_path, monkeypatch):
    def measure(names, *, preset, progress):
        return frames.measurements(names)

    monkeypatch.setattr(bench, "measure", measure)
    measured = ["--algorithm", "Falcon-512,Ed25519", "--nodes", "4", "--network", "mesh"]
    code, out, err = run(capsys, *measured, "--costs", "measured", "--json")
    assert code == 0
    assert json.loads(out)["costs"] == "measured:test-machine-00000000"
    code, _, err = run(capsys, *measured, "--costs", "measured")
    assert "Costs of the schemes: measured:test-machine" in err
    saved = results.save(frames.measurements(), tmp_path / "mine.csv")
    code, again, _ = run(capsys, *measured, "--costs", str(saved), "--json")
    assert code == 0
    assert json.loads(again) == json.loads(out)


def test_runs_are_saved_and_resumed_from_a_store(capsys, tmp_path, monkeypatch):
    output, store = tmp_path / "runs.csv", tmp_path / "store.csv"
    arguments = ["--network", "mesh", "--nodes", "4,5", "--store", str(store)]
    code, first, err = run(capsys, *arguments, "--output", str(output))
    assert code == 0
    assert "Saved:" in err
    frame = results.load(output)
    assert list(frame["nodes"]) == [4, 5]
    assert frame.attrs["provenance"]["machine_id"]
    monkeypatch.setattr(model, "run", lambda *given, **named: pytest.fail("was run again"))
    code, second, _ = run(capsys, *arguments)
    assert (code, second) == (0, first)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nodes", "0"], "--nodes must be from 1 to 4194304; got 0"),
        (["--exponents", "30"], "--exponents must be from 0 to 22; got 30"),
        (["--exponents", "1..x"], "got '1..x'"),
        (["--exponents", "5..1"], "ascending range: 1..5; got 5..1"),
        (["--exponents", ""], "got ''"),
        (["--mode", "virtual", "--exponents", "2", "--log", "logs"], "log must be None over plain"),
        (["--exponents", "1", "--nodes", "2"], "exclude each other"),
        (["--seeds", "0..200000"], "--seeds"),
        (["--seeds", "0..60000", "--exponents", "1,2"], "at most 100000 runs; got 120002"),
        (["--network", "mess"], "did you mean 'mesh'"),
        (["--algorithm", "Falcn-512"], "did you mean 'Falcon-512'"),
        (["--algorithm", "Kyber512"], "Add --costs measured"),
        (
            ["--algorithm", "Kyber512", "--costs", "measured"],
            "must be a signature scheme; got Kyber512",
        ),
        (["--costs", "guessed"], "--costs must be paper:<work>, measured"),
        (["--costs", "paper:nobody"], "nobody"),
        (["--block-bytes", "100"], "block_bytes must be at least"),
        (["--delegates", "0"], "--delegates must be from 1 to"),
        (["--nodes", "3", "--delegates", "5"], "at most the number of --nodes, 3; got 5"),
        (["--nodes", "9,4,8", "--delegates", "all,6"], "--nodes, 4; got 6"),
        (["--network", "star", "--bits-per-second", "-5"], "rate_bits_per_second must be a"),
        (["--network", "mesh", "--peers", "3"], "parameters of mesh must be among"),
        (["--bits-per-second", "1e6"], "parameters of paper-serial must be among"),
        (["--round-seconds", "10"], "needs --rule luck"),
        (["--faults.crash", "1"], "did you mean '--faults.crashed'"),
        (["--faults.loss-probability", "often"], "a number; got 'often'"),
        (["--faults.loss-probability", "2", "--timeout", "1"], "loss_probability must be a"),
        (["--network", "mesh", "--exponents", "20"], "got 1099511627775 of"),
        (["--output", "runs.txt"], "must end in .csv"),
        (["--workers", "0"], "workers must be"),
    ],
)
def test_usage_errors_exit_2_with_value_and_bound(capsys, monkeypatch, tmp_path, arguments, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "measure", lambda *given, **named: pytest.fail("measured"))
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "") and not list(tmp_path.iterdir())
    assert said in err


def test_invalid_costs_file_is_a_short_usage_error(capsys, tmp_path):
    wrong = tmp_path / "runs.csv"
    run(capsys, "--network", "mesh", "--nodes", "4", "--output", str(wrong))
    for path, why in (
        (wrong, "not a table of measurements"),
        (tmp_path / "none.csv", "does not exist"),
    ):
        code, out, err = run(capsys, "--costs", str(path))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"--costs {path}" in err
        assert why in err
        assert len(err) < 300 + 2 * len(str(path))


def test_engine_limit_is_a_usage_error_alone_and_a_row_in_a_sweep(capsys):
    large = ["--network", "mesh", "--engine", "simpy", "--nodes"]
    code, out, err = run(capsys, *large, "4096")
    assert (code, out) == (2, "")
    assert "for SimPy; got 16777216" in err
    assert "--engine fast" in err
    code, out, _ = run(capsys, *large, "4,4096")
    assert code == 1
    assert "unsupported" in out


def test_unsafe_run_exits_1(capsys, monkeypatch):
    def unsafe(asked, **settings) -> pd.DataFrame:
        frame = sweep(asked, **settings)
        return frame.assign(is_safe=False)

    sweep = consensus.sweep
    monkeypatch.setattr(consensus, "sweep", unsafe)
    code, out, _ = run(capsys, "--network", "mesh", "--nodes", "4")
    assert code == 1
    assert "UNSAFE" in out


@pytest.mark.native
def test_virtual_time_transport_states_its_costs(capsys):
    asked = ["--network", "star", "--nodes", "3", "--vote-phases", "2", "--mode", "virtual"]
    code, out, err = run(capsys, *asked, "--transport", registry.default())
    assert code == 0
    assert out.splitlines()[0].split()[-5:] == ["plain", "latency", "more", "than", "plain"]
    assert float(out.splitlines()[2].split()[-2].lstrip("+")) > 0
    assert f"Replayed in virtual time over {registry.default()}" in err
    plain = run(capsys, *asked, "--json")
    row = json.loads(plain[1])["runs"][0]
    assert (row["kind"], row["transport"], row["over_plain_percent"]) == ("replayed", "plain", None)


@pytest.mark.native
def test_loopback_run_is_measured(capsys):
    arguments = ["--algorithm", "Dilithium2", "--nodes", "2", "--blocks", "3"]
    code, out, _ = run(capsys, *arguments, "--mode", "loopback", "--json")
    assert code == 0
    shown = json.loads(out)
    row = shown["runs"][0]
    assert (shown["kind"], row["nodes"], row["is_live"]) == ("measured", 2, True)
    assert row["latency_half_width_seconds"] > 0


@pytest.mark.parametrize("option", ["--transport", "--log"])
def test_options_of_executed_delegates_are_rejected_for_a_model(capsys, option):
    code, _, err = run(capsys, "--nodes", "2", option, "native")
    assert code == 2
    assert f"{option} needs executed delegates; add --mode virtual" in err
