"""PQ-DPoL: Tables 5 and 6 by a fitted model, by runs on this machine, and on other networks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from pqchain import figures, results
from pqchain.consensus import landscape
from pqchain.consensus.landscape import LANDSCAPE
from pqchain.costs import CostTable, from_frame
from pqchain.errors import DataError
from pqchain.figures import COUNT, SECONDS, Kind, Unit
from pqchain.render.plot import Plot
from pqchain.render.table import Column, Shown, Table
from pqchain.works import papers
from pqchain.works.paper import Paper
from pqchain.works.pqdpol import calibration, judging, measured, plans, rebuilt
from pqchain.works.pqdpol.rebuilt import CELLS, QUANTITIES, errata
from pqchain.works.readers import Number, NumberReader, Undecided, described, from_values, step
from pqchain.works.verdicts import OPEN, Standing, Verdict
from pqchain.works.work import Bench, Frames, Work

# Exponents n of the networks in the table of networks.
_EXPONENTS = (1, 3, 5, 7, 10, 15, 20)


class PqDpol(Work):
    """PQ-DPoL, modelled with the paper's costs and with measured costs, and run on this machine."""

    key = "pqdpol"
    frame_names = (
        "table5-6", "fit", "forms", "delegation", "networks", "winners", "growth", "shares",
        "run-cells", "run-computers", "run-voting",
    )  # fmt: skip

    def models(self) -> Mapping[str, Callable[[], pd.DataFrame]]:
        """Return the functions that model `table5-6` and `delegation` with the paper's costs."""
        costs = papers.costs(self.key)
        return {
            "table5-6": partial(rebuilt.tables, costs),
            "delegation": partial(landscape.delegation, costs),
        }

    def compute(self, bench: Bench) -> Frames:
        """Return the frames of `models`; with measurements, also all others of the chapter."""
        costs = papers.costs(self.key)
        frames = dict(super().compute(bench))
        if bench.measurements is None:
            return frames
        costs_here = _measured(bench.measurements)
        here = rebuilt.tables(costs_here)
        exponents = (4, 8, 12, 16, 20) if bench.preset == "paper" else (4, 8, 12, 16)
        names = list(dict.fromkeys(frames["table5-6"]["algorithm"]))
        # A machine without these schemes measures none of the cells.
        if len(here):
            frames["table5-6-here"] = here
        # Runs need a clock as blocks do.
        if len(here) and bench.measure_blocks is not None:
            plan = plans.PLANS[bench.preset]
            frames |= measured.run(costs_here, plan, progress=bench.progress)
        return frames | {
            **calibration.frames(rebuilt.cells(), costs),
            "networks": landscape.laws(costs, progress=bench.progress),
            "contest": landscape.contest(
                costs, algorithms=names, exponents=exponents, progress=bench.progress
            ),
        }

    def readers(self, frames: Frames) -> Iterable[NumberReader]:
        """Yield readers of settings, and of latency and throughput: of the model, and of runs."""
        if "table5-6" not in frames:
            return
        yield from_values(Kind.TAKEN, rebuilt.settings(frames["table5-6"]))
        error = float(frames["table5-6"]["latency_error_corrected_percent"].abs().max())
        for name in ("table5-6", "table5-6-here"):
            if name in frames:
                yield _reader(self.paper, results.check(frames[name], CELLS), error)
        if "run" in frames:
            yield from judging.readers(self.paper, frames["run"])

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge the statement about delegation by the model and by runs."""
        if claim != "delegation-softens-the-fall":
            return
        if "delegation" in frames:
            yield judge_delegation(frames["delegation"])
        if "run" in frames:
            yield from judging.judge_runs(frames["run"])

    def fact_names(self) -> Collection[str]:
        """Return the names of the facts about the model of the paper's network and about runs."""
        per_block = (f"{name} per block" for name in self.algorithms())
        return [*_FACT_NAMES, *judging.FACT_NAMES, *per_block]

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return the facts that can be computed from the available frames."""
        facts = _facts(frames) if "fit" in frames else {}
        return facts | (judging.facts(frames) if "run" in frames else {})

    def tables(self, frames: Frames) -> Iterable[Table]:
        """Yield tables: Tables 5 and 6, the quality of the fit, runs, and other networks."""
        if "fit" in frames:
            yield from tables_5_and_6(frames, self.chapter.tables)
            fit = pd.concat([frames["fit"], frames["left-out"]])
            facts = self.facts(frames)
            for table in super().tables({**frames, **judging.parts(frames), "fit": fit}):
                # Counts in captions are those of this run.
                yield replace(table, caption=table.caption.format(**facts))
            yield networks(frames, self.chapter.tables)

    def figures(self, frames: Frames) -> Iterable[Plot]:
        """Return figures of Tables 5 and 6, latency on other networks, and the best schemes."""
        winners = {"winners": landscape.winners(frames["contest"])} if "contest" in frames else {}
        drawn = {**frames, **judging.parts(frames), **winners}
        if "run" in frames:
            drawn["table5-6"] = measured.with_runs(frames["table5-6"], frames["run"])
        return super().figures(drawn)


def judge_delegation(delegation: pd.DataFrame) -> Verdict:
    """Judge the statement on delegation by the model; the outcome is always OPEN."""
    frame = results.check(delegation, LANDSCAPE)
    evidence = []
    for law, group in frame.groupby("setting", sort=False):
        rate = group.pivot(index="nodes", columns="question", values="throughput_per_second")
        kept = 100 * rate.sort_index().iloc[-1] / rate.sort_index().iloc[0]
        few = group.loc[group["question"] == "few vote", "delegates"].max()
        evidence.append(
            f"{law}, {rate.index.min()} to {rate.index.max()} nodes: {kept['all vote']:.3g} % of "
            f"the throughput remains if all vote, {kept['few vote']:.3g} % if {few} do"
        )
    evidence += [
        "the model slows the fall by construction: nodes that do not vote cost nothing in it, and "
        "the number of voters is fixed",
        "the printed Table 5, with delegation, keeps {:.1f} to {:.1f} % from n = 3 to n = 5, as "
        "the model does when all vote".format(*_kept()),
    ]
    setting = f"costs: {frame['costs'].iloc[0]}"
    return Verdict(OPEN, "; ".join(evidence), Kind.MODELLED, Standing(setting))


def _kept() -> tuple[float, float]:
    """Return the least and greatest throughput at n = 5 in Table 5, in percent of n = 3."""
    rate = rebuilt.cells(corrected=False).pivot(
        index="algorithm", columns="n", values="throughput_per_second"
    )
    share = 100 * rate[5] / rate[3]
    return float(share.min()), float(share.max())


def _measured(measurements: pd.DataFrame) -> CostTable:
    try:
        return from_frame(measurements)
    except DataError:
        return CostTable(rows=(), source=Kind.MEASURED)


def _reader(paper: Paper, frame: pd.DataFrame, error_percent: float) -> NumberReader:
    printed = {name: printed for printed, name in paper.names.items()}
    columns = {name: name for name in QUANTITIES.values()}
    columns[judging.COUNTED] = "transactions_per_block"
    values = {
        (printed[row["algorithm"]] + step(row["n"]), quantity): row[column]
        for row in frame.to_dict("records")
        for quantity, column in columns.items()
    }
    # Every reading of the model is marked as fitted, so that it cannot confirm Tables 5 and 6.
    standing = Standing(
        f"costs: {frame['costs'].iloc[0]}; coefficients fitted to Table 6 with errors of up to "
        f"{error_percent:.1f} %"
    )

    def read(name: str, quantity: str, implementation: str) -> Number:
        if (name, quantity) not in values:
            raise Undecided(f"no model of the {described(quantity)} of {name} is given")
        value = float(values[name, quantity])
        # The number of transactions that fill a block has no error of the latency.
        error = 0.0 if quantity == judging.COUNTED else value * error_percent / 100
        return Number(value, error, error, Unit.of(columns[quantity]), standing)

    return NumberReader(Kind.MODELLED, read, columns, fitted=columns)


def tables_5_and_6(frames: Frames, entries: Mapping[str, Mapping[str, Any]]) -> Iterator[Table]:
    """Yield Tables 5 and 6, with the paper's costs and with those of this machine if measured."""
    notes = [entries["calibrated"]["note"]]
    for name, costs in entries["costs"].items():
        if name not in frames:
            continue
        for table in QUANTITIES:
            entry = entries[table]
            exponents = sorted(set(frames[name]["n"]))
            # With other costs than those of the fit its coefficients only extrapolate.
            is_fit = name == "table5-6"
            kind = Kind.FITTED if is_fit else Kind.MODELLED
            across = (Column(f"n = {n}", numeric=True) for n in exponents)
            yield Table(
                columns=[Column(entry["unit"]), Column("from"), *across],
                rows=list(_rows(frames[name], table, entry["quantity"], exponents, kind)),
                row_headers=2,
                caption=entry["caption"].format(costs=costs),
                source=(Kind.PUBLISHED, kind) + (Kind.MEASURED,) * (not is_fit),
                notes=notes,
                part=entry["part"],
            )
            # The notes are shown below the first table only.
            notes = []


