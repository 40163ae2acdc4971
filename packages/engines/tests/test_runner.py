"""Runs of engines: rows, failures with their reasons, no process left."""

from __future__ import annotations

import json
import math
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqchain import results
from pqchain.errors import UnknownAlgorithm, UnknownName, Unsupported, UsageError
from pqchain_engines import evm, frames, prices, protocol, runner, tables
from pqchain_engines.protocol import EngineFailure
from pqchain_engines.setup import Setup

FAKES = Path(__file__).parent / "fakes.py"


DONE = '{"id": 1, "done": true}'


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([DONE, DONE], "more than one result"),
        (['{"id": 1, "done": true}\n{"id": 1, "error": "x"}'], "more than one result"),
        (['{"id": true, "done": true}'], "id True; expected 1"),
        (['{"id": 1.0, "done": true}'], "id 1.0; expected 1"),
        (['{"id": 1, "done": NaN}'], "NaN; expected a number"),
        (['{"id": 1, "done": 1}'], "done has the wrong type: 1"),
        (['{"id": 1, "done": false}'], "done must be true"),
        (['{"id": 1, "error": ["x"]}'], "error has the wrong type"),
        (['{"id": 1, "latency_seconds": "soon"}', DONE], "latency_seconds has the wrong type"),
        (['{"id": 1, "latency_seconds": [1]}', DONE], "latency_seconds has the wrong type"),
        (['{"id": 1, "latency_seconds": 1e999}', DONE], "1e999; expected a number"),
        ([f'{{"id": 1, "height": {"9" * 400}}}', DONE], "expected a number of at most"),
        (['{"id": 1, "height": -1}', DONE], "height has the wrong type: -1"),
        (['{"id": 1, "vote_messages": 1.5}', DONE], "vote_messages has the wrong type"),
        (["yes"], "not an answer to this scenario: b'yes'"),
        (["[1]"], "not a JSON object"),
        ([DONE], "a record must have seconds"),
        (['{"id": 1, "seconds": []}', DONE], "seconds has the wrong type"),
    ],
)
def test_an_answer_of_another_type_is_a_failure(lines, reason):
    command = [sys.executable, str(FAKES), "lines", *lines]
    with pytest.raises(EngineFailure) as error:
        protocol.ask(command, {"id": 1}, limit_seconds=30.0, required=["seconds"])
    assert reason in str(error.value)


def test_each_height_is_a_row_and_each_run_a_row_of_medians(fake_engine, tmp_path):
    fake_engine("right")
    setups = [Setup(algorithm="Ed25519", nodes=4, heights=5, warmup=2, block_bytes=1000)] * 2
    heights = runner.run("simplex", setups)
    assert heights["height"].tolist() == [3, 4, 5, 6, 7] * 2
    assert heights["run"].tolist() == [1] * 5 + [2] * 5
    first = heights.iloc[0]
    assert (first["quorum"], first["kind"], first["digest"]) == (3, "replayed", "bafdb4e5")
    assert (first["votes"], first["vote_bytes"], first["blocks"]) == (24, 2400, 3)
    assert (first["sent_messages"], first["sent_bytes"]) == (27, 5400)
    runs = frames.summarize(heights)
    assert runs["latency_seconds"].tolist() == pytest.approx([0.155, 0.155])
    assert runs["sent_bytes"].tolist() == [5400, 5400]
    assert math.isnan(runs["commit_bytes"].iloc[0])
    results.save(heights, tmp_path / "heights.csv")
    assert results.load(tmp_path / "heights.csv").equals(heights)


def test_heights_without_a_quorum_fail_the_run_with_a_reason(fake_engine):
    fake_engine("stalls")
    heights = runner.run("simplex", [Setup(algorithm="Ed25519", heights=3)])
    assert set(heights["status"]) == {"not final"}
    (row,) = frames.summarize(heights).to_dict("records")
    assert (row["status"], row["final_heights"], row["rounds"]) == ("failed", 0, 3)
    assert row["reason"] == "no quorum finalized this height"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("crash", "exit code 101: thread 'main' panicked"),
        ("refuses", "nodes must be 1 to 256; got 0"),
        ("other", "(id 2; expected 1)"),
        ("closes", "a closed stdin or stdout"),
        ("deaf", "no result in 0.5 s"),
    ],
)
def test_a_failing_engine_is_a_row_with_the_reason(fake_engine, kind, reason, monkeypatch):
    fake_engine(kind)
    monkeypatch.setattr(protocol, "_GRACE_SECONDS", 1.0)
    limit = 0.5 if kind == "deaf" else 30.0
    frame = runner.run("simplex", [Setup(algorithm="Ed25519")], limit_seconds=limit)
    (row,) = frame.to_dict("records")
    assert row["status"] == "failed"
    assert reason in row["reason"]
    assert frames.summarize(frame)["status"].tolist() == ["failed"]


