"""Sliders of a study's page: figures computed in advance, and a script that looks them up."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import product

from pqchain.costs import CostTable
from pqchain.errors import UsageError
from pqchain.render import html
from pqchain.render.html import Markup, element
from pqchain.study import sensitivity, writing
from pqchain.study.figures import QUANTITIES, Model, models
from pqchain.study.inputs import INPUTS, Plan
from pqchain.study.ranges import COARSE, InputRange, input_range

FIGURES = {
    "capacity_per_second": "capacity",
    "latency_seconds": "mean latency at the target load",
    "final_seconds": "finality of a full block",
    "growth_bytes_per_year": "growth in a year",
}
"""The figures that follow the sliders of a page, with headings."""

SLIDERS = 3
"""With five values each they make 125 cells, a few tens of kilobytes."""

# The input that sets each limit.
_INPUT_OF = {
    "bytes": "block_bytes", "weight": "block_weight", "gas": "block_gas", "packet": "packet_bytes",
    "sigops": "block_sigops",
    "spread": "rate_bits_per_second", "count": "most_transactions",
}  # fmt: skip

# The change of a figure that appears or vanishes, and the upper bound of any change.
_MOST = math.log(sensitivity.FACTOR**2)


@dataclass(frozen=True, slots=True)
class Cell:
    """Figures of a scheme for one combination of slider values."""

    values: tuple[float, ...]
    """Values of FIGURES."""
    limit: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The figures with their units, and the name of the limit."""
        named = zip(FIGURES, self.values, strict=True)
        return *(QUANTITIES[name].unit.text(value) for name, value in named), self.limit


@dataclass(frozen=True, slots=True)
class Grid:
    """Figures of each scheme for every combination of slider values."""

    ranges: tuple[InputRange, ...]
    cells: tuple[Mapping[str, Cell], ...]
    """Cells by scheme, for each position; the last slider changes fastest. Empty where the plan
    would be impossible."""

    @property
    def start_index(self) -> int:
        """Index in `cells` of the unchanged plan."""
        index = 0
        for slider in self.ranges:
            index = index * len(slider.values) + slider.start
        return index

    @property
    def start(self) -> Mapping[str, Cell]:
        """Cells of the unchanged plan, by scheme."""
        return self.cells[self.start_index]


def grid(plan: Plan, costs: CostTable, variations: sensitivity.Variations, limit: str) -> Grid:
    """Compute the figures for all values of the sliders of `choose`, for one network seed."""
    chosen = choose(plan, variations, limit)
    cells = []
    for values in product(*(slider.values for slider in chosen)):
        changes = {slider.name: value for slider, value in zip(chosen, values, strict=True)}
        # Impossible positions stay as empty cells, because the script computes an index from the
        # positions of the sliders.
        try:
            by_algorithm = models(plan.with_(**changes), costs)
            cells.append({name: _cell(model) for name, model in by_algorithm.items()})
        except UsageError:
            cells.append({})
    return Grid(chosen, tuple(cells))


def _cell(model: Model) -> Cell:
    return Cell(tuple(model[name] for name in FIGURES), model.limit)


def choose(plan: Plan, variations: sensitivity.Variations, limit: str) -> tuple[InputRange, ...]:
    """Return the inputs that get a slider, in the order of `Plan`.

    First the input that sets the binding limit, the load and the block interval; then those
    that change figures most when halved or doubled.
    """
    change = {
        name: _change(variations.base, ends)
        for name, ends in variations.ends.items()
        if name not in sensitivity.COSTS
    }
    ranked = sorted((name for name in change if change[name]), key=lambda name: -change[name])
    first = filter(None, (_INPUT_OF.get(limit), "transactions_per_second", "block_seconds"))
    chosen: dict[str, InputRange] = {}
    for name in dict.fromkeys((*first, *ranked)):
        candidate = input_range(plan, name, COARSE)
        if candidate is not None and len(chosen) < SLIDERS:
            chosen[name] = candidate
    return tuple(chosen[name] for name in INPUTS if name in chosen)


