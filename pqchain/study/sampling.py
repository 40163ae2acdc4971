"""Times of the schemes of a plan, and Monte Carlo evaluation over them and over network seeds.

Times are published, given, or measured on this machine in several passes and kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime, timezone
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from pqchain import algorithms, crypto
from pqchain import costs as costing
from pqchain.algorithms import DECODE_KEY, SIGNATURE_OPERATIONS
from pqchain.bench import aggregates, operations, variation
from pqchain.bench.presets import PresetName
from pqchain.checks import integer
from pqchain.costs import AggregateCosts, Costs, CostTable
from pqchain.errors import Unsupported, UsageError
from pqchain.figures import Figure
from pqchain.results import machine
from pqchain.study import validation
from pqchain.study.figures import QUANTITIES, framed, models
from pqchain.study.plan import Plan
from pqchain.study.provers import BLS
from pqchain.works import papers

DRAWS = 16
"""Number of Monte Carlo draws; each uses one network seed and one measurement pass."""

INTERVAL = (0.05, 0.95)
"""Quantiles of the draws at the ends of an interval, which holds nine draws of ten."""

MOST_DRAWS = 10_000

BUSY = 0.5
"""Load of the processors in the minute before a measurement above which a warning is given."""

PASSES = 3

UNSTEADY = 0.25
"""Spread between passes, relative to the median, above which a warning is given."""

_TIMES, _AGGREGATE_TIMES = (
    tuple(field.name for field in fields(costs) if field.name.endswith("_seconds"))
    for costs in (Costs, AggregateCosts)
)

# The name of aggregates in `CostSamples.spread`.
_AGGREGATES = "aggregates"


@dataclass(frozen=True, slots=True)
class CostSamples:
    """Costs of the schemes of a plan from several measurement passes.

    A pass measures every scheme once; a draw uses one pass for all schemes, so that a slow phase of
    the machine slows all schemes of a draw and their ratios stay those of one pass. Each time is
    then varied by the spread of its samples, and all by one factor, because passes made within a
    minute vary less than the machine does from hour to hour.
    """

    passes: tuple[CostTable, ...]
    usual: CostTable | None = None
    """Costs by the implementations that the registry lists first; None if they are not known."""
    spread: tuple[tuple[str, str, float], ...] = ()
    """(algorithm, time, relative deviation of single operations), where samples are known."""
    drift: float = 1.0
    """Slowdown of the machine during the measurement, relative to its fastest sample."""
    date: str = ""
    """When the oldest time was measured on this machine, in ISO format; "" for other times."""
    warnings: tuple[str, ...] = ()
    """Warnings about the measurement."""

    @property
    def origin(self) -> str:
        """Source of the times, and the age of a measurement on this machine."""
        source = self.passes[0].source
        if not self.date:
            return source
        days = (datetime.now(timezone.utc) - datetime.fromisoformat(self.date)).days
        ago = f"{days} day{'s' * (days > 1)} ago" if days else "today"
        return f"{source}, {ago} on this machine; --fresh measures again"

    @property
    def middle(self) -> CostTable:
        """Costs with the median of the passes for each time."""
        rows = tuple(
            _median([table[row.algorithm] for table in self.passes], _TIMES)
            for row in self.passes[0].rows
        )
        measured = [table.aggregates for table in self.passes if table.aggregates]
        aggregates = _median(measured, _AGGREGATE_TIMES) if measured else None
        return replace(self.passes[0], rows=rows, aggregates=aggregates)

    def drawn(self, number: int) -> CostTable:
        """Return the costs of a draw: one pass with random changes by drift and sample spread."""
        table = self.passes[number % len(self.passes)]
        # Draw 0 has the times of the first pass as measured; printed times have no spread.
        if number == 0 or (not self.spread and self.drift == 1.0):
            return table
        rng = np.random.default_rng(number)
        normal = rng.standard_normal(len(self.spread)).tolist()
        # Another hour may be slower or faster by up to the drift.
        slower = self.drift ** float(rng.uniform(-1.0, 1.0))
        # Lognormal factors, which keep times positive.
        factors = {
            (algorithm, name): slower * math.exp(deviation * sample)
            for (algorithm, name, deviation), sample in zip(self.spread, normal, strict=True)
        }

        def varied(row: Costs) -> Costs:
            by = {name: factors.get((row.algorithm, name), slower) for name in _TIMES}
            # A part of the verification, which stays the same part.
            by["decode_key_seconds"] = by["verify_seconds"]
            return row if row.is_given else _scaled_times(row, by)

        # One spread for all: they consist of the same pairings and additions.
        by = dict.fromkeys(_AGGREGATE_TIMES, factors.get((_AGGREGATES, "verify_seconds"), slower))
        aggregates = table.aggregates and _scaled_times(table.aggregates, by)
        return replace(table, rows=tuple(map(varied, table.rows)), aggregates=aggregates)

    def unsteady(self) -> list[str]:
        """Return a list with a warning about times that vary between passes; [] if none do."""
        wide = []
        for row, operation in product(self.passes[0].rows, ("sign", "verify")):
            rows = [table[row.algorithm] for table in self.passes]
            times = [getattr(cost, f"{operation}_seconds") for cost in rows]
            spread = (max(times) - min(times)) / (float(np.median(times)) or math.inf)
            if spread > UNSTEADY:
                wide.append((spread, f"{operation} of {row.algorithm} {spread:.0%}"))
        listed = ", ".join(text for _, text in sorted(wide, reverse=True))
        return [f"times vary between passes: {listed}"] if listed else []


def times(
    plan: Plan,
    measurements: pd.DataFrame | None = None,
    *,
    preset: PresetName | None = None,
    fresh: bool = False,
    progress: bool = False,
) -> CostSamples:
    """Return the times of a plan's schemes: those of `measurements`, published ones, or measured.

    What was measured on this machine in the last 30 days, with the same code and preset, is not
    measured again unless `fresh`. Raises UsageError if measurements are given that the plan does
    not use, and MissingCosts for schemes without costs.
    """
    # Reported here and not by the plan: sliders pass through such plans on the way to others.
    if plan.bundled and plan.bundled not in plan.names:
        raise UsageError(
            f"algorithms must include {plan.bundled}, because transaction_aggregation="
            f"{plan.transaction.transaction_aggregation!r} aggregates its signatures; got "
            f"{', '.join(plan.names)}. Add it, or set transaction_aggregation='plain'."
        )
    if plan.costs != "measured":
        if measurements is not None:
            raise UsageError(f'costs must be "measured" to use measurements; got {plan.costs!r}')
        return CostSamples((_of(plan, papers.costs(plan.costs.removeprefix("paper:"))),))
    if measurements is None:
        return _measured(plan, preset=preset, fresh=fresh, progress=progress)
    table = _of(plan, costing.from_frame(measurements, _named(plan)))
    usual = _of(plan, costing.from_frame(measurements, _usual(plan)))
    spread = tuple(variation.spread(table, measurements))
    return CostSamples((table,), usual, spread, variation.drift(table, [measurements]))


def _measured(plan: Plan, *, fresh: bool, **options: Any) -> CostSamples:
    """Return the times of a plan's schemes, each measured in several passes or kept."""
    defined = {row.algorithm for row in plan.own_schemes}
    names = [name for name in plan.names if name not in defined]
    if not names:
        raise UsageError("algorithms must include a scheme of the registry to measure; add one")
    # Before the measurement: afterwards the load is that of the measurement itself.
    busy = machine.load_share()
    # A round measures every scheme, so that a slow phase of the machine falls into one pass of all
    # schemes and not into all passes of one scheme.
    named = _named(plan)
    by_name = {
        name: named.get(name) or crypto.candidates(name) for name in (*names, *plan.only_observed)
    }
    asked = (*SIGNATURE_OPERATIONS, DECODE_KEY)
    how: Any = {"rounds": PASSES, "keep_rounds": True, "fresh": fresh, "warn": False, **options}
    frames = operations.measure(None, asked, by_name, **how).attrs["rounds"]
    tables = [_of(plan, costing.from_frame(frame, named)) for frame in frames]
    spreads: dict[tuple[str, str], list[float]] = {}
    if plan.votes.vote_aggregation == BLS:
        deviation = 0.0
        with suppress(Unsupported):
            costs, deviation = aggregates.measure_aggregates(fresh=fresh)
            tables = [replace(table, aggregates=costs) for table in tables]
        spreads[_AGGREGATES, "verify_seconds"] = [deviation]
    for table, frame in zip(tables, frames, strict=True):
        for algorithm, name, deviation in variation.spread(table, frame):
            spreads.setdefault((algorithm, name), []).append(deviation)
    spread = tuple((*key, float(np.median(several))) for key, several in spreads.items())
    facts, warnings = frames[0].attrs["provenance"], []
    if busy > BUSY and "resumed_rounds" not in facts:
        warnings.append(
            f"the machine was busy before the measurement: {busy:.0%} of its processors"
        )
    usual = _of(plan, costing.from_frame(frames[-1], _usual(plan)))
    drift = variation.drift(tables[0], frames)
    made = CostSamples(tuple(tables), usual, spread, drift, date=facts["date"])
    return replace(made, warnings=(*warnings, *made.unsteady()))


