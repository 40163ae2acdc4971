"""Verdicts and facts from our runs of the settings of Tables 5 and 6."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pqchain import results
from pqchain.figures import Kind, Unit
from pqchain.works.paper import Paper
from pqchain.works.pqdpol.measured import (
    ALL_VOTE,
    AMOUNTS,
    EACH,
    FEW_VOTE,
    GROWTH,
    ONE,
    RUN,
    SHARES,
    TABLES,
    TWO,
    VIRTUAL,
)
from pqchain.works.pqdpol.rebuilt import QUANTITIES
from pqchain.works.readers import Number, Reader, Undecided, step
from pqchain.works.verdicts import FAILS, HOLDS, MACHINE, OPEN, Standing, Verdict
from pqchain.works.work import Frames


def judge_runs(run: pd.DataFrame) -> Verdict:
    """Judge the statement on delegation by the throughput of runs with few or all voters."""
    frame = results.check(run, RUN)
    few, all_nodes = (
        frame[frame["setting"] == setting].sort_values("nodes") for setting in (FEW_VOTE, ALL_VOTE)
    )
    if len(few) < 2 or len(all_nodes) < 2:
        return Verdict(OPEN, "too few networks were run", Kind.RUN)
    shares, errors = zip(*map(_kept_share, (few, all_nodes)), strict=True)
    voters = few["delegates"].max()
    evidence = (
        f"from {few['nodes'].min()} to {few['nodes'].max()} nodes {shares[0]:.3g} % of the "
        f"throughput remains if {voters} vote and the others verify received blocks, "
        f"{shares[1]:.3g} % if all vote, both until the last node has verified the block"
    )
    # Both shares carry the noise of two networks; a smaller difference could be either.
    differs = abs(shares[0] - shares[1]) > sum(errors)
    outcome = OPEN if not differs else HOLDS if shares[0] > shares[1] else FAILS
    return Verdict(outcome, evidence, Kind.RUN, _standing(all_nodes))


def _kept_share(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the largest network's throughput in percent of the smallest's, and its error."""
    first, last = rows.iloc[0], rows.iloc[-1]
    name = "spread_seconds"
    share = 100 * first[name] / last[name]
    # Relative errors of a quotient add up.
    noise = sum(row[f"{name}_half_width"] / row[name] for row in (first, last))
    return float(share), float(share * noise)


def _standing(run: pd.DataFrame) -> Standing:
    return Standing(
        f"run on loopback over {run['transport'].iloc[0]}, {run['processors'].min()} processors "
        f"for all delegates, {run['heights'].max()} blocks of each, every signature made and "
        "verified",
        (MACHINE,),
    )


def cells(run: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that correspond to cells of Tables 5 and 6."""
    frame = results.check(run, RUN)
    return frame[frame["setting"] == TABLES]


def reader(paper: Paper, run: pd.DataFrame) -> Reader:
    """Return a reader of the runs' latency and throughput, with half their interval as noise."""
    table = cells(run)
    printed = {name: printed for printed, name in paper.names.items()}
    rows = {printed[row["algorithm"]] + step(row["n"]): row for row in table.to_dict("records")}
    standing = _standing(table)

    def read(name: str, quantity: str, implementation: str) -> Number:
        if name not in rows:
            raise Undecided(f"{name} was not run")
        row = rows[name]
        half = float(row[f"{quantity}_half_width"])
        return Number(float(row[quantity]), half, half, Unit.of(quantity), standing)

    return Reader(Kind.RUN, read, QUANTITIES.values(), steps=sorted(set(table["n"])))


def parts(frames: Frames) -> dict[str, pd.DataFrame]:
    """Return, by name, the frames for the chapter's tables of runs."""
    if "run" not in frames:
        return {}
    run = results.check(frames["run"], RUN)
    voting = [ALL_VOTE, FEW_VOTE, ALL_VOTE + VIRTUAL, FEW_VOTE + VIRTUAL]
    return {
        "run-cells": cells(run),
        "run-computers": run[run["setting"].isin((ONE, TWO, EACH))],
        "run-voting": run[run["setting"].isin(voting)].sort_values(["nodes", "setting"]),
    }


def explain_growth(growth: pd.DataFrame) -> str:
    """Return what the growth exponents imply about the cause of quadratic growth, as text."""
    if not {ONE, EACH} <= set(growth.index):
        return "the runs that would show its cause are missing"
    shared, separate = growth.loc[ONE], growth.loc[EACH]
    least_shared = shared["exponent"] - shared["half_width"]
    most_separate = separate["exponent"] + separate["half_width"]
    # The intervals of the exponents must not overlap, and with a computer per delegate the growth
    # must be slower than the printed one.
    if least_shared > most_separate and most_separate < SQUARE:
        return "so the cause is that one computer does the work of all delegates"
    return "which does not decide the cause of the growth"


SQUARE = 2.0
"""The exponent of the printed latencies."""


def _differ(first: dict[Any, Any], second: dict[Any, Any]) -> bool:
    name = "latency_seconds"
    noise = first[f"{name}_half_width"] + second[f"{name}_half_width"]
    return bool(abs(first[name] - second[name]) > noise)


# Settings in the names of facts.
_SETTINGS = {TABLES: "tables", ONE: "one", TWO: "two", EACH: "each"}

FACT_NAMES = (
    *(f"{fact}_{name}" for name in _SETTINGS.values() for fact in ("grows", "most")),
    *(f"share_{name}" for name in AMOUNTS),
    "cause", "host_worst", "host_median", "quickest", "slowest", "run_nodes",
)  # fmt: skip


def facts(frames: Frames) -> dict[str, Any]:
    """Return the facts about runs that findings of the chapter may name."""
    table = cells(frames["run"])
    facts: dict[str, Any] = {}
    by_setting = results.check(frames["growth"], GROWTH).query("quantity == 'latency'")
    for row in by_setting.to_dict("records"):
        name = _SETTINGS[row["setting"]]
        facts[f"grows_{name}"] = (
            f"{row['exponent']:.2f} \N{PLUS-MINUS SIGN} {row['half_width']:.2f}"
        )
        facts[f"most_{name}"] = row["largest"]
    facts["cause"] = explain_growth(by_setting.set_index("setting"))
    errors = table["prediction_error_percent"].dropna()
    if len(errors):
        facts |= {"host_worst": errors.abs().max(), "host_median": errors.abs().median()}
    largest = table[table["nodes"] == table["nodes"].max()].sort_values("latency_seconds")
    for rank, rows in (("quickest", largest), ("slowest", largest.iloc[::-1])):
        # A rank within the intervals could be noise.
        if len(rows) > 1 and _differ(*rows.head(2).to_dict("records")):
            facts |= {rank: rows["algorithm"].iloc[0], "run_nodes": rows["nodes"].iloc[0]}
    percents = results.check(frames["shares"], SHARES).set_index("what")["percent"]
    return facts | {f"share_{name}": percent for name, percent in percents.items()}
