"""The law "host": its prices come back from what it predicts, and what it says of a run."""

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


def test_prices_are_found_again_in_what_they_made(monkeypatch):
    def measured(one, **_):
        real = one.with_(
            network=named("host", prices=PRICES),
            exchange=one.exchange,
            vote_phases=one.vote_phases,
        )
        return replace(model.run(real), mode="loopback")

    monkeypatch.setattr(modes, "run", measured)
    found = prices.calibrate(table()).prices
    for name in prices.NAMES:
        assert getattr(found, name) == pytest.approx(getattr(PRICES, name), rel=0.02)


def test_a_prediction_is_of_the_run_and_not_of_its_network():
    one = scenario(nodes=4, network=named("star"), vote_phases=2)
    here = prices.Computer(prices=PRICES, costs=table(), processors=2)
    done = here.predicted(ran(one))
    assert done.error_percent == pytest.approx(0.0)
    alone = here.predicted(ran(one.with_(network=named("host"), vote_phases=2)))
    assert 1.3 < alone.predicted_seconds / done.predicted_seconds < 2
    row = consensus.frame([done]).iloc[0]
    assert row["prediction_error_percent"] == pytest.approx(0.0)
    assert row["predicted_latency_seconds"] == done.latency_seconds


def test_what_the_law_does_not_know_is_not_predicted():
    here = prices.Computer(prices=PRICES, costs=table(), processors=2)
    observed = scenario(nodes=4, delegates=2, network=named("star"))
    faulty = scenario(nodes=4, faults=Faults(crashed=(0,)), view_timeout_seconds=1.0)
    other = replace(here, costs=table(algorithm="Falcon-512"))
    for computer, one in ((here, observed), (here, faulty), (other, scenario(nodes=2))):
        done = computer.predicted(ran(one))
        assert done.predicted_seconds != done.predicted_seconds  # NaN


def test_more_processors_than_there_are_is_wrong_use():
    with pytest.raises(UsageError, match=r"processors is 5000, and this process may use \d+"):
        host.check_processors(5000)


def test_processors_are_chosen_among_those_that_there_are():
    assert len(host.chosen(1)) == 1
    assert len(host.chosen(host.processors())) == host.processors()
