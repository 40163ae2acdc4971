"""Calibration of the law "host", and its predictions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pqchain.consensus import model
from pqchain.consensus.network import ServiceTimes, named
from pqchain.consensus.scenario import Faults
from pqchain.delegates import host, modes, service_times
from pqchain.errors import UsageError
from tests.consensus.scenarios import scenario, table

PRICES = ServiceTimes(
    message_seconds=3e-4, byte_seconds=5e-9, transaction_seconds=7e-5, height_seconds=4e-3
)


def ran(one, **changes):
    """A run that took what the law says for PRICES, and some messages as they were."""
    took = model.run(
        service_times.Computer(service_times=PRICES, costs=one.costs, processors=2).hosts(one)
    )
    given = {
        "scenario": one, "mode": "loopback", "latency_seconds": took.latency_seconds,
        "throughput_per_second": 1.0, "final_blocks": 1, "views": 1, "is_safe": True,
        "is_live": True, "transactions_per_block": 1.0,
    }  # fmt: skip
    return modes.Ran(**(given | changes))


def test_prices_are_found_again_in_what_they_made(monkeypatch):
    def measured(one, **_):
        real = one.with_(
            network=named("host", service_times=PRICES),
            exchange=one.exchange,
            vote_phases=one.vote_phases,
        )
        laps = [
            modes.Lap(
                latency_seconds=height.ended_ns / 1e9 - before, spread_seconds=0.0, transactions=1,
                messages=1, bytes=1, cpu_seconds=0.0,
            )
            for height, before in _with_starts(model.run(real))
        ]  # fmt: skip
        return ran(one, laps=tuple(laps))

    monkeypatch.setattr(modes, "run", measured)
    found = service_times.calibrate(table()).service_times
    for name in service_times.NAMES:
        assert getattr(found, name) == pytest.approx(getattr(PRICES, name), rel=0.02)


def _with_starts(run):
    return [(height, height.block.starts_ns / 1e9) for height in run.heights]


def test_a_prediction_is_of_the_run_and_not_of_its_network():
    one = scenario(nodes=4, network=named("star"), vote_phases=2)
    here = service_times.Computer(service_times=PRICES, costs=table(), processors=2)
    done = here.predicted(ran(one))
    assert done.error_percent == pytest.approx(0.0)
    alone = here.predicted(ran(one.with_(network=named("host"), vote_phases=2)))
    assert 1.3 < alone.predicted_seconds / done.predicted_seconds < 2
    row = modes.frame([done]).iloc[0]
    assert row["prediction_error_percent"] == pytest.approx(0.0)
    assert row["predicted_latency_seconds"] == done.latency_seconds


def test_what_the_law_does_not_know_is_not_predicted():
    here = service_times.Computer(service_times=PRICES, costs=table(), processors=2)
    observed = scenario(nodes=4, delegates=2, network=named("star"))
    faulty = scenario(nodes=4, faults=Faults(crashed=(0,)), view_timeout_seconds=1.0)
    other = replace(here, costs=table(algorithm="Falcon-512"))
    for computer, one in ((here, observed), (here, faulty), (other, scenario(nodes=2))):
        done = computer.predicted(ran(one))
        assert done.predicted_seconds != done.predicted_seconds  # NaN


def test_more_processors_than_there_are_is_wrong_use():
    with pytest.raises(UsageError, match=r"processors must be at most \d+, .*; got 5000"):
        host.check_processors(5000)


def test_processors_are_chosen_among_those_that_there_are():
    assert len(host.first_processors(1)) == 1
    assert len(host.first_processors(host.processors())) == host.processors()
