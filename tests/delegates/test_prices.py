"""The law "host": recovery of its service times, and predictions of runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pqchain.consensus import model
from pqchain.consensus.network import HostPrices, named
from pqchain.consensus.scenario import Faults
from pqchain.delegates import host, modes, prices
from pqchain.errors import UsageError
from tests.consensus.scenarios import scenario, table

PRICES = HostPrices(
    message_seconds=3e-4, byte_seconds=5e-9, transaction_seconds=7e-5, height_seconds=4e-3
)


def ran(one, **changes):
    """A run with the predicted times of PRICES and recorded messages."""
    took = model.run(prices.Computer(prices=PRICES, costs=one.costs, processors=2).hosts(one))
    given = {
        "scenario": one, "mode": "loopback", "latency_seconds": took.latency_seconds,
        "throughput_per_second": 1.0, "final_blocks": 1, "views": 1, "is_safe": True,
        "is_live": True, "transactions_per_block": 1.0,
    }  # fmt: skip
    return modes.Ran(**(given | changes))


def test_fit_recovers_known_service_times(monkeypatch):
    def measured(one, **_):
        real = one.with_(
            network=named("host", prices=PRICES),
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
    result = prices.calibrate(table()).prices
    for name in prices.NAMES:
        assert getattr(result, name) == pytest.approx(getattr(PRICES, name), rel=0.02)


def _with_starts(run):
    return [(height, height.block.starts_ns / 1e9) for height in run.heights]


def test_prediction_matches_the_simulated_run():
    base = scenario(nodes=4, network=named("star"), vote_phases=2)
    here = prices.Computer(prices=PRICES, costs=table(), processors=2)
    result = here.predicted(ran(base))
    assert result.error_percent == pytest.approx(0.0)
    alone = here.predicted(ran(base.with_(network=named("host"), vote_phases=2)))
    assert 1.3 < alone.predicted_seconds / result.predicted_seconds < 2
    row = modes.frame([result]).iloc[0]
    assert row["prediction_error_percent"] == pytest.approx(0.0)
    assert row["predicted_latency_seconds"] == result.latency_seconds


def test_unsupported_runs_are_not_predicted():
    here = prices.Computer(prices=PRICES, costs=table(), processors=2)
    observed = scenario(nodes=4, delegates=2, network=named("star"))
    faulty = scenario(nodes=4, faults=Faults(crashed=(0,)), view_timeout_seconds=1.0)
    other = replace(here, costs=table(algorithm="Falcon-512"))
    for computer, case in ((here, observed), (here, faulty), (other, scenario(nodes=2))):
        result = computer.predicted(ran(case))
        assert result.predicted_seconds != result.predicted_seconds  # NaN


def test_too_many_processors_are_rejected():
    with pytest.raises(UsageError, match=r"processors is 5000, and this process may use \d+"):
        host.check_processors(5000)


def test_processors_are_chosen_among_the_available_ones():
    assert len(host.chosen(1)) == 1
    assert len(host.chosen(host.processors())) == host.processors()
