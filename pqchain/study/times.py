"""How long operations take, several times over: what a study's intervals rest on.

A pass measures every scheme of a plan once; a draw of the study takes one pass whole, so that what
slowed the machine for a while slows all schemes of that draw, and ratios stay ratios of one pass.
Each time is then moved by the spread of its samples, and all of them by one factor, because the
machine of another hour is not that of this one: passes made within a minute share more than those
of two studies do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from pqchain import algorithms, crypto
from pqchain import costs as costing
from pqchain.bench import aggregates, operations, presets
from pqchain.bench.presets import PresetName
from pqchain.costs import PREFERRED_IMPLEMENTATION, AggregateCosts, Costs, CostTable
from pqchain.errors import Unsupported, UsageError
from pqchain.study.plan import BLS, Plan
from pqchain.works import papers

PASSES = 3
"""How often a study measures its schemes, one pass after the other."""

UNSTEADY = 0.25
"""Times that differ by more than this share of their median from pass to pass get a warning."""

_TIMES = tuple(each.name for each in fields(Costs) if each.name.endswith("_seconds"))

_AGGREGATE_TIMES = tuple(
    each.name for each in fields(AggregateCosts) if each.name.endswith("_seconds")
)

_AGGREGATES = "aggregates"
"""What stands for a scheme in the spread of their times."""


@dataclass(frozen=True, slots=True)
class Times:
    """Costs of the schemes of a plan, in passes."""

    passes: tuple[CostTable, ...]
    spread: tuple[tuple[str, str, float], ...] = ()
    """(algorithm, time, relative deviation of single operations), where samples are known."""
    drift: float = 1.0
    """How many times slower than at its best this machine was while it measured."""

    @property
    def middle(self) -> CostTable:
        """The median of the passes, time by time."""
        rows = []
        for row in self.passes[0].rows:
            own = [each[row.algorithm] for each in self.passes]
            middle = {
                name: float(np.median([getattr(one, name) for one in own])) for name in _TIMES
            }
            rows.append(_with(row, middle))
        return replace(self.passes[0], rows=tuple(rows), aggregates=self._middle_aggregates())

    def _middle_aggregates(self) -> AggregateCosts | None:
        several = [each.aggregates for each in self.passes if each.aggregates]
        if not several:
            return None
        middle: dict[str, Any] = {
            name: float(np.median([getattr(each, name) for each in several]))
            for name in _AGGREGATE_TIMES
        }
        return replace(several[0], **middle)

    def drawn(self, number: int) -> CostTable:
        """Return the costs of a draw: a pass, moved by drift and by the spread of its samples."""
        table = self.passes[number % len(self.passes)]
        if number == 0 or (not self.spread and self.drift == 1.0):
            return table
        rng = np.random.default_rng(number)
        normal = rng.standard_normal(len(self.spread)).tolist()
        slower = self.drift ** float(rng.uniform(-1.0, 1.0))
        moved = {
            (algorithm, name): slower * math.exp(deviation * by)
            for (algorithm, name, deviation), by in zip(self.spread, normal, strict=True)
        }
        rows = tuple(
            row
            if row.is_given
            else _with(
                row,
                {
                    name: getattr(row, name) * moved.get((row.algorithm, name), slower)
                    for name in _TIMES
                },
            )
            for row in table.rows
        )
        added = table.aggregates
        if added is not None:
            # One spread for all: they are made of the same pairings and additions.
            by = moved.get((_AGGREGATES, "verify_seconds"), slower)
            added = replace(added, **{name: getattr(added, name) * by for name in _AGGREGATE_TIMES})
        return replace(table, rows=rows, aggregates=added)

    def unsteady(self) -> list[str]:
        """Say in a sentence which times differ from pass to pass, the worst first; or nothing."""
        found = []
        for row in self.passes[0].rows:
            for name in ("sign_seconds", "verify_seconds"):
                times = [getattr(each[row.algorithm], name) for each in self.passes]
                middle = float(np.median(times))
                apart = (max(times) - min(times)) / middle if middle else 0.0
                if apart > UNSTEADY:
                    what = f"{name.partition('_')[0]} of {row.algorithm}"
                    found.append((apart, f"{what} {apart:.0%}"))
        told = ", ".join(text for _, text in sorted(found, reverse=True))
        return [f"times differ from pass to pass: {told}"] if told else []


def known(plan: Plan, measurements: pd.DataFrame | None = None) -> Times | None:
    """Return the times of a plan that need no measuring; None if it asks to measure.

    Raises UsageError if measurements are given that the plan does not use, and MissingCosts.
    """
    if plan.costs != "measured":
        if measurements is not None:
            raise UsageError(
                f'costs is {plan.costs!r}, so measurements are not used; give costs = "measured"'
            )
        return Times((_of(plan, papers.costs(plan.costs.removeprefix("paper:"))),))
    if measurements is None:
        return None
    table = _of(plan, costing.from_frame(measurements))
    return Times((table,), tuple(_spread(table, measurements)), _drift(table, [measurements]))


def measured(
    plan: Plan, *, passes: int = PASSES, preset: PresetName | None = None, progress: bool = False
) -> Times:
    """Measure the schemes of a plan, several passes of one round, one after the other."""
    chosen = preset or presets.preset()
    done, measurements = [], []
    spreads: dict[tuple[str, str], list[float]] = {}
    for _ in range(passes):
        frames = [
            operations.measure(
                name,
                ["generate_keypair", "sign", "verify"],
                _implementations(name),
                preset=chosen,
                rounds=1,
                progress=progress,
            )
            for name in _to_measure(plan)
        ]
        joined = pd.concat(frames, ignore_index=True)
        joined.attrs = frames[0].attrs
        measurements.append(joined)
        table = _of(plan, costing.from_frame(joined))
        if BLS in (plan.vote_aggregation, plan.transaction_aggregation):
            table, deviation = _with_aggregates(table)
            spreads.setdefault((_AGGREGATES, "verify_seconds"), []).append(deviation)
        done.append(table)
        for algorithm, name, deviation in _spread(done[-1], joined):
            spreads.setdefault((algorithm, name), []).append(deviation)
    spread = ((*key, float(np.median(several))) for key, several in spreads.items())
    return Times(tuple(done), tuple(spread), _drift(done[0], measurements))


def _with_aggregates(table: CostTable) -> tuple[CostTable, float]:
    """Add what aggregates cost here, and their spread; nothing where the library is not."""
    try:
        costs, deviation = aggregates.measure_aggregates()
    except Unsupported:
        return table, 0.0
    return replace(table, aggregates=costs), deviation


def _to_measure(plan: Plan) -> list[str]:
    """Return the schemes that can be measured. Raises UsageError if all are the user's own."""
    mine = {row.algorithm for row in plan.own_schemes}
    names = [name for name in plan.names if name not in mine]
    if not names:
        raise UsageError("all schemes are given; add one of the registry, such as the baseline")
    return names


