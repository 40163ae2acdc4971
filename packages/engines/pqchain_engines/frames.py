"""Frames of runs of engines: a row per height, and a row per run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pqchain.consensus.runs import KINDS
from pqchain.results import Contract
from pqchain_engines.registry import Engine
from pqchain_engines.setup import INTERVALS, Setup

_SETUP = (
    ("Int64", "run"),
    ("str", "engine version algorithm mode kind"),
    ("Int64", "nodes quorum block_bytes transactions seed"),
    ("float64", "link_latency_seconds rate_bits_per_second sign_seconds verify_seconds"),
    ("float64", "poll_seconds flush_seconds commit_timeout_seconds"),
)

_TIMES = "latency_seconds quorum_seconds first_seconds notarized_seconds interval_seconds"

_COUNTS = (
    "votes vote_bytes certificates certificate_bytes blocks sent_block_bytes others other_bytes "
    "queries query_bytes sent_messages sent_bytes signs verifies size_bytes"
)

HEIGHTS = Contract.of(
    "engine_heights",
    *_SETUP,
    ("Int64", "height"),
    ("float64", f"start_seconds {_TIMES} cpu_seconds"),
    ("Int64", f"{_COUNTS} commit_bytes commit_signatures rounds"),
    ("str", "digest status reason"),
)
"""Rows of block heights of engines.

Columns: run (number in the frame), engine, version, algorithm, mode, kind (replayed in virtual
time, else measured), nodes, quorum (signatures), block_bytes, transactions, seed,
link_latency_seconds, rate_bits_per_second (of a node each way; 0: unlimited), sign_seconds and
verify_seconds (charged in virtual time), poll_seconds, flush_seconds and commit_timeout_seconds
(intervals of CometBFT), height, start_seconds (of the proposal, since the start),
latency_seconds (from the proposal until the last live validator has it final), quorum_seconds,
first_seconds, notarized_seconds (until the last has the first quorum), interval_seconds (until the
next proposal), cpu_seconds (of all validators; virtual: what was charged), messages and bytes sent
per height by kind and in total, signs, verifies, size_bytes (of the
committed block; blocks counts its parts), commit_bytes and commit_signatures (of a
certificate inside the next block), rounds (beyond the first), digest (of everything that a
deterministic run did), status ("ok", "not final", "failed") and reason.
"""

RUNS = Contract.of(
    "engine_runs",
    *_SETUP,
    ("Int64", "heights final_heights"),
    ("float64", f"{_TIMES} cpu_seconds {_COUNTS} commit_bytes commit_signatures rounds"),
    ("str", "digest status reason"),
)
"""Rows of runs: medians over the final heights; rounds is a sum. Columns as in HEIGHTS."""

_RECORDED = "signs verifies size_bytes commit_bytes commit_signatures rounds"

_CHANNELS = {
    "vote": ("votes", "vote_bytes"),
    "certificate": ("certificates", "certificate_bytes"),
    "block": ("blocks", "sent_block_bytes"),
    "resolver": ("others", "other_bytes"),
    "other": ("others", "other_bytes"),
    # CometBFT: proposals, and the announcements of votes, steps and complete blocks.
    "proposal": ("others", "other_bytes"),
    "has_vote": ("others", "other_bytes"),
    "step": ("others", "other_bytes"),
    "valid_block": ("others", "other_bytes"),
    # Sent by a timer of 2 s, not by the progress of a height.
    "query": ("queries", "query_bytes"),
}


def setup_columns(run: int, engine: Engine, setup: Setup) -> dict[str, Any]:
    """Return the columns that describe a run."""
    return {
        "run": run,
        "engine": engine.name,
        "version": engine.version,
        "algorithm": setup.algorithm,
        "mode": setup.mode,
        "kind": KINDS[setup.mode].value,
        "nodes": setup.nodes,
        "quorum": setup.quorum,
        "block_bytes": setup.block_bytes,
        "transactions": setup.transactions,
        "seed": setup.seed,
        "link_latency_seconds": setup.latency_seconds,
        "rate_bits_per_second": setup.rate_bits_per_second,
        "sign_seconds": setup.sign_seconds,
        "verify_seconds": setup.verify_seconds,
    } | {name: getattr(setup, name) if name in engine.options else math.nan for name in INTERVALS}


def height_row(
    columns: Mapping[str, Any], record: Mapping[str, Any], digest: str
) -> dict[str, Any]:
    """Return the row of a record; missing numbers are NaN or empty."""
    row: dict[str, Any] = dict.fromkeys(HEIGHTS.columns) | dict(columns)
    for name in (*_TIMES.split(), "start_seconds", "cpu_seconds"):
        row[name] = float(record.get(name, math.nan))
    for name in (*_RECORDED.split(), "height"):
        row[name] = record.get(name)
    messages = bytes_sent = 0
    for channel, (count, length) in _CHANNELS.items():
        if (number := record.get(f"{channel}_messages")) is None:
            continue
        sent = record.get(f"{channel}_bytes", 0)
        row[count] = number + (row[count] or 0)
        row[length] = sent + (row[length] or 0)
        messages, bytes_sent = messages + number, bytes_sent + sent
        row["sent_messages"], row["sent_bytes"] = messages, bytes_sent
    if row["rounds"] is None and record.get("nullified") is not None:
        row["rounds"] = int(record["nullified"])
    final = not math.isnan(row["latency_seconds"])
    return row | {
        "digest": digest,
        "status": "ok" if final else "not final",
        "reason": "" if final else str(record.get("reason", "no quorum finalized this height")),
    }


def failed_row(columns: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """Return the one row of a run that failed."""
    empty = {n: math.nan if d == "float64" else None for n, d in HEIGHTS.columns.items()}
    return empty | dict(columns) | {"digest": "", "status": "failed", "reason": reason}


def summarize(heights: pd.DataFrame) -> pd.DataFrame:
    """Return a row per run, with medians over its final heights. `heights` is HEIGHTS.

    Columns: those of RUNS; heights, final_heights; a run without a final height has the status
    "failed" and the first reason.
    """
    rows = [_run_row(group) for _, group in heights.groupby("run", sort=False)]
    frame = RUNS.frame(rows)
    frame.attrs.update(heights.attrs)
    return frame


def _run_row(group: pd.DataFrame) -> dict[str, Any]:
    final = group[group["status"] == "ok"]
    first = group.iloc[0]
    row = {name: first[name] for _, names in _SETUP for name in names.split()}
    row |= {"heights": int(group["height"].notna().sum()), "final_heights": len(final)}
    for name in (
        *_TIMES.split(),
        "cpu_seconds",
        *_COUNTS.split(),
        "commit_bytes",
        "commit_signatures",
    ):
        values = final[name].astype("float64")
        row[name] = float(values.median()) if values.notna().any() else math.nan
    rounds = group["rounds"].astype("float64")
    row["rounds"] = float(rounds.sum()) if rounds.notna().any() else math.nan
    reasons: Iterable[str] = (reason for reason in group["reason"] if reason)
    return row | {
        "digest": first["digest"],
        "status": "ok" if len(final) else "failed",
        "reason": next(iter(reasons), ""),
    }