def _named(plan: Plan) -> dict[str, str]:
    """Return the implementations that a plan names and that run here, by scheme."""
    named = plan.chain.implementations.items()
    return {name: row for name, row in named if not crypto.obstacle(row)}


def _usual(plan: Plan) -> dict[str, str]:
    names = (*plan.names, *plan.only_observed)
    known = [name for name in names if name in algorithms.ALGORITHMS]
    first = {name: rows[0] for name in known if (rows := crypto.candidates(name))}
    return first | _named(plan)


def _scaled_times(row: Any, factors: Mapping[str, float]) -> Any:
    return replace(row, **{name: getattr(row, name) * by for name, by in factors.items()})


def _median(rows: Sequence[Any], names: Iterable[str]) -> Any:
    medians = {n: float(np.median([getattr(row, n) for row in rows])) for n in names}
    return replace(rows[0], **medians)


def _of(plan: Plan, table: CostTable) -> CostTable:
    defined = {row.algorithm: row for row in plan.own_schemes}
    rows = [(defined.get(name) or table[name]).require("sign", "verify") for name in plan.names]
    # Of the observed schemes those that were measured: the calibration states the missing ones.
    others = (table[name] for name in plan.only_observed if name in table)
    rows += [row for row in others if row.sign_seconds + row.verify_seconds > 0]
    return CostTable(tuple(rows), table.source)


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """Results of a study: the figures of a plan over several draws."""

    plan: Plan
    costs: CostTable
    """The median of the passes."""
    figures: Mapping[str, Mapping[str, Figure]]
    """Figures by scheme and name."""
    limits: Mapping[str, str]
    """The limit that binds, by scheme."""
    calibration: pd.DataFrame
    """The model compared with the chain of today, of the contract "study-calibration"."""
    draws: int
    times: CostSamples

    @property
    def frame(self) -> pd.DataFrame:
        """Every figure as a frame with the columns of `pqchain.study.evaluate`."""
        return framed(self.plan, self.figures, self.limits)

    @property
    def table(self) -> pd.DataFrame:
        """Values without intervals: a row for each figure, a column for each scheme."""
        return pd.DataFrame(self.values)

    @property
    def values(self) -> dict[str, dict[str, float]]:
        """Values of the figures, by scheme and by name of the figure."""
        return {
            algorithm: {name: figure.value for name, figure in by_name.items()}
            for algorithm, by_name in self.figures.items()
        }

    @property
    def best(self) -> str:
        """Post-quantum scheme with the greatest capacity; "" if the plan has none."""
        capacity = {name: self.figures[name]["capacity_per_second"] for name in self.figures}
        return max(self.plan.post_quantum, key=lambda name: capacity[name].value, default="")

    def differ(self, quantity: str, algorithm: str, other: str) -> bool:
        """Return whether two schemes differ in a figure: their intervals do not overlap."""
        first, second = (self.figures[name][quantity] for name in (algorithm, other))
        return first.high < second.low or second.high < first.low


