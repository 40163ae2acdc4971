"""Runs of the engines themselves, where they are built (`make engines`)."""

from __future__ import annotations

import pytest

from pqchain_engines import comparison, evm, frames, prices, registry, runner
from pqchain_engines.setup import Setup

pytestmark = [pytest.mark.long, pytest.mark.native]


@pytest.fixture(autouse=True)
def built(request):
    name = request.node.name.split("_")[1]
    if reason := registry.get(name).unavailable_reason():
        pytest.skip(reason)


def test_simplex_takes_three_hops_and_runs_are_equal():
    setups = [
        prices.with_prices("simplex", Setup(algorithm=name, nodes=4, heights=5, warmup=3))
        for name in ("Ed25519", "ML-DSA-65", "BLS12-381")
    ]
    first, second = (runner.run("simplex", setups) for _ in range(2))
    assert first.equals(second)
    assert (first["status"] == "ok").all()
    assert first["digest"].str.len().min() > 0
    for row in frames.summarize(first).to_dict("records"):
        # Three hops of 50 ms, and at most a few tens of signatures.
        assert 0.15 < row["latency_seconds"] < 0.15 + 40 * row["verify_seconds"] + 1e-3
        # Each of 4 validators sends each other two votes, and the leader sends the block.
        assert (row["votes"], row["blocks"]) == (24, 3)


def test_simplex_reproduces_a_stored_run_with_the_stored_prices():
    stored = comparison.stored("simplex")
    row = stored[(stored["mode"] == "virtual") & (stored["algorithm"] != "Ed25519")].iloc[0]
    setup = prices.with_prices("simplex", Setup(
        algorithm=row["algorithm"], nodes=int(row["nodes"]), heights=int(row["heights"]), warmup=3,
        latency_seconds=row["link_latency_seconds"], block_bytes=int(row["block_bytes"]),
        rate_bits_per_second=row["rate_bits_per_second"], seed=int(row["seed"]),
    ))  # fmt: skip
    run = frames.summarize(runner.run("simplex", [setup])).iloc[0]
    names = ["digest", "sign_seconds", "verify_seconds", "latency_seconds", "sent_bytes"]
    assert run[names].equals(row[names])


def test_simplex_recovers_from_a_killed_validator():
    setup = Setup(
        algorithm="Ed25519", nodes=4, heights=9, warmup=0, leader_timeout_seconds=1.0,
        killed_node=2, killed_after_height=2,
    )  # fmt: skip
    heights = runner.run("simplex", [setup])
    (run,) = frames.summarize(heights).to_dict("records")
    # Every fourth height has the killed leader, times out and is not final; the others are.
    assert 1 <= run["rounds"] <= 3
    assert run["final_heights"] == 9 - run["rounds"]
    assert heights["start_seconds"].max() > 1.0


def test_cometbft_floods_votes_and_takes_three_hops():
    options = {"heights": 4, "warmup": 2, "poll_seconds": 0.01, "flush_seconds": 0.001}
    counts = {"Ed25519": 0, "ECDSA-secp256k1": 5, "ML-DSA-65": 5, "ML-DSA-44": 5}
    setups = [
        Setup(algorithm=name, block_bytes=5000, transactions=count, **options)
        for name, count in counts.items()
    ]
    setups.append(Setup(algorithm="Falcon-padded-512", commit_timeout_seconds=0.0, **options))
    runs = frames.summarize(runner.run("cometbft", setups))
    assert runs["status"].tolist() == ["ok"] * 5
    assert runs["votes"].tolist() == [72, 72, 72, 72, 64]
    assert runs["commit_signatures"].tolist() == [4, 4, 4, 4, 3]
    # Three hops of 50 ms and, without a pause after the commit, a fourth before them.
    hops = [int(seconds / 0.05) for seconds in runs["latency_seconds"]]
    assert hops == [3, 3, 3, 3, 4]


def test_cometbft_recovers_from_faults():
    options = {"algorithm": "Ed25519", "poll_seconds": 0.01, "flush_seconds": 0.001, "warmup": 0}
    killed = Setup(
        heights=9, leader_timeout_seconds=3.0, killed_node=2, killed_after_height=2, **options
    )
    slow = Setup(heights=4, slow_node=1, slow_latency_seconds=0.2, **options)
    large = Setup(heights=2, block_bytes=60_000_000, limit_seconds=30.0, **options)
    missing = Setup(heights=2, **options | {"algorithm": "BLS12-381"})
    heights = runner.run("cometbft", [killed, slow, large, missing])
    runs = frames.summarize(heights)
    assert runs["status"].tolist() == ["ok", "ok", "failed", "failed"]
    # The killed proposer's height ends in a later round, after timeout_propose.
    rounds = heights[heights["run"] == 1]["rounds"]
    assert runs["final_heights"].iloc[0] == 9
    assert 1 <= (rounds > 0).sum() <= 3
    assert heights[(heights["run"] == 1) & (heights["rounds"] > 0)]["latency_seconds"].min() > 3.0
    # Blocks of the slow validator and its last vote take longer than those of the others.
    assert runs["latency_seconds"].iloc[1] > runs["quorum_seconds"].iloc[1] > 0.15
    assert "at most" in runs["reason"].iloc[2]
    assert "bls12381" in runs["reason"].iloc[3]


def test_revm_verifies_with_pqchains_library():
    frame = evm.measure(["ML-DSA-44"], calls=20, repeats=5)
    assert frame["status"].tolist() == ["ok", "ok"]
    assert (frame["call_seconds"] > 1e-6).all()
