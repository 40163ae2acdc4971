"""PQ-DPoL: Tables 5 and 6 rebuilt by a model, its fit judged, and other networks beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from pqchain import results
from pqchain.consensus import landscape
from pqchain.consensus.landscape import LANDSCAPE
from pqchain.costs import CostTable, from_frame
from pqchain.errors import DataError
from pqchain.render import numbers
from pqchain.render.figure import Figure
from pqchain.render.table import Column, Shown, Table
from pqchain.works import papers
from pqchain.works.comparisons import FAILS, HOLDS
from pqchain.works.paper import Paper
from pqchain.works.pqdpol import rebuilt
from pqchain.works.pqdpol.rebuilt import CELLS, QUANTITIES, corrected
from pqchain.works.readers import Number, Reader, Undecided, spoken, step
from pqchain.works.work import Bench, Frames, Verdict, Work

_UNITS = {"latency_seconds": "s", "throughput_per_second": "1/s"}
"""Quantities that the model gives and no stopwatch."""

_EXPONENTS = (1, 3, 5, 7, 10, 15, 20)
"""Networks of 2^n nodes that the table of networks shows."""


class PqDpol(Work):
    """Models the consensus with the paper's costs, and with costs measured here."""

    key = "pqdpol"

    def compute(self, bench: Bench) -> Frames:
        """Return `table5-6` and `delegation`, and with a clock all that the chapter shows.

        The contest ends at 2^16 nodes, with the preset "paper" at 2^20.
        """
        costs = papers.costs(self.key)
        frames = {"table5-6": rebuilt.tables(costs), "delegation": landscape.delegation(costs)}
        if bench.measurements is None:
            return frames
        here = rebuilt.tables(_measured(bench.measurements))
        exponents = (4, 8, 12, 16, 20) if bench.preset == "paper" else (4, 8, 12, 16)
        names = list(dict.fromkeys(frames["table5-6"]["algorithm"]))
        if len(here):
            frames["table5-6-here"] = here
        return frames | {
            "fit": rebuilt.calibrate().frame,
            "left-out": rebuilt.left_out(),
            "forms": rebuilt.forms(),
            "networks": landscape.laws(costs, progress=bench.progress),
            "contest": landscape.contest(
                costs, algorithms=names, exponents=exponents, progress=bench.progress
            ),
        }

    def readers(self, frames: Frames) -> Iterable[Reader]:
        """Read latencies and throughputs of the model, for each table of costs."""
        for name in ("table5-6", "table5-6-here"):
            if name in frames:
                yield _reader(self.paper, results.check(frames[name], CELLS))

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge by the model what the paper prints nothing of."""
        if claim == "delegation-softens-the-fall" and "delegation" in frames:
            yield softening(frames["delegation"])

    def tables(self, frames: Frames) -> Iterable[Table]:
        """Show the rebuilt tables, what the fit is worth, and other networks."""
        if "fit" in frames:
            yield from tables_5_and_6(frames, self.words)
            fit = pd.concat([frames["fit"], frames["left-out"]])
            yield from super().tables({**frames, "fit": fit})
            yield networks(frames, self.words)

    def figures(self, frames: Frames) -> Iterable[Figure]:
        """Draw Tables 5 and 6 beside ours, latency on other networks, and who wins there."""
        winners = {"winners": landscape.winners(frames["contest"])} if "contest" in frames else {}
        return super().figures({**frames, **winners})


def softening(delegation: pd.DataFrame) -> Verdict:
    """Judge on a frame of `landscape.delegation` whether delegation softens the fall of throughput.

    The paper prints nothing without delegation, so a model is all that can be asked.
    """
    frame = results.check(delegation, LANDSCAPE)
    evidence, holds = [f"costs: {frame['costs'].iloc[0]}"], []
    for law, group in frame.groupby("setting", sort=False):
        rate = group.pivot(index="nodes", columns="question", values="throughput_per_second")
        left = rate.sort_index().iloc[-1] / rate.sort_index().iloc[0]
        few = group.loc[group["question"] == "few vote", "delegates"].max()
        holds.append(bool(left["few vote"] > left["all vote"]))
        evidence.append(
            f"{law}, {rate.index.min()} to {rate.index.max()} nodes: {left['all vote']:.3g} of the "
            f"throughput is left if all vote, {left['few vote']:.3g} if {few} do"
        )
    evidence.append("nodes that do not vote cost nothing in the model")
    return Verdict(HOLDS if all(holds) else FAILS, "; ".join(evidence), "modelled")


def _measured(measurements: pd.DataFrame) -> CostTable:
    try:
        return from_frame(measurements)
    except DataError:
        return CostTable(rows=(), source="measured")


def _reader(paper: Paper, frame: pd.DataFrame) -> Reader:
    """Read what the model gives; it computes, so nothing is uncertain but the model."""
    printed = {name: printed for printed, name in paper.names.items()}
    values = {
        (printed[row["algorithm"]] + step(row["n"]), quantity): row[quantity]
        for row in frame.to_dict("records")
        for quantity in _UNITS
    }

    def read(name: str, quantity: str, implementation: str) -> Number:
        if (name, quantity) not in values:
            raise Undecided(f"no model of the {spoken(quantity)} of {name} is given")
        return Number(float(values[name, quantity]), unit=_UNITS[quantity])

    return Reader("modelled", read, _UNITS, basis=f"costs: {frame['costs'].iloc[0]}")


def tables_5_and_6(frames: Frames, words: Mapping[str, Any]) -> Iterator[Table]:
    """Yield Tables 5 and 6, with the paper's costs and with ours if there are any."""
    notes = [words["calibrated"]["note"]]
    for name, costs in words["costs"].items():
        if name not in frames:
            continue
        for table in QUANTITIES:
            said = words[table]
            exponents = sorted(set(frames[name]["n"]))
            across = (Column(f"n = {n}", numeric=True) for n in exponents)
            yield Table(
                columns=[Column(said["unit"]), Column("from"), *across],
                rows=list(_rows(frames[name], table, said["quantity"], exponents)),
                row_headers=2,
                caption=said["caption"].format(costs=costs),
                source=("published", "modelled") + ("measured",) * (name != "table5-6"),
                notes=notes,
                part=said["part"],
            )
            notes = []


