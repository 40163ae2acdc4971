"""`pqchain consensus`: scenarios in, tables out, exit codes."""

import pytest

from pqchain import consensus, results
from pqchain.bench import operations as bench
from pqchain.wire.transports import registry
from tests import frames


def test_table_6_is_shown_next_to_published_values(run):
    said = run("consensus --algorithm Falcon-512 --exponents 1..5 --network paper-serial")
    rows = [line.split() for line in said.out.splitlines()[2:]]
    assert [row[2] for row in rows] == ["2", "4", "8", "16", "32"]
    assert "26.4582" in said.out and "-2.9" in rows[-1]
    assert "Modelled. Costs of the schemes: published" in said.err
    assert "no physical meaning" in said.err


def test_lists_are_combined_and_stdout_is_json_only(run):
    lists = "--network mesh --network star --nodes 4,6 --delegates 2,4"
    said = run(f"consensus --algorithm Falcon-512,Dilithium2 {lists} --json")
    assert said.err == ""
    assert (said.data["kind"], said.data["costs"]) == ("modelled", "paper:pqdpol")
    assert len(said.data["runs"]) == 16
    assert {row["delegates"] for row in said.data["runs"]} == {2, 4}
    assert "over_seeds" not in said.data


def test_delegates_are_capped_at_the_nodes(run):
    said = run("consensus --network mesh --exponents 1..4 --delegates 5 --json")
    assert [row["delegates"] for row in said.data["runs"]] == [2, 4, 5, 5]


def test_several_seeds_become_medians_with_intervals(run):
    line = "consensus --network regions --nodes 8 --seeds 0..3"
    out = run(line).out
    assert len(out.splitlines()) == 3
    assert "± 95 %" in out.replace("\N{NARROW NO-BREAK SPACE}", " ")
    data = run(f"{line} --json").data
    latencies = [row["latency_seconds"] for row in data["runs"]]
    (mean,) = data["over_seeds"]
    assert len(latencies) == 4
    assert mean["latency_seconds"] == pytest.approx(sum(sorted(latencies)[1:3]) / 2)
    assert mean["latency_seconds_half_width"] is None  # of four seeds


def test_faults_are_modelled(run):
    faulty = "consensus --network mesh --nodes 8 --timeout 3 --faults.crashed"
    (row,) = run(f"{faulty} 0,1 --json").data["runs"]
    assert row["views"] == 3
    assert row["latency_seconds"] > 6
    # 3 of 8 is more than f of 3f + 1: nothing becomes final, which is a result, not a failure.
    assert "not live" in run(f"{faulty} 0..2").out


def test_network_can_be_changed(run):
    def latency(options: str = "") -> float:
        line = f"consensus --nodes 64 --network gossip --json {options}"
        return run(line).data["runs"][0]["latency_seconds"]

    assert latency("--delay-seconds 0.5") > 0.5
    assert latency("--bits-per-second 1e9 --delay-seconds 0.01") < 0.5
    assert latency("--peers 32") != latency() != latency("--world")


def test_costs_are_measured_or_read_from_a_file(run, tmp_path, monkeypatch):
    monkeypatch.setattr(
        bench, "measure", lambda names, *, preset, progress: frames.measurements(names)
    )
    line = "consensus --algorithm Falcon-512,Ed25519 --nodes 4 --network mesh --costs"
    measured = run(f"{line} measured --json").data
    assert measured["costs"] == "measured:test-machine-00000000"
    assert "Costs of the schemes: measured:test-machine" in run(f"{line} measured").err
    saved = results.save(frames.measurements(), tmp_path / "mine.csv")
    assert run(f"{line} {saved} --json").data == measured


def test_invalid_costs_file_is_a_short_usage_error(run, tmp_path):
    wrong, missing = tmp_path / "runs.csv", tmp_path / "none.csv"
    run(f"consensus --network mesh --nodes 4 --output {wrong}")
    for path, why in ((wrong, "a measurement frame must have"), (missing, "does not exist")):
        said = run(f"consensus --costs {path}", 2)
        assert (said.out, said.err.count("\n")) == ("", 1)
        assert why in said.err
        assert len(said.err) < 300 + 2 * len(str(path))


def test_engine_limit_is_a_row_in_a_sweep(run):
    large = "consensus --network mesh --engine simpy --nodes"
    assert "--engine fast" in run(f"{large} 4096", 2).err
    assert "unsupported" in run(f"{large} 4,4096", 1).out


def test_unsafe_run_exits_1(run, monkeypatch):
    sweep = consensus.sweep
    monkeypatch.setattr(consensus, "sweep", lambda *a, **b: sweep(*a, **b).assign(is_safe=False))
    assert "UNSAFE" in run("consensus --network mesh --nodes 4", 1).out


@pytest.mark.native
def test_virtual_time_transport_is_replayed(run):
    line = "consensus --network star --nodes 3 --vote-phases 2 --mode virtual"
    said = run(f"{line} --transport {registry.default()}")
    assert f"Replayed in virtual time over {registry.default()}" in said.err
    row = run(f"{line} --json").data["runs"][0]
    assert (row["kind"], row["transport"]) == ("replayed", "plain")


@pytest.mark.native
def test_loopback_run_is_measured(run):
    line = "consensus --algorithm Dilithium2 --nodes 2 --blocks 6 --mode loopback --json"
    shown = run(line).data
    row = shown["runs"][0]
    assert (shown["kind"], row["nodes"], row["is_live"]) == ("measured", 2, True)
    assert 0 < row["latency_low_seconds"] < row["latency_high_seconds"]
