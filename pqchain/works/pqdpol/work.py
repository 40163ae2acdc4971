"""PQ-DPoL: Tables 5 and 6 rebuilt by a model, its fit judged, and other networks beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd

from pqchain import figures, results
from pqchain.consensus import landscape
from pqchain.consensus.landscape import LANDSCAPE
from pqchain.costs import CostTable, from_frame
from pqchain.errors import DataError
from pqchain.figures import COUNT, SECONDS
from pqchain.render.plot import Plot
from pqchain.render.table import Column, Shown, Table
from pqchain.works import papers
from pqchain.works.paper import Paper
from pqchain.works.pqdpol import judging, measured, rebuilt
from pqchain.works.pqdpol.rebuilt import CELLS, QUANTITIES, errata
from pqchain.works.readers import Number, Reader, Undecided, spoken, step
from pqchain.works.verdicts import OPEN, Standing, Verdict
from pqchain.works.work import Bench, Frames, Work

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
        costs_here = _measured(bench.measurements)
        here = rebuilt.tables(costs_here)
        exponents = (4, 8, 12, 16, 20) if bench.preset == "paper" else (4, 8, 12, 16)
        names = list(dict.fromkeys(frames["table5-6"]["algorithm"]))
        if len(here):
            frames["table5-6-here"] = here
        # Without a stopwatch nothing is run either.
        if len(here) and bench.measure_blocks is not None:
            plan = measured.PLANS[bench.preset]
            frames |= measured.run(costs_here, plan, progress=bench.progress)
        return frames | {
            "fit": rebuilt.calibrate().frame,
            "left-out": rebuilt.left_out(),
            "alternatives": rebuilt.alternatives(),
            "forms": rebuilt.forms(),
            "networks": landscape.laws(costs, progress=bench.progress),
            "contest": landscape.contest(
                costs, algorithms=names, exponents=exponents, progress=bench.progress
            ),
        }

    def readers(self, frames: Frames) -> Iterable[Reader]:
        """Read latencies and throughputs of the model, for each table of costs."""
        if "table5-6" not in frames:
            return
        error = float(frames["table5-6"]["latency_error_corrected_percent"].abs().max())
        for name in ("table5-6", "table5-6-here"):
            if name in frames:
                yield _reader(self.paper, results.check(frames[name], CELLS), error)
        if "run" in frames:
            yield judging.reader(self.paper, frames["run"])

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Say what the model is worth where the paper prints nothing."""
        if claim != "delegation-softens-the-fall":
            return
        if "delegation" in frames:
            yield softening(frames["delegation"])
        if "run" in frames:
            yield judging.observed(frames["run"])

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return what the model of the paper's network says, and how well it is known."""
        facts = _facts(frames) if "fit" in frames else {}
        return facts | (judging.facts(frames) if "run" in frames else {})

    def tables(self, frames: Frames) -> Iterable[Table]:
        """Show the rebuilt tables, what the fit is worth, and other networks."""
        if "fit" in frames:
            yield from tables_5_and_6(frames, self.words)
            fit = pd.concat([frames["fit"], frames["left-out"]])
            yield from super().tables({**frames, **judging.parts(frames), "fit": fit})
            yield networks(frames, self.words)

    def figures(self, frames: Frames) -> Iterable[Plot]:
        """Draw Tables 5 and 6 beside ours, latency on other networks, and who wins there."""
        winners = {"winners": landscape.winners(frames["contest"])} if "contest" in frames else {}
        shown = {**frames, **judging.parts(frames), **winners}
        if "run" in frames:
            shown["table5-6"] = measured.beside(frames["table5-6"], frames["run"])
        return super().figures(shown)


