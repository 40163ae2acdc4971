"""Runs of the settings of Tables 5 and 6 on this computer, and the causes of latency growth.

Every delegate is a process with a ledger, every signature is made and verified, and as in Table 6
each delegate sends its copy of the block to every other. The heights of a run are the samples.
Further runs: on one processor, on two, and with a computer per delegate (in virtual time), and
with few delegates and the other nodes as observers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from pqchain.consensus.network import Network, named
from pqchain.consensus.runs import Height, Run
from pqchain.consensus.scenario import Layout, Scenario
from pqchain.costs import CostTable
from pqchain.delegates import host, modes, service_times
from pqchain.delegates.service_times import Computer
from pqchain.errors import Unsupported
from pqchain.results import Contract
from pqchain.statistics import half_width, linear, nonnegative, nonnegative_spread
from pqchain.works import papers
from pqchain.works.pqdpol import rebuilt

QUANTITIES: dict[str, Callable[[Height], float]] = {
    "latency_seconds": lambda height: height.latency_seconds,
    "throughput_per_second": lambda height: height.block.transactions / height.latency_seconds,
    "messages": lambda height: height.sent_messages,
    "bytes": lambda height: height.sent_bytes,
    "cpu_seconds": lambda height: height.cpu_seconds,
    "spread_seconds": lambda height: height.spread_seconds,
}
"""Quantities of a height; a run has the mean and the half width of each."""

RUN = Contract.of(
    "pqdpol-run",
    ("str", "setting algorithm kind transport exchange"),
    ("Int64", "n nodes delegates processors heights"),
    ("float64", "transactions_per_block"),
    ("float64", " ".join(f"{name} {name}_half_width" for name in QUANTITIES)),
    ("float64", "predicted_latency_seconds prediction_error_percent"),
    ("str", "scenario"),
)

GROWTH = Contract.of(
    "pqdpol-growth",
    ("str", "setting quantity"),
    ("float64", "exponent half_width"),
    ("Int64", "cells largest"),
)

SHARES = Contract.of("pqdpol-shares", ("str", "what unit"), ("float64", "price half_width percent"))

TABLES, ONE, TWO, EACH = "all processors", "one processor", "two processors", "one each"
"""Settings: that of the tables, and those of further runs with one scheme."""

ALL_VOTE, FEW_VOTE = "all vote", "few vote"

VIRTUAL = ", virtual time"

SEPARATE = named("star", rate_bits_per_second=1e9, latency_seconds=50e-6)
"""The network between computers in virtual time."""

SINGLE = "Falcon-512"
"""The scheme of the runs with one scheme."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Numbers of nodes and blocks, and schemes, of the runs of a preset."""

    exponents: tuple[int, ...]
    """Exponents n of the runs with all six schemes."""
    heights: int
    computers: tuple[int, ...]
    """Exponents n of the runs on one processor, on two, and on a computer per delegate."""
    delegation: tuple[int, ...]
    """Numbers of nodes of which all vote, and of which `voters` do."""
    voters: int
    mixed: tuple[tuple[str, int], ...]
    """Schemes and nodes of the runs that make the service times separable."""


PLANS = {
    "quick": Plan(
        exponents=(1, 2, 3),
        heights=3,
        computers=(1, 2, 3),
        delegation=(4, 8),
        voters=4,
        mixed=(("Dilithium2", 2), (SINGLE, 2)),
    ),
    "paper": Plan(
        exponents=(1, 2, 3, 4, 5),
        heights=4,
        computers=(1, 2, 3, 4),
        delegation=(8, 16, 32),
        voters=8,
        mixed=(("Dilithium2", 2), (SINGLE, 4), ("SPHINCS+-SHA2-128f-simple", 2), (SINGLE, 8)),
    ),
}

MIXES: tuple[Mapping[str, Any], ...] = (
    {"block_bytes": 20_000, "vote_phases": 2},
    {"block_bytes": 20_000},
    {"block_bytes": 150_000},
    {"block_bytes": 150_000, "layout": Layout(data_bytes=30_000)},
)
"""Changes of a scenario that decouple messages, bytes, transactions and signatures.

In the tables they all grow with the number of nodes, so their costs could not be separated.
"""


