"""Calibration of the law "host", and its predictions."""

from dataclasses import replace

import pytest

from pqchain import consensus
from pqchain.consensus import model
from pqchain.consensus.network import ServiceTimes, named
from pqchain.delegates import modes, service_times
from pqchain.errors import UsageError
from tests.consensus.scenarios import scenario, table
from tests.delegates.doubles import executed

TIMES = ServiceTimes(
    message_seconds=3e-4, byte_seconds=5e-9, transaction_seconds=7e-5, height_seconds=4e-3
)


def ran(case):
    """Return a run with the latency that the law predicts for TIMES."""
    computer = service_times.Computer(service_times=TIMES, costs=case.costs, processors=2)
    return executed(case, [model.run(computer.hosts(case)).latency_seconds])


def test_calibration_recovers_the_service_times(monkeypatch):
    def measured(case, **_):
        real = service_times.on_host(case, case.network.processors, TIMES)
        return replace(model.run(real), mode="loopback")

    monkeypatch.setattr(modes, "run", measured)
    fitted = service_times.calibrate(table()).service_times
    for name in service_times.NAMES:
        assert getattr(fitted, name) == pytest.approx(getattr(TIMES, name), rel=0.02)


def test_prediction_does_not_depend_on_the_network():
    case = scenario(nodes=4, network=named("star"), vote_phases=2)
    here = service_times.Computer(service_times=TIMES, costs=table(), processors=2)
    result = here.predicted(ran(case))
    alone = here.predicted(ran(case.with_(network=named("host"), vote_phases=2)))
    assert 1.3 < alone.predicted_seconds / result.predicted_seconds < 2
    row = consensus.frame([result]).iloc[0]
    assert row["prediction_error_percent"] == pytest.approx(0.0)
    assert row["predicted_latency_seconds"] == result.latency_seconds


def test_too_many_processors_are_rejected():
    with pytest.raises(UsageError, match=r"processors must be at most \d+, .*; got 5000"):
        modes.check_processors(5000)
