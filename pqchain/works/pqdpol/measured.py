"""Runs of the settings of Tables 5 and 6 on this computer, as frames.

Every delegate is a process with a ledger, and every signature is made and verified. `plans` lists
the settings, `scaling` computes how latency grows with the number of nodes.
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
from pqchain.costs import CostTable
from pqchain.delegates import modes, service_times
from pqchain.delegates.service_times import Computer
from pqchain.errors import Unsupported
from pqchain.results import Contract
from pqchain.results.statistics import half_width
from pqchain.wire.drivers.processes import ForkServer
from pqchain.works.pqdpol import rebuilt, scaling
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


def run(costs: CostTable, plan: RunPlan, *, progress: bool = False) -> dict[str, pd.DataFrame]:
    """Execute all runs of the plan, with the costs of the schemes on this machine.

    Returns "run" (contract "pqdpol-run", a row for each cell: means over the heights and half of
    their 95 % intervals, which cover the scatter within one run), and the frames of
    `scaling.frames`. Empty where delegates cannot run.
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
    table = RUN.frame(row(setting, run) for setting, run in runs if setting)
    return {"run": table} | scaling.frames(runs, costs)


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
    """Return a run as a row of a frame of the contract RUN.

    Throughput is the mean number of transactions over the mean latency, because a mean of the
    ratios of heights is biased upward.
    """
    scenario, heights = run.scenario, settled(run)
    samples = {name: [float(of(height)) for height in heights] for name, of in QUANTITIES.items()}
    values = {name: float(np.mean(sample or math.nan)) for name, sample in samples.items()}
    values |= {f"{name}_half_width": half_width(sample) for name, sample in samples.items()}
    latency = values["latency_seconds"]
    rate = values["transactions_per_block"] / latency
    # The error of a ratio of means is that of the mean residual over the mean denominator
    # (Cochran, Sampling Techniques, 3rd ed., section 6.3).
    pairs = zip(samples["transactions_per_block"], samples["latency_seconds"], strict=True)
    residuals = [count - rate * seconds for count, seconds in pairs]
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
        "throughput_per_second": rate,
        "throughput_per_second_half_width": half_width(residuals) / latency,
        "predicted_latency_seconds": predicted,
        "prediction_error_percent": 100 * (predicted / latency - 1),
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
