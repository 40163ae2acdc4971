"""A study answered: every figure over seeds and passes of measurement, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from tqdm import tqdm

from pqchain import machine
from pqchain.bench.presets import PresetName
from pqchain.checks import whole
from pqchain.costs import CostTable
from pqchain.errors import UsageError
from pqchain.study import calibration, model, queueing, times
from pqchain.study.model import Figures
from pqchain.study.plan import Plan
from pqchain.study.quantities import QUANTITIES
from pqchain.study.times import Times

SEEDS = 16
"""Draws of a study: each is a network of its own and one pass of measurement."""

INTERVAL = (0.05, 0.95)
"""Quantiles of the draws between which an interval lies: nine draws of ten."""

BUSY = 0.5
"""Share of the processors in use, over the minute before, above which a measurement is doubted."""


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The figures of a plan."""

    plan: Plan
    costs: CostTable
    """The median of the passes."""
    frame: pd.DataFrame
    """Of the contract "study"."""
    calibration: pd.DataFrame
    """Of the contract "study-calibration": the model against the chain of today."""
    seeds: int = 1
    warnings: tuple[str, ...] = ()
    """What makes the times doubtful; said before the numbers."""

    @property
    def table(self) -> pd.DataFrame:
        """Values only: a row per quantity, a column per scheme, in their order."""
        return self._wide("value")

    def _wide(self, column: str) -> pd.DataFrame:
        wide = self.frame.pivot(index="quantity", columns="scheme", values=column)
        return wide.loc[list(QUANTITIES), list(dict.fromkeys(self.frame["scheme"]))]

    @property
    def values(self) -> Figures:
        """The same by scheme and quantity."""
        return cast("Figures", self.table.to_dict())

    @property
    def intervals(self) -> dict[str, dict[str, tuple[float, float]]]:
        """The ends of the interval of each figure, by scheme and quantity."""
        found: dict[str, dict[str, tuple[float, float]]] = {}
        for row in self.frame.to_dict("records"):
            found.setdefault(row["scheme"], {})[row["quantity"]] = (row["low"], row["high"])
        return found

    @property
    def limits(self) -> dict[str, str]:
        """Which limit binds, by scheme."""
        rows = self.frame[self.frame["quantity"] == "binding_limit"]
        return dict(zip(rows["scheme"], rows["text"], strict=True))

    @property
    def best(self) -> str:
        """The post-quantum scheme of the greatest capacity; "" without any."""
        schemes, values = model.post_quantum(self.plan), self.values
        return max(schemes, key=lambda name: values[name]["capacity_per_second"], default="")

    @property
    def load(self) -> pd.DataFrame:
        """Latency against arrivals, of the contract "study-load"."""
        values = self.values
        return queueing.curve(
            {
                scheme: model.blocks(self.plan, own)
                for scheme, own in values.items()
                if own["transactions_per_block"]
            }
        )

    def differ(self, quantity: str, one: str, other: str) -> bool:
        """Return whether a figure of two schemes differs: their intervals do not overlap."""
        found = self.intervals
        (low, high), (least, most) = found[one][quantity], found[other][quantity]
        return high < least or most < low


def run(
    plan: Plan,
    *,
    measurements: pd.DataFrame | None = None,
    seeds: int = SEEDS,
    preset: PresetName | None = None,
    progress: bool = False,
) -> Findings:
    """Compute all figures over seeds. With measured costs and no `measurements`, measure now.

    A figure's value is the median of its draws; its interval holds nine draws of ten. Raises
    UsageError where the plan cannot be, MissingCosts for schemes without costs.
    """
    whole("seeds", seeds, least=1, most=10_000)
    if plan.bundled and plan.bundled not in plan.names:
        raise UsageError(
            f"transaction_aggregation is {plan.transaction_aggregation!r}, which takes signatures "
            f"of {plan.bundled}; add that to schemes, or give 'plain'"
        )
    found = times.known(plan, measurements)
    warnings: list[str] = []
    if found is None:
        if (busy := machine.load_share()) > BUSY:
            warnings.append(
                f"the machine was busy before the measurement: {busy:.0%} of its processors"
            )
        found = times.measured(plan, preset=preset, progress=progress)
        warnings += found.unsteady()
    return answered(plan, found, seeds=seeds, warnings=tuple(warnings), progress=progress)


def answered(
    plan: Plan,
    found: Times,
    *,
    seeds: int = SEEDS,
    warnings: tuple[str, ...] = (),
    progress: bool = False,
) -> Findings:
    """Return the findings of a plan whose times are known."""
    frame = over(plan, found, seeds=seeds, progress=progress)
    seen = calibration.calibrate(plan, found)
    return Findings(plan, found.middle, frame, seen, seeds, warnings)


def over(plan: Plan, found: Times, *, seeds: int = SEEDS, progress: bool = False) -> pd.DataFrame:
    """Return every figure over draws: a frame of the contract "study"; see `model.evaluate`."""
    numbers = tqdm(range(seeds), disable=not progress, unit="draw")
    drawn = [model.figures(plan, found.drawn(number), seed=number) for number in numbers]
    value, low, high = ({name: dict(own) for name, own in drawn[0].items()} for _ in range(3))
    for scheme, own in drawn[0].items():
        for name in own:
            several = np.array([each[scheme][name] for each in drawn])
            value[scheme][name] = _middle(several, name)
            low[scheme][name], high[scheme][name] = _ends(several, value[scheme][name])
    return model.framed(plan, found.middle, value, low, high)


def _middle(several: np.ndarray, name: str) -> float:
    """Return the median; of what is a name rather than a number, the most frequent."""
    there = several[np.isfinite(several)]
    if not len(there):
        return math.nan
    if name == "binding_limit":
        names, counts = np.unique(there, return_counts=True)
        return float(names[counts.argmax()])
    return float(np.median(there))


def _ends(several: np.ndarray, middle: float) -> tuple[float, float]:
    there = several[np.isfinite(several)]
    if not len(there) or there.min() == there.max():
        return middle, middle
    low, high = np.quantile(there, INTERVAL)
    return float(low), float(high)
