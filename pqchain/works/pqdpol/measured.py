"""Runs of the settings of Tables 5 and 6 on this computer, as frames.

Every delegate is a process with a ledger, and every signature is made and verified. `plans` lists
the settings. Growth and shares are least-squares fits over runs: the heights of one run share its
processes and are no independent samples of a network, so each run counts once, with their means.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from pqchain.consensus.network import SECOND
from pqchain.consensus.runs import Height, Run
from pqchain.consensus.scenario import Scenario
from pqchain.costs import CostTable
from pqchain.delegates import modes, service_times
from pqchain.delegates.service_times import Computer
from pqchain.errors import Unsupported
from pqchain.results import Contract
from pqchain.results.statistics import (
    draws_interval,
    half_width,
    linear,
    nonnegative,
    nonnegative_draws,
)
from pqchain.wire.drivers.processes import ForkServer
from pqchain.works.pqdpol import plans, rebuilt
from pqchain.works.pqdpol.plans import ALL_TO_ALL, TABLES, Order, RunPlan, orders, settled

QUANTITIES: dict[str, Callable[[Height], float]] = {
    "latency_seconds": lambda height: height.latency_seconds,
    "transactions_per_block": lambda height: height.block.transactions,
    "messages": lambda height: height.sent_messages,
    "bytes": lambda height: height.sent_bytes,
    "cpu_seconds": lambda height: height.cpu_seconds,
    "spread_seconds": lambda height: height.spread_seconds,
}
"""Quantities of a height; a run has the mean and the half width of each."""

RUN = Contract.of(
    "pqdpol-run",
    ("str", "setting exchange algorithm kind transport"),
    ("Int64", "nodes delegates processors heights"),
    ("float64", "others_busy"),
    ("float64", " ".join(f"{name} {name}_half_width" for name in QUANTITIES)),
    ("float64", "throughput_per_second throughput_per_second_half_width"),
    ("float64", "predicted_latency_seconds prediction_error_percent"),
    ("str", "scenario"),
)

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


def run(costs: CostTable, plan: RunPlan, *, progress: bool = False) -> dict[str, pd.DataFrame]:
    """Execute all runs of the plan, with the costs of the schemes on this machine.

    Returns "run" (contract "pqdpol-run", a row for each cell: means over the heights and half of
    their 95 % intervals, which cover the scatter within one run), and the frames "growth" and
    "shares". Empty where delegates cannot run.
    """
    planned = list(orders(costs, plan))
    with modes.open_fork_server(planned[0][1]) as fork_server:
        try:
            computer = service_times.calibrate(costs, fork_server=fork_server, progress=progress)
        except Unsupported:
            return {}
        runs = execute(planned, computer, fork_server=fork_server, progress=progress)
    return frames(runs, costs)


def frames(runs: Sequence[tuple[str, Run]], costs: CostTable) -> dict[str, pd.DataFrame]:
    """Return the frames "run", "growth" and "shares" of (setting, run) pairs."""
    # Settings that coincide share a run, which counts once.
    measured = {id(run): run for _, run in runs if run.mode == "loopback"}.values()
    table = RUN.frame(row(setting, run) for setting, run in runs if setting)
    return {"run": table, "growth": growth(runs), "shares": shares(measured, costs)}


def execute(
    planned: Iterable[Order],
    computer: Computer,
    *,
    fork_server: ForkServer | None = None,
    progress: bool = False,
) -> list[tuple[str, Run]]:
    """Return the run of each order, with its setting; orders that coincide share one run."""
    known: dict[Any, Run] = {}
    runs = []
    for setting, scenario, how in tqdm(planned, disable=not progress, unit="run"):
        # All options belong to the key: a run over plain is not one over QUIC.
        case = (scenario.identifier, *sorted(how.items()))
        if case not in known:
            known[case] = computer.predicted(modes.run(scenario, **how, fork_server=fork_server))
        runs.append((setting, known[case]))
    return runs


def row(setting: str, run: Run) -> dict[str, Any]:
    """Return a run as a row of a frame of the contract RUN: medians over its heights."""
    scenario, heights = run.scenario, settled(run)
    samples = {name: [float(of(height)) for height in heights] for name, of in QUANTITIES.items()}
    pairs = zip(samples["transactions_per_block"], samples["latency_seconds"], strict=True)
    samples["throughput_per_second"] = [count / seconds for count, seconds in pairs]
    values = {name: float(np.median(sample or math.nan)) for name, sample in samples.items()}
    values |= {f"{name}_half_width": half_width(sample) for name, sample in samples.items()}
    predicted = run.predicted_seconds
    is_live = run.mode == "loopback"
    return values | {
        "setting": setting,
        "exchange": scenario.exchange,
        "algorithm": scenario.algorithm,
        "kind": run.kind,
        "transport": run.transport,
        "nodes": scenario.nodes,
        "delegates": scenario.delegate_count,
        "processors": scenario.network.processors if is_live else scenario.nodes,
        "heights": len(heights),
        "others_busy": others_busy(run),
        "predicted_latency_seconds": predicted,
        "prediction_error_percent": 100 * (predicted / values["latency_seconds"] - 1),
        "scenario": scenario.identifier,
    }


def others_busy(run: Run) -> float:
    """Return the share of the machine's processors that other programs used; NaN if unknown."""
    if not run.final:
        return math.nan
    seconds = (run.final[-1].ended_ns - run.final[0].block.starts_ns) / SECOND
    run_share = sum(height.cpu_seconds for height in run.final) / seconds / (os.cpu_count() or 1)
    # Processor time is exact, utilization has clock ticks, so the difference may be negative.
    return float(np.maximum(run.machine_busy - run_share, 0.0))


def with_runs(cells: pd.DataFrame, run: pd.DataFrame, exchange: str = ALL_TO_ALL) -> pd.DataFrame:
    """Add our runs with an exchange to the cells of Tables 5 and 6, for `plots.plot_cells`.

    New columns: run_latency_seconds, run_throughput_per_second, and the _half_width of each; NaN
    for cells without a run.
    """
    names = [f"{name}{end}" for name in rebuilt.QUANTITIES.values() for end in ("", "_half_width")]
    is_cell = (run["setting"] == TABLES) & (run["exchange"] == exchange)
    ours = run.loc[is_cell, ["algorithm", "nodes", *names]]
    return cells.merge(
        ours.rename(columns={name: f"run_{name}" for name in names}),
        on=["algorithm", "nodes"],
        how="left",
    )


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

    def ranges(values: np.ndarray) -> list[float]:
        return [float(values[0]), *draws_interval(values[1:], len(rows), len(AMOUNTS))]

    return SHARES.frame(
        [name, unit, *ranges(fits[:, term]), *ranges(percents[:, term]), len(rows), most]
        for term, (name, unit) in enumerate(AMOUNTS.items())
    )
