"""Verdicts and facts from our runs of the settings of Tables 5 and 6."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from pqchain import results
from pqchain.delegates import service_times
from pqchain.figures import Kind, Unit
from pqchain.works.paper import Paper
from pqchain.works.pqdpol.measured import GROWTH, RUN, SHARES
from pqchain.works.pqdpol.plans import (
    ALL_TO_ALL,
    ALL_VOTE,
    BROADCAST,
    EACH,
    EXCHANGES,
    FEW_VOTE,
    ONE,
    TABLES,
    TWO,
    VIRTUAL,
)
from pqchain.works.pqdpol.rebuilt import QUANTITIES
from pqchain.works.readers import Number, NumberReader, Undecided, from_values, step
from pqchain.works.verdicts import CODE, FAILS, HOLDS, MACHINE, OPEN, Standing, Verdict
from pqchain.works.work import Frames

COUNTED = "throughput_per_second*latency_seconds"
"""The transactions in a block as statements write them; runs count them."""

COLUMNS = {**{name: name for name in QUANTITIES.values()}, COUNTED: "transactions_per_block"}
"""Columns of frames by the quantity of statements."""

MAX_OTHERS = 0.25
"""Share of the processors used by other programs, our choice, above which runs decide nothing.

Latencies of a busy machine follow its load, which changes between runs; the intervals of a run's
heights do not show that.
"""


def _busy_reason(rows: pd.DataFrame) -> str:
    """Return why other programs keep runs from deciding a statement; "" if they do not."""
    others = rows["others_busy"].mean()
    if not others > MAX_OTHERS:  # also if it is unknown (NaN)
        return ""
    return f"other programs used {_percent(others)} of the processors during the runs"


def judge_runs(run: pd.DataFrame) -> Iterator[Verdict]:
    """Judge the statement on delegation by the throughput of runs, once for each exchange."""
    frame = results.check(run, RUN)
    for exchange in EXCHANGES:
        yield _judge_delegation(frame[frame["exchange"] == exchange])


def _judge_delegation(frame: pd.DataFrame) -> Verdict:
    few, all_nodes = (
        frame[frame["setting"] == setting].sort_values("nodes") for setting in (FEW_VOTE, ALL_VOTE)
    )
    if len(few) < 2 or len(all_nodes) < 2:
        return Verdict(OPEN, "too few networks were run", Kind.RUN)
    if reason := _busy_reason(pd.concat([few, all_nodes])):
        return Verdict(OPEN, reason, Kind.RUN, _standing(all_nodes))
    # Over different transports or clocks the difference would not be that of the delegation.
    if len(pd.concat([few, all_nodes])[["kind", "transport"]].drop_duplicates()) > 1:
        return Verdict(OPEN, "the runs differ in their transport or clock", Kind.RUN)
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
    first = run.iloc[0]
    return Standing(
        f"run on loopback over {first['transport']}, exchange {first['exchange']} (our choice: the "
        f"paper states none), {run['processors'].min()} processors for all delegates, one run of "
        f"{run['heights'].max()} blocks of each, every signature made and verified",
        # The exchange of messages is ours, so the code differs as well as the machine.
        (CODE, MACHINE),
    )


def cells(run: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that correspond to cells of Tables 5 and 6."""
    frame = results.check(run, RUN)
    return frame[frame["setting"] == TABLES]


def readers(paper: Paper, run: pd.DataFrame) -> Iterator[NumberReader]:
    """Yield a reader of the runs with each exchange: latency, throughput, transactions in a block.

    The noise is half of the 95 % interval; that of a count is 0 if all blocks have the same.
    """
    for _, table in cells(run).groupby("exchange", sort=False):
        # A network of 2^n nodes.
        table = table.assign(n=[int(nodes).bit_length() - 1 for nodes in table["nodes"]])
        yield cell_reader(
            paper, Kind.RUN, table, _standing(table), lambda row, name: row[f"{name}_half_width"],
            busy=_busy_reason(table), missing="{name} was not run", steps=sorted(set(table["n"])),
        )  # fmt: skip


def cell_reader(
    paper: Paper,
    kind: Kind,
    table: pd.DataFrame,
    standing: Standing,
    error: Callable[[dict[Any, Any], str], float],
    *,
    busy: str = "",
    **fields: Any,
) -> NumberReader:
    """Return a reader of the cells in a frame with the columns algorithm, n and those of COLUMNS.

    `error` gives the error of a row's column; `busy` is why all but counts are undecided. `fields`
    are those of `from_values`.
    """
    printed = {name: printed for printed, name in paper.names.items()}
    values: dict[tuple[str, str], Number | Undecided] = {}
    for row in table.to_dict("records"):
        for quantity, column in COLUMNS.items():
            off = float(error(row, column))
            number = Number(float(row[column]), off, off, Unit.of(column), standing)
            # A count does not depend on the load.
            is_open = busy and quantity != COUNTED
            name = printed[row["algorithm"]] + step(row["n"])
            values[name, quantity] = Undecided(busy) if is_open else number
    return from_values(kind, values, quantities=COLUMNS, decides=True, **fields)


def parts(frames: Frames) -> dict[str, pd.DataFrame]:
    """Return the runs of Tables 5 and 6, of computers and of voters, by name."""
    if "run" not in frames:
        return {}
    run = results.check(frames["run"], RUN)
    voting = [ALL_VOTE, FEW_VOTE, ALL_VOTE + VIRTUAL, FEW_VOTE + VIRTUAL]
    order = ["exchange", "nodes", "setting"]
    return {
        "run-cells": cells(run),
        "run-computers": run[run["setting"].isin((ONE, TWO, EACH))],
        "run-voting": run[run["setting"].isin(voting)].sort_values(order),
    }


