"""The consensus model compared with runs of an engine, with the same setup and the same prices.

Two null models have the same rows: "no effect" (every scheme is Ed25519) and "links" (a hop takes
the latency of its link and nothing else). An error is that of a logarithm, so that twice as much
and half as much are equally wrong, and skill is 1 - SSE(model) / SSE(null).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pqchain import installation, results
from pqchain.errors import DataError
from pqchain.results import Contract
from pqchain.results.statistics import nonnegative
from pqchain_engines import cometbft, prices, simplex
from pqchain_engines.frames import RUNS

COMPARED = Contract.of(
    "engine_comparison",
    ("Int64", "run repeats"),
    ("str", "engine version algorithm mode quantity"),
    ("Int64", "nodes block_bytes transactions"),
    ("float64", "link_latency_seconds rate_bits_per_second"),
    ("float64", "engine_value model_value no_effect_value links_value"),
    ("float64", "effect_percent noise_percent error_percent goal_percent"),
    ("str", "status"),
)
"""Rows of comparisons: one per setup and quantity.

Columns: run (the first with this setup), repeats (runs with this setup and other seeds, of which
engine_value is the median), engine, version, algorithm, mode, quantity ("latency_seconds", "ratio"
of the latency to that of Ed25519 in the same setup, "hops", "sent_messages" and "sent_bytes" of a
height, "commit_bytes", "cpu_seconds" over TCP), nodes, block_bytes, transactions,
link_latency_seconds, rate_bits_per_second, engine_value, model_value, no_effect_value and
links_value (of the null models; NaN where one has none), effect_percent (of the engine, relative
to the null model of the goal, see SHARE); relative to engine_value noise_percent (its 95 %
interval; NaN without repeats), error_percent (of the model) and goal_percent (largest error that is
accepted); and status ("within" the goal, "outside", or "no information" where the noise is larger
than the goal or there is no effect to find).
"""

SKILL = Contract.of(
    "engine_skill",
    ("str", "engine version mode quantity"),
    ("Int64", "rows informative outside"),
    ("float64", "effect_percent largest_effect_percent noise_percent"),
    ("float64", "model_sse no_effect_sse links_sse"),
    ("float64", "no_effect_skill links_skill bias_percent"),
    ("str", "status"),
)
"""Rows by engine, mode and quantity, of the rows of COMPARED with information.