def test_what_an_engine_does_not_support_is_rejected(fake_engine):
    fake_engine("right")
    for changes in ({"killed_node": 4}, {"slow_node": 9}, {"nodes": 0}):
        with pytest.raises(UsageError, match=next(iter(changes))):
            Setup(algorithm="Ed25519", **changes)
    for setup, message in (
        (Setup(algorithm="Hawk-512"), "Hawk-512"),
        (Setup(algorithm="Ed25519", mode="netns"), "mode of simplex"),
        (Setup(algorithm="Ed25519", nodes=200), "at most 128"),
    ):
        with pytest.raises(UsageError, match=message):
            runner.run("simplex", [setup])
    with pytest.raises(UnknownName, match="simplex"):
        runner.run("simplx", [])


def test_namespaces_exist_during_a_run(fake_engine, monkeypatch):
    fake_engine("right")
    alive, requests = [], []

    @contextmanager
    def namespaces(count, link):
        assert (count, link.bits_per_second, link.delay_seconds) == (2, 1e7, 0.0)
        alive.append(True)
        try:
            yield SimpleNamespace(
                name=lambda i: f"namespace-{i}", host=lambda i: f"10.99.0.{i + 1}"
            )
        finally:
            alive.pop()

    def ask(command, scenario, *, limit_seconds):
        assert alive
        requests.append(scenario)
        raise EngineFailure("crashed")

    monkeypatch.setattr(runner, "Namespaces", namespaces)
    monkeypatch.setattr(protocol, "ask", ask)
    setup = Setup(algorithm="Ed25519", mode="netns", nodes=2, rate_bits_per_second=1e7)
    assert runner.run("cometbft", [setup])["reason"].tolist() == ["crashed"]
    assert not alive
    assert requests[0]["namespaces"][1] == {"name": "namespace-1", "host": "10.99.0.2"}


@given(nodes=st.integers(1, 256))
def test_a_quorum_exceeds_two_thirds(nodes):
    quorum = Setup(algorithm="Ed25519", nodes=nodes).quorum
    faulty = (nodes - 1) // 3
    # Two quorums share more than `faulty` validators, and the others form one.
    assert 2 * quorum - nodes > faulty
    assert nodes - faulty >= quorum


def test_the_scenario_has_si_units_and_bytes():
    setup = Setup(algorithm="ML-DSA-65", rate_bits_per_second=8e6, mode="loopback")
    scenario = setup.scenario(7, "/library.so")
    assert scenario["rate_bytes_per_second"] == 1e6
    assert [scenario[n] for n in ("id", "library", "scheme")] == [7, "/library.so", "ML-DSA-65"]
    assert scenario["leader_timeout_seconds"] == 2.0
    assert Setup(algorithm="Ed25519").scenario(1, "")["leader_timeout_seconds"] == 600.0
    json.dumps(scenario, allow_nan=False)
    assert "poll_seconds" not in scenario
    assert setup.scenario(7, "", ("poll_seconds",))["poll_seconds"] == 0.1


