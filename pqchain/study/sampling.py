"""Monte Carlo evaluation of a study over measurement passes and network seeds, with intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from tqdm import tqdm

from pqchain.checks import integer
from pqchain.costs import CostTable
from pqchain.figures import Figure
from pqchain.study import validation
from pqchain.study.cost_samples import CostSamples
from pqchain.study.figures import QUANTITIES, framed, models
from pqchain.study.plan import Plan

DRAWS = 16
"""Number of Monte Carlo draws; each uses one network seed and one measurement pass."""

INTERVAL = (0.05, 0.95)
"""Quantiles of the draws at the ends of an interval, which holds nine draws of ten."""

MOST_DRAWS = 10_000


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
    calibration = validation.calibrate(plan, costs)
    return Findings(plan, costs, figures, limits, calibration, draws, times)


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
