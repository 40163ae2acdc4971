"""Frames of runs, and means with confidence intervals over seeds."""

import math

import pytest

from pqchain.consensus import Faults, model, named, over_seeds, runs, sweep
from pqchain.errors import UsageError
from tests.consensus.scenarios import scenario


def test_record_has_scenario_and_result() -> None:
    case = scenario(network=named("gossip"), nodes=64, delegates=7, seed=3)
    result = model.run(case)
    row = result.record(runs.SWEEP)
    assert tuple(row) == tuple(runs.SWEEP.columns)
    assert row["scenario"] == case.identifier and row["costs"] == "test"
    assert (row["nodes"], row["delegates"], row["network"]) == (64, 7, "gossip")
    assert row["latency_seconds"] == result.latency_seconds
    assert row["messages"] == 64 * 8 + 7 * 6
    assert row["spread_seconds"] > 0 and row["is_live"] and row["reason"] == ""
    assert math.isnan(model.run(scenario()).record(runs.SWEEP)["spread_seconds"])


def test_stalled_run_names_the_nodes_without_blocks() -> None:
    stuck = scenario(
        network=named("mesh"), faults=Faults(crashed=(0, 1, 2)), view_timeout_seconds=1.0,
        max_views=4, blocks=3,
    )  # fmt: skip
    row = model.run(stuck).record()
    assert (row["is_live"], row["is_safe"], row["final_blocks"], row["views"]) == (
        False,
        True,
        0,
        4,
    )
    assert row["reason"].startswith("not live: 0 of 3 blocks became final; after 4 views 8 of 8")
    assert math.isnan(row["latency_seconds"]) and row["throughput_per_second"] == 0.0


def test_engine_errors_are_rows_with_the_reason() -> None:
    row = runs.failed(scenario(), UsageError("too large"))
    frame = runs.SWEEP.frame([row, model.run(scenario()).record(runs.SWEEP)])
    assert frame["status"].tolist() == ["unsupported", "ok"]
    assert frame["reason"].tolist() == ["too large", ""]


def test_medians_over_seeds_have_intervals_from_six_on() -> None:
    runs = sweep(
        [scenario(network=named("regions"), nodes=4, seed=seed) for seed in range(6)]
        + [scenario(network=named("mesh"), nodes=4, seed=0)],
        workers=1,
    )
    means = over_seeds(runs)
    assert means["seeds"].tolist() == [6, 1]
    latency = runs["latency_seconds"].to_numpy()[:6]
    middle = sorted(latency)[2:4]
    assert means["latency_seconds"][0] == pytest.approx(sum(middle) / 2)
    half = max(latency.max() - sum(middle) / 2, sum(middle) / 2 - latency.min())
    assert means["latency_seconds_half_width"][0] == pytest.approx(half)
    assert half > 0
    assert math.isnan(means["latency_seconds_half_width"][1])


def test_runs_that_are_not_live_count_in_live_only() -> None:
    runs = sweep([scenario(seed=seed) for seed in (0, 1)], workers=1)
    runs.loc[1, "is_live"] = False
    means = over_seeds(runs)
    assert means["live"][0] == 0.5
    assert means["latency_seconds"][0] == runs["latency_seconds"][0]
