"""Notebook sliders for the inputs of a study; they update a plot and a table.

Only this module imports ipywidgets. Figures are computed when a slider moves: one network draw,
median times, no intervals.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd

from pqchain import algorithms, plots
from pqchain import costs as costing
from pqchain.bench import operations, presets
from pqchain.bench.presets import PresetName
from pqchain.costs import CostTable
from pqchain.errors import PqchainError
from pqchain.figures import Unit, humanize, title
from pqchain.render.html import join
from pqchain.schemes import costs_of
from pqchain.study import files
from pqchain.study.figures import OUTPUTS, QUANTITIES, evaluate, models
from pqchain.study.plan import INPUTS, ImpossiblePlan, Plan
from pqchain.works import papers

# Style that makes tabs as wide as their titles, which are cut otherwise.
_TAB_STYLE = (
    "<style>.pqchain-inputs.jupyter-widgets.widget-tab > .lm-TabBar .lm-TabBar-tab "
    "{ flex: 0 0 auto; padding: 0 6px }</style>"
)

_FACTORS = (
    *(1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.7, 0.8, 0.9),
    *(1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0),
)
"""Factors of the values of a slider."""

_FEW = 8
"""A whole number with at most this many possible values has all of them."""


class Explorer:
    """Sliders for the inputs of a study, to show in a notebook; `explore` is another name.

    `study` is a plan, the name of a ready study or a TOML file; "pqdpol" has printed times. Others
    need `measurements`, a frame of `pqchain.measure`, or measure first. Every scheme with costs can
    be selected, those of `pqchain.register` included. `sliders` maps the name of each input to its
    widget; a notebook without support for widgets shows the plot only. Raises MissingCosts for a
    scheme of the plan without measurements, and what `load` raises.
    """

    def __init__(
        self,
        study: str | Path | Plan = "pqdpol",
        *,
        measurements: pd.DataFrame | None = None,
        preset: PresetName | None = None,
    ) -> None:
        self.start: Plan = study if isinstance(study, Plan) else files.load(study)
        self.measurements: pd.DataFrame | None = None
        """The measurements of the times; None for printed times."""
        self.costs: CostTable = self._known(measurements, preset)
        """The costs of every scheme that can be selected."""
        for name in self.start.names:
            self.costs[name].require("sign", "verify")
        # Models compute at first use, so that this costs nothing until a figure is drawn.
        self._start_models = models(self.start, self.costs)
        self.frame = pd.DataFrame()
        """Every figure of the current plan, as `pqchain.study.evaluate` returns them."""
        self._is_paused = False
        timed = (row for row in self.costs.rows if row.sign_seconds * row.verify_seconds > 0)
        names = [row.algorithm for row in timed if row.scheme.kind == "signature"]
        wide = {"description": "algorithms", "layout": {"width": "auto"}}
        chosen, rows = self.start.chain.algorithms, min(8, len(names))
        self._algorithms = widgets.SelectMultiple(options=names, value=chosen, rows=rows, **wide)
        outputs = [(QUANTITIES[name].about.partition(":")[0], name) for name in OUTPUTS]
        self._figure = widgets.Dropdown(options=outputs, **(wide | {"description": "figure"}))
        self._message, self._text, self._table = (widgets.HTML() for _ in range(3))
        self._table.add_class("jp-RenderedHTMLCommon")
        self._picture = widgets.Image(format="png", layout={"max_width": "100%", "width": "640px"})
        self.sliders: dict[str, Any] = {
            name: _slider(name, values, self.start.value(name))
            for name, values in input_values(self.start).items()
        }
        self.widget: Any = self._widget()
        self._update()

    @property
    def plan(self) -> Plan:
        """Plan with the current values of the sliders. Raises UsageError if it is impossible."""
        chain = self.start.chain
        order = dict.fromkeys((*chain.algorithms, *self._algorithms.value))
        names = tuple(name for name in order if name in self._algorithms.value)
        changes: Any = {
            name: slider.value
            for name, slider in self.sliders.items()
            if slider.value != self.start.value(name)
        }
        chosen = (*names, *chain.migration, chain.baseline)
        defined = {row.algorithm: row for row in self.start.own_schemes}
        defined |= {row.algorithm: row for row in self.costs.rows if row.is_given}
        own_schemes = tuple(row for row in defined.values() if row.algorithm in chosen)
        return self.start.with_(algorithms=names, own_schemes=own_schemes, **changes)

    @property
    def toml(self) -> str:
        """The current plan as a TOML file for `pqchain study` and `pqchain.study.load`."""
        return files.toml(self.plan)

    def plot(self) -> Any:
        """Plot the selected figure by scheme, with marks at the initial values; return the Axes."""
        frame, figure = self.frame, self._figure.value
        rows = frame[frame["quantity"] == figure]
        texts = frame[frame["quantity"] == "binding_limit"]
        bound = dict(zip(texts["algorithm"], texts["text"], strict=True))
        is_capacity = figure == "capacity_per_second"
        start = self._start_models
        before = {name: start[name][figure] for name in rows["algorithm"] if name in start}
        quantity = QUANTITIES[figure]
        unit = f" ({quantity.unit})" if quantity.unit else ""
        return plots.plot_capacity(
            rows, bound if is_capacity else {}, baseline=self.plan.chain.baseline, before=before,
            label="" if is_capacity else f"{quantity.about}{unit}",
        )  # fmt: skip

    def reset(self) -> None:
        """Reset every slider to its initial value."""
        # One update after all sliders have moved, instead of one for each.
        self._is_paused = True
        self._algorithms.value = self.start.chain.algorithms
        for name, slider in self.sliders.items():
            slider.value = self.start.value(name)
        self._is_paused = False
        self._update()

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle = dict(self.widget._repr_mimebundle_())
        bundle |= {"image/png": bytes(self._picture.value), "text/plain": repr(self)}
        # Without widgets, a page prefers the picture that is legible on narrow and dark screens.
        bundle |= {"image/svg+xml": plots.screen_svg(self.plot())}
        return bundle, {"image/png": {"width": 640}}

    def __repr__(self) -> str:
        return f"Explorer: {self.start.title}"

    def _known(self, frame: pd.DataFrame | None, preset: PresetName | None) -> CostTable:
        """Return the costs of all schemes with known costs; measure the plan's if needed."""
        own = self.start.own_schemes
        if self.start.costs != "measured":
            table = papers.costs(self.start.costs.removeprefix("paper:"))
        else:
            names = [name for name in self.start.names if name not in {it.algorithm for it in own}]
            asked = ["generate_keypair", "sign", "verify"]
            if frame is None:
                frame = operations.measure(
                    names, asked, preset=preset or presets.preset(), fresh=False
                )
            self.measurements = frame
            table = costing.from_frame(frame)
        defined = [*own, *filter(None, map(costs_of, algorithms.ALGORITHMS))]
        known = {row.algorithm.casefold() for row in table.rows}
        return table.plus(*(row for row in defined if row.algorithm.casefold() not in known))

    def _widget(self) -> Any:
        """Lay out the widgets, with a tab for each table of the plan."""
        reset = widgets.Button(description="reset", icon="undo")
        reset.on_click(lambda _: self.reset())
        by_table: dict[str, list[Any]] = {}
        for name, slider in self.sliders.items():
            by_table.setdefault(INPUTS[name].table, []).append(slider)
        for control in (*self.sliders.values(), self._algorithms, self._figure):
            control.observe(self._update, "value")
        tabs = widgets.Tab([widgets.VBox(box) for box in by_table.values()], titles=tuple(by_table))
        tabs.add_class("pqchain-inputs")
        wide = {"flex": "1 1 32em", "min_width": "22em", "overflow": "hidden"}
        left = widgets.VBox([self._figure, self._algorithms, tabs, reset], layout=wide)
        right = widgets.VBox([self._message, self._picture, self._text], layout=wide)
        sides = widgets.HBox([left, right], layout={"flex_flow": "row wrap"})
        style = widgets.HTML(_TAB_STYLE, layout={"display": "none"})
        return widgets.VBox([style, sides, self._table])

    def _update(self, _: object = None) -> None:
        if self._is_paused:
            return
        try:
            self.frame = evaluate(self.plan, self.costs)
        except PqchainError as error:
            # Emptied, because the figures of the last plan are not those of this one.
            self.frame = self.frame.iloc[:0]
            self._message.value = f"<b>Not possible:</b> {join(str(error))}"
            return
        self._message.value = ""
        self._picture.value = plots.figure_bytes(self.plot(), "png")
        self._table.value = _table(self.frame)
        style = "white-space: pre-wrap; overflow: auto; max-height: 16em; line-height: 1.35"
        self._text.value = f'<pre style="{style}">{join(self.toml)}</pre>'


