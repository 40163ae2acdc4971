"""Growth of latency and processor time with the number of nodes, and shares of processor time.

Least-squares fits over runs. The heights of one run share its processes, so they are no independent
samples of a network: each run counts once, with the means of its heights.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from pqchain.consensus.runs import Height, Run
from pqchain.consensus.scenario import Scenario
from pqchain.costs import CostTable
from pqchain.results import Contract
from pqchain.results.statistics import linear, nonnegative, nonnegative_draws
from pqchain.works.pqdpol import plans

GROWTH = Contract.of(
    "pqdpol-growth",
    ("str", "setting exchange quantity"),
    ("float64", "exponent half_width"),
    ("Int64", "runs schemes largest"),
)

GROWING = {"latency": "latency_seconds", "processor time": "cpu_seconds"}

_LEAST_SIZES = 3
"""Sizes below which no interval is given: a line through two sizes leaves no residuals."""

SHARES = Contract.of(
    "pqdpol-shares",
    ("str", "what unit"),
    ("float64", "price price_low price_high percent percent_low percent_high"),
    ("Int64", "runs nodes"),
)

AMOUNTS = {
    "messages": "s each",
    "bytes": "s each",
    "transactions": "s each",
    "signatures": "of the bare time",
    "heights": "s each",
}
"""The terms of processor time, and the units of their coefficients."""


def frames(runs: Sequence[tuple[str, Run]], costs: CostTable) -> dict[str, pd.DataFrame]:
    """Return the frames "growth" and "shares" of (setting, run) pairs."""
    # Settings that coincide share a run, which counts once.
    measured = {id(run): run for _, run in runs if run.mode == "loopback"}.values()
    return {"growth": growth(runs), "shares": shares(measured, costs)}


def growth(runs: Iterable[tuple[str, Run]]) -> pd.DataFrame:
    """Return the exponents with which latency and processor time grow with N, the node count.

    Least squares of the logarithms of each run's mean; the schemes of a setting share the exponent
    and have a constant each. A frame of the contract "pqdpol-growth": half_width is that of the
    95 % interval from the residuals, which covers deviations from a power law and the scatter
    between these runs, but no other sizes or machines; NaN below three sizes. `runs` and `schemes`
    count what was fitted, `largest` is the largest N.
    """
    pairs = list(runs)
    rows = []
    for setting in (plans.TABLES, plans.ONE, plans.TWO, plans.EACH):
        for exchange in plans.EXCHANGES:
            selected = [
                run
                for name, run in pairs
                if name == setting and run.scenario.exchange == exchange and plans.settled(run)
            ]
            sizes = {run.scenario.nodes for run in selected}
            schemes = {run.scenario.algorithm for run in selected}
            # An exponent needs at least two sizes.
            if len(sizes) < 2:
                continue
            for name, quantity in GROWING.items():
                if setting == plans.EACH and quantity == "cpu_seconds":
                    continue  # virtual time charges no processor time
                exponent, half = _exponent(selected, quantity)
                half = half if len(sizes) >= _LEAST_SIZES else math.nan
                counts = (len(selected), len(schemes), max(sizes))
                rows.append([setting, exchange, name, exponent, half, *counts])
    return GROWTH.frame(rows)


def _exponent(runs: list[Run], quantity: str) -> tuple[float, float]:
    names = list(dict.fromkeys(run.scenario.algorithm for run in runs))
    matrix, values = [], []
    for run in runs:
        constants = [float(run.scenario.algorithm == name) for name in names]
        matrix.append([math.log(run.scenario.nodes), *constants])
        values.append(
            math.log(np.mean([getattr(height, quantity) for height in plans.settled(run)]))
        )
    # A power law is linear in logarithms: log(value) = exponent * log(N) + constant of the scheme.
    coefficients, half = linear(np.array(matrix), np.array(values))
    return float(coefficients[0]), float(half[0])


def amounts(scenario: Scenario, height: Height, costs: CostTable) -> list[float]:
    """Return the amount of work of one block per term of AMOUNTS; that of signatures in seconds."""
    cost, count = costs[scenario.algorithm], scenario.delegate_count
    # With "all-to-all" each delegate verifies the copies of all delegates, otherwise one block.
    blocks = count * (count if scenario.exchange == plans.ALL_TO_ALL else 1)
    verified = blocks * height.block.transactions
    votes = scenario.phases * count
    bare = (verified + votes * (count - 1)) * cost.verify_seconds + votes * cost.sign_seconds
    return [*map(float, (height.sent_messages, height.sent_bytes, verified, bare, count))]


def shares(runs: Iterable[Run], costs: CostTable) -> pd.DataFrame:
    """Return each term's share of processor time, fitted by non-negative least squares.

    A frame of the contract "pqdpol-shares": what, unit, price (the coefficient) and percent (its
    share in the largest network in which all vote with SINGLE and the exchange is all-to-all), both
    with the ends of their 95 % intervals by a bootstrap over the runs; runs is the number of runs
    fitted, nodes the size of that network.
    """
    rows: list[list[float]] = []
    largest, most = np.full(len(AMOUNTS), math.nan), 0
    for run in runs:
        scenario, heights = run.scenario, run.final
        # Observers verify too, but do not count as delegates, so their work would be unexplained.
        if not heights or scenario.delegate_count < scenario.nodes:
            continue
        amount = np.mean([amounts(scenario, height, costs) for height in heights], axis=0)
        seconds = float(np.mean([height.cpu_seconds for height in heights]))
        # Dividing by the time makes the right-hand side 1 and the errors relative.
        rows.append(amount / seconds)
        is_single = scenario.algorithm == plans.SINGLE and scenario.block_bytes == 50_000
        if is_single and scenario.exchange == plans.ALL_TO_ALL and scenario.nodes >= most:
            most, largest = scenario.nodes, amount
    # A fit needs more runs than terms: otherwise no residuals are left for the intervals.
    if len(rows) <= len(AMOUNTS):
        return SHARES.frame([])
    matrix, ones = np.array(rows), np.ones(len(rows))
    fits = np.vstack([nonnegative(matrix, ones), nonnegative_draws(matrix, ones)])
    percents = 100 * fits * largest / (fits @ largest)[:, None]
    return SHARES.frame(
        [name, unit, *_with_range(fits[:, term]), *_with_range(percents[:, term]), len(rows), most]
        for term, (name, unit) in enumerate(AMOUNTS.items())
    )


def _with_range(values: np.ndarray) -> list[float]:
    """Return the first value, and the ends of the 95 % interval of the others."""
    return [float(values[0]), *map(float, np.quantile(values[1:], (0.025, 0.975)))]