def softening(delegation: pd.DataFrame) -> Verdict:
    """Say what a frame of `landscape.delegation` tells of the fall of throughput: nothing decisive.

    In the model who does not vote costs nothing and the voters are fixed, so delegation softens the
    fall by construction.
    """
    frame = results.check(delegation, LANDSCAPE)
    evidence = []
    for law, group in frame.groupby("setting", sort=False):
        rate = group.pivot(index="nodes", columns="question", values="throughput_per_second")
        left = 100 * rate.sort_index().iloc[-1] / rate.sort_index().iloc[0]
        few = group.loc[group["question"] == "few vote", "delegates"].max()
        evidence.append(
            f"{law}, {rate.index.min()} to {rate.index.max()} nodes: {left['all vote']:.3g} % of "
            f"the throughput is left if all vote, {left['few vote']:.3g} % if {few} do"
        )
    evidence.append(
        "the model softens the fall by construction: who does not vote costs nothing in it, and "
        "the number of voters is fixed"
    )
    evidence.append(
        "the printed Table 5, made with delegation, keeps {:.1f} to {:.1f} % from n = 3 to n = 5, "
        "what the model gives when all vote".format(*_kept())
    )
    setting = f"costs: {frame['costs'].iloc[0]}"
    return Verdict(OPEN, "; ".join(evidence), "modelled", Standing(setting))


def _kept() -> tuple[float, float]:
    """Return the least and greatest share of throughput that Table 5 keeps from n = 3 to 5."""
    rate = rebuilt.cells(corrected=False).pivot(
        index="algorithm", columns="n", values="throughput_per_second"
    )
    share = 100 * rate[5] / rate[3]
    return float(share.min()), float(share.max())


def _measured(measurements: pd.DataFrame) -> CostTable:
    try:
        return from_frame(measurements)
    except DataError:
        return CostTable(rows=(), source="measured")


def _reader(paper: Paper, frame: pd.DataFrame, error_percent: float) -> Reader:
    """Read what the model gives: no rank of smaller differences than the error of its fit."""
    printed = {name: printed for printed, name in paper.names.items()}
    values = {
        (printed[row["algorithm"]] + step(row["n"]), quantity): row[quantity]
        for row in frame.to_dict("records")
        for quantity in _UNITS
    }
    standing = Standing(
        f"costs: {frame['costs'].iloc[0]}; prices fitted to Table 6, which they miss by up to "
        f"{error_percent:.1f} %"
    )

    def read(name: str, quantity: str, implementation: str) -> Number:
        if (name, quantity) not in values:
            raise Undecided(f"no model of the {spoken(quantity)} of {name} is given")
        value = float(values[name, quantity])
        error = value * error_percent / 100
        return Number(value, error, error, _UNITS[quantity], standing)

    return Reader("modelled", read, _UNITS, fitted=_UNITS)


def tables_5_and_6(frames: Frames, words: Mapping[str, Any]) -> Iterator[Table]:
    """Yield Tables 5 and 6, with the paper's costs and with ours if there are any."""
    notes = [words["calibrated"]["note"]]
    for name, costs in words["costs"].items():
        if name not in frames:
            continue
        for table in QUANTITIES:
            said = words[table]
            exponents = sorted(set(frames[name]["n"]))
            own = name == "table5-6"  # the costs that the prices were fitted with
            title = "fitted" if own else "modelled"
            across = (Column(f"n = {n}", numeric=True) for n in exponents)
            yield Table(
                columns=[Column(said["unit"]), Column("from"), *across],
                rows=list(_rows(frames[name], table, said["quantity"], exponents, title)),
                row_headers=2,
                caption=said["caption"].format(costs=costs),
                source=("published", title) + ("measured",) * (not own),
                notes=notes,
                part=said["part"],
            )
            notes = []