def explain_growth(growth: pd.DataFrame) -> str:
    """Return what the exponents of latency show about its growth, as text.

    `growth` has the contract GROWTH. An effect counts only if the intervals do not overlap. The
    exchanges are ours, so nothing here tells the cause of the printed growth.
    """
    ends = {
        (row["setting"], row["exchange"]): (
            row["exponent"] - row["half_width"],
            row["exponent"] + row["half_width"],
        )
        for row in growth[growth["quantity"] == "latency"].to_dict("records")
    }
    if not {(setting, name) for setting in (ONE, EACH) for name in EXCHANGES} <= set(ends):
        return "the runs that would separate computers and exchange are missing"

    def exceeds(more: tuple[str, str], less: tuple[str, str]) -> bool:
        # False if an interval is missing (NaN).
        return bool(ends[more][0] > ends[less][1])

    shared = [name for name in EXCHANGES if exceeds((ONE, name), (EACH, name))]
    copied = [name for name in (ONE, EACH) if exceeds((name, ALL_TO_ALL), (name, BROADCAST))]
    effects = []
    if shared:
        effects.append(f"sharing one processor raises the exponent with {' and '.join(shared)}")
    if copied:
        places = " and ".join(_PLACES[name] for name in copied)
        effects.append(f"{ALL_TO_ALL} raises it compared with {BROADCAST} {places}")
    seen = ", and ".join(effects) or "the intervals overlap, so neither effect is shown"
    return f"{seen}; the cause of the published growth remains open"


_PLACES = {ONE: "on one processor", EACH: "with a computer each"}

# Settings and exchanges in the names of facts.
_SETTINGS = {TABLES: "tables", ONE: "one", EACH: "each"}
_EXCHANGES = {ALL_TO_ALL: "all", BROADCAST: "broadcast"}


def facts(frames: Frames) -> dict[str, Any]:
    """Return the facts about runs that sentences state."""
    run = results.check(frames["run"], RUN)
    table = cells(run)
    busy, growth = _busy_reason(table), results.check(frames["growth"], GROWTH)
    facts: dict[str, Any] = {
        "run_schemes": table["algorithm"].nunique(),
        "run_most": table["nodes"].max(),
        "cause": f"{busy}, so nothing follows" if busy else explain_growth(growth),
        "others": _percent(table["others_busy"].mean()),
    }
    for row in growth[growth["setting"].isin(list(_SETTINGS))].to_dict("records"):
        quantity = {"latency": "grows"}.get(row["quantity"], "work")
        name = f"{quantity}_{_SETTINGS[row['setting']]}_{_EXCHANGES[row['exchange']]}"
        half = row["half_width"]
        interval = "" if math.isnan(half) else f" \N{PLUS-MINUS SIGN} {half:.2f}"
        facts[name] = f"{row['exponent']:.2f}{interval}"
    for row in results.check(frames["shares"], SHARES).to_dict("records"):
        percent, low, high = (row[f"percent{end}"] for end in ("", "_low", "_high"))
        facts[f"share_{row['what']}"] = f"{percent:.0f}\u202f% ({low:.0f} to {high:.0f}\u202f%)"
        facts |= {"shares_runs": row["runs"], "shares_nodes": row["nodes"]}
    return facts | _host_facts(run) | ({} if busy else _ranks(table))


def _percent(share: float) -> str:
    return "an unknown share" if math.isnan(share) else f"{100 * share:.0f}\u202f%"


def _host_facts(run: pd.DataFrame) -> dict[str, Any]:
    """Return the errors of the law "host" over all rows that it predicts."""
    # Settings that coincide share a run, which counts once.
    predicted = run.dropna(subset=["prediction_error_percent"]).drop_duplicates("scenario")
    errors = predicted["prediction_error_percent"]
    on_one = errors[predicted["processors"] == 1]
    if not len(on_one):
        return {}
    facts = {"host_fitted": len(service_times.SETS), "host_runs": len(errors)}
    ends = {"host": errors, "host_one": on_one}
    facts |= {f"{name}_low": values.min() for name, values in ends.items()}
    facts |= {f"{name}_high": values.max() for name, values in ends.items()}
    return facts | {"host_median": errors.abs().median()}


def _ranks(table: pd.DataFrame) -> dict[str, str]:
    """Return the quickest and the slowest scheme in the largest network, if they are certain."""
    ranks: dict[str, set[str]] = {"quickest": set(), "slowest": set()}
    for _, group in table[table["nodes"] == table["nodes"].max()].groupby("exchange"):
        rows = group.sort_values("latency_seconds")
        for rank, ordered in (("quickest", rows), ("slowest", rows[::-1])):
            latency, half = (ordered[f"latency_seconds{end}"] for end in ("", "_half_width"))
            # A rank within the intervals could be noise.
            apart = abs(latency.diff().iloc[1:2]) > half.iloc[:2].sum()
            ranks[rank].add(ordered["algorithm"].iloc[0] if apart.any() else "")
    # The sentence names one scheme, so both exchanges must agree on it.
    return {rank: names.pop() for rank, names in ranks.items() if len(names) == 1 and all(names)}
