"""Other networks than the paper's: latency up to 2^20 nodes, and which scheme wins where."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pandas as pd
from tqdm import tqdm

from pqchain import results
from pqchain.consensus import Network, Scenario, named, run
from pqchain.consensus.network import NAMES, SECOND
from pqchain.costs import CostTable
from pqchain.errors import PqchainError
from pqchain.results import Contract

LANDSCAPE = Contract.of(
    "landscape",
    ("str", "question setting algorithm"),
    ("Int64", "nodes delegates seed"),
    ("float64", "rate_bits_per_second"),
    ("Int64", "block_bytes"),
    ("float64", "transactions_per_block latency_seconds throughput_per_second spread_seconds"),
    ("str", "costs scenario status reason"),
)


DELEGATES = 128
"""Who vote where blocks travel by gossip; a network of fewer nodes elects them all."""

EVERYBODY: tuple[str, ...] = tuple(name for name in NAMES if name != "gossip")
"""Networks on which every node is a delegate."""

GOSSIP = {"gossip": False, "gossip in regions": True}
"""Networks that reach 2^20 nodes, and whether nodes live in the regions of the world."""

LARGE = 200
"""Transactions above which the number in the block that was drawn stands for the mean."""

RATES = (1e6, 10e6, 100e6, 1e9, 10e9)
"""Bits per second of each node's uplink in a contest."""

CAPACITY_BYTES = (50_000, 5_000_000)
"""Blocks of a contest for throughput: the paper's, and a hundred times as large."""

LOADS = (30, 3000)
"""Transactions of a contest for latency: the most that the paper's block holds, and a hundredfold.

Latencies of full blocks would mislead: a full block holds 30 transactions of Falcon-512 and 2 of
SPHINCS+.
"""

_NAN = float("nan")


def laws(
    costs: CostTable,
    *,
    algorithm: str = "Falcon-512",
    exponents: Iterable[int] = range(1, 21),
    everybody: int = 10,
    seeds: Iterable[int] = (0, 1, 2),
    progress: bool = False,
) -> pd.DataFrame:
    """Run every kind of network, each with the defaults of its kind, for 2^n nodes.

    Where blocks travel by gossip, DELEGATES vote; elsewhere every node does, up to 2^everybody
    nodes. `seeds` say who lives where on networks with regions; elsewhere the first one is used.
    Returns a frame of the contract "landscape": see `contest`; the question is "latency".
    """
    chosen, drawn = sorted(set(exponents)), list(seeds)
    asked = []
    for setting in EVERYBODY:
        network = named(setting)
        for exponent in (one for one in chosen if one <= everybody):
            asked.append((setting, _scenario(costs, algorithm, exponent, network, None)))
    for setting, world in GOSSIP.items():
        network = named("gossip", world=world)
        for exponent in chosen:
            asked.append((setting, _scenario(costs, algorithm, exponent, network, DELEGATES)))
    rows = [
        ("latency", setting, one.with_(seed=seed))
        for setting, one in asked
        for seed in (drawn if one.network.is_regional else drawn[:1])
    ]
    return _run(rows, progress=progress)


def delegation(
    costs: CostTable,
    *,
    algorithm: str = "Falcon-512",
    exponents: Iterable[int] = (3, 4, 5),
    delegates: int = 8,
) -> pd.DataFrame:
    """Run a growing network in which all nodes vote, and one in which a few do.

    On paper-serial and on a mesh; a frame of the contract "landscape", see `contest`: the question
    is "all vote" or "few vote".
    """
    asked = []
    for law in ("paper-serial", "mesh"):
        for question, count in (("all vote", None), ("few vote", delegates)):
            for exponent in sorted(set(exponents)):
                one = _scenario(costs, algorithm, exponent, named(law), count)
                asked.append((question, law, one))
    return _run(asked, progress=False)


def contest(
    costs: CostTable,
    *,
    algorithms: Iterable[str] | None = None,
    exponents: Iterable[int] = (4, 8, 12, 16),
    rates: Iterable[float] = RATES,
    capacities: Iterable[int] = CAPACITY_BYTES,
    loads: Iterable[int] = LOADS,
    progress: bool = False,
) -> pd.DataFrame:
    """Run every algorithm of the costs by gossip, for 2^n nodes and several uplinks.

    Returns a frame of the contract "landscape": question ("<bytes> B" for full blocks of that
    size, "<count> transactions" for blocks that hold about so many), setting (the network),
    algorithm, nodes, delegates, seed, rate_bits_per_second, block_bytes, transactions_per_block
    (mean), latency_seconds, throughput_per_second (transactions per block over latency),
    spread_seconds (until the last node heard of the block), costs, scenario, status, reason. All
    are modelled.
    """
    names = list(costs) if algorithms is None else list(algorithms)
    sizes = list(rates), sorted(set(exponents))
    asked = []
    for name in names:
        for rate in sizes[0]:
            network = named("gossip", rate_bits_per_second=rate)
            for exponent in sizes[1]:
                one = _scenario(costs, name, exponent, network, DELEGATES)
                for size in capacities:
                    asked.append((f"{size} B", "gossip", one.with_(block_bytes=size)))
                for count in loads:
                    size = _holding(one, count)
                    asked.append((f"{count} transactions", "gossip", one.with_(block_bytes=size)))
    return _run(asked, progress=progress)