def _rows(
    frame: pd.DataFrame, table: str, quantity: str, exponents: list[int]
) -> Iterator[list[Any]]:
    """Yield for each algorithm the print, ours and the error, across n."""
    column, errata = QUANTITIES[table], corrected(table)
    for name, group in frame.groupby("algorithm", sort=False):
        at = group.set_index("n")
        lines: dict[str, tuple[str, Callable[[float], str]]] = {
            "printed": (f"published_{column}", numbers.exact),
            "modelled": (column, lambda value: numbers.significant(value, 4)),
            "error": (f"{quantity}_error_percent", f"{{:+.1f}}{numbers.NARROW_SPACE}%".format),
        }
        for title, (source, show) in lines.items():
            wrong = [title == "printed" and (name, n) in errata for n in exponents]
            values = zip(at.loc[exponents, source], wrong, strict=True)
            shown = (Shown(value, show(value) + " !" * marked) for value, marked in values)
            yield [str(name), title, *shown]


def networks(frames: Frames, words: Mapping[str, Any]) -> Table:
    """Show latencies on other networks, and what the model says on the whole."""
    ran = frames["networks"].query("status == 'ok'")
    shown = [n for n in _EXPONENTS if 2**n in set(ran["nodes"])]
    rows = []
    for setting, group in ran.groupby("setting", sort=False):
        latency = group.groupby("nodes")["latency_seconds"].median()
        voting = "all" if setting in landscape.EVERYBODY else str(group["delegates"].max())
        rows.append([str(setting), voting, *(latency.get(2**n, float("nan")) for n in shown)])
    across = (Column(f"2^{n}", numeric=True, show=numbers.seconds) for n in shown)
    columns = [Column("network"), Column("delegates"), *across]
    said = words["networks"]
    errata = dict.fromkeys(f"! {note}" for note in frames["table5-6"]["note"] if note)
    facts = _facts(frames)
    notes = [*(note.format(**facts) for note in said["notes"]), *errata]
    return Table(columns=columns, rows=rows, **said | {"notes": notes})


def _facts(frames: Frames) -> dict[str, Any]:
    """Return the figures in the notes on the model."""
    frame, left, fit = frames["table5-6"], frames["left-out"], frames["fit"].iloc[0]
    by_form = frames["forms"].set_index("form")["rms_percent"]
    second = by_form.drop("N^2").sort_values()
    schemes = left[left["left_out"].isin(set(frame["algorithm"]))]
    hardest = schemes.sort_values("rms_percent").iloc[-1]
    fills = ", ".join(
        f"{row['algorithm']} {row['transactions_per_block']:.4g}"
        for row in frame.drop_duplicates("algorithm").to_dict("records")
    )
    return {
        "form": by_form["N^2"],
        "next": second.index[0],
        "next_form": second.iloc[0],
        "hardest": hardest["left_out"],
        "hardest_verifies": hardest["verifies"],
        "hardest_percent": hardest["worst_percent"],
        "verifies": fit["verifies"],
        "worst": frame["latency_error_percent"].abs().max(),
        "rms": fit["rms_percent"],
        "fills": fills,
    }
