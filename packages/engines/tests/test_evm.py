"""Precompiles inside revm: prices, intervals, failures as rows."""

from __future__ import annotations

import numpy as np
import pytest

from pqchain import results
from pqchain.errors import UnknownAlgorithm, Unsupported, UsageError
from pqchain_engines import evm, runner, tables
from pqchain_engines.setup import Setup

pytestmark = pytest.mark.native


def test_prices_are_relative_to_ecrecover_in_the_same_evm(fake_engine, tmp_path):
    # The fake takes 10 us a call for ecrecover, 20 us for others, and 1 us for the loop.
    fake_engine("evm")
    frame = evm.measure(calls=100, repeats=4, runs=2)
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


def test_a_failure_is_a_row_with_the_reason(fake_engine):
    fake_engine("crash")
    frame = evm.measure(["ML-DSA-44"])
    assert frame["status"].tolist() == ["unsupported"] * 2
    assert "exit code 101" in frame["reason"].iloc[0]
    fake_engine("evm")
    frame = evm.measure(["Ed25519", "Schnorr-secp256k1"], runs=2)
    assert frame["status"].tolist() == ["ok", "unsupported", "unsupported"]
    assert "not a native library" in frame["reason"].iloc[2]


def test_intervals_are_those_of_runs_and_ratios_of_one_run():
    # The machine is twice as slow in the second run; the ratio is not.
    anchor, loop = np.array([1e-5, 2e-5, 1e-5]), np.full(3, 1e-7)
    row = evm._times(2 * anchor, loop, anchor, 4500)
    assert (row["low_seconds"], row["high_seconds"]) == (2e-5, 4e-5)
    assert row["block_low_gas"] == row["block_gas"] == row["block_high_gas"] == 6000
    assert row["mgas_per_second"] == pytest.approx(4500 / 2e-5 / 1e6)


def test_wrong_use_is_rejected(fake_engine, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="it is an EVM"):
        runner.run("revm", [Setup(algorithm="Ed25519")])
    monkeypatch.setenv("PQCHAIN_CACHE", str(tmp_path))
    with pytest.raises(Unsupported, match="revm"):
        evm.measure()
    fake_engine("evm")
    with pytest.raises(UsageError, match="repeats"):
        evm.measure(repeats=1)
    with pytest.raises(UsageError, match="runs"):
        evm.measure(runs=1)
    with pytest.raises(UnknownAlgorithm):
        evm.measure(["no such scheme"])


def test_stored_precompiles_cover_the_default_and_have_intervals():
    frame = evm.stored()
    assert set(frame["algorithm"]) == set(evm.ALGORITHMS)
    assert (frame["status"] == "ok").all()
    assert (frame["low_seconds"] < frame["high_seconds"]).all()
    assert frame["runs"].min() >= 5