@pytest.mark.long
def test_prices_are_measured_and_used_in_virtual_time(fake_engine):
    fake_engine("right")
    frame = prices.measure("simplex", samples=5, runs=6)
    row = frame[frame["algorithm"] == "Ed25519"].iloc[0]
    assert (row["sign_seconds"], row["verify_seconds"], row["status"]) == (1e-4, 2e-5, "ok")
    assert (row["sign_low_seconds"], row["sign_high_seconds"], row["runs"]) == (1e-4, 1e-4, 6)
    few = prices.measure("simplex", samples=5, runs=2)
    assert few[["sign_low_seconds", "verify_high_seconds"]].isna().all(axis=None)
    with pytest.raises(UsageError, match="runs"):
        prices.measure("simplex", runs=1)
    fake_engine("crash")
    assert set(prices.measure("simplex", runs=2)["status"]) == {"unsupported"}
    setup = prices.with_prices("simplex", Setup(algorithm="Ed25519"))
    assert 1e-6 < setup.verify_seconds < 1e-2
    for options in ({"mode": "loopback"}, {"sign_seconds": 1.0}):
        unchanged = Setup(algorithm="Ed25519", **options)
        assert prices.with_prices("simplex", unchanged) is unchanged
    with pytest.raises(Unsupported, match="pqchain engine prices"):
        prices.with_prices("no-such-engine", Setup(algorithm="Ed25519"))


@pytest.mark.long
@pytest.mark.native
def test_prices_are_relative_to_ecrecover_in_the_same_evm(fake_engine, tmp_path):
    # The fake takes 10 us a call for ecrecover, 20 us for others, and 1 us for the loop.
    fake_engine("evm")
    frame = evm.measure(calls=100, repeats=4, runs=6)
    rows = {row["algorithm"]: row for row in frame.to_dict("records")}
    assert list(rows) == list(evm.ALGORITHMS)
    assert rows["ecrecover"]["block_gas"] == pytest.approx(3000)
    assert rows["ecrecover"]["mgas_per_second"] == pytest.approx(3000 / 9e-6 / 1e6)
    row = rows["ML-DSA-44"]
    assert row["call_seconds"] == pytest.approx(19e-6)
    assert row["loop_seconds"] == pytest.approx(1e-6)
    assert row["block_gas"] == pytest.approx(3000 * 19 / 9)
    assert row["block_low_gas"] <= row["block_gas"] <= row["block_high_gas"]
    assert (row["gas"], row["source"]) == (4500, "EIP-8051, draft")
    assert row["input_bytes"] == 32 + 2420 + 1312
    assert (rows["ECDSA-P256"]["precompile"], rows["ECDSA-P256"]["gas"]) == ("P256VERIFY", 6900)
    results.save(frame, tmp_path / "evm.csv")
    assert results.load(tmp_path / "evm.csv").equals(frame)
    assert "Mgas/s" in tables.precompiles(frame).text(150)


@pytest.mark.native
def test_a_failure_is_a_row_with_the_reason(fake_engine):
    fake_engine("crash")
    frame = evm.measure(["ML-DSA-44"])
    assert frame["status"].tolist() == ["unsupported"] * 2
    assert "exit code 101" in frame["reason"].iloc[0]
    fake_engine("evm")
    frame = evm.measure(["Ed25519", "Schnorr-secp256k1"], runs=2)
    assert frame["status"].tolist() == ["ok", "ok", "unsupported"]
    assert "not a native library" in frame["reason"].iloc[2]


def test_intervals_are_those_of_runs_and_ratios_of_one_run():
    # The machine is twice as slow in the second run; the ratio is not.
    anchor, loop = np.array([1e-5, 2e-5, 1e-5] * 2), np.full(6, 1e-7)
    row = evm._times(2 * anchor, loop, anchor, 4500)
    assert (row["low_seconds"], row["high_seconds"]) == (2e-5, 4e-5)
    assert row["block_low_gas"] == row["block_gas"] == row["block_high_gas"] == 6000
    assert row["mgas_per_second"] == pytest.approx(4500 / 2e-5 / 1e6)


def test_wrong_use_of_an_evm_is_rejected(fake_engine, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="it is an EVM"):
        runner.run("revm", [Setup(algorithm="Ed25519")])
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))
    with pytest.raises(Unsupported, match="revm"):
        evm.measure()
    fake_engine("evm")
    for option in ("repeats", "runs"):
        with pytest.raises(UsageError, match=option):
            evm.measure(**{option: 1})
    with pytest.raises(UnknownAlgorithm):
        evm.measure(["no such scheme"])


def test_stored_precompiles_cover_the_default_and_have_intervals():
    frame = evm.stored()
    assert set(frame["algorithm"]) == set(evm.ALGORITHMS)
    assert (frame["status"] == "ok").all()
    assert (frame["low_seconds"] < frame["high_seconds"]).all()
    assert frame["runs"].min() >= 6
