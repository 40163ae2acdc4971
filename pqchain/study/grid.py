"""Figures computed ahead where a few inputs can be moved: what the sliders of a page show.

Knows which inputs are worth a slider and how many cells a page can hold; knows no markup.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from pqchain.costs import CostTable
from pqchain.errors import UsageError
from pqchain.study import limits, model, sensitivity
from pqchain.study.answer import shown
from pqchain.study.levers import COARSE, Lever, lever
from pqchain.study.plan import Plan
from pqchain.study.quantities import INPUTS, QUANTITIES

FIGURES = {
    "capacity_per_second": "capacity",
    "latency_seconds": "mean latency at the target load",
    "final_seconds": "full block until final",
    "growth_bytes_per_year": "growth in a year",
}
"""What a page shows of each scheme while its sliders move, with headings."""

SLIDERS = 3
"""With five places each they are 125 cells, a few tens of kilobytes."""

_FIRST = {
    "bytes": "block_bytes", "weight": "block_weight", "gas": "block_gas", "packet": "packet_bytes",
}  # fmt: skip
"""The input that sets a limit."""

_MOST = math.log(sensitivity.FACTOR**2)
"""What counts as change of a figure that comes or goes, or that moves further."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Levers, and the figures of each scheme wherever they stand."""

    levers: tuple[Lever, ...]
    schemes: tuple[str, ...]
    cells: tuple[Mapping[str, tuple[float, ...]], ...]
    """Of each place, the last lever moving fastest, by scheme: values of FIGURES and the number of
    the limit that binds. Empty where the plan would be impossible."""

    @property
    def place(self) -> int:
        """The cell of the plan as it is."""
        found = 0
        for each in self.levers:
            found = found * len(each.values) + each.place
        return found

    def texts(self, cell: int, scheme: str) -> tuple[str, ...]:
        """Return the figures of a scheme for people, what binds last."""
        *figures, limit = self.cells[cell][scheme]
        units = (QUANTITIES[name].unit for name in FIGURES)
        binds = limits.LIMITS[int(limit)]
        return *(shown(each, unit) for each, unit in zip(figures, units, strict=True)), binds


def grid(plan: Plan, costs: CostTable, scheme: str) -> Grid:
    """Compute the grid of a plan, one draw of the network; `scheme` says which inputs matter."""
    moved = chosen(plan, costs, scheme)
    cells = []
    for values in product(*(each.values for each in moved)):
        changes: Any = {each.name: value for each, value in zip(moved, values, strict=True)}
        try:
            found = model.figures(plan.with_(**changes), costs)
        except UsageError:
            found = {}
        asked = (*FIGURES, "binding_limit")
        cells.append({name: tuple(own[key] for key in asked) for name, own in found.items()})
    ahead = Grid(moved, (), tuple(cells))
    return replace(ahead, schemes=tuple(cells[ahead.place]))


def chosen(plan: Plan, costs: CostTable, scheme: str) -> tuple[Lever, ...]:
    """Return the inputs worth a slider, in the order of a plan.

    First what sets the limit of the scheme, the load and the time between blocks; then what changes
    its figures most when halved or doubled, or the baseline's if no transaction of it fits.
    """
    base = model.figures(plan.with_(schemes=(scheme,), migration={}), costs)[scheme]
    limit = _FIRST.get(limits.LIMITS[int(base["binding_limit"])])
    fits = scheme if base["transactions_per_block"] else plan.baseline or scheme
    swings = sensitivity.swings(plan, costs, fits)
    base = swings.pop("")[0]
    change = {
        sensitivity.OF_NETWORK.get(name, name): _change(base, ends)
        for name, ends in swings.items()
        if name not in sensitivity.COSTS
    }
    ranked = sorted((name for name in change if change[name]), key=lambda name: -change[name])
    first = filter(None, (limit, "transactions_per_second", "block_seconds"))
    found: dict[str, Lever] = {}
    for name in dict.fromkeys((*first, *ranked)):
        each = lever(plan, name, COARSE)
        if each is not None and len(found) < SLIDERS:
            found[name] = each
    return tuple(found[name] for name in INPUTS if name in found)


def _change(base: Mapping[str, float], ends: list[dict[str, float]]) -> float:
    """Return how far the figures move, the logarithms of their ratios added up."""
    possible = [end for end in ends if end]
    return sum(
        max((_apart(base[name], end[name]) for end in possible), default=0.0) for name in FIGURES
    )


def _apart(one: float, other: float) -> float:
    """Return how far a figure is from another: the logarithm of their ratio, within bounds."""
    if one > 0 and other > 0:
        return min(_MOST, abs(math.log(other / one)))
    is_same = one == other or (math.isnan(one) and math.isnan(other))
    return 0.0 if is_same else _MOST