def _rows(
    frame: pd.DataFrame, table: str, quantity: str, exponents: list[int], kind: str
) -> Iterator[list[Any]]:
    """Yield rows over n for each algorithm: printed values, ours (of kind `kind`), and errors."""
    column, misprints = QUANTITIES[table], errata(table)
    percent = figures.percent
    sources: dict[str, tuple[str, Callable[[float], str]]] = {
        "printed": (f"published_{column}", partial(COUNT.text, exact=True)),
        "corrected": (f"corrected_{column}", partial(COUNT.text, exact=True)),
        str(kind): (column, lambda value: figures.significant(value, 4)),
        "error": (f"{quantity}_error_percent", percent),
        "error, corrected": (f"{quantity}_error_corrected_percent", percent),
    }
    for name, group in frame.groupby("algorithm", sort=False):
        at = group.set_index("n")
        marked = {n for n in exponents if (name, n) in misprints}
        for label, (source, show) in sources.items():
            # Corrected values exist only for misprints.
            filled = marked if "corrected" in label else set(exponents)
            if not filled:
                continue
            sign = " !" if label == "printed" else ""
            cells = (
                Shown(value, show(value) + sign * (n in marked)) if n in filled else ""
                for n, value in at.loc[exponents, source].items()
            )
            yield [str(name), label, *cells]


