"""The consensus model compared with runs of an engine, with the same setup and the same prices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import installation, results
from pqchain.errors import DataError
from pqchain.results import Contract
from pqchain_engines import cometbft, simplex
from pqchain_engines.frames import RUNS

COMPARED = Contract.of(
    "engine_comparison",
    ("Int64", "run"),
    ("str", "engine version algorithm mode quantity"),
    ("Int64", "nodes block_bytes transactions"),
    ("float64", "link_latency_seconds rate_bits_per_second"),
    ("float64", "engine_value model_value error_percent goal_percent"),
    ("bool", "within"),
    ("str", "cause"),
)
"""Rows of comparisons: one per run and quantity.

Columns: run, engine, version, algorithm, mode, quantity ("latency_seconds", "ratio" of the latency
to that of Ed25519 in the same setup, "hops", "sent_messages" and "sent_bytes" of a height,
"commit_bytes", "cpu_seconds"), nodes, block_bytes, transactions, link_latency_seconds,
rate_bits_per_second,
engine_value, model_value, error_percent (of the model), goal_percent (largest error that is
accepted; 0: equal), within (the goal) and cause (of a row outside the goal).
"""

GOALS = {
    "simplex": {"latency_seconds": 3.0, "ratio": 1.0, "cpu_seconds": 15.0},
    "cometbft": {"latency_seconds": 7.0, "ratio": 7.0, "hops": 0.0, "cpu_seconds": 15.0},
}
"""Largest accepted errors in percent, by engine and quantity."""

COUNT_GOALS = {"sent_messages": 0.0, "sent_bytes": 5.0, "commit_bytes": 5.0}
"""Largest accepted errors of what is counted, in percent; messages are equal."""

BASELINE = "Ed25519"

_SETUP = (
    *("engine", "mode", "nodes", "block_bytes", "transactions", "seed", "link_latency_seconds"),
    *("rate_bits_per_second", "poll_seconds", "flush_seconds", "commit_timeout_seconds"),
)


def stored(name: str = "simplex") -> pd.DataFrame:
    """Return the stored runs of an engine, in virtual time and over TCP. Raises DataError."""
    folder = installation.data("engines") / "runs"
    paths = sorted(folder.glob(f"{name}*.csv"))
    if not paths:
        raise DataError(f"no runs of {name} are stored; give a file of `benchmarks/engines.py`")
    parts = [load(path) for path in paths]
    # Runs are numbered through.
    offset = 0
    for part in parts:
        part["run"] += offset
        offset = int(part["run"].max())
    frame = RUNS.frame(row for part in parts for row in part.to_dict("records"))
    frame.attrs["provenance"] = parts[0].attrs["provenance"]
    return frame


def load(path: str | Path) -> pd.DataFrame:
    """Return runs from a file. Raises DataError for a frame of another contract."""
    frame = results.load(path)
    if results.contract_of(frame).name != RUNS.name:
        raise DataError(f"{path} must have runs of engines ({RUNS.name}); name another file")
    return frame


def compare(runs: pd.DataFrame) -> pd.DataFrame:
    """Return COMPARED: each run of a consensus engine and the model with the same setup.

    `runs` is RUNS. A ratio needs a run of Ed25519 in the same setup. Left out are failed runs; runs
    of simplex over TCP; BLS aggregates, because the model's certificates are lists; and the runs
    from which the processor prices of CometBFT are taken. Raises DataError without a run.
    """
    chosen = runs[(runs["status"] == "ok") & (runs["algorithm"] != "BLS12-381")]
    calibrates = (chosen["mode"] == "loopback") & (chosen["algorithm"] == BASELINE)
    tcp = (chosen["mode"] != "virtual") & (chosen["engine"] == "simplex")
    chosen = chosen[chosen["engine"].isin(list(GOALS)) & ~calibrates & ~tcp]
    if chosen.empty:
        raise DataError(
            "no run to compare: expected runs of an engine, status ok; see `engine run`"
        )
    prices = cometbft.processor_prices(runs)
    rows: list[dict[str, Any]] = []
    latencies: dict[tuple[str, ...], tuple[float, float]] = {}
    for run in chosen.to_dict("records"):
        terms = simplex if run["engine"] == "simplex" else cometbft
        latency = terms.latency_seconds(run)
        latencies[(*_setup(run), run["algorithm"])] = run["latency_seconds"], latency
        modelled = {"latency_seconds": latency} | terms.messages(run)
        if run["engine"] == "cometbft":
            modelled["hops"] = cometbft.hops(run)
            # A hop takes at least a link's latency and a flush; all waits together take less.
            least = run["link_latency_seconds"] + run["flush_seconds"]
            run["hops"] = math.floor(run["first_seconds"] / least)
            # Without the queries of a timer of 2 s.
            run["sent_messages"] = run["votes"] + run["blocks"] + run["others"]
            run["sent_bytes"] = run["vote_bytes"] + run["sent_block_bytes"] + run["other_bytes"]
        modelled["cpu_seconds"] = terms.cpu_seconds(run, prices)
        for quantity, value in modelled.items():
            if quantity in GOALS[run["engine"]] | COUNT_GOALS and not math.isnan(value):
                rows.append(_row(run, quantity, run[quantity], value))
    for run in chosen.to_dict("records"):
        if run["algorithm"] == BASELINE or (*_setup(run), BASELINE) not in latencies:
            continue
        pairs = zip(
            latencies[(*_setup(run), run["algorithm"])],
            latencies[(*_setup(run), BASELINE)],
            strict=True,
        )
        rows.append(_row(run, "ratio", *(value / base for value, base in pairs)))
    return COMPARED.frame(sorted(rows, key=lambda row: row["run"]))


def _setup(run: Mapping[Any, Any]) -> tuple[str, ...]:
    # Missing numbers are equal as text, and not as numbers.
    return tuple(str(run[name]) for name in _SETUP)


def _row(run: Mapping[Any, Any], quantity: str, engine: float, modelled: float) -> dict[str, Any]:
    error = 100 * (modelled / engine - 1)
    goal = (COUNT_GOALS | GOALS[run["engine"]])[quantity]
    within = not math.isnan(error) and abs(error) <= goal
    return {name: run[name] for name in COMPARED.columns if name in run} | {
        "quantity": quantity,
        "engine_value": engine,
        "model_value": modelled,
        "error_percent": error,
        "goal_percent": goal,
        "within": within,
        "cause": "" if within else _cause(run, quantity),
    }


def _cause(run: Mapping[Any, Any], quantity: str) -> str:
    """Return the term that the model lacks in a setup outside the goal."""
    if run["engine"] == "cometbft":
        return cometbft.cause(run, quantity)
    if quantity in COUNT_GOALS:
        return "a validator received the finalization before it voted for it"
    seconds = (
        8 * run["block_bytes"] * (run["nodes"] - 1) / (run["rate_bits_per_second"] or math.inf)
    )
    if seconds > run["link_latency_seconds"]:
        return "the block takes longer to send than a link's latency, while certificates are sent"
    return "not known"