def run(plan: Plan, times: CostSamples, *, draws: int = DRAWS, progress: bool = False) -> Findings:
    """Compute all figures over several draws; `times` are those of `study.times`.

    The value of a figure is the median of its draws; its interval contains 90 % of them. Raises
    UsageError.
    """
    integer("draws", draws, least=1, most=MOST_DRAWS)
    # The number of a draw seeds its network and picks its pass, so that equal runs are equal.
    numbers = tqdm(range(draws), disable=not progress, unit="draw")
    drawn = [
        {name: (model.figures(), model.limit) for name, model in by_name.items()}
        for by_name in (models(plan, times.drawn(number), seed=number) for number in numbers)
    ]
    usual = models(plan, times.usual, seed=0) if times.usual else {}
    figures, limits = {}, {}
    for algorithm in drawn[0]:
        by_draw = [draw[algorithm][0] for draw in drawn]
        row = {name: _over([figures[name] for figures in by_draw]) for name in QUANTITIES}
        # At the median capacity and above it, the few draws whose queue has an end are no answer.
        if row["capacity_per_second"].value <= plan.chain.transactions_per_second:
            row["latency_seconds"] = row["latency_seconds"].within(*[math.nan] * 3)
        if algorithm in usual:
            of_usual = usual[algorithm].figures()["verification_ratio"].value
            row["verification_ratio"] = _including(row["verification_ratio"], of_usual)
        figures[algorithm] = row
        # The most frequent limit, and of equally frequent ones the first drawn.
        limits[algorithm] = Counter(draw[algorithm][1] for draw in drawn).most_common(1)[0][0]
    costs = times.middle
    return Findings(plan, costs, figures, limits, validation.calibrate(plan, costs), draws, times)


def _including(figure: Figure, value: float) -> Figure:
    """Return a figure whose interval includes a value of other implementations."""
    low, high = min(figure.low, value), max(figure.high, value)
    if not math.isfinite(value) or (low, high) == (figure.low, figure.high):
        return figure
    source = f"{figure.source}; the interval includes the implementations that are usual"
    return replace(figure, low=low, high=high, source=source)


def _over(draws: Sequence[Figure]) -> Figure:
    values = np.array([figure.value for figure in draws])
    # A latency is missing in draws whose queue has no end; the others still have a median.
    values = values[np.isfinite(values)]
    if not len(values):
        return draws[0]
    middle = float(np.median(values))
    if values.min() == values.max():
        return draws[0].within(middle, middle, middle)
    low, high = np.quantile(values, INTERVAL)
    return draws[0].within(middle, float(low), float(high))