def networks(frames: Frames, entries: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return a table of latencies on other networks, with notes on the validity of the model."""
    ran = frames["networks"].query("status == 'ok'")
    exponents = [n for n in _EXPONENTS if 2**n in set(ran["nodes"])]
    rows = []
    for setting, group in ran.groupby("setting", sort=False):
        latency = group.groupby("nodes")["latency_seconds"].median()
        voting = "all" if setting in landscape.ALL_VOTE_LAWS else str(group["delegates"].max())
        rows.append([str(setting), voting, *(latency.get(2**n, float("nan")) for n in exponents)])
    across = (Column(f"2^{n}", numeric=True, show=SECONDS.text) for n in exponents)
    columns = [Column("network"), Column("delegates"), *across]
    entry = entries["networks"]
    misprints = dict.fromkeys(f"! {note}" for note in frames["table5-6"]["note"] if note)
    facts = _facts(frames)
    notes = [*(note.format(**facts) for note in entry["notes"]), *misprints]
    return Table(columns=columns, rows=rows, **{**entry, "notes": notes})


_FACT_NAMES = (
    "best", "kept_least", "kept_most", "all_vote", "form", "next", "next_form", "hardest",
    "hardest_verifies", "hardest_percent", "verifies", "worst", "worst_printed", "instead",
    "without_signs", "without_verifies", "rms", "fills",
)  # fmt: skip


def _facts(frames: Frames) -> dict[str, Any]:
    frame, left_out, fit = frames["table5-6"], frames["left-out"], frames["fit"].iloc[0]
    by_terms = frames["alternatives"].set_index("terms")["rms_percent"]
    by_form = frames["forms"].set_index("form")["rms_percent"]
    second = by_form.drop("N^2").sort_values()
    schemes = left_out[left_out["left_out"].isin(set(frame["algorithm"]))]
    hardest = schemes.sort_values("rms_percent").iloc[-1]
    fills = ", ".join(
        f"{row['algorithm']} {row['transactions_per_block']:.4g}"
        for row in frame.drop_duplicates("algorithm").to_dict("records")
    )
    filled = zip(frame["algorithm"], frame["transactions_per_block"], strict=True)
    best = frame.sort_values("published_throughput_per_second").groupby("n")["algorithm"].last()
    quickest = frame.sort_values("published_latency_seconds").groupby("n")["algorithm"].first()
    # The finding names one scheme, so it needs the same one in every network.
    winners = {*best, *quickest}
    winner = {"best": winners.pop()} if len(winners) == 1 else {}
    kept_least, kept_most = _kept()
    all_vote = frames["delegation"].query("setting == 'paper-serial' and question == 'all vote'")
    rate = all_vote.sort_values("nodes")["throughput_per_second"]
    return winner | {
        "kept_least": kept_least,
        "kept_most": kept_most,
        "all_vote": 100 * rate.iloc[-1] / rate.iloc[0],
        **{f"{name} per block": f"{count:.3g}" for name, count in filled},
        "form": by_form["N^2"],
        "next": second.index[0],
        "next_form": second.iloc[0],
        "hardest": hardest["left_out"],
        "hardest_verifies": hardest["verifies"],
        "hardest_percent": hardest["worst_percent"],
        "verifies": fit["verifies"],
        "worst": frame["latency_error_corrected_percent"].abs().max(),
        "worst_printed": frame["latency_error_percent"].abs().max(),
        "instead": by_terms.iloc[-1],
        "without_signs": by_terms["without signs"],
        "without_verifies": by_terms["without verifies"],
        "rms": fit["rms_percent"],
        "fills": fills,
    }
