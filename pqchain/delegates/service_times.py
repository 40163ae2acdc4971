"""Calibration of the law "host": service times of this computer, and predictions from them.

The service times are fitted to small runs on one processor with one scheme, and then applied to
any other scenario; so a prediction is independent of the run that it is compared with. They are
valid at the time of measurement: other load on the processors makes them longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from statistics import median
from typing import Any

import numpy as np
from tqdm import tqdm

from pqchain.consensus import model
from pqchain.consensus.network import ServiceTimes, named
from pqchain.consensus.runs import Run
from pqchain.consensus.scenario import Layout, Scenario
from pqchain.costs import CostTable
from pqchain.delegates import modes
from pqchain.results.statistics import nonnegative
from pqchain.wire.drivers.processes import ForkServer

NAMES = tuple(row.name for row in fields(ServiceTimes))

_FREE = ServiceTimes(**dict.fromkeys(NAMES, 0.0))

_UNIT = 1e-6
"""Value in seconds that each service time is set to, one at a time, to get its coefficient."""

ALGORITHM = "Dilithium2"
"""Scheme of the calibration runs; all of its signatures have the same length."""

_HEIGHTS = 10

SETS: tuple[Mapping[str, Any], ...] = (
    {"nodes": 2, "block_bytes": 12_000, "vote_phases": 2},
    {"nodes": 2, "block_bytes": 200_000},
    {"nodes": 2, "block_bytes": 400_000, "layout": Layout(data_bytes=30_000)},
    {"nodes": 4, "block_bytes": 12_000, "vote_phases": 2},
    {"nodes": 4},
)
"""Runs that separate the service times: few or many transactions, bytes and messages."""


def on_host(scenario: Scenario, processors: int, service_times: ServiceTimes) -> Scenario:
    """Return the scenario with the law "host", and exchange and votes as before."""
    return scenario.with_(
        network=named("host", processors=processors, service_times=service_times),
        exchange=scenario.exchange,
        vote_phases=scenario.vote_phases,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Computer:
    """Computer with its service times, the costs of schemes on it, and its processors."""

    service_times: ServiceTimes
    costs: CostTable
    """Costs of the schemes on that computer."""
    processors: int

    def hosts(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the law "host" and the costs and processors of this computer."""
        network = scenario.network
        count = network.processors if network.law == "host" else self.processors
        return on_host(scenario, count, self.service_times).with_(costs=self.costs)

    def predicted(self, run: Run) -> Run:
        """Return a run with its predicted latency, or unchanged if the law does not apply to it."""
        scenario = run.scenario
        # The law has no observers, and a run with faults is not predicted.
        if (
            run.mode != "loopback"
            or scenario.delegate_count < scenario.nodes
            or scenario.faults.any
            or scenario.algorithm not in self.costs
        ):
            return run
        return replace(run, predicted_seconds=model.run(self.hosts(scenario)).latency_seconds)


def calibrate(
    costs: CostTable,
    *,
    transport: str | None = None,
    fork_server: ForkServer | None = None,
    progress: bool = False,
) -> Computer:
    """Measure the service times of this computer with runs on one of its processors.

    `costs` has the costs of schemes on this computer, ALGORITHM among them; `fork_server` is
    entered. Raises Unsupported where processes cannot be bound to processors.
    """
    rows, seconds = [], []
    for changes in tqdm(SETS, disable=not progress, unit="run"):
        scenario = Scenario(
            algorithm=ALGORITHM,
            costs=costs,
            network=named("host", service_times=_FREE),
            blocks=_HEIGHTS,
            **changes,
        )
        run = modes.run(scenario, mode="loopback", transport=transport, fork_server=fork_server)
        # The model gives the coefficient of each service time in a run of the same scenario.
        rows.append(terms(scenario))
        seconds.append(median(height.latency_seconds for height in run.final))
    return Computer(service_times=fit(rows, seconds), costs=costs, processors=modes.processors())


def terms(scenario: Scenario) -> tuple[float, ...]:
    """Return the coefficient of each service time in the latency, then the rest in seconds."""

    def latency(service_times: ServiceTimes) -> float:
        hosted = on_host(scenario, scenario.network.processors, service_times)
        return model.run(hosted).latency_seconds

    without = latency(_FREE)
    # The latency is taken as linear in the service times, so a small step gives each coefficient.
    increases = (latency(replace(_FREE, **{name: _UNIT})) - without for name in NAMES)
    return (*(increase / _UNIT for increase in increases), without)


def fit(rows: Iterable[tuple[float, ...]], seconds: Iterable[float]) -> ServiceTimes:
    """Return the non-negative service times that fit the latencies best."""
    matrix, values = np.array(list(rows)), np.array(list(seconds))
    # Verification and signing times are known; the service times explain the rest. Rows are divided
    # by their latency to minimize the relative error.
    fitted = nonnegative(matrix[:, :-1] / values[:, None], 1 - matrix[:, -1] / values)
    return ServiceTimes(**dict(zip(NAMES, map(float, fitted), strict=True)))