def _implementations(name: str) -> list[str] | None:
    """Return the implementation that stands for a scheme; None: measure all and choose."""
    offered = algorithms.get(name).implementations
    usable = PREFERRED_IMPLEMENTATION in offered and not crypto.obstacle(PREFERRED_IMPLEMENTATION)
    return [PREFERRED_IMPLEMENTATION] if usable else None


def _with(row: Costs, times: dict[str, Any]) -> Costs:
    return replace(row, **times)


def _of(plan: Plan, table: CostTable) -> CostTable:
    mine = {row.algorithm: row for row in plan.own_schemes}
    rows = (mine.get(name) or table[name] for name in plan.names)
    return CostTable(tuple(row.require("sign", "verify") for row in rows), table.source)


def _drift(table: CostTable, measurements: list[pd.DataFrame]) -> float:
    """Return how much slower than at its best the machine was: verifications, median over fastest.

    A verification does the same work each time; what its median takes beyond the fastest sample is
    the machine's: other work on its processors, its clock. Another hour may be as much better, and
    as much worse. All schemes share it, so that ratios are as sure as before.
    """
    slower = []
    for row in (each for each in table.rows if not each.is_given):
        implementation = row.source.partition(" on ")[0]
        own = [
            costing.choose(frame, row.algorithm, implementation=implementation)["verify"]
            for frame in measurements
            if "min_seconds" in frame.columns
        ]
        fastest = min((each["min_seconds"] for each in own), default=math.nan)
        if fastest > 0:
            middle = float(np.median([each["median_seconds"] for each in own]))
            slower.append(max(1.0, middle / fastest))
    return float(np.median(slower)) if slower else 1.0


def _spread(table: CostTable, measurements: pd.DataFrame) -> Iterator[tuple[str, str, float]]:
    """Yield how far single operations spread: 1.4826 MAD over the median, as a normal's deviation.

    The median of many is surer than that; a machine that drifts from hour to hour is not.
    """
    if "mad_seconds" not in measurements.columns:
        return
    for row in (each for each in table.rows if not each.is_given):
        implementation = row.source.partition(" on ")[0]
        own = costing.choose(measurements, row.algorithm, implementation=implementation)
        for operation, values in own.items():
            middle, deviation = values["median_seconds"], values["mad_seconds"]
            if middle and math.isfinite(middle) and math.isfinite(deviation):
                yield row.algorithm, f"{operation}_seconds", 1.4826 * deviation / middle
