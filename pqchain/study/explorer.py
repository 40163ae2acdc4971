"""Notebook sliders for the inputs of a study; they update a plot and a table.

Only this module imports ipywidgets. Figures are computed when a slider moves: one network draw,
median times, no intervals.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import algorithms, plots
from pqchain import costs as costing
from pqchain.bench import operations, presets
from pqchain.bench.presets import PresetName
from pqchain.costs import Costs, CostTable
from pqchain.errors import PqchainError, Unsupported
from pqchain.figures import Unit, humanize, title
from pqchain.render.html import join
from pqchain.schemes import costs_of
from pqchain.study import writing
from pqchain.study.figures import OUTPUTS, QUANTITIES, evaluate, models
from pqchain.study.plan import INPUTS, Plan
from pqchain.study.ranges import input_values
from pqchain.study.reading import load
from pqchain.works import papers

# Style that makes tabs as wide as their titles, which are cut otherwise.
_TAB_STYLE = (
    "<style>.pqchain-inputs.jupyter-widgets.widget-tab > .lm-TabBar .lm-TabBar-tab "
    "{ flex: 0 0 auto; padding: 0 6px }</style>"
)


class Explorer:
    """Sliders for the inputs of a study, to show in a notebook; `explore` is another name.

    `study` is a plan, the name of a ready study or a TOML file; "pqdpol" has printed times. Others
    need `measurements`, a frame of `pqchain.measure`, or measure first. Every scheme with costs can
    be selected, those of `pqchain.register` included. `sliders` maps the name of each input to its
    widget; a notebook without support for widgets shows the plot only. Raises Unsupported without
    ipywidgets, MissingCosts for a scheme of the plan without measurements, and what `load` raises.
    """

    def __init__(
        self,
        study: str | Path | Plan = "pqdpol",
        *,
        measurements: pd.DataFrame | None = None,
        preset: PresetName | None = None,
    ) -> None:
        self._widgets = _ipywidgets()
        self.start: Plan = study if isinstance(study, Plan) else load(study)
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
        make, auto = self._widgets, {"width": "auto"}
        names = [row.algorithm for row in self.costs.rows if _usable(row)]
        self._algorithms = make.SelectMultiple(
            options=names, value=self.start.chain.algorithms, rows=min(8, len(names)),
            description="algorithms", layout=auto,
        )  # fmt: skip
        outputs = [(QUANTITIES[name].about.partition(":")[0], name) for name in OUTPUTS]
        self._figure = make.Dropdown(options=outputs, description="figure", layout=auto)
        self._message, self._text, self._table = make.HTML(), make.HTML(), make.HTML()
        self._table.add_class("jp-RenderedHTMLCommon")
        self._picture = make.Image(format="png", layout={"max_width": "100%", "width": "640px"})
        values = input_values(self.start)
        self.sliders: dict[str, Any] = {name: self._slider(name, values[name]) for name in values}
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
        return writing.toml(self.plan)

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
        if self.start.costs != "measured":
            table = papers.costs(self.start.costs.removeprefix("paper:"))
        else:
            own_names = {row.algorithm for row in self.start.own_schemes}
            names = [name for name in self.start.names if name not in own_names]
            asked = ["generate_keypair", "sign", "verify"]
            if frame is None:
                frame = operations.measure(names, asked, preset=preset or presets.preset())
            self.measurements = frame
            table = costing.from_frame(frame)
        defined = [*self.start.own_schemes, *filter(None, map(costs_of, algorithms.ALGORITHMS))]
        known = {row.algorithm.casefold() for row in table.rows}
        return table.plus(*(row for row in defined if row.algorithm.casefold() not in known))

    def _widget(self) -> Any:
        """Make the widgets, with a tab for each table of the plan."""
        make = self._widgets
        reset = make.Button(description="reset", icon="undo")
        reset.on_click(lambda _: self.reset())
        by_table: dict[str, list[Any]] = {}
        for name, slider in self.sliders.items():
            slider.observe(self._update, "value")
            by_table.setdefault(INPUTS[name].table, []).append(slider)
        self._algorithms.observe(self._update, "value")
        self._figure.observe(self._update, "value")
        tabs = make.Tab([make.VBox(box) for box in by_table.values()], titles=tuple(by_table))
        tabs.add_class("pqchain-inputs")
        wide = {"flex": "1 1 32em", "min_width": "22em", "overflow": "hidden"}
        left = make.VBox([self._figure, self._algorithms, tabs, reset], layout=wide)
        right = make.VBox([self._message, self._picture, self._text], layout=wide)
        sides = make.HBox([left, right], layout={"flex_flow": "row wrap"})
        style = make.HTML(_TAB_STYLE, layout={"display": "none"})
        return make.VBox([style, sides, self._table])

    def _slider(self, name: str, options: list[tuple[str, Any]]) -> Any:
        is_choice = isinstance(options[0][1], (str, bool))
        kind = self._widgets.Dropdown if is_choice else self._widgets.SelectionSlider
        # A dragged slider sends dozens of values; only its rest is worth an evaluation.
        rest: dict[str, Any] = {} if is_choice else {"continuous_update": False}
        return kind(
            options=options,
            value=self.start.value(name),
            description=humanize(name),
            tooltip=INPUTS[name].meaning,
            style={"description_width": "13em"},
            layout={"width": "auto"},
            **rest,
        )

    def _update(self, _: object = None) -> None:
        if self._is_paused:
            return
        try:
            plan = self.plan
            self.frame = evaluate(plan, self.costs)
        except PqchainError as error:
            # Emptied, because the figures of the last plan are not those of this one.
            self.frame = self.frame.iloc[:0]
            self._show_error(error)
            return
        self._message.value = ""
        self._picture.value = plots.figure_bytes(self.plot(), "png")
        self._table.value = _table(self.frame)
        style = "white-space: pre-wrap; overflow: auto; max-height: 16em; line-height: 1.35"
        self._text.value = f'<pre style="{style}">{join(self.toml)}</pre>'

    def _show_error(self, error: PqchainError) -> None:
        self._message.value = f"<b>Not possible:</b> {join(str(error))}"


explore = Explorer


def _usable(row: Costs) -> bool:
    return row.scheme.kind == "signature" and row.sign_seconds > 0 and row.verify_seconds > 0


def _table(frame: pd.DataFrame) -> str:
    """Return the main figures of each scheme as HTML."""
    names = ("binding_limit", "transactions_per_block", *OUTPUTS)
    shown = frame[frame["quantity"].isin(names)]
    units = zip(shown["text"], shown["value"], shown["unit"], strict=True)
    texts = [text or Unit(unit).text(value) for text, value, unit in units]
    wide = shown.assign(text=texts).pivot(index="algorithm", columns="quantity", values="text")
    wide = wide.loc[list(dict.fromkeys(shown["algorithm"])), list(names)]
    return str(wide.rename(columns=title).to_html(border=0))


def _ipywidgets() -> Any:
    try:
        import ipywidgets
    except ImportError:
        raise Unsupported(
            "ipywidgets is not installed. Install it with pip install 'pqchain[explore]', "
            "or pip install ipywidgets, and restart the notebook. Without it, "
            "`pqchain study STUDY --page FILE.html` writes a page."
        ) from None
    return ipywidgets
