"""The law "host": recovery of its service times, and predictions of runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pqchain import consensus
from pqchain.consensus import model
from pqchain.consensus.network import HostPrices, named
from pqchain.consensus.scenario import Faults
from pqchain.delegates import host, modes, prices
from pqchain.errors import UsageError
from tests.consensus.scenarios import scenario, table
from tests.delegates.runs import executed

PRICES = HostPrices(
    message_seconds=3e-4, byte_seconds=5e-9, transaction_seconds=7e-5, height_seconds=4e-3
)


def ran(one):
    """A run that took what the law says for PRICES."""
    took = model.run(prices.Computer(prices=PRICES, costs=one.costs, processors=2).hosts(one))
    return executed(one, [took.latency_seconds])


def test_fit_recovers_known_service_times(monkeypatch):
    def measured(one, **_):
        real = one.with_(
            network=named("host", prices=PRICES),
            exchange=one.exchange,
            vote_phases=one.vote_phases,
        )
        return replace(model.run(real), mode="loopback")

    monkeypatch.setattr(modes, "run", measured)
    result = prices.calibrate(table()).prices
    for name in prices.NAMES:
        assert getattr(result, name) == pytest.approx(getattr(PRICES, name), rel=0.02)


def test_prediction_matches_the_simulated_run():
    one = scenario(nodes=4, network=named("star"), vote_phases=2)
    here = prices.Computer(prices=PRICES, costs=table(), processors=2)
    done = here.predicted(ran(one))
    assert done.error_percent == pytest.approx(0.0)
    alone = here.predicted(ran(one.with_(network=named("host"), vote_phases=2)))
    assert 1.3 < alone.predicted_seconds / done.predicted_seconds < 2
    row = consensus.frame([done]).iloc[0]
    assert row["prediction_error_percent"] == pytest.approx(0.0)
    assert row["predicted_latency_seconds"] == done.latency_seconds


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