explore = Explorer


def _slider(name: str, values: list[Any], start: Any) -> Any:
    is_choice = isinstance(start, (str, bool))
    # A dragged slider sends dozens of values; only its rest is worth an evaluation.
    rest: dict[str, Any] = {} if is_choice else {"continuous_update": False}
    return (widgets.Dropdown if is_choice else widgets.SelectionSlider)(
        options=[(_label(name, value), value) for value in values],
        value=start,
        description=humanize(name),
        tooltip=INPUTS[name].meaning,
        style={"description_width": "13em"},
        layout={"width": "auto"},
        **rest,
    )


def _label(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    unit = INPUTS[name].unit
    return Unit(unit).text(float(value), exact=unit in ("", "share", "tx/s", "d", "gas", "WU"))


def input_values(plan: Plan) -> dict[str, list[Any]]:
    """Return the possible values of each input on which at least one of OUTPUTS depends.

    Numbers are ascending. Inputs that are 0, and inputs of features that the chain does not have,
    are left out.
    """
    needed = frozenset[str]().union(*(QUANTITIES[name].needs for name in OUTPUTS))
    # Another law has other inputs.
    left_out = {"law", *plan.unused}
    # Defaults above 0 of inputs without an effect.
    if not plan.limits.block_weight:
        left_out.add("witness_discount")
    if not plan.votes.votes_per_block:
        left_out.add("vote_aggregates")
    values: dict[str, list[Any]] = {}
    for name, row in INPUTS.items():
        if name not in needed or name in left_out:
            continue
        start = plan.value(name)
        every: list[Any] = []
        if isinstance(start, bool):
            every = [False, True]
        elif isinstance(start, str):
            every = list(row.choices)
        elif isinstance(start, (int, float)) and start:
            every = sorted(
                {start, *_multiples(start, row.field.least or 0, row.field.most or 1e18)}
            )
        # A slider must not lead to an impossible plan, so every value is tried.
        values[name] = [value for value in every if value == start or _fits(plan, name, value)]
    return {name: possible for name, possible in values.items() if len(possible) > 1}


def _fits(plan: Plan, name: str, value: Any) -> bool:
    try:
        changed = plan.with_(**{name: value})
    except ImpossiblePlan:
        return False
    # An aggregation takes the signatures of one scheme, which the plan must have.
    return changed.bundled in ("", *plan.names)


def _multiples(start: float, least: float, most: float) -> list[float]:
    is_whole = isinstance(start, int)
    # Multiples of a small count would leave most of its values out.
    if is_whole and most - least < _FEW:
        return list(range(int(least), int(most) + 1))
    # Halves and doubles are exact; other multiples are rounded to three digits.
    exact = [float(start * factor) for factor in _FACTORS]
    rounded = [value if value.is_integer() else float(f"{value:.3g}") for value in exact]
    values = [round(value) if is_whole else value for value in rounded]
    return [value for value in values if least <= value <= most and value > 0]


def _table(frame: pd.DataFrame) -> str:
    """Return the main figures of each scheme as HTML."""
    names = ("binding_limit", "transactions_per_block", *OUTPUTS)
    shown = frame[frame["quantity"].isin(names)]
    units = zip(shown["text"], shown["value"], shown["unit"], strict=True)
    texts = [text or Unit(unit).text(value) for text, value, unit in units]
    wide = shown.assign(text=texts).pivot(index="algorithm", columns="quantity", values="text")
    wide = wide.loc[list(dict.fromkeys(shown["algorithm"])), list(names)]
    return str(wide.rename(columns=title).to_html(border=0))
