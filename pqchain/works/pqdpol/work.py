"""Tables 5 and 6 of the PQ-DPoL paper: printed, modelled, and how far apart they are."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from pqchain import results
from pqchain.consensus import landscape
from pqchain.consensus.landscape import LANDSCAPE
from pqchain.costs import CostTable
from pqchain.results import Contract
from pqchain.works import papers
from pqchain.works.claims import CLAIMS
from pqchain.works.pqdpol import calibration

CELLS = Contract.of(
    "pqdpol-cells",
    ("str", "algorithm"),
    ("Int64", "n nodes"),
    (
        "float64",
        "transactions_per_block published_latency_seconds latency_seconds "
        "latency_error_percent published_throughput_per_second throughput_per_second "
        "throughput_error_percent",
    ),
    ("str", "costs scenario note"),
)

LEFT_OUT = Contract.of(
    "pqdpol-left-out",
    ("str", "left_out"),
    ("Int64", "cells"),
    ("float64", "rms_percent worst_percent pair_seconds byte_seconds verifies signs"),
)

FORMS = Contract.of(
    "pqdpol-forms",
    ("str", "form"),
    ("float64", "rms_percent worst_percent"),
)


KEY = "pqdpol"
"""The work's key."""

CALIBRATED_ON = (
    "The four prices of paper-serial are fitted to the 30 latencies of Table 6 with the costs of "
    "Tables 1 to 4, so that table is described, not predicted; throughput follows from packing, "
    "which was adjusted to the 29.42 transactions of Falcon-512 alone. Established are the form, "
    "N squared with pairs of a node with itself, and growth with size and verification time; the "
    "prices are not: other combinations fit nearly as well. Which shared resource is behind the "
    "form, a channel or the simulating computer, only the authors can tell."
)
"""What the agreement with the paper is worth; stands beside every table of it."""


def cells() -> pd.DataFrame:
    """Return the 30 cells of Tables 5 and 6, errata corrected.

    Columns: algorithm, n, latency_seconds, throughput_per_second, note (the erratum, or "").
    """
    latency = papers.table(KEY, "table6").drop(columns="printed_name")
    rate = papers.table(KEY, "table5").drop(columns="printed_name")
    frame = latency.merge(rate, on=["algorithm", "n"], validate="one_to_one").assign(note="")
    names = papers.paper(KEY).names
    columns = {"table5": "throughput_per_second", "table6": "latency_seconds"}
    for erratum in papers.paper(KEY).errata:
        if erratum.table not in columns or not erratum.row:
            continue
        found = (frame["algorithm"] == names[erratum.row]) & (frame["n"] == int(erratum.column))
        frame.loc[found, columns[erratum.table]] = float(erratum.expected)
        frame.loc[found, "note"] = f"{erratum.table} corrected: {erratum.note}"
    return frame


def tables(costs: CostTable | None = None) -> pd.DataFrame:
    """Run every cell of Tables 5 and 6, with the paper's costs or others.

    Columns: those of `pqchain.works.pqdpol.calibration.tables` and note; latencies in seconds,
    errors in percent of the printed number. With costs measured here only the agreement of the
    order means something: the prices belong to the paper's machine.
    """
    printed = cells()
    used = costs if costs is not None else papers.costs(KEY)
    known = printed[[name in used for name in printed["algorithm"]]].reset_index(drop=True)
    modelled = calibration.tables(known, used)
    return results.check(modelled.assign(note=known["note"]), CELLS)


def calibrate() -> calibration.Fit:
    """Fit the prices of paper-serial to Table 6, as the defaults of SerialLaw were."""
    return calibration.fit(cells(), papers.costs(KEY))


def left_out() -> pd.DataFrame:
    """Fit without one algorithm, or without one n, and predict what was left out.

    A frame of the contract "pqdpol-left-out"; see `pqchain.works.pqdpol.calibration.leave_out`.
    """
    return results.check(calibration.leave_out(cells(), papers.costs(KEY)), LEFT_OUT)


