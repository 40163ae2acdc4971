"""Runs of the engines themselves, where they are built (`make engines`)."""

from __future__ import annotations

import pytest

from pqchain.engines import evm, frames, prices, registry, runner
from pqchain.engines.setup import Setup

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


def test_simplex_is_slower_where_certificates_share_an_uplink():
    rows = [
        Setup(algorithm="ML-DSA-44", nodes=7, heights=3, warmup=3, rate_bits_per_second=rate)
        for rate in (0.0, 1e8)
    ]
    free, limited = frames.summarize(runner.run("simplex", rows))["latency_seconds"]
    assert free < 0.151
    assert limited > 0.165


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


def test_simplex_runs_over_loopback():
    setup = Setup(algorithm="ML-DSA-44", mode="loopback", heights=5, warmup=3, limit_seconds=60)
    heights = runner.run("simplex", [setup])
    assert heights["status"].tolist() == ["ok"] * 5
    assert set(heights["kind"]) == {"measured"}
    assert heights["cpu_seconds"].sum() > 0


def test_revm_verifies_with_pqchains_library():
    frame = evm.measure(["ML-DSA-44"], calls=20, repeats=5)
    assert frame["status"].tolist() == ["ok", "ok"]
    assert (frame["call_seconds"] > 1e-6).all()