Columns: engine, version, mode, quantity, rows (all), informative, outside (the goal),
effect_percent (median), largest_effect_percent, noise_percent (median), model_sse, no_effect_sse
and links_sse (sums of squared errors of logarithms), no_effect_skill and links_skill (1 - SSE of
the model / SSE of the null model, over rows in which they differ), bias_percent (median share of
the effect that the model has, above 1) and status ("failed": a quantity with a share as
a goal misses its bar in BARS; "outside": a row is outside its goal; else "ok").
"""

SHARE = 0.25
"""Largest accepted error as a share of the effect, which is the engine's distance from the null
model "links" for a latency, and "no effect" for all else."""

COUNTS = {"hops": 0.0, "sent_messages": 0.0, "sent_bytes": 5.0, "commit_bytes": 5.0}
"""Largest accepted errors of what is counted, in percent; messages are equal."""

BARS = {"simplex": (0.95, 3.0), "cometbft": (0.8, 10.0)}
"""Least skill, and largest bias in percent, by engine."""

BASELINE = "Ed25519"

_TERMS: dict[str, Any] = {"simplex": simplex, "cometbft": cometbft}
_VALUES = ("engine_value", "model_value", "no_effect_value", "links_value")
_NOISE = "noise_percent"
_SETUP = (
    *("engine", "mode", "nodes", "block_bytes", "transactions", "link_latency_seconds"),
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
    """Return COMPARED: each setup of a consensus engine, the model, and both null models.

    `runs` is RUNS. A ratio needs a run of Ed25519 in the same setup. Left out are failed runs; BLS
    aggregates, because the model's certificates are lists; latencies without that of a link,
    because then the validators wait for processors that they share; and processor time in virtual
    time, which is price times count for the engine, too, and with Ed25519, from which the other
    prices are taken. Raises DataError without a run.
    """
    chosen = runs[(runs["status"] == "ok") & (runs["algorithm"] != "BLS12-381")]
    chosen = chosen[chosen["engine"].isin(list(BARS))]
    if chosen.empty:
        raise DataError(
            "no run to compare: expected runs of an engine, status ok; see `engine run`"
        )
    prices_of = {name: processor_prices(runs[runs["engine"] == name]) for name in _TERMS}
    rows: list[dict[Any, Any]] = []
    for run in _setups(chosen).to_dict("records"):
        terms = _TERMS[run["engine"]]
        model = _counts(run, prices_of[run["engine"]])
        if run["link_latency_seconds"]:
            model["latency_seconds"] = terms.latency_seconds(run)
        if run["algorithm"] == BASELINE:
            model.pop("cpu_seconds", None)
            no_effect = {}
        else:
            no_effect = _counts(_as_ed25519(run), prices_of[run["engine"]])
        links = {"latency_seconds": terms.hops(run) * run["link_latency_seconds"]}
        for quantity, value in model.items():
            values = run[quantity], value, *(null.get(quantity) for null in (no_effect, links))
            columns = zip(_VALUES, values, strict=True)
            noise = {"noise_percent": run.get(f"{quantity}_noise")}
            rows.append(run | {"quantity": quantity} | dict(columns) | noise)
    frame = pd.DataFrame(rows).astype(dict.fromkeys(_VALUES, float))
    is_time = frame["quantity"] == "latency_seconds"
    base = frame.loc[is_time & (frame["algorithm"] == BASELINE), [*_SETUP, *_VALUES[:2], _NOISE]]
    pairs = frame[is_time].merge(base, on=list(_SETUP), how="left", suffixes=("", "_base"))
    schemes = pairs["algorithm"] != BASELINE
    pairs["no_effect_value"] = pairs["model_value_base"].where(schemes)
    ratios = pairs[schemes & pairs["engine_value_base"].notna()]
    ratios = ratios.assign(
        quantity="ratio",
        engine_value=ratios["engine_value"] / ratios["engine_value_base"],
        model_value=ratios["model_value"] / ratios["model_value_base"],
        no_effect_value=1.0,
        links_value=1.0,
        noise_percent=np.hypot(ratios[_NOISE], ratios[f"{_NOISE}_base"]),
    )
    frame = pd.concat([frame[~is_time], pairs, ratios]).sort_values("run", kind="stable")
    null = frame["no_effect_value"].where(
        frame["quantity"] != "latency_seconds", frame["links_value"]
    )
    frame["effect_percent"] = 100 * (frame["engine_value"] / null - 1)
    frame["error_percent"] = 100 * (frame["model_value"] / frame["engine_value"] - 1)
    share = 100 * SHARE * (frame["engine_value"] - null).abs() / frame["engine_value"]
    goal = frame["goal_percent"] = frame["quantity"].map(COUNTS).fillna(share)
    within = np.where(frame["error_percent"].abs() <= goal, "within", "outside")
    unknown = goal.isna() | (goal < frame[_NOISE])
    frame["status"] = np.where(unknown, "no information", within)
    return COMPARED.frame(frame[list(COMPARED.columns)].to_dict("records"))


def processor_prices(runs: pd.DataFrame) -> tuple[float, ...]:
    """Return processor seconds of each of an engine's `processor_terms`; empty without runs.

    A fit with relative errors to the runs with Ed25519 in loopback, whose processor time is not
    compared. The prices of CometBFT include the relays of the links.
    """
    chosen = runs[
        (runs["mode"] == "loopback") & (runs["algorithm"] == BASELINE) & (runs["status"] == "ok")
    ].to_dict("records")
    if len(chosen) < 5:
        return ()
    engine = _TERMS[chosen[0]["engine"]]
    weights = np.array([1 / run["cpu_seconds"] for run in chosen])
    terms = np.array([engine.processor_terms(run) for run in chosen])
    rest = np.array([run["cpu_seconds"] - engine.signature_seconds(run) for run in chosen])
    return tuple(float(price) for price in nonnegative(terms * weights[:, None], rest * weights))


def _counts(run: Mapping[Any, Any], processor: tuple[float, ...]) -> dict[str, float]:
    """Return the model's counts of a run, and its processor time over TCP."""
    terms = _TERMS[run["engine"]]
    counts = {name: value for name, value in terms.messages(run).items() if name in COUNTS}
    if run["engine"] == "cometbft":
        counts["hops"] = cometbft.hops(run)
        if not cometbft.flooded(run):
            counts = {"commit_bytes": counts["commit_bytes"]}
    if run["mode"] != "virtual" and processor:
        rest = np.dot(processor, terms.processor_terms(run))
        counts["cpu_seconds"] = terms.signature_seconds(run) + float(rest)
    return counts


