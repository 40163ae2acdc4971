"""Sliders of a study's page, and the program that computes the figures when they move.

The program is the model's own formulas, translated by `javascript`. Inputs of the consensus network
have no slider: the time to finality of a block is interpolated between runs of that model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from pqchain.chain import encoding
from pqchain.consensus.lengths import mean
from pqchain.costs import CostTable
from pqchain.escapes import visible
from pqchain.render import html
from pqchain.render.html import Markup, element
from pqchain.study import chain, figures, javascript, model, queueing, sensitivity
from pqchain.study.figures import QUANTITIES, Model, models
from pqchain.study.inputs import INPUTS, Plan
from pqchain.study.model import MIX
from pqchain.study.ranges import input_range

FIGURES = {
    "capacity_per_second": "capacity",
    "latency_seconds": "mean latency at the target load",
    "final_seconds": "finality of a full block",
    "growth_bytes_per_year": "growth in a year",
}
"""The figures that follow the sliders of a page, with headings."""

SLIDERS = 5
"""Number of sliders of a page; its link can set every input of COMPUTED."""

COMPUTED = (
    "transactions_per_second", "block_bytes", "block_seconds", "block_weight", "block_sigops",
    "block_gas", "intrinsic_gas", "execution_gas", "calldata_gas", "floor_gas", "verification_gas",
    "voting_gas", "packet_bytes", "most_transactions", "upload_copies",
)  # fmt: skip
"""Inputs that the page's program computes with; none changes the consensus network."""

REACH = 16.0
"""A slider changes an input by up to this factor."""

_CONSTANT = (
    "votes_in_block", "votes_per_block", "witness_discount", "signatures", "final_blocks",
    "data_bytes",
)  # fmt: skip

_FILLS = (1 / 16, 1 / 4, 1 / 2, 1, 2, 4, 16)
"""Blocks whose time to finality is computed, relative to the full block of the plan."""

# The input that sets each limit.
_INPUT_OF = {
    "bytes": "block_bytes", "weight": "block_weight", "gas": "block_gas", "packet": "packet_bytes",
    "sigops": "block_sigops", "count": "most_transactions",
}  # fmt: skip

# The change of a figure that appears or vanishes, and the upper bound of any change.
_MOST = math.log(sensitivity.FACTOR**2)


@dataclass(frozen=True, slots=True)
class Slider:
    """An input with a slider, and the bounds of its values."""

    name: str
    title: str
    unit: str
    start: float
    least: float
    most: float
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """The sliders of a page, and what its program needs of the plan and of each scheme."""

    sliders: tuple[Slider, ...]
    plan: Mapping[str, Any]
    rows: tuple[Mapping[str, Any], ...]
    start: Mapping[str, Model]
    """The models of the unchanged plan, by scheme."""


def panel(plan: Plan, costs: CostTable, variations: sensitivity.Variations, limit: str) -> Panel:
    """Return the sliders of `choose` and the facts of the schemes, for one network draw."""
    by_algorithm = {name: row for name, row in models(plan, costs).items() if name != MIX}
    rows = tuple(facts(row) for row in by_algorithm.values())
    return Panel(choose(plan, variations, limit), values_of(plan), rows, by_algorithm)


def values_of(plan: Plan) -> dict[str, Any]:
    """Return the inputs of a plan that the program reads."""
    values = {name: getattr(plan, name) for name in (*COMPUTED, *_CONSTANT)}
    uplink = chain.uplink_bits_per_second(plan) if plan.upload_copies else 0.0
    return values | {"gas_prices": dict(plan.gas_prices), "uplink": uplink}


def facts(row: Model) -> dict[str, Any]:
    """Return what the program needs of a scheme's model, as JSON types."""
    plan, use = row.plan, row.use
    baseline = row.baseline_row
    average = mean(row.lengths)
    variance = sum(n * (length - average) ** 2 for length, n in row.lengths.items())
    deviation = math.sqrt(variance / sum(row.lengths.values()))
    return {
        "algorithm": row.algorithm,
        "bundled": row.bundle is not None,
        "row": {"algorithm": row.algorithm, "verify_seconds": row.row.verify_seconds},
        "baseline": baseline
        and {"algorithm": baseline.algorithm, "verify_seconds": baseline.verify_seconds},
        "use": asdict(use),
        "witness_bytes": witness_bytes(row),
        "votes": chain.vote_bytes(plan, average),
        # Deviation of a transaction's length; of other encodings the mean length counts.
        "deviation": 0.0 if plan.envelope_bytes else deviation,
        "finals": _finals(row),
    }


def witness_bytes(row: Model) -> float:
    """Return the bytes of keys and signatures of a transaction, whose calldata costs gas."""
    plan, algorithm = row.plan, row.algorithm
    key = row.row.public_key_bytes if chain.key_mode(plan, algorithm) == "inline" else 0
    if not plan.envelope_bytes:
        return key + mean(row.lengths)
    framing = chain.framing_bytes(plan, algorithm)
    return plan.signatures * (key + mean(row.lengths) + framing)


def _finals(row: Model) -> list[tuple[float, float]]:
    """Return (transactions, seconds to finality) of blocks, by runs of the consensus model."""
    if row.bundle is not None:
        return []
    plan, full = row.plan, row.count or 1000.0
    # The consensus model fills blocks with whole transactions.
    counts = sorted({1, *(max(1, round(full * fill)) for fill in _FILLS)})
    # Large enough for the fullest of the blocks.
    room = encoding.header_bytes() + math.ceil(2 * counts[-1] * row.use.most_bytes)
    most = int(INPUTS["block_bytes"].most)
    roomy = models(plan.with_(block_bytes=min(most, max(plan.block_bytes, room))), row.costs)
    large = roomy[row.algorithm]
    points: dict[float, float] = {n: large.final(n * plan.signatures) for n in counts}
    if row.count:  # as the tables of the page have it
        points |= {1: row["single_transaction_final_seconds"], row.count: row["final_seconds"]}
    return sorted(points.items())


