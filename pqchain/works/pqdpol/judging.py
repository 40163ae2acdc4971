"""What runs of Tables 5 and 6 say: of the paper's statements, and in sentences of the report."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pqchain import results
from pqchain.works.paper import Paper
from pqchain.works.pqdpol.measured import (
    ALL_VOTE,
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
from pqchain.works.readers import Number, Reader, Undecided, step
from pqchain.works.verdicts import FAILS, HOLDS, MACHINE, OPEN, Standing, Verdict
from pqchain.works.work import Frames

UNITS = {"latency_seconds": "s", "throughput_per_second": "1/s"}
"""Quantities of Tables 5 and 6."""


def observed(run: pd.DataFrame) -> Verdict:
    """Say what runs tell of delegation: throughput until the last of all nodes has the block."""
    frame = results.check(run, RUN)
    few, everybody = (
        frame[frame["setting"] == setting].sort_values("nodes") for setting in (FEW_VOTE, ALL_VOTE)
    )
    if len(few) < 2 or len(everybody) < 2:
        return Verdict(OPEN, "too few networks were run", "run")
    kept, errors = zip(*map(_kept_by, (few, everybody)), strict=True)
    voters = few["delegates"].max()
    evidence = (
        f"from {few['nodes'].min()} to {few['nodes'].max()} nodes {kept[0]:.3g} % of the "
        f"throughput is left if {voters} vote and the others verify what they are given, "
        f"{kept[1]:.3g} % if all vote, both until the last node has verified the block"
    )
    far = abs(kept[0] - kept[1]) > sum(errors)
    outcome = OPEN if not far else HOLDS if kept[0] > kept[1] else FAILS
    return Verdict(outcome, evidence, "run", _setting(everybody))


def _kept_by(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the share of throughput that the largest network keeps, in percent, and its error."""
    first, last = rows.iloc[0], rows.iloc[-1]
    name = "spread_seconds"
    share = 100 * first[name] / last[name]
    noise = sum(row[f"{name}_half_width"] / row[name] for row in (first, last))
    return float(share), float(share * noise)


def _setting(run: pd.DataFrame) -> Standing:
    """Return what runs are worth against the paper's statements."""
    one = run.iloc[0]
    return Standing(
        f"run on loopback over {one['transport']}, {run['processors'].min()} processors for all "
        f"delegates, {run['heights'].max()} blocks of each, every signature made and verified",
        (MACHINE,),
    )


def cells(run: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that are cells of Tables 5 and 6."""
    frame = results.check(run, RUN)
    return frame[frame["setting"] == TABLES]


def reader(paper: Paper, run: pd.DataFrame) -> Reader:
    """Read what was run; its noise is half of the 95 % interval."""
    of = cells(run)
    printed = {name: printed for printed, name in paper.names.items()}
    rows = {printed[row["algorithm"]] + step(row["n"]): row for row in of.to_dict("records")}
    standing = _setting(of)

    def read(name: str, quantity: str, implementation: str) -> Number:
        if name not in rows:
            raise Undecided(f"{name} was not run")
        row = rows[name]
        half = float(row[f"{quantity}_half_width"])
        return Number(float(row[quantity]), half, half, UNITS[quantity], standing)

    return Reader("run", read, UNITS, steps=sorted(set(of["n"])))


def parts(frames: Frames) -> dict[str, pd.DataFrame]:
    """Return what the chapter shows of the runs: a frame for each table."""
    if "run" not in frames:
        return {}
    run = results.check(frames["run"], RUN)
    voting = [ALL_VOTE, FEW_VOTE, ALL_VOTE + VIRTUAL, FEW_VOTE + VIRTUAL]
    return {
        "run-cells": cells(run),
        "run-computers": run[run["setting"].isin((ONE, TWO, EACH))],
        "run-voting": run[run["setting"].isin(voting)].sort_values(["nodes", "setting"]),
    }


def _whence(growth: pd.DataFrame) -> str:
    """Say what the exponents tell of where a square comes from."""
    if not {ONE, EACH} <= set(growth.index):
        return "where it comes from was not asked"
    one, each = growth.loc[ONE], growth.loc[EACH]
    apart = one["exponent"] - one["half_width"] > each["exponent"] + each["half_width"]
    if apart and each["exponent"] + each["half_width"] < SQUARE:
        return "so it is one computer's work for all that makes latency grow so fast"
    return "which does not settle what makes latency grow so fast"


SQUARE = 2.0
"""The power with which the printed latencies grow."""


def _far(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    """Return whether two latencies differ by more than their intervals."""
    name = "latency_seconds"
    noise = one[f"{name}_half_width"] + other[f"{name}_half_width"]
    return bool(abs(one[name] - other[name]) > noise)


def facts(frames: Frames) -> dict[str, Any]:
    """Return the figures of the sentences on what was run."""
    of = cells(frames["run"])
    found: dict[str, Any] = {}
    by_setting = results.check(frames["growth"], GROWTH).query("quantity == 'latency'")
    for row in by_setting.to_dict("records"):
        name = {TABLES: "tables", ONE: "one", TWO: "two", EACH: "each"}[row["setting"]]
        found[f"grows_{name}"] = (
            f"{row['exponent']:.2f} \N{PLUS-MINUS SIGN} {row['half_width']:.2f}"
        )
        found[f"most_{name}"] = row["largest"]
    found["whence"] = _whence(by_setting.set_index("setting"))
    errors = of["prediction_error_percent"].dropna()
    if len(errors):
        found |= {"host_worst": errors.abs().max(), "host_median": errors.abs().median()}
    largest = of[of["nodes"] == of["nodes"].max()].sort_values("latency_seconds")
    for what, rows in (("quickest", largest), ("slowest", largest.iloc[::-1])):
        if len(rows) > 1 and _far(*rows.head(2).to_dict("records")):
            found |= {what: rows["algorithm"].iloc[0], "run_nodes": rows["nodes"].iloc[0]}
    percents = results.check(frames["shares"], SHARES).set_index("what")["percent"]
    return found | {f"share_{what}": percent for what, percent in percents.items()}
