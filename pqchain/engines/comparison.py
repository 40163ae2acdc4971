"""The consensus model compared with runs of an engine, with the same setup and the same prices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from pqchain import algorithms, installation, results
from pqchain.consensus import Scenario, named
from pqchain.consensus import model as consensus_model
from pqchain.consensus.scenario import Layout
from pqchain.costs import Costs, CostTable
from pqchain.engines.frames import RUNS
from pqchain.errors import DataError
from pqchain.results import Contract

COMPARED = Contract.of(
    "engine_comparison",
    ("Int64", "run"),
    ("str", "engine version algorithm quantity"),
    ("Int64", "nodes block_bytes"),
    ("float64", "link_latency_seconds rate_bits_per_second"),
    ("float64", "engine_value model_value error_percent goal_percent"),
    ("bool", "within"),
    ("str", "cause"),
)
"""Rows of comparisons: one per run and quantity.

Columns: run, engine, version, algorithm, quantity ("latency_seconds", "ratio" of the latency to
that of Ed25519 in the same setup, "votes", "vote_bytes", "certificate_bytes", "cpu_seconds"),
nodes, block_bytes, link_latency_seconds, rate_bits_per_second, engine_value, model_value,
error_percent (of the model), goal_percent (largest error that is accepted), within (the goal) and
cause (of a row outside the goal).
"""

GOALS = {"latency_seconds": 3.0, "ratio": 1.0}
"""Largest accepted errors in percent. Latency in virtual time has no noise."""

BASELINE = "Ed25519"

_UNLIMITED_BITS_PER_SECOND = 1e15
_BLOCKS = 9
"""Heights of the model. The first and last have fewer overlapping heights than those of a long run,
so that only those in the middle count."""


def stored(name: str = "simplex") -> pd.DataFrame:
    """Return the stored runs of an engine. Raises DataError if there are none."""
    path = installation.data("engines") / "runs" / f"{name}.csv"
    if not path.is_file():
        raise DataError(f"no runs of {name} are stored; give a file of `benchmarks/engines.py`")
    return load(path)


def load(path: str | Path) -> pd.DataFrame:
    """Return runs from a file. Raises DataError for a frame of another contract."""
    frame = results.load(path)
    if results.contract_of(frame).name != RUNS.name:
        raise DataError(f"{path} must have runs of engines ({RUNS.name}); name another file")
    return frame


def compare(runs: pd.DataFrame) -> pd.DataFrame:
    """Return COMPARED: the model and each run of simplex in virtual time with lists of signatures.

    `runs` is RUNS. A ratio needs a run of Ed25519 in the same setup. BLS aggregates are left out,
    because the model's certificates are lists. Raises DataError without a run to compare.
    """
    chosen = runs[
        (runs["engine"] == "simplex")
        & (runs["mode"] == "virtual")
        & (runs["status"] == "ok")
        & (runs["algorithm"] != "BLS12-381")
    ]
    if chosen.empty:
        raise DataError("no run to compare: expected runs of simplex in virtual time, status ok")
    rows: list[dict[str, Any]] = []
    latencies: dict[tuple[object, ...], tuple[float, float]] = {}
    for run in chosen.to_dict("records"):
        heights = consensus_model.run(scenario(run)).heights
        modelled = median(height.latency_seconds for height in heights[_BLOCKS // 2 : -2])
        latencies[_setup(run), run["algorithm"]] = run["latency_seconds"], modelled
        rows.append(_row(run, "latency_seconds", run["latency_seconds"], modelled))
    for run in chosen.to_dict("records"):
        key = _setup(run)
        if run["algorithm"] == BASELINE or (key, BASELINE) not in latencies:
            continue
        pairs = zip(latencies[key, run["algorithm"]], latencies[key, BASELINE], strict=True)
        rows.append(_row(run, "ratio", *(value / base for value, base in pairs)))
    return COMPARED.frame(sorted(rows, key=lambda row: row["run"]))


def _setup(run: Mapping[Any, Any]) -> tuple[object, ...]:
    names = ("nodes", "block_bytes", "transactions", "link_latency_seconds", "rate_bits_per_second")
    return tuple(run[name] for name in (*names, "seed"))


def _row(run: Mapping[Any, Any], quantity: str, engine: float, modelled: float) -> dict[str, Any]:
    error, goal = 100 * (modelled / engine - 1), GOALS[quantity]
    within = not math.isnan(error) and abs(error) <= goal
    return {name: run[name] for name in COMPARED.columns if name in run} | {
        "quantity": quantity,
        "engine_value": engine,
        "model_value": modelled,
        "error_percent": error,
        "goal_percent": goal,
        "within": within,
        "cause": "" if within else _cause(run),
    }


def _cause(run: Mapping[Any, Any]) -> str:
    """Return the term that the model lacks in a setup outside the goal."""
    seconds = (
        8 * run["block_bytes"] * (run["nodes"] - 1) / (run["rate_bits_per_second"] or math.inf)
    )
    if seconds > run["link_latency_seconds"]:
        return "the block takes longer to send than a link's latency, while certificates are sent"
    return "not known"


def scenario(run: Mapping[Any, Any]) -> Scenario:
    """Return the model's scenario of a run of simplex; `run` is a row of RUNS.

    Two phases of votes, certificates broadcast, the next proposal at the first quorum, proposals
    signed; validators decode keys once, so prices are those of a decoded key.
    """
    scheme = algorithms.get(run["algorithm"])
    sizes = scheme.public_key_bytes + scheme.signature_bytes
    costs = Costs.given(
        f"engine {scheme.name}",
        public_key_bytes=scheme.public_key_bytes,
        signature_bytes=scheme.signature_bytes,
        sign_seconds=run["sign_seconds"],
        verify_seconds=run["verify_seconds"],
        source=f"prices of {run['engine']} {run['version']}",
    )
    network = named(
        "uplink",
        latency_seconds=run["link_latency_seconds"],
        rate_bits_per_second=run["rate_bits_per_second"] or _UNLIMITED_BITS_PER_SECOND,
        header_bytes=0,
    )
    count = max(1, int(run["transactions"]))
    size = max(int(run["block_bytes"]) // count, sizes)
    return Scenario(
        algorithm=costs.algorithm,
        costs=CostTable(rows=(costs,), source=costs.source),
        nodes=int(run["nodes"]),
        network=network,
        vote_phases=2,
        exchange="broadcast",
        certificates="broadcast",
        pipelined=True,
        signed_blocks=True,
        layout=Layout(key_mode="inline", overhead_bytes=size - sizes, header_bytes=0),
        block_bytes=count * size,
        blocks=_BLOCKS,
    )