def forms() -> pd.DataFrame:
    """Compare laws of growth on Table 6, with one free constant for each algorithm.

    A frame of the contract "pqdpol-forms": form, rms_percent, worst_percent.
    """
    return results.check(calibration.forms(cells()), FORMS)


def softening(modelled: pd.DataFrame) -> pd.DataFrame:
    """Check that delegation softens the fall of throughput on a frame of `landscape.delegation`.

    A row of the contract "claims" with source "modelled". The paper prints nothing without
    delegation, so a model is all that can be asked.
    """
    frame = results.check(modelled, LANDSCAPE)
    told, holds = [f"costs: {frame['costs'].iloc[0]}"], []
    for law, group in frame.groupby("setting", sort=False):
        rate = group.pivot(index="nodes", columns="question", values="throughput_per_second")
        left = rate.sort_index().iloc[-1] / rate.sort_index().iloc[0]
        few = group.loc[group["question"] == "few vote", "delegates"].max()
        holds.append(bool(left["few vote"] > left["all vote"]))
        told.append(
            f"{law}, {rate.index.min()} to {rate.index.max()} nodes: {left['all vote']:.3g} of the "
            f"throughput is left if all vote, {left['few vote']:.3g} if {few} do"
        )
    told.append("nodes that do not vote cost nothing in the model")
    statement = "Delegation softens the fall of the throughput with the size of the network."
    verdict = "holds" if all(holds) else "does not hold"
    row = [
        KEY, "delegation-softens-the-fall", "4.3", statement, verdict, "; ".join(told), "modelled",
    ]  # fmt: skip
    return CLAIMS.frame([row])


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """All that the report says of Tables 5 and 6."""

    printed_costs: pd.DataFrame
    """`tables` with the paper's costs."""
    measured_costs: pd.DataFrame
    """`tables` with costs measured here; no rows if they were not."""
    fit: calibration.Fit
    left_out: pd.DataFrame
    forms: pd.DataFrame
    delegation: pd.DataFrame
    laws: pd.DataFrame
    contest: pd.DataFrame

    @property
    def tables(self) -> list[pd.DataFrame]:
        """The rebuilt tables that have rows."""
        return [frame for frame in (self.printed_costs, self.measured_costs) if len(frame)]

    @property
    def frames(self) -> dict[str, tuple[pd.DataFrame, str]]:
        """What is saved: name of the file -> frame and contract."""
        found = {
            "table5-6": (self.printed_costs, "pqdpol-cells"),
            "table5-6-here": (self.measured_costs, "pqdpol-cells"),
            "left-out": (self.left_out, "pqdpol-left-out"),
            "forms": (self.forms, "pqdpol-forms"),
            "delegation": (self.delegation, "landscape"),
            "networks": (self.laws, "landscape"),
            "contest": (self.contest, "landscape"),
        }
        return {name: pair for name, pair in found.items() if len(pair[0])}


def study(
    measured: CostTable | None = None, *, preset: str = "quick", progress: bool = False
) -> Study:
    """Rebuild the tables, judge the fit, and model other networks with the paper's costs.

    The contest ends at 2^16 nodes, with the preset "paper" at 2^20.
    """
    costs = papers.costs(KEY)
    names = list(dict.fromkeys(cells()["algorithm"]))
    known = measured is not None and any(name in measured for name in names)
    return Study(
        printed_costs=tables(costs),
        measured_costs=tables(measured) if known else tables(costs).iloc[:0],
        fit=calibrate(),
        left_out=left_out(),
        forms=forms(),
        delegation=landscape.delegation(costs),
        laws=landscape.laws(costs, progress=progress),
        contest=landscape.contest(
            costs,
            algorithms=names,
            exponents=(4, 8, 12, 16, 20) if preset == "paper" else (4, 8, 12, 16),
            progress=progress,
        ),
    )