def _rows(
    frame: pd.DataFrame, table: str, quantity: str, exponents: list[int], title: str
) -> Iterator[list[Any]]:
    """Yield for each algorithm the print, ours and the error, across n; `title` says what ours is.

    Where the print errs, the corrected value and the error against it follow in lines of their own.
    """
    column, wrong = QUANTITIES[table], errata(table)
    percent = figures.percent
    lines: dict[str, tuple[str, Callable[[float], str]]] = {
        "printed": (f"published_{column}", partial(COUNT.text, exact=True)),
        "corrected": (f"corrected_{column}", partial(COUNT.text, exact=True)),
        title: (column, lambda value: figures.significant(value, 4)),
        "error": (f"{quantity}_error_percent", percent),
        "error, corrected": (f"{quantity}_error_corrected_percent", percent),
    }
    for name, group in frame.groupby("algorithm", sort=False):
        at = group.set_index("n")
        marked = {n for n in exponents if (name, n) in wrong}
        for line, (source, show) in lines.items():
            only = marked if "corrected" in line else set(exponents)
            if not only:
                continue
            sign = " !" if line == "printed" else ""
            shown = (
                Shown(value, show(value) + sign * (n in marked)) if n in only else ""
                for n, value in at.loc[exponents, source].items()
            )
            yield [str(name), line, *shown]


def networks(frames: Frames, words: Mapping[str, Any]) -> Table:
    """Show latencies on other networks, and what the model says on the whole."""
    ran = frames["networks"].query("status == 'ok'")
    shown = [n for n in _EXPONENTS if 2**n in set(ran["nodes"])]
    rows = []
    for setting, group in ran.groupby("setting", sort=False):
        latency = group.groupby("nodes")["latency_seconds"].median()
        voting = "all" if setting in landscape.EVERYBODY else str(group["delegates"].max())
        rows.append([str(setting), voting, *(latency.get(2**n, float("nan")) for n in shown)])
    across = (Column(f"2^{n}", numeric=True, show=SECONDS.text) for n in shown)
    columns = [Column("network"), Column("delegates"), *across]
    said = words["networks"]
    wrong = dict.fromkeys(f"! {note}" for note in frames["table5-6"]["note"] if note)
    facts = _facts(frames)
    notes = [*(note.format(**facts) for note in said["notes"]), *wrong]
    return Table(columns=columns, rows=rows, **said | {"notes": notes})


def _facts(frames: Frames) -> dict[str, Any]:
    """Return the figures in the notes on the model."""
    frame, left, fit = frames["table5-6"], frames["left-out"], frames["fit"].iloc[0]
    other = frames["alternatives"].set_index("terms")["rms_percent"]
    by_form = frames["forms"].set_index("form")["rms_percent"]
    second = by_form.drop("N^2").sort_values()
    schemes = left[left["left_out"].isin(set(frame["algorithm"]))]
    hardest = schemes.sort_values("rms_percent").iloc[-1]
    fills = ", ".join(
        f"{row['algorithm']} {row['transactions_per_block']:.4g}"
        for row in frame.drop_duplicates("algorithm").to_dict("records")
    )
    held = dict(zip(frame["algorithm"], frame["transactions_per_block"], strict=True))
    best = frame.sort_values("published_throughput_per_second").groupby("n")["algorithm"].last()
    quickest = frame.sort_values("published_latency_seconds").groupby("n")["algorithm"].first()
    first = {*best, *quickest}
    winner = {"best": first.pop()} if len(first) == 1 else {}
    kept_least, kept_most = _kept()
    all_vote = frames["delegation"].query("setting == 'paper-serial' and question == 'all vote'")
    rate = all_vote.sort_values("nodes")["throughput_per_second"]
    return winner | {
        "kept_least": kept_least,
        "kept_most": kept_most,
        "all_vote": 100 * rate.iloc[-1] / rate.iloc[0],
        "held": {name: f"{count:.3g}" for name, count in held.items()},
        "form": by_form["N^2"],
        "next": second.index[0],
        "next_form": second.iloc[0],
        "hardest": hardest["left_out"],
        "hardest_verifies": hardest["verifies"],
        "hardest_percent": hardest["worst_percent"],
        "verifies": fit["verifies"],
        "worst": frame["latency_error_corrected_percent"].abs().max(),
        "worst_printed": frame["latency_error_percent"].abs().max(),
        "instead": other.iloc[-1],
        "without_signs": other["without signs"],
        "without_verifies": other["without verifies"],
        "rms": fit["rms_percent"],
        "fills": fills,
    }