def _as_ed25519(run: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the run with the scheme and the prices of Ed25519."""
    frame = prices.stored(run["engine"]).set_index("algorithm")
    price = frame.loc[BASELINE, ["sign_seconds", "verify_seconds"]]
    return dict(run) | {"algorithm": BASELINE} | price.to_dict()


def _setups(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per setup and scheme: medians of its runs, their number and noise in percent.

    The deviation of a logarithm is pooled over the setups of an engine and mode, because a few
    repeats of one setup do not give it.
    """
    frame = runs.copy()
    # A hop takes at least a link's latency and a flush; all waits together take less.
    least = frame["link_latency_seconds"] + frame["flush_seconds"]
    frame["hops"] = frame["first_seconds"] // least
    # Without CometBFT's queries of a timer of 2 s.
    floods = frame["engine"] == "cometbft"
    for total, parts in (
        ("sent_messages", ["votes", "blocks", "others"]),
        ("sent_bytes", ["vote_bytes", "sent_block_bytes", "other_bytes"]),
    ):
        frame[total] = frame[total].where(~floods, frame[parts].sum(axis=1))
    groups = frame.groupby([*_SETUP, "algorithm"], sort=False, dropna=False)
    setups = groups.first().assign(repeats=groups.size())
    setups.update(groups[["latency_seconds", "cpu_seconds", *COUNTS]].median())
    for name in ("latency_seconds", "cpu_seconds"):
        logs = np.log(frame[name])
        squares = (logs - groups[name].transform(lambda values: np.log(values).mean())) ** 2
        kinds = [frame["engine"], frame["mode"]]
        freedom = squares.groupby(kinds).size() - setups.groupby(["engine", "mode"]).size()
        deviation = np.sqrt(squares.groupby(kinds).sum() / freedom.where(freedom > 0))
        # The deviation of a median of normal values is at most 1.25 times that of their mean.
        noise = 100 * 1.96 * 1.25 * deviation.rename("deviation")
        setups = setups.join(noise.rename(f"{name}_noise"), on=["engine", "mode"])
        setups[f"{name}_noise"] /= np.sqrt(setups["repeats"])
    return setups.reset_index()


def skill(compared: pd.DataFrame) -> pd.DataFrame:
    """Return SKILL of a frame of COMPARED."""
    rows = []
    keys = ["engine", "version", "mode", "quantity"]
    for key, group in compared.groupby(keys, sort=False):
        row: dict[str, Any] = dict(zip(keys, key, strict=True))
        used = group[group["status"] != "no information"]
        logs = used[[*_VALUES]].div(used["engine_value"], axis=0).apply(np.log) ** 2
        for name in ("model", "no_effect", "links"):
            row[f"{name}_sse"] = logs[f"{name}_value"].sum(min_count=1)
        for name in ("no_effect", "links"):
            error = logs["model_value"].where(logs[f"{name}_value"].notna()).sum()
            null = row[f"{name}_sse"]
            row[f"{name}_skill"] = 1 - error / null if null > 0 else math.nan
        name = "links" if row["quantity"] == "latency_seconds" else "no_effect"
        effect = used["engine_value"] - used[f"{name}_value"]
        shares = (used["model_value"] - used[f"{name}_value"]) / effect
        bias = 100 * (shares.median() - 1)
        outside = int((used["status"] == "outside").sum())
        status = "outside" if outside else "ok"
        if row["quantity"] not in COUNTS and len(used):
            least, largest = BARS[row["engine"]]
            met = row[f"{name}_skill"] >= least and abs(bias) <= largest
            status = status if met else "failed"
        rows.append(row | {
            "rows": len(group), "informative": len(used), "outside": outside,
            "effect_percent": used["effect_percent"].abs().median(),
            "largest_effect_percent": used["effect_percent"].abs().max(),
            "noise_percent": group["noise_percent"].median(), "bias_percent": bias,
            "status": status,
        })  # fmt: skip
    return SKILL.frame(rows)
