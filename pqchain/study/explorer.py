"""Notebook sliders for at most three inputs of a study, which update a plot.

Only this module imports ipywidgets. Figures are computed when a slider moves: one network draw,
median times, no intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import pandas as pd

from pqchain import plots
from pqchain.bench.presets import PresetName
from pqchain.costs import CostTable
from pqchain.errors import PqchainError, UnknownName, UsageError
from pqchain.figures import Unit, humanize
from pqchain.render.html import join
from pqchain.study import files
from pqchain.study.figures import OUTPUTS, QUANTITIES, evaluate
from pqchain.study.plan import INPUTS, ImpossiblePlan, Plan
from pqchain.study.sampling import times

MOST_INPUTS = 3

_FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0)
"""Factors of the values of a slider."""


class Explorer:
    """Sliders for inputs of a study, to show in a notebook; `explore` is another name.

    `study` is a plan, the name of a ready study or a TOML file; "pqdpol" has printed times, those
    of others are `measurements`, kept or measured, as `study.times` returns them. `inputs` names
    one to three numbers of the plan above 0, `figure` one of `OUTPUTS`. `sliders` maps each input
    to its widget; a notebook without support for widgets shows the plot only. Raises UnknownName,
    UsageError and what `load` and `times` raise.
    """

    def __init__(
        self,
        study: str | Path | Plan = "pqdpol",
        inputs: Sequence[str] = ("nodes", "block_bytes"),
        *,
        figure: str = "capacity_per_second",
        measurements: pd.DataFrame | None = None,
        preset: PresetName | None = None,
    ) -> None:
        self.start: Plan = study if isinstance(study, Plan) else files.load(study)
        if figure not in OUTPUTS:
            raise UnknownName("figure", figure, OUTPUTS)
        if isinstance(inputs, str) or not 1 <= len(inputs) <= MOST_INPUTS:
            raise UsageError(f"inputs must name 1 to {MOST_INPUTS} inputs; got {inputs!r}")
        self.figure = figure
        values = {name: input_values(self.start, name) for name in inputs}
        self.costs: CostTable = times(self.start, measurements, preset=preset).middle
        self.frame = pd.DataFrame()
        """Every figure of the current plan, as `pqchain.study.evaluate` returns them."""
        self._message = widgets.HTML()
        self._picture = widgets.Image(format="png", layout={"max_width": "100%", "width": "640px"})
        # A dragged slider sends dozens of values; only its rest is worth an evaluation.
        self.sliders: dict[str, Any] = {
            name: widgets.SelectionSlider(
                options=[(_label(name, value), value) for value in values[name]],
                value=self.start.value(name), description=humanize(name), continuous_update=False,
                tooltip=INPUTS[name].meaning, style={"description_width": "13em"},
                layout={"width": "auto"},
            )
            for name in inputs
        }  # fmt: skip
        for slider in self.sliders.values():
            slider.observe(self._update, "value")
        self.widget: Any = widgets.VBox([*self.sliders.values(), self._message, self._picture])
        self._update()

    @property
    def plan(self) -> Plan:
        """Plan with the current values of the sliders. Raises UsageError if it is impossible."""
        return self.start.with_(**{name: slider.value for name, slider in self.sliders.items()})

    @property
    def toml(self) -> str:
        """The current plan as a TOML file for `pqchain study` and `pqchain.study.load`."""
        return files.toml(self.plan)

    def plot(self) -> Any:
        """Plot the figure by scheme; return the Axes."""
        texts = self.frame[self.frame["quantity"] == "binding_limit"].set_index("algorithm")
        limits: Any = texts["text"].to_dict()
        is_capacity, quantity = self.figure == "capacity_per_second", QUANTITIES[self.figure]
        return plots.plot_capacity(
            self.frame[self.frame["quantity"] == self.figure],
            limits if is_capacity else {},
            baseline=self.start.chain.baseline,
            label="" if is_capacity else f"{quantity.about} ({quantity.unit})",
        )

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle = dict(self.widget._repr_mimebundle_())
        bundle |= {"image/png": bytes(self._picture.value), "text/plain": repr(self)}
        # Without widgets, a page prefers the picture that is legible on narrow and dark screens.
        bundle |= {"image/svg+xml": plots.screen_svg(self.plot())}
        return bundle, {"image/png": {"width": 640}}

    def __repr__(self) -> str:
        return f"Explorer: {self.start.title}"

    def _update(self, _: object = None) -> None:
        try:
            self.frame = evaluate(self.plan, self.costs)
        except PqchainError as error:
            # Emptied, because the figures of the last plan are not those of this one.
            self.frame = self.frame.iloc[:0]
            self._message.value = f"<b>Not possible:</b> {join(str(error))}"
            return
        self._message.value = ""
        self._picture.value = plots.figure_bytes(self.plot(), "png")


explore = Explorer


def _label(name: str, value: float) -> str:
    unit = INPUTS[name].unit
    return Unit(unit).text(float(value), exact=unit in ("", "share", "tx/s", "d", "gas", "WU"))


def input_values(plan: Plan, name: str) -> list[Any]:
    """Return the values of a slider, ascending. Raises UnknownName, UsageError."""
    if name not in INPUTS:
        raise UnknownName("input of a study", name, INPUTS, "`pqchain study --inputs`.")
    start = plan.value(name)
    if isinstance(start, bool) or not isinstance(start, (int, float)) or not start:
        raise UsageError(f"inputs must name numbers above 0; got {name}, which is {start!r}")
    # Halves and doubles are exact; other multiples are rounded to three digits.
    exact = (float(start * factor) for factor in _FACTORS)
    values = {value if value.is_integer() else float(f"{value:.3g}") for value in exact}
    possible = []
    for value in sorted({start, *(map(round, values) if isinstance(start, int) else values)}):
        # A slider must not lead to an impossible plan, so every value is tried.
        with suppress(ImpossiblePlan):
            plan.with_(**{name: value})
            possible.append(value)
    return possible
