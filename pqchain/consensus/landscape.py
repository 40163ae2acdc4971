"""Other networks than the paper's: latency up to 2^20 nodes, and which scheme wins where."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import pandas as pd
from tqdm import tqdm

from pqchain import results
from pqchain.consensus import Network, Scenario, grid, lengths, named, run
from pqchain.consensus.network import NAMES
from pqchain.costs import CostTable
from pqchain.errors import DataError, PqchainError
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

EVERYBODY: tuple[str, ...] = tuple(name for name in NAMES if name not in ("gossip", "host"))
"""Networks on which every node is a delegate; one computer is none."""

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

RANKED_BY = {"B": "throughput_per_second", "transactions": "latency_seconds"}
"""What a contest ranks schemes by, for the units in which its questions name the size of blocks."""

Entry = tuple[str, str, Scenario]
"""A row to be: its question, its setting and what is run."""


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
    networks: list[tuple[str, Network, int | None]] = [(law, named(law), None) for law in EVERYBODY]
    networks += [(name, named("gossip", world=world), DELEGATES) for name, world in GOSSIP.items()]
    entries: list[Entry] = [
        ("latency", setting, one)
        for setting, network, count in networks
        for one in grid(
            costs,
            algorithms=[algorithm],
            exponents=[each for each in chosen if count is not None or each <= everybody],
            networks=[network],
            delegates=[count],
            seeds=drawn if network.is_regional else drawn[:1],
        )
    ]
    return _run(entries, progress=progress)


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
    shared: dict[str, Any] = {"algorithms": [algorithm], "exponents": sorted(set(exponents))}
    entries: list[Entry] = [
        (question, law, one)
        for law in ("paper-serial", "mesh")
        for question, count in (("all vote", None), ("few vote", delegates))
        for one in grid(costs, networks=[law], delegates=[count], **shared)
    ]
    return _run(entries, progress=False)


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

    Returns a frame of the contract "landscape": question ("<bytes> B" for full blocks of that size,
    "<count> transactions" for blocks that hold about so many), setting (the network), algorithm,
    nodes, delegates, seed, rate_bits_per_second, block_bytes, transactions_per_block (mean),
    latency_seconds, throughput_per_second (transactions per block over latency), spread_seconds
    (until the last node heard of the block), costs, scenario, status, reason. All are modelled.
    """
    full, equal = list(capacities), list(loads)
    uplinks = [named("gossip", rate_bits_per_second=rate) for rate in rates]
    chosen = sorted(set(exponents))
    entries: list[Entry] = []
    for scheme, network in product(costs if algorithms is None else algorithms, uplinks):
        for one in grid(
            costs, algorithms=[scheme], exponents=chosen, networks=[network], delegates=[DELEGATES]
        ):
            sizes = {f"{size} B": size for size in full}
            sizes |= {f"{count} transactions": _holding(one, count) for count in equal}
            entries += [(name, "gossip", one.with_(block_bytes=sizes[name])) for name in sizes]
    return _run(entries, progress=progress)


def winners(frame: pd.DataFrame) -> pd.DataFrame:
    """Return who wins each contest of a frame of `contest`.

    Columns: question, nodes, rate_bits_per_second, winner, value (transactions per second, or
    seconds), runner_up, lead (how many times better than the runner-up; NaN without one),
    ranked_by and amount (bytes or transactions of a block). Raises DataError for the questions of
    other frames.
    """
    checked = results.check(frame, LANDSCAPE)
    keys = ["question", "nodes", "rate_bits_per_second"]
    rows = []
    for key, group in checked[checked["status"] == "ok"].groupby(keys, sort=False):
        amount, _, unit = str(key[0]).partition(" ")
        if unit not in RANKED_BY or not amount.isdecimal():
            raise DataError(f"{key[0]!r} is no question of a contest; pass a frame of contest()")
        column = RANKED_BY[unit]
        most = column == "throughput_per_second"
        ranked = group.sort_values(column, ascending=not most, kind="stable")
        names, values = ranked["algorithm"].tolist(), ranked[column].tolist()
        runner_up, lead = "", math.nan
        if len(names) > 1:
            runner_up = names[1]
            lead = values[0] / values[1] if most else values[1] / values[0]
        rows.append([*key, names[0], values[0], runner_up, lead, column, int(amount)])
    columns = [*keys, "winner", "value", "runner_up", "lead", "ranked_by", "amount"]
    return pd.DataFrame(rows, columns=columns)


def _holding(scenario: Scenario, count: int) -> int:
    """Return the bytes of a block with so many transactions of mean length."""
    fixed = scenario.layout.transaction_bytes(scenario.cost, 0)
    mean = lengths.mean(scenario.signature_lengths())
    return math.ceil(scenario.layout.block_overhead_bytes() + count * (fixed + mean))


def _run(entries: Sequence[Entry], *, progress: bool) -> pd.DataFrame:
    bar = tqdm(entries, disable=not progress, unit="scenario")
    return LANDSCAPE.frame(_row(*entry) for entry in bar)


def _row(question: str, setting: str, scenario: Scenario) -> dict[str, Any]:
    """Run a scenario; if this machine cannot, the row says why."""
    network = scenario.network
    own = ("algorithm", "nodes", "seed", "block_bytes")
    row = {name: getattr(scenario, name) for name in own} | {
        "question": question,
        "setting": setting,
        "delegates": scenario.delegate_count,
        "rate_bits_per_second": math.nan if network.is_regional else network.rate_bits_per_second,
        "costs": scenario.costs.origin(scenario.algorithm),
        "scenario": scenario.identifier,
    }
    try:
        done = run(scenario)
    except PqchainError as error:
        return row | {"status": "unsupported", "reason": str(error)}
    # The exact mean takes seconds for thousands of varying signatures, where it matters least.
    exact = done.transactions < LARGE
    fill = scenario.transactions_per_block() if exact else float(done.transactions)
    return row | {
        "transactions_per_block": fill,
        "latency_seconds": done.latency_seconds,
        "throughput_per_second": fill / done.latency_seconds,
        "spread_seconds": done.heights[0].spread_seconds,
        "status": "ok",
        "reason": "",
    }
