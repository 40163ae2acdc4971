"""Processor seconds of signatures by the libraries that an engine uses."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from statistics import median
from typing import Any

import pandas as pd

from pqchain import checks, installation, results
from pqchain.errors import Unsupported, UsageError
from pqchain.results import Contract, machine, statistics
from pqchain_engines import protocol, registry, runner
from pqchain_engines.protocol import EngineFailure
from pqchain_engines.setup import Setup

PRICES = Contract.of(
    "engine_prices",
    ("str", "engine version algorithm"),
    ("Int64", "runs"),
    ("float64", "sign_seconds sign_low_seconds sign_high_seconds"),
    ("float64", "verify_seconds verify_low_seconds verify_high_seconds"),
    ("float64", "aggregate_seconds decode_key_seconds transaction_seconds"),
    ("float64", "idle_sign_seconds idle_verify_seconds idle_commit_seconds"),
    ("float64", "idle_decode_seconds idle_state_seconds"),
    ("str", "status reason"),
)
"""Rows of prices: seconds of one processor.

Columns: engine, version, algorithm, runs (processes), sign_seconds and verify_seconds (median over
the runs of each run's median; with a decoded public key where the engine keeps it so), their 95 %
intervals (of the median run), aggregate_seconds (per signature of a BLS aggregate),
decode_key_seconds (of a public key; NaN if the engine keeps no decoded keys), transaction_seconds
(verification of a transaction by the application), status and reason. Of CometBFT also the steps of
a validator whose processor was idle before, in its own functions (means; the median over the runs):
idle_sign_seconds (a vote is signed and saved), idle_verify_seconds (of a vote),
idle_commit_seconds (per signature of a block's commit), idle_decode_seconds (per key of validators
that are loaded) and idle_state_seconds (per validator in a state that is hashed and saved).
"""

SAMPLES, RUNS = 400, 7


def measure(
    name: str, *, samples: int = SAMPLES, runs: int = RUNS, limit_seconds: float = 300.0
) -> pd.DataFrame:
    """Measure the prices of all schemes of an engine; return PRICES.

    The time is that of the measuring thread on its processor, for messages of 117 bytes; every
    scheme is timed in each of `runs` processes. Raises UnknownName, UsageError for numbers out of
    range, and Unsupported if the engine is not built.
    """
    checks.integer("samples", samples, least=1, most=100_000)
    checks.integer("runs", runs, least=2, most=1000)
    return summarize(
        name, [sample(name, samples, limit_seconds=limit_seconds) for _ in range(runs)], samples
    )


def sample(name: str, samples: int, *, limit_seconds: float = 300.0) -> dict[str, dict[str, Any]]:
    """Return a run of an engine's prices by scheme: its seconds, or "error" with the reason.

    Raises UnknownName, UsageError and Unsupported as `measure`.
    """
    engine = registry.get(name)
    if not engine.modes:
        raise UsageError(f"{engine.name} must be a consensus engine; see `pqchain gas` for an EVM")
    engine.executable()
    times: dict[str, dict[str, Any]] = {}
    for algorithm in engine.algorithms:
        try:
            request = {
                "id": 1, "price_of": algorithm, "library": runner.library(algorithm),
                "samples": samples,
            }  # fmt: skip
            command = [str(engine.executable(algorithm))]
            _, times[algorithm] = protocol.ask(command, request, limit_seconds=limit_seconds)
        except (EngineFailure, Unsupported) as error:
            times[algorithm] = {"error": str(error)}
    return times


def summarize(name: str, runs: list[dict[str, dict[str, Any]]], samples: int) -> pd.DataFrame:
    """Return PRICES of the results of `sample`."""
    engine = registry.get(name)
    rows = []
    for algorithm in engine.algorithms:
        times = [run[algorithm] for run in runs]
        reason = next((run["error"] for run in times if "error" in run), "")
        rows.append(
            {"engine": engine.name, "version": engine.version, "algorithm": algorithm}
            | {"runs": len(runs), "status": "unsupported" if reason else "ok", "reason": reason}
            | _medians([] if reason else times)
        )
    frame = PRICES.frame(rows)
    preset = f"{len(runs)} runs of {samples} samples"
    frame.attrs["provenance"] = machine.provenance() | {"preset": preset}
    return frame


def _medians(values: list[dict[str, Any]]) -> dict[str, float]:
    """Return the medians over runs (NaN without one), with intervals of two (NaN below six)."""
    row = {}
    for name in (
        *("sign", "verify", "aggregate", "decode_key", "transaction"),
        *("idle_sign", "idle_verify", "idle_commit", "idle_decode", "idle_state"),
    ):
        seconds = [float(value.get(f"{name}_seconds", math.nan)) for value in values]
        row[f"{name}_seconds"] = median(seconds) if seconds else math.nan
        if name in ("sign", "verify"):
            low, high = statistics.median_interval(seconds)
            row |= {f"{name}_low_seconds": low, f"{name}_high_seconds": high}
    return row


@cache
def stored(name: str = "*") -> pd.DataFrame:
    """Return the prices of data/engines/prices, of one engine or of all.

    `attrs` has the provenance of the engine; of all, that of the first.
    """
    paths = sorted(installation.data("engines").glob(f"prices/{name}.csv"))
    frames = [results.load(path) for path in paths]
    frame = PRICES.frame(row for part in frames for row in part.to_dict("records"))
    frame.attrs["provenance"] = frames[0].attrs["provenance"]
    return frame


def with_prices(name: str, setup: Setup) -> Setup:
    """Return the setup with the stored prices of its scheme where it has none of its own.

    Raises Unsupported if the scheme has no stored price.
    """
    if setup.mode != "virtual" or setup.sign_seconds or setup.verify_seconds:
        return setup
    frame = stored()
    same = (frame["engine"] == name) & (frame["algorithm"] == setup.algorithm)
    rows = frame[same & (frame["status"] == "ok")]
    if rows.empty:
        raise Unsupported(
            f"{setup.algorithm} has no stored price for {name}; give sign_seconds and "
            "verify_seconds, or measure them with `pqchain engine prices`"
        )
    row = rows.iloc[0]
    return replace(
        setup,
        sign_seconds=float(row["sign_seconds"]),
        verify_seconds=float(row["verify_seconds"]),
        aggregate_seconds=float(row["aggregate_seconds"]),
    )