def run(costs: CostTable, plan: Plan, *, progress: bool = False) -> dict[str, pd.DataFrame]:
    """Execute all runs of the plan, with the costs of the schemes on this machine.

    Returns "run" (contract "pqdpol-run", a row for each cell: means over the heights and half of
    their 95 % intervals), "growth" (exponents of N) and "shares" (of processor time). Empty where
    delegates cannot run.
    """
    orders = list(_orders(costs, plan))
    # Settings that coincide on this machine share one run.
    known: dict[tuple[str, str], Run] = {}
    with modes.open_fork_server(orders[0][1]) as fork_server:
        try:
            computer = service_times.calibrate(costs, fork_server=fork_server, progress=progress)
        except Unsupported:
            return {}
        for _, scenario, how in tqdm(orders, disable=not progress, unit="run"):
            if (case := (scenario.identifier, how["mode"])) not in known:
                known[case] = computer.predicted(
                    modes.run(scenario, **how, fork_server=fork_server)
                )
    runs = [(setting, known[scenario.identifier, how["mode"]]) for setting, scenario, how in orders]
    return frames(runs, computer)


def frames(runs: Sequence[tuple[str, Run]], computer: Computer) -> dict[str, pd.DataFrame]:
    """Return the frames "run", "growth" and "shares" of (setting, run) pairs."""
    table = RUN.frame(row(setting, run) for setting, run in runs if setting)
    # Settings that coincide share a run, which counts once.
    measured = {id(run): run for _, run in runs if run.mode == "loopback"}.values()
    return {"run": table, "growth": growth(runs), "shares": shares(measured, computer.costs)}


Order = tuple[str, Scenario, dict[str, Any]]
"""A setting, a scenario, and the options of its run."""


def _orders(costs: CostTable, plan: Plan) -> Iterator[Order]:
    """Yield setting, scenario and options of every run; runs of MIXES have the setting ""."""
    printed = dict.fromkeys(papers.table("pqdpol", "table6")["algorithm"])
    names = [name for name in printed if name in costs]

    def scenario(algorithm: str, nodes: int, network: Network, **changes: Any) -> Scenario:
        is_mix = "vote_phases" in changes
        exchange: dict[str, Any] = {} if is_mix else {"exchange": "all-to-all"}
        return Scenario(
            algorithm=algorithm, costs=costs, nodes=nodes, network=network,
            # One height more in virtual time, where the first is warm-up: see `settled`.
            blocks=plan.heights + (network == SEPARATE), **exchange, **changes,
        )  # fmt: skip

    # All processors of the machine are the setting of the tables; one and two show the cause.
    here = host.processors()
    live: dict[str, Any] = {"mode": "loopback"}
    virtual: dict[str, Any] = {"mode": "virtual", "transport": "native"}
    everywhere = named("host", processors=here)
    for n in plan.exponents:
        for name in names:
            yield TABLES, scenario(name, 2**n, everywhere), live
    single = SINGLE if SINGLE in names else names[0]
    for n in plan.computers:
        yield ONE, scenario(single, 2**n, named("host")), live
        if here > 1:
            yield TWO, scenario(single, 2**n, named("host", processors=2)), live
        yield EACH, scenario(single, 2**n, SEPARATE), {"mode": "virtual"}
    for nodes in plan.delegation:
        for setting, delegates in ((ALL_VOTE, nodes), (FEW_VOTE, min(plan.voters, nodes))):
            yield setting, scenario(single, nodes, everywhere, delegates=delegates), live
            separate = scenario(single, nodes, SEPARATE, delegates=delegates)
            yield setting + VIRTUAL, separate, virtual
    for name, nodes in plan.mixed:
        if name in names:
            for mix in MIXES:
                yield "", scenario(name, nodes, everywhere, **mix), live


def settled(run: Run) -> list[Height]:
    """Return a run's heights (finalized blocks) without the warm-up."""
    # The congestion window of QUIC still grows at the first height in virtual time; live runs
    # exclude that height themselves.
    return run.final[1:] if run.mode == "virtual" else run.final


def row(setting: str, run: Run) -> dict[str, Any]:
    """Return a run as a row of a frame of the contract RUN."""
    scenario, heights = run.scenario, settled(run)
    values: dict[str, Any] = {}
    for name, of in QUANTITIES.items():
        samples = [float(of(height)) for height in heights]
        values[name] = _mean(samples)
        values[f"{name}_half_width"] = half_width(samples)
    predicted = run.predicted_seconds
    is_live = run.mode == "loopback"
    return values | {
        "setting": setting,
        "algorithm": scenario.algorithm,
        "kind": run.kind,
        "transport": run.transport,
        "exchange": scenario.exchange,
        "n": scenario.nodes.bit_length() - 1,
        "nodes": scenario.nodes,
        "delegates": scenario.delegate_count,
        "processors": scenario.network.processors if is_live else scenario.nodes,
        "heights": len(heights),
        "transactions_per_block": _mean([height.block.transactions for height in heights]),
        "predicted_latency_seconds": predicted,
        "prediction_error_percent": 100 * (predicted / values["latency_seconds"] - 1),
        "scenario": scenario.identifier,
    }