def choose(plan: Plan, variations: sensitivity.Variations, limit: str) -> tuple[Slider, ...]:
    """Return the inputs that get a slider, in the order of `Plan`.

    First the input that sets the binding limit, the load and the block interval; then those of
    COMPUTED that change figures most when halved or doubled.
    """
    change = {
        name: _change(variations.base, ends)
        for name, ends in variations.ends.items()
        if name in COMPUTED
    }
    ranked = sorted((name for name in change if change[name]), key=lambda name: -change[name])
    first = filter(None, (_INPUT_OF.get(limit), "transactions_per_second", "block_seconds"))
    names = [name for name in dict.fromkeys((*first, *ranked)) if _has_slider(plan, name)]
    chosen = set(names[:SLIDERS])
    return tuple(_slider_of(plan, name) for name in INPUTS if name in chosen)


def _has_slider(plan: Plan, name: str) -> bool:
    return bool(getattr(plan, name)) and input_range(plan, name) is not None


def _slider_of(plan: Plan, name: str) -> Slider:
    row, start = INPUTS[name], getattr(plan, name)
    ends = max(row.least, start / REACH), min(row.most, start * REACH)
    title = row.about.partition(";")[0]
    return Slider(name, title, row.unit, start, *ends, isinstance(start, int))


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
    "intervals. Times to finality are interpolated between blocks of the consensus model. The mark "
    "on a bar is the study as it is."
)


def section(panel: Panel) -> tuple[Markup, ...]:
    """Return the HTML of sliders (hidden without JavaScript), table, link, command and data."""
    form = element(
        "form",
        *(_slider(slider) for slider in panel.sliders),
        element("button", "As the study is", type="reset"),
        id="sliders",
        hidden="hidden",
        autocomplete="off",
    )
    again = element(
        "p",
        html.join(Markup('<a id="permalink" href="?">Link to these values</a>'), "; the same on "),
        "the command line: ",
        element("code", "", id="again"),
        hidden="hidden",
    )
    return form, _table(panel), again, _data(panel)


def script() -> str:
    """Return the JavaScript of the page: the translated formulas, and the code of the sliders."""
    given = {
        chain.binding: "binding", chain.uplink_bits_per_second: "uplink",
        chain._fitting_bundle: "unavailable", queueing._excess: "excess",
    }  # fmt: skip
    formulas = javascript.translate(FORMULAS, given)
    formulas += f"\nconst HEADER = {encoding.header_bytes()};"
    text = (files("pqchain.study") / "sliders.js").read_text(encoding="utf-8")
    return f"{javascript.PRELUDE}{formulas}\n{text}"


FORMULAS = (
    chain.gas, chain._fitting, chain.per_block, queueing.Blocks, queueing.left_over,
    queueing.latency_seconds, model.blocks, javascript.method(Model, "limit"),
    javascript.method(Model, "block_limit"), figures._cycle, figures.capacity_per_second,
    figures.throughput_per_second, figures.latency_seconds, figures.growth_bytes_per_year,
)  # fmt: skip
"""The functions of the model that the page's program contains."""


def _slider(slider: Slider) -> Markup:
    reach = math.log2(REACH)
    identifier = f"slider-{slider.name}"
    return element(
        "label",
        element("span", slider.title),
        element(
            "input", type="range", id=identifier, name=slider.name, value="0", step="any",
            min=f"{-reach:g}", max=f"{reach:g}",
        ),
        element("output", "", for_=identifier),
    )  # fmt: skip


def _table(panel: Panel) -> Markup:
    head = element(
        "tr",
        element("th", "algorithm", scope="col"),
        *(element("th", text, scope="col", class_="number") for text in FIGURES.values()),
        element("th", "binding limit", scope="col"),
    )
    capacities = {name: row["capacity_per_second"] for name, row in panel.start.items()}
    most = max(capacities.values(), default=0.0)
    rows = []
    for name, row in panel.start.items():
        texts = [QUANTITIES[figure].unit.text(row[figure]) for figure in FIGURES]
        share = 100 * capacities[name] / most if most else 0.0
        bar = element("span", class_="bar", style=f"--share: {share:.1f}%; --was: {share:.1f}%")
        first = element("td", element("span", texts[0]), bar, class_="number")
        rest = (element("td", text, class_="number") for text in texts[1:])
        rows.append(
            element(
                "tr", element("th", name, scope="row"), first, *rest, element("td", row.limit),
                class_="first",
            )
        )  # fmt: skip
    caption = element("caption", html.join(html.labels("modelled"), Markup(" "), _CAPTION))
    table = element(
        "table", caption, element("thead", head), element("tbody", *rows), id="moved",
        aria_live="polite",
    )  # fmt: skip
    return element("div", table, class_="scroll figures", tabindex="0")


def _data(panel: Panel) -> Markup:
    units = {name: QUANTITIES[name].unit for name in FIGURES}
    bounds = {name: [INPUTS[name].least, INPUTS[name].most] for name in COMPUTED}
    data = {
        "plan": panel.plan, "rows": panel.rows, "units": units, "bounds": bounds,
        "sliders": [asdict(slider) for slider in panel.sliders],
    }  # fmt: skip
    # JSON has no NaN; "<" is escaped because a script element would end at "</script>" in a text.
    text = json.dumps(_plain(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return element(
        "script", Markup(visible(text).replace("<", "\\u003c")), type="application/json", id="data"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, (list, tuple)) else value
