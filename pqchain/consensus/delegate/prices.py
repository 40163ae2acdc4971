"""What one computer needs for messages and blocks, and what the law "host" predicts from that.

Prices are found on small runs of their own, on one processor and with a scheme and sizes of their
own, and then put to any other scenario. So a prediction knows nothing of the runs that it is held
against. Prices are those of a moment: whatever else keeps the processors busy makes them higher.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from statistics import median
from typing import Any

import numpy as np
from tqdm import tqdm

from pqchain.consensus import model
from pqchain.consensus.delegate import host, modes
from pqchain.consensus.delegate.modes import Ran
from pqchain.consensus.network import HostPrices, named
from pqchain.consensus.scenario import Layout, Scenario
from pqchain.costs import CostTable
from pqchain.fitting import nonnegative
from pqchain.wire.drivers.nursery import Nursery

NAMES = tuple(each.name for each in fields(HostPrices))

_FREE = HostPrices(**dict.fromkeys(NAMES, 0.0))

_UNIT = 1e-6
"""What each price is set to, one at a time, to see what a scenario has of it."""

ALGORITHM = "Dilithium2"
"""What the runs that find the prices sign with: all of its signatures have one length."""

_HEIGHTS = 5

_SETS: tuple[Mapping[str, Any], ...] = (
    {"nodes": 2, "block_bytes": 12_000, "vote_phases": 2},
    {"nodes": 2, "block_bytes": 200_000},
    {"nodes": 2, "block_bytes": 400_000, "layout": Layout(data_bytes=30_000)},
    {"nodes": 4, "block_bytes": 12_000, "vote_phases": 2},
    {"nodes": 4},
)
"""What tells the prices apart: few and many transactions, much data, few and many messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Computer:
    """What a computer needs, and for how many processors."""

    prices: HostPrices
    costs: CostTable
    """What the schemes cost there."""
    processors: int

    def hosts(self, scenario: Scenario) -> Scenario:
        """Return the scenario on this computer, all work done by its processors."""
        network = scenario.network
        count = network.processors if network.law == "host" else self.processors
        return scenario.with_(
            network=named("host", processors=count, prices=self.prices),
            costs=self.costs,
            exchange=scenario.exchange,
            vote_phases=scenario.vote_phases,
        )

    def predicted(self, done: Ran) -> Ran:
        """Return a measured run with its predicted latency; the law knows no observers."""
        one = done.scenario
        if done.mode != "loopback":
            return done
        if one.delegate_count < one.nodes or one.faults.any or one.algorithm not in self.costs:
            return done
        return replace(done, predicted_seconds=model.run(self.hosts(one)).latency_seconds)


def calibrate(
    costs: CostTable,
    *,
    transport: str | None = None,
    using: Nursery | None = None,
    progress: bool = False,
) -> Computer:
    """Measure the prices of this computer, by runs on one of its processors.

    `costs` say what the schemes cost here, ALGORITHM among them; `using` is what
    `modes.nursery` returns. Raises Unsupported where
    processes cannot be bound to processors.
    """
    rows, seconds = [], []
    for changes in tqdm(_SETS, disable=not progress, unit="run"):
        one = Scenario(
            algorithm=ALGORITHM,
            costs=costs,
            network=named("host", prices=_FREE),
            blocks=_HEIGHTS,
            **changes,
        )
        done = modes.run(one, mode="loopback", transport=transport, using=using)
        rows.append(terms(one))
        seconds.append(median(lap.latency_seconds for lap in done.laps))
    return Computer(prices=fit(rows, seconds), costs=costs, processors=host.processors())


def terms(scenario: Scenario) -> tuple[float, ...]:
    """Return what the latency has of each price, and what it has without any, in seconds."""

    def latency(prices: HostPrices) -> float:
        network = named("host", processors=scenario.network.processors, prices=prices)
        exchange, phases = scenario.exchange, scenario.vote_phases
        one = scenario.with_(network=network, exchange=exchange, vote_phases=phases)
        return model.run(one).latency_seconds

    without = latency(_FREE)
    each = (latency(replace(_FREE, **{name: _UNIT})) - without for name in NAMES)
    return (*(seconds / _UNIT for seconds in each), without)


def fit(rows: Iterable[tuple[float, ...]], seconds: Iterable[float]) -> HostPrices:
    """Return the prices that come closest to those latencies, none of them negative."""
    matrix, values = np.array(list(rows)), np.array(list(seconds))
    # What verifying and signing take is known; the prices explain the rest, by relative error.
    found = nonnegative(matrix[:, :-1] / values[:, None], 1 - matrix[:, -1] / values)
    return HostPrices(**dict(zip(NAMES, map(float, found), strict=True)))