def winners(frame: pd.DataFrame) -> pd.DataFrame:
    """Return who wins each contest: most throughput of full blocks, else least latency.

    Columns: question, nodes, rate_bits_per_second, winner, value (transactions per second, or
    seconds), runner_up, lead (how many times better than the runner-up; NaN without one).
    """
    fine = results.check(frame, LANDSCAPE)
    fine = fine[fine["status"] == "ok"]
    rows = []
    keys = ["question", "nodes", "rate_bits_per_second"]
    for key, group in fine.groupby(keys, sort=False):
        full = str(key[0]).endswith(" B")
        column = "throughput_per_second" if full else "latency_seconds"
        ranked = group.sort_values(column, ascending=not full, kind="stable")
        best, *rest = ranked[["algorithm", column]].itertuples(index=False, name=None)
        lead = _NAN
        if rest:
            lead = best[1] / rest[0][1] if full else rest[0][1] / best[1]
        rows.append([*key, *best, rest[0][0] if rest else "", lead])
    return pd.DataFrame(rows, columns=[*keys, "winner", "value", "runner_up", "lead"])


def _scenario(
    costs: CostTable, algorithm: str, exponent: int, network: Network, delegates: int | None
) -> Scenario:
    """Return a scenario; no more delegates than nodes."""
    nodes = 2**exponent
    count = None if delegates is None else min(delegates, nodes)
    return Scenario(algorithm=algorithm, costs=costs, nodes=nodes, delegates=count, network=network)


def _holding(scenario: Scenario, count: int) -> int:
    """Return the bytes of a block with so many transactions of mean length."""
    lengths = scenario.signature_lengths()
    total = sum(lengths.values())
    mean = sum(length * often for length, often in lengths.items()) / total
    fixed = scenario.layout.transaction_bytes(scenario.cost, 0)
    return math.ceil(scenario.layout.block_overhead_bytes() + count * (fixed + mean))


def _run(asked: list[tuple[str, str, Scenario]], *, progress: bool) -> pd.DataFrame:
    """Run scenarios one after the other and return them as a frame of the contract."""
    bar = tqdm(asked, disable=not progress, unit="scenario")
    rows = [_about(*one) | _outcome(one[2]) for one in bar]
    columns = list(LANDSCAPE.columns)
    return results.check(pd.DataFrame(rows, columns=columns), LANDSCAPE)


def _about(question: str, setting: str, scenario: Scenario) -> dict[str, Any]:
    """Return what a row says of its scenario."""
    network = scenario.network
    return {
        "question": question,
        "setting": setting,
        "algorithm": scenario.algorithm,
        "nodes": scenario.nodes,
        "delegates": scenario.delegate_count,
        "seed": scenario.seed,
        "rate_bits_per_second": _NAN if network.is_regional else network.rate_bits_per_second,
        "block_bytes": scenario.block_bytes,
        "costs": scenario.costs.source,
        "scenario": scenario.identifier,
    }


def _outcome(scenario: Scenario) -> dict[str, Any]:
    """Return what a run found, or why this machine cannot run it."""
    try:
        done = run(scenario)
    except PqchainError as error:
        names = "transactions_per_block latency_seconds throughput_per_second spread_seconds"
        return dict.fromkeys(names.split(), _NAN) | {"status": "unsupported", "reason": str(error)}
    # The exact mean takes seconds for thousands of varying signatures, where it matters least.
    fill = float(done.transactions)
    if fill < LARGE:
        fill = scenario.transactions_per_block()
    height = done.heights[0]
    reached = height.outcomes[0].reached_ns
    spread = float(reached.max() - height.started_ns) / SECOND if len(reached) else _NAN
    return {
        "transactions_per_block": fill,
        "latency_seconds": done.latency_seconds,
        "throughput_per_second": fill / done.latency_seconds,
        "spread_seconds": spread,
        "status": "ok",
        "reason": "",
    }