def _change(base: Model, ends: Sequence[Model | None]) -> float:
    """Return the sum over all figures of their largest absolute log ratio to `base`."""
    possible = [end for end in ends if end]
    return sum(
        max((_distance(base[name], end[name]) for end in possible), default=0.0) for name in FIGURES
    )


def _distance(value: float, other: float) -> float:
    if value > 0 and other > 0:
        return min(_MOST, abs(math.log(other / value)))
    is_same = value == other or (math.isnan(value) and math.isnan(other))
    return 0.0 if is_same else _MOST


_CAPTION = (
    "Figures at the position of the sliders, for median times and one network draw, so without "
    "intervals. The mark on a bar is the study as it is."
)


def section(plan: Plan, computed: Grid) -> tuple[Markup, ...]:
    """Return the HTML of sliders (hidden without JavaScript), table, command and data."""
    form = element(
        "form",
        *(_slider(slider) for slider in computed.ranges),
        element("button", "As the study is", type="reset"),
        id="sliders",
        hidden="hidden",
        autocomplete="off",
    )
    again = element(
        "p", "The same on the command line: ", element("code", "", id="again"), hidden="hidden"
    )
    return form, _table(computed), again, _data(plan, computed)


def script() -> str:
    """Return the JavaScript that updates the table."""
    return (files("pqchain.study") / "sliders.js").read_text(encoding="utf-8")


def _slider(slider: InputRange) -> Markup:
    ends = {"min": "0", "max": str(len(slider.values) - 1), "step": "1"}
    identifier = f"slider-{slider.name}"
    return element(
        "label",
        element("span", slider.title),
        element("input", type="range", id=identifier, value=str(slider.start), **ends),
        element("output", slider.labels[slider.start], for_=identifier),
    )


def _table(computed: Grid) -> Markup:
    head = element(
        "tr",
        element("th", "algorithm", scope="col"),
        *(element("th", text, scope="col", class_="number") for text in FIGURES.values()),
        element("th", "binding limit", scope="col"),
    )
    most = max((cell.values[0] for cell in computed.start.values()), default=0.0)
    rows = []
    for name, cell in computed.start.items():
        *figures, limit = cell.texts
        share = 100 * cell.values[0] / most if most else 0.0
        bar = element("span", class_="bar", style=f"--share: {share:.1f}%; --was: {share:.1f}%")
        first = element("td", element("span", figures[0]), bar, class_="number")
        rest = (element("td", text, class_="number") for text in figures[1:])
        rows.append(
            element(
                "tr", element("th", name, scope="row"), first, *rest, element("td", limit),
                class_="first",
            )
        )  # fmt: skip
    caption = element("caption", html.join(html.labels("modelled"), Markup(" "), _CAPTION))
    table = element(
        "table", caption, element("thead", head), element("tbody", *rows), id="moved",
        aria_live="polite",
    )  # fmt: skip
    return element("div", table, class_="scroll figures", tabindex="0")


def _data(plan: Plan, computed: Grid) -> Markup:
    texts: dict[str, int] = {}

    def rows(cells: Mapping[str, Cell]) -> Iterator[list[float]]:
        for name in computed.start:
            if name in cells:
                capacity = float(f"{cells[name].values[0]:.3g}")
                # An index for each text: most cells repeat those of others.
                yield [capacity, *(texts.setdefault(t, len(texts)) for t in cells[name].texts)]

    cells = [list(rows(at)) for at in computed.cells]
    ranges = []
    for slider in computed.ranges:
        changed = (plan.with_(**{slider.name: value}) for value in slider.values)
        options = [shlex.join(writing.options(other, plan)) for other in changed]
        ranges.append({"labels": slider.labels, "options": options})
    data = {"ranges": ranges, "start": computed.start_index, "texts": list(texts), "cells": cells}
    # "<" is escaped because a script element would end at "</script>" inside a text.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return element("script", Markup(text), type="application/json", id="grid")
