"""Measurements of aggregates: results, not durations."""

import math

import pytest

from pqchain.bench.aggregates import SCHEME, measure_aggregates
from pqchain.costs import AggregateCosts


@pytest.mark.native
def test_every_aggregate_time_is_measured(monkeypatch):
    monkeypatch.setattr("pqchain.bench.aggregates.SIGNERS", 8)
    monkeypatch.setattr("pqchain.bench.aggregates.REPEATED", 2)
    monkeypatch.setattr("pqchain.bench.aggregates.ROUNDS", 3)
    costs, deviation = measure_aggregates()
    assert costs.algorithm == SCHEME
    assert costs.source == "blst/assembly"
    times = [getattr(costs, name) for name in AggregateCosts.__slots__ if name.endswith("_seconds")]
    assert len(times) == 2
    assert all(math.isfinite(each) and each >= 0 for each in (*times, deviation))
    assert costs.verify_seconds > 0
