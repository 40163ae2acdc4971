"""PQ-DPoL: Tables 5 and 6 by a fitted model, by runs on this machine, and on other networks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pqchain import results
from pqchain.consensus import landscape
from pqchain.consensus.landscape import LANDSCAPE
from pqchain.costs import CostTable, from_frame
from pqchain.errors import DataError
from pqchain.figures import Kind
from pqchain.works import papers
from pqchain.works.paper import Paper
from pqchain.works.pqdpol import judging, measured, plans, rebuilt
from pqchain.works.pqdpol.rebuilt import CELLS
from pqchain.works.readers import NumberReader, from_values
from pqchain.works.verdicts import OPEN, Standing, Verdict
from pqchain.works.work import Bench, Frames, Work


class PqDpol(Work):
    """PQ-DPoL, modelled with the paper's costs and with measured costs, and run on this machine."""

    key = "pqdpol"

    def compute(self, bench: Bench) -> Frames:
        """Return `table5-6` and `delegation`, modelled; with measurements, also all others."""
        costs = papers.costs(self.key)
        frames = {"table5-6": rebuilt.tables(costs), "delegation": landscape.delegation(costs)}
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
            **rebuilt.calibration(rebuilt.cells(), costs),
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

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return the facts that can be computed from the available frames."""
        facts = _facts(frames) if "fit" in frames else {}
        return facts | (judging.facts(frames) if "run" in frames else {})


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
        return from_frame(measurements, variant="")  # of the library that the work used
    except DataError:
        return CostTable(rows=(), source=Kind.MEASURED)


def _reader(paper: Paper, frame: pd.DataFrame, error_percent: float) -> NumberReader:
    # Every reading of the model is marked as fitted, so that it cannot confirm Tables 5 and 6.
    standing = Standing(
        f"costs: {frame['costs'].iloc[0]}; coefficients fitted to Table 6 with errors of up to "
        f"{error_percent:.1f} %",
        fitted=True,
    )

    def error(row: Mapping[Any, Any], column: str) -> float:
        # The number of transactions that fill a block has no error of the latency.
        is_count = column == judging.COLUMNS[judging.COUNTED]
        return 0.0 if is_count else row[column] * error_percent / 100

    missing = "no model of the {quantity} of {name} is given"
    return judging.cell_reader(paper, Kind.MODELLED, frame, standing, error, missing=missing)


def _facts(frames: Frames) -> dict[str, Any]:
    frame, left_out, fit = frames["table5-6"], frames["left-out"], frames["fit"].iloc[0]
    by_terms = frames["alternatives"].set_index("terms")["rms_percent"]
    by_form = frames["forms"].set_index("form")["rms_percent"]
    second = by_form.drop("N^2").sort_values()
    schemes = left_out[left_out["left_out"].isin(set(frame["algorithm"]))]
    hardest = schemes.sort_values("rms_percent").iloc[-1]
    filled = zip(frame["algorithm"], frame["transactions_per_block"], strict=True)
    best = frame.sort_values("published_throughput_per_second").groupby("n")["algorithm"].last()
    quickest = frame.sort_values("published_latency_seconds").groupby("n")["algorithm"].first()
    # The sentence names one scheme, so it needs the same one in every network.
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
    }
