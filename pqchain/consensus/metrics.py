"""Runs as frames: one row per scenario, and means with confidence intervals over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pqchain import results
from pqchain.consensus.model import Run
from pqchain.consensus.scenario import Scenario
from pqchain.consensus.view import NEVER
from pqchain.errors import PqchainError
from pqchain.intervals import half_width
from pqchain.results import Contract

CONSENSUS = Contract.of(
    "consensus",
    ("str", "scenario costs algorithm"),
    ("Int64", "nodes delegates"),
    ("str", "network exchange"),
    ("Int64", "vote_phases"),
    ("str", "proposal"),
    ("Int64", "seed"),
    ("float64", "transactions_per_block latency_seconds throughput_per_second spread_seconds"),
    ("Int64", "final_blocks views messages rivals"),
    ("bool", "is_safe is_live"),
    ("str", "status reason"),
)

GROUP = ("algorithm", "nodes", "delegates", "network", "exchange", "vote_phases", "proposal")
"""Columns that are equal for runs that differ in the seed only."""

_OF_SCENARIO = ("algorithm", "nodes", "exchange", "proposal", "seed")
_OF_RUN = ("latency_seconds", "throughput_per_second", "views", "is_safe", "is_live")
"""Columns copied from attributes of a scenario and of a run."""


def record(done: Run) -> dict[str, Any]:
    """Return a run as one row; `frame` lists the columns."""
    scenario, spreads = done.scenario, [height.spread_seconds for height in done.heights]
    row = {name: getattr(scenario, name) for name in _OF_SCENARIO} | {
        name: getattr(done, name) for name in _OF_RUN
    }
    row |= {
        "scenario": scenario.identifier,
        "costs": scenario.costs.origin(scenario.algorithm),
        "delegates": scenario.delegate_count,
        "network": scenario.network.law,
        "vote_phases": scenario.phases,
        "transactions_per_block": scenario.transactions_per_block(),
        "spread_seconds": max(filter(math.isfinite, spreads), default=math.nan),
        "final_blocks": len(done.final),
        "messages": scenario.messages(),
        "rivals": sum(height.rivals for height in done.heights),
        "status": "ok",
        "reason": _why(done),
    }
    return {name: row[name] for name in CONSENSUS.columns}


def failed(scenario: Scenario, error: PqchainError) -> dict[str, Any]:
    """Return the row of a scenario that cannot run here, with the error as its reason."""
    nothing = record(Run(scenario=scenario, heights=()))
    reason = {"status": "unsupported", "reason": str(error)}
    return nothing | {"throughput_per_second": math.nan} | reason


def frame(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows as a frame of the contract "consensus".

    Columns: scenario (SHA-256 of everything that determines the row), costs (their source),
    algorithm, nodes, delegates, network, exchange, vote_phases, proposal, seed,
    transactions_per_block (mean number that fills a block), latency_seconds (mean over
    transactions, from appearance to the last live honest delegate's final block),
    throughput_per_second, spread_seconds (until the last node received the block; NaN except for
    gossip), final_blocks, views, messages (per block without faults), rivals (Proof of Luck: other
    released blocks), is_safe, is_live, status, reason.
    """
    return CONSENSUS.frame(records)


def over_seeds(runs: pd.DataFrame) -> pd.DataFrame:
    """Return mean and 95 % confidence interval of each group of runs that differ by seed only.

    Columns: those of GROUP and costs, seeds (number of runs), live (share of live runs),
    latency_seconds and throughput_per_second (means of live runs), and for both a column with the
    suffix _half_width: Student's t times the standard error; NaN for fewer than two live runs.
    """
    checked = results.check(runs, CONSENSUS)
    rows = []
    for keys, group in checked.groupby([*GROUP, "costs"], sort=False):
        # The latency of a run that stopped early covers its first heights only.
        live = group[group["is_live"]]
        row = dict(zip([*GROUP, "costs"], keys, strict=True))
        row |= {"seeds": len(group), "live": float(group["is_live"].mean())}
        for name in ("latency_seconds", "throughput_per_second"):
            row[name] = float(live[name].mean())
            row[f"{name}_half_width"] = half_width(live[name])
        rows.append(row)
    return pd.DataFrame(rows)


def _why(done: Run) -> str:
    """Return why a run is not live; empty if it is live or has no heights."""
    if done.is_live or not done.heights:
        return ""
    last = done.heights[-1]
    return (
        f"not live: {len(done.final)} of {done.scenario.blocks} blocks became final; after "
        f"{len(last.outcomes)} views {int((last.final_ns >= NEVER).sum())} of "
        f"{done.scenario.delegate_count} delegates, faulty ones included, lack the last one"
    )
