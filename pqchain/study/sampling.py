"""Monte Carlo evaluation of a study over measurement passes and network seeds, with intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from pqchain import algorithms, crypto
from pqchain import costs as costing
from pqchain.algorithms import DECODE_KEY, SIGNATURE_OPERATIONS
from pqchain.bench import aggregates, operations, presets, variation
from pqchain.bench.presets import PresetName
from pqchain.checks import integer
from pqchain.costs import AggregateCosts, Costs, CostTable
from pqchain.errors import Unsupported, UsageError
from pqchain.figures import Figure
from pqchain.results import machine
from pqchain.study import validation
from pqchain.study.figures import QUANTITIES, framed, models
from pqchain.study.migration import DAY_SECONDS, Migration
from pqchain.study.plan import Plan
from pqchain.study.provers import BLS
from pqchain.works import papers

DRAWS = 16
"""Number of Monte Carlo draws; each uses one network seed and one measurement pass."""

INTERVAL = (0.05, 0.95)
"""Quantiles of the draws at the ends of an interval, which holds nine draws of ten."""

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
            changes: Any = {
                name: getattr(row, name) * factors.get((row.algorithm, name), slower)
                for name in _TIMES
            }
            # A part of the verification, which stays the same part.
            by = factors.get((row.algorithm, "verify_seconds"), slower)
            changes["decode_key_seconds"] = row.decode_key_seconds * by
            return row if row.is_given else replace(row, **changes)

        aggregates = table.aggregates
        if aggregates is not None:
            # One spread for all: they consist of the same pairings and additions.
            by = factors.get((_AGGREGATES, "verify_seconds"), slower)
            changes: Any = {name: getattr(aggregates, name) * by for name in _AGGREGATE_TIMES}
            aggregates = replace(aggregates, **changes)
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


def known(plan: Plan, measurements: pd.DataFrame | None = None) -> CostSamples | None:
    """Return a plan's times, published or from `measurements`; None if it must be measured.

    Raises UsageError if measurements are given that the plan does not use, and MissingCosts.
    """
    if plan.costs != "measured":
        if measurements is not None:
            raise UsageError(f'costs must be "measured" to use measurements; got {plan.costs!r}')
        return CostSamples((_of(plan, papers.costs(plan.costs.removeprefix("paper:"))),))
    if measurements is None:
        return None
    table = _of(plan, costing.from_frame(measurements, _named(plan)))
    usual = _of(plan, costing.from_frame(measurements, _usual(plan)))
    spread = tuple(variation.spread(table, measurements))
    return CostSamples((table,), usual, spread, variation.drift(table, [measurements]))


def measured(
    plan: Plan, *, passes: int = PASSES, preset: PresetName | None = None, progress: bool = False
) -> CostSamples:
    """Measure the schemes of a plan in several passes, each with one timing round."""
    defined = {row.algorithm for row in plan.own_schemes}
    names = [name for name in plan.names if name not in defined]
    if not names:
        raise UsageError("algorithms must include a scheme of the registry to measure; add one")
    chosen, asked = preset or presets.preset(), [*SIGNATURE_OPERATIONS, DECODE_KEY]
    # The study states the variation over all passes, instead of a warning about each.
    options: Any = {"preset": chosen, "rounds": 1, "progress": progress, "warn": False}
    named, tables, measurements = _named(plan), [], []
    spreads: dict[tuple[str, str], list[float]] = {}
    # One round in each pass, so that a slow phase of the machine falls into one pass of all schemes
    # and not into all passes of one scheme.
    for _ in range(passes):
        frames = [
            operations.measure(name, asked, named.get(name) or crypto.candidates(name), **options)
            for name in (*names, *plan.only_observed)
        ]
        joined = pd.concat(frames, ignore_index=True)
        joined.attrs = frames[0].attrs
        measurements.append(joined)
        table = _of(plan, costing.from_frame(joined, named))
        if BLS in (plan.votes.vote_aggregation, plan.transaction.transaction_aggregation):
            deviation = 0.0
            with suppress(Unsupported):
                made, deviation = aggregates.measure_aggregates()
                table = replace(table, aggregates=made)
            spreads.setdefault((_AGGREGATES, "verify_seconds"), []).append(deviation)
        tables.append(table)
        for algorithm, name, deviation in variation.spread(table, joined):
            spreads.setdefault((algorithm, name), []).append(deviation)
    spread = ((*key, float(np.median(several))) for key, several in spreads.items())
    usual = _of(plan, costing.from_frame(joined, _usual(plan)))
    drift = variation.drift(tables[0], measurements)
    return CostSamples(tuple(tables), usual, tuple(spread), drift)


def _named(plan: Plan) -> dict[str, str]:
    """Return the implementations that a plan names and that run here, by scheme."""
    named = plan.chain.implementations.items()
    return {name: row for name, row in named if not crypto.obstacle(row)}


def _usual(plan: Plan) -> dict[str, str]:
    names = (*plan.names, *plan.only_observed)
    known = [name for name in names if name in algorithms.ALGORITHMS]
    first = {name: rows[0] for name in known if (rows := crypto.candidates(name))}
    return first | _named(plan)


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
    draws: int = 1
    warnings: tuple[str, ...] = ()

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

    def migration(self, algorithm: str) -> Migration:
        """Return the migration of the accounts from the baseline to a scheme.

        Raises UsageError for a study without accounts or baseline, or a scheme whose keys do not
        fit in a transaction of the baseline.
        """
        chain, values = self.plan.chain, self.values
        if not chain.accounts or not chain.baseline:
            raise UsageError(
                "accounts must be above 0 and baseline must be a scheme for a migration; got "
                f"{chain.accounts} and {chain.baseline!r}"
            )
        old, new = values[chain.baseline], values[algorithm]
        if not new["migration_seconds"] > 0:
            raise UsageError(
                f"algorithm must have a key that fits in a transaction of {chain.baseline}; got "
                f"{algorithm}"
            )
        cycle = old["transactions_per_block"] / old["capacity_per_second"]
        moved = old["transaction_bytes"] / self.plan.transaction.signatures
        if chain.moves_register:
            moved = old["transaction_bytes"] + new["public_key_bytes"]
        return Migration(
            accounts=float(chain.accounts),
            moves_per_block=chain.accounts * cycle / new["migration_seconds"],
            blocks_per_day=DAY_SECONDS / cycle,
            share=chain.moving_share,
            adoption_days=chain.adoption_days,
            phase_a_days=chain.phase_a_days or math.inf,
            phase_b_days=chain.phase_b_days or math.inf,
            old_bytes=old["transaction_bytes"],
            new_bytes=new["transaction_bytes"],
            move_bytes=moved,
            transactions_per_second=min(chain.transactions_per_second, old["capacity_per_second"]),
            old_per_day=old["capacity_per_second"] * DAY_SECONDS,
            new_per_day=new["capacity_per_second"] * DAY_SECONDS,
        )

    def differ(self, quantity: str, algorithm: str, other: str) -> bool:
        """Return whether two schemes differ in a figure: their intervals do not overlap."""
        first, second = (self.figures[name][quantity] for name in (algorithm, other))
        return first.high < second.low or second.high < first.low


def run(
    plan: Plan,
    *,
    measurements: pd.DataFrame | None = None,
    draws: int = DRAWS,
    preset: PresetName | None = None,
    progress: bool = False,
) -> Findings:
    """Compute all figures over several draws; measure first if the plan needs it.

    The value of a figure is the median of its draws; its interval contains 90 % of them. Raises
    UsageError, and MissingCosts for schemes without costs.
    """
    integer("draws", draws, least=1, most=10_000)
    times, warnings = times_of(plan, measurements, preset=preset, progress=progress)
    return sample(plan, times, draws=draws, warnings=warnings, progress=progress)


def times_of(
    plan: Plan, measurements: pd.DataFrame | None = None, **options: Any
) -> tuple[CostSamples, tuple[str, ...]]:
    """Return a plan's times, known or measured now, with warnings about the measurement.

    `options` are those of `measured`. Raises as `run` does.
    """
    # Reported here and not by the plan: sliders pass through such plans on the way to others.
    if plan.bundled and plan.bundled not in plan.names:
        raise UsageError(
            f"algorithms must include {plan.bundled}, because transaction_aggregation="
            f"{plan.transaction.transaction_aggregation!r} aggregates its signatures; got "
            f"{', '.join(plan.names)}. Add it, or set transaction_aggregation='plain'."
        )
    times = known(plan, measurements)
    warnings: list[str] = []
    if times is None:
        # Before the measurement: afterwards the load is that of the measurement itself.
        if (busy := machine.load_share()) > BUSY:
            share = f"{busy:.0%} of its processors"
            warnings.append(f"the machine was busy before the measurement: {share}")
        times = measured(plan, **options)
        warnings += times.unsteady()
    return times, tuple(warnings)


def sample(
    plan: Plan,
    times: CostSamples,
    *,
    draws: int = DRAWS,
    warnings: tuple[str, ...] = (),
    progress: bool = False,
) -> Findings:
    """Compute all figures over several draws from times that are known."""
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
    calibration = validation.calibrate(plan, costs)
    return Findings(plan, costs, figures, limits, calibration, draws, warnings)


def _including(figure: Figure, value: float) -> Figure:
    """Return a figure whose interval includes a value of other implementations."""
    if not math.isfinite(value) or figure.low <= value <= figure.high:
        return figure
    low, high = min(figure.low, value), max(figure.high, value)
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
