"""Latency on networks that the PQ-DPoL paper does not study, and a ranking of schemes."""

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
from pqchain.consensus.runs import failed
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
"""Number of delegates on gossip networks; with fewer nodes all are delegates."""

ALL_VOTE_LAWS = tuple(name for name in NAMES if name not in ("gossip", "host", "uplink"))
"""Laws of networks on which every node votes, up to thousands of nodes; "host" is one computer and
not a network, and "uplink" has at most 256 delegates."""

GOSSIP_NETWORKS = {"gossip": False, "gossip in regions": True}
"""Networks with up to 2^20 nodes, and whether nodes are in the regions of the world."""

MAX_EXACT_TRANSACTIONS = 200
"""From this number of transactions on, the drawn number replaces the exact mean."""

RATES = (1e6, 10e6, 100e6, 1e9, 10e9)
"""Rates of each node's uplink in a contest, in bits per second."""

CAPACITY_BYTES = (50_000, 5_000_000)
"""Block sizes of a contest for throughput: the paper's, and a hundred times as large."""

LOADS = (30, 3000)
"""Transactions per block of a contest for latency: the paper's maximum, and a hundred times that.

Latencies of full blocks would mislead: a full block contains 30 transactions of Falcon-512 and 2 of
SPHINCS+.
"""

RANKED_BY = {"B": "throughput_per_second", "transactions": "latency_seconds"}
"""Column by which a contest ranks schemes, by the unit of the block size in its question."""

Entry = tuple[str, str, Scenario]
"""Question, setting and scenario of a row."""


def laws(
    costs: CostTable,
    *,
    algorithm: str = "Falcon-512",
    exponents: Iterable[int] = range(1, 21),
    all_vote_exponent: int = 10,
    seeds: Iterable[int] = (0, 1, 2),
    progress: bool = False,
) -> pd.DataFrame:
    """Run a scenario on every kind of network (default parameters) of 2^n nodes, n in `exponents`.

    On gossip networks DELEGATES vote; on others every node does, up to 2^all_vote_exponent nodes.
    `seeds` place nodes on networks with regions; on others only the first one is used. Returns a
    frame of the contract "landscape": see `contest`; the question is "latency".
    """
    all_exponents, all_seeds = sorted(set(exponents)), list(seeds)
    networks: list[tuple[str, Network, int | None]] = [
        *((law, named(law), None) for law in ALL_VOTE_LAWS),
        *((it, named("gossip", world=wide), DELEGATES) for it, wide in GOSSIP_NETWORKS.items()),
    ]
    entries: list[Entry] = [
        ("latency", setting, scenario)
        for setting, network, count in networks
        for scenario in grid(
            costs,
            algorithms=[algorithm],
            exponents=[n for n in all_exponents if count is not None or n <= all_vote_exponent],
            networks=[network],
            delegates=[count],
            seeds=all_seeds if network.is_regional else all_seeds[:1],
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
    """Run networks of 2^n nodes, n in `exponents`, with all or only `delegates` nodes voting.

    The networks are paper-serial and a mesh. Returns a frame of the contract "landscape", see
    `contest`; the question is "all vote" or "few vote".
    """
    shared: dict[str, Any] = {"algorithms": [algorithm], "exponents": sorted(set(exponents))}
    entries: list[Entry] = [
        (question, law, scenario)
        for law in ("paper-serial", "mesh")
        for question, count in (("all vote", None), ("few vote", delegates))
        for scenario in grid(costs, networks=[law], delegates=[count], **shared)
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
    """Run schemes (default: all in `costs`) on gossip networks of 2^n nodes at several `rates`.

    Returns a frame of the contract "landscape": question ("<bytes> B" for full blocks of that size,
    "<count> transactions" for blocks of about that many), setting (the network), algorithm, nodes,
    delegates, seed, rate_bits_per_second, block_bytes, transactions_per_block (mean),
    latency_seconds, throughput_per_second (transactions per block divided by latency),
    spread_seconds (until the last node received the block), costs, scenario, status, reason. All
    values are modelled.
    """
    capacities, loads = list(capacities), list(loads)
    uplinks = [named("gossip", rate_bits_per_second=rate) for rate in rates]
    exponents = sorted(set(exponents))
    entries: list[Entry] = []
    for scheme, network in product(costs if algorithms is None else algorithms, uplinks):
        for scenario in grid(
            costs,
            algorithms=[scheme],
            exponents=exponents,
            networks=[network],
            delegates=[DELEGATES],
        ):
            sizes = {f"{size} B": size for size in capacities}
            sizes |= {f"{count} transactions": _block_bytes(scenario, count) for count in loads}
            entries += [
                (question, "gossip", scenario.with_(block_bytes=size))
                for question, size in sizes.items()
            ]
    return _run(entries, progress=progress)


def winners(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the best algorithm for each question, number of nodes and rate in a `contest` frame.

    Columns: question, nodes, rate_bits_per_second, winner, value (transactions per second, or
    seconds), runner_up, lead (factor by which the winner is better; NaN without a runner-up),
    ranked_by and amount (bytes or transactions of a block).
    """
    checked = results.check(frame, LANDSCAPE)
    keys = ["question", "nodes", "rate_bits_per_second"]
    rows = []
    for key, group in checked[checked["status"] == "ok"].groupby(keys, sort=False):
        amount, _, unit = str(key[0]).partition(" ")
        column = RANKED_BY[unit]
        more_is_better = column == "throughput_per_second"
        # Stable, so that of equal values the algorithm that comes first in the frame wins.
        ranked = group.sort_values(column, ascending=not more_is_better, kind="stable")
        names, values = ranked["algorithm"].tolist(), ranked[column].tolist()
        runner_up, lead = "", math.nan
        if len(names) > 1:
            runner_up = names[1]
            lead = values[0] / values[1] if more_is_better else values[1] / values[0]
        rows.append([*key, names[0], values[0], runner_up, lead, column, int(amount)])
    columns = [*keys, "winner", "value", "runner_up", "lead", "ranked_by", "amount"]
    return pd.DataFrame(rows, columns=columns)


def _block_bytes(scenario: Scenario, count: int) -> int:
    """Return the size in bytes of a block with `count` transactions of mean length."""
    fixed = scenario.layout.transaction_bytes(scenario.cost, 0)
    mean = lengths.mean(scenario.signature_lengths())
    return math.ceil(scenario.layout.block_overhead_bytes() + count * (fixed + mean))


def _run(entries: Sequence[Entry], *, progress: bool) -> pd.DataFrame:
    bar = tqdm(entries, disable=not progress, unit="scenario")
    rows = (_row(*entry) for entry in bar)
    return LANDSCAPE.frame({name: row[name] for name in LANDSCAPE.columns} for row in rows)


def _row(question: str, setting: str, scenario: Scenario) -> dict[str, Any]:
    """Run a scenario and return its row, or a row with the reason why it cannot run here."""
    network = scenario.network
    try:
        result = run(scenario)
        row = result.record(exact=result.transactions < MAX_EXACT_TRANSACTIONS)
        row["throughput_per_second"] = row["transactions_per_block"] / row["latency_seconds"]
    except PqchainError as error:
        row = failed(scenario, error)
    return row | {
        "question": question,
        "setting": setting,
        "block_bytes": scenario.block_bytes,
        # Regional networks have the uplinks of their regions instead of one rate.
        "rate_bits_per_second": (math.nan if network.is_regional else network.rate_bits_per_second),
    }