def _mean(samples: Sequence[float]) -> float:
    return float(np.mean(samples)) if samples else math.nan


def growth(runs: Sequence[tuple[str, Run]]) -> pd.DataFrame:
    """Return the exponents with which latency and processor time grow with N, the node count.

    All schemes of a setting share the exponent and have a constant each; each height is a sample.
    A frame of the contract "pqdpol-growth": half_width is that of the 95 % interval, cells is the
    number of runs, largest their largest N.
    """
    rows = []
    for setting in (TABLES, ONE, TWO, EACH):
        selected = [run for name, run in runs if name == setting and run.final]
        sizes = {run.scenario.nodes for run in selected}
        # An exponent needs at least two sizes.
        if len(sizes) < 2:
            continue
        for name, quantity in GROWING.items():
            if setting == EACH and quantity == "cpu_seconds":
                continue  # virtual time charges no processor time
            exponent, half = _exponent(selected, quantity)
            rows.append([setting, name, exponent, half, len(selected), max(sizes)])
    return GROWTH.frame(rows)


GROWING = {"latency": "latency_seconds", "processor time": "cpu_seconds"}


def _exponent(runs: list[Run], quantity: str) -> tuple[float, float]:
    names = list(dict.fromkeys(run.scenario.algorithm for run in runs))
    matrix, values = [], []
    for run in runs:
        constants = [float(run.scenario.algorithm == name) for name in names]
        for height in settled(run):
            matrix.append([math.log(run.scenario.nodes), *constants])
            values.append(math.log(QUANTITIES[quantity](height)))
    # A power law is linear in logarithms: log(value) = exponent * log(N) + constant of the scheme.
    coefficients, half = linear(np.array(matrix), np.array(values))
    return float(coefficients[0]), float(half[0])


AMOUNTS = {
    "messages": "s each",
    "bytes": "s each",
    "transactions": "s each",
    "signatures": "of the bare time",
    "heights": "s each",
}
"""The terms of processor time, and the units of their coefficients."""


def amounts(scenario: Scenario, height: Height, costs: CostTable) -> list[float]:
    """Return the amount of work of one block per term of AMOUNTS; that of signatures in seconds."""
    cost, count = costs[scenario.algorithm], scenario.delegate_count
    # With "all-to-all" each delegate verifies the copies of all delegates, otherwise one block.
    blocks = count * (count if scenario.exchange == "all-to-all" else 1)
    verified = blocks * height.block.transactions
    votes = scenario.phases * count
    bare = (verified + votes * (count - 1)) * cost.verify_seconds + votes * cost.sign_seconds
    return [*map(float, (height.sent_messages, height.sent_bytes, verified, bare, count))]


def shares(runs: Iterable[Run], costs: CostTable) -> pd.DataFrame:
    """Return each term's share of processor time, fitted by non-negative least squares.

    A frame of the contract "pqdpol-shares": what, unit, price (the coefficient) with half of its
    95 % interval, and percent: its share in the largest network in which all vote with SINGLE.
    """
    rows: list[Any] = []
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
        is_single = scenario.algorithm == SINGLE and scenario.block_bytes == 50_000
        if is_single and scenario.nodes >= most:
            most, largest = scenario.nodes, amount
    # A fit needs more runs than terms: otherwise no residuals are left for the intervals.
    if len(rows) <= len(AMOUNTS):
        return SHARES.frame([])
    matrix, ones = np.array(rows), np.ones(len(rows))
    prices, half = nonnegative(matrix, ones), nonnegative_spread(matrix, ones)
    percent = 100 * prices * largest / float(prices @ largest)
    return SHARES.frame(
        [*term, *values]
        for term, *values in zip(AMOUNTS.items(), prices, half, percent, strict=True)
    )


def with_runs(cells: pd.DataFrame, run: pd.DataFrame) -> pd.DataFrame:
    """Add the results of our runs to the cells of Tables 5 and 6, for `plots.plot_cells`.

    New columns: run_latency_seconds, run_throughput_per_second, and the _half_width of each; NaN
    for cells without a run.
    """
    names = [f"{name}{end}" for name in rebuilt.QUANTITIES.values() for end in ("", "_half_width")]
    ours = run.loc[run["setting"] == TABLES, ["algorithm", "n", *names]]
    return cells.merge(
        ours.rename(columns={name: f"run_{name}" for name in names}),
        on=["algorithm", "n"],
        how="left",
    )
