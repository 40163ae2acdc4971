"""Changes in histories of runs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from pqchain import results
from pqchain.bench import changes
from pqchain.bench.runs import HISTORY
from pqchain.errors import DataError, UsageError
from tests import frames


def series(seed: int, *means: float, runs: int = 10, noise: float = 0.01) -> list[float]:
    rng = np.random.default_rng(seed)
    return [mean * math.exp(noise * rng.normal()) for mean in means for _ in range(runs)]


def test_changes_of_ten_percent_are_found_where_they_are():
    for seed in range(50):
        assert changes.change_points(series(seed, 1.0, 1.1, 0.95)) == [10, 20]


def test_noise_alone_is_rarely_a_change():
    found = [changes.change_points(series(seed, 1.0, runs=30, noise=0.03)) for seed in range(200)]
    assert sum(map(bool, found)) <= 16  # of 200


def test_outlier_is_not_a_change():
    values = series(1, 1.0, runs=12)
    values[5] *= 3
    assert changes.change_points(values) == []


def test_partition_is_optimal():
    """The cost equals the least over all partitions, tried one by one."""
    for seed in range(20):
        values = list(np.exp(np.random.default_rng(seed).normal(0, 0.2, 10)))
        penalty = 3 * changes.noise(values) ** 2 * math.log(len(values))

        logs = changes.clipped(values)

        def cost(starts, values=values, logs=logs, penalty=penalty):
            ends = [0, *starts, len(values)]
            parts = [logs[a:b] for a, b in itertools.pairwise(ends)]
            if min(map(len, parts)) < changes.MIN_RUNS:
                return math.inf
            return sum(((p - p.mean()) ** 2).sum() for p in parts) + penalty * len(starts)

        least = min(
            cost(starts)
            for count in range(4)
            for starts in itertools.combinations(range(1, len(values)), count)
        )
        assert cost(changes.change_points(values)) == pytest.approx(least)


def test_short_histories_have_no_changes():
    for count in range(6):
        assert changes.change_points(series(0, 1.0, runs=count)) == []
    with pytest.raises(UsageError, match="must be positive"):
        changes.change_points([1.0, math.nan])


def test_change_names_the_first_run_after_it():
    one = frames.measurements(["Ed25519"])
    parts = [
        one.assign(
            date=f"2026-11-{day:02}", commit=f"{day:040}", machine_id="m", pqchain="",
            preset="paper",
            median_seconds=one["median_seconds"] * (0.5 if day > 6 else 1.0),
        )
        for day in range(1, 13)
    ]  # fmt: skip
    history = results.joined(parts, HISTORY)
    found = changes.changes(history)
    assert len(found) == (one["status"] == "ok").sum()
    assert set(found["date"]) == {"2026-11-07"} and set(found["commit"]) == {f"{7:040}"}
    assert found["ratio"].to_list() == pytest.approx([0.5] * len(found))
    with pytest.raises(DataError):
        changes.changes(pd.DataFrame({"a": [1]}))
