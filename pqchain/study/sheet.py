"""A study for people: its tables, its conclusions, and the one self-contained page.

Knows how figures are shown; computes none of them.
"""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from pqchain import plots, results
from pqchain.errors import UsageError
from pqchain.render import html, numbers
from pqchain.render.html import Markup
from pqchain.render.table import Column, Shown, Table
from pqchain.study import sensitivity
from pqchain.study.model import Findings, post_quantum
from pqchain.study.plan import Plan, inputs
from pqchain.study.quantities import QUANTITIES

_KINDS = ("registry", "published", "measured", "modelled")

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def shown(value: float, unit: str, digits: int = 3) -> str:
    """Show a figure with three digits and the prefix that fits: 1.63 TB, 12.0 s, 73.3 tx/s."""
    if not math.isfinite(value):
        return numbers.MISSING
    if unit == "s":
        return numbers.duration(value, digits)
    if unit == "×":
        return numbers.ratio(value, digits)
    unit = {"1/s": "tx/s"}.get(unit, unit)
    number = numbers.significant(value, digits)
    if unit in ("B", "bit/s"):
        number = numbers.integer(value) if value == round(value) else numbers.significant(value, 5)
        for scale, prefix in _PREFIXES:
            if value >= scale and (unit != "B" or value >= 1e5):
                number, unit = numbers.significant(value / scale, digits), f"{prefix}{unit}"
                break
    return f"{number}{numbers.NARROW_SPACE}{unit}" if unit else number


def text(findings: Findings) -> str:
    """Return the figures and conclusions for a terminal."""
    head = f"{findings.plan.title}\ntimes: {findings.costs.source}\n"
    return "\n".join([head, figures_table(findings).text(), "", *conclusions(findings)])


def conclusions(findings: Findings) -> list[str]:
    """Say in sentences what the figures show."""
    plan, values, best = findings.plan, findings.values, findings.best
    target = plan.transactions_per_second
    sentences = []
    if best:
        capacity = shown(values[best]["capacity_per_second"], "1/s", 2)
        sentences.append(
            f"Highest capacity of the post-quantum schemes: {best}, {capacity}; target "
            f"{numbers.significant(target, 2)}."
        )
    below = [name for name in values if values[name]["capacity_per_second"] < target]
    if below:
        sentences.append(
            f"Capacity below the target load: {', '.join(below)}. Their queues grow without "
            "bound; the latency is that of a transaction that the next block includes."
        )
    if plan.baseline and best:
        size, time = (
            shown(values[best][name], "×")
            for name in ("transaction_bytes_ratio", "verification_ratio")
        )
        sentences.append(
            f"From {plan.baseline} to {best}: transactions {size} the bytes, verification {time} "
            "the time."
        )
    return sentences


def figures_table(findings: Findings) -> Table:
    """Return every figure that any scheme has: a row per figure, a column per scheme."""
    values = findings.values
    by_name = findings.frame.groupby("quantity")["kind"].unique()
    rows = []
    for name in _present(findings):
        kinds = [kind for kind in _KINDS if kind in by_name[name]]
        told = [_named(name), Shown(kinds, ", ".join(kinds), html.labels(*kinds))]
        unit = QUANTITIES[name].unit
        rows.append(told + [Shown(each[name], shown(each[name], unit)) for each in values.values()])
    used = set(findings.frame["kind"])
    return Table(
        columns=[
            Column("figure"),
            Column("kind"),
            *(Column(name, numeric=True) for name in values),
        ],
        rows=rows,
        caption="Every figure, by scheme. A dash: there is no such figure, as of a scheme of which "
        "no transaction fits into a block.",
        source=[kind for kind in _KINDS if kind in used],
        style="figures",
    )


def tornado_table(tornado: pd.DataFrame) -> Table:
    """Return the values of a tornado."""
    unit = next(iter(tornado["unit"]), "")
    titles = {"low": "halved", "base": "as it is", "high": "doubled"}
    values = [
        Column(title, numeric=True, show=lambda value: shown(value, unit), key=key)
        for key, title in titles.items()
    ]
    return Table.of(
        tornado,
        [Column("input", show=numbers.spoken), *values],
        caption="The same as numbers.",
        source=["modelled"],
    )


def plane_table(plane: pd.DataFrame) -> Table:
    """Return the winners of a plane."""
    across, upwards = (numbers.spoken(str(plane[axis].iloc[0])) for axis in ("across", "upwards"))
    names = plane.pivot(index="upwards_factor", columns="across_factor", values="winner")
    factors = [numbers.factor(float(each)) for each in names.columns]
    return Table(
        columns=[Column(upwards, show=numbers.factor), *(Column(each, across) for each in factors)],
        rows=list(names.replace("", numbers.MISSING).itertuples(name=None)),
        caption="The same as names.",
        source=["modelled"],
    )


def inputs_table(plan: Plan) -> Table:
    """Return the inputs of a study with their sources."""
    rows = [[about, value, unit, source] for _, value, unit, about, source in inputs(plan)]
    return Table(
        columns=[Column("input"), Column("value", show=_plain), Column("unit"), Column("source")],
        rows=rows,
        caption="Inputs of the study.",
        style="figures",
    )


def sources_table(findings: Findings) -> Table:
    """Return where each figure comes from, and on what it depends."""
    by_name = findings.frame.groupby("quantity")["source"].unique()
    rows = [
        [_named(name), "; ".join(by_name[name]), ", ".join(sorted(QUANTITIES[name].needs))]
        for name in _present(findings)
    ]
    return Table(
        columns=[Column("figure"), Column("source"), Column("depends on")],
        rows=rows,
        caption="Sources, and the inputs that a figure depends on: no other changes it.",
        style="figures",
    )


def write(findings: Findings, path: str | Path, *, output: str = "capacity_per_second") -> Path:
    """Write the page, whole or not at all; return its path. `output` is what the tornado shows.

    Raises UsageError as `check_page` does, and UnknownName for a figure that there is not.
    """
    place = check_page(path)
    results.write_atomically(place, markup(findings, output=output))
    return place


def check_page(path: str | Path) -> Path:
    """Return where a page is to go. Raises UsageError if it cannot be written there."""
    place = Path(path)
    if place.suffix != ".html":
        raise UsageError(f"the page {place} should end in .html; give it such a name")
    results.check_writable(place)
    return place


def markup(findings: Findings, *, output: str = "capacity_per_second") -> str:
    """Compose the page: conclusions, figures, sensitivity, who wins where, inputs, sources."""
    plan, costs = findings.plan, findings.costs
    scheme = findings.best or plan.schemes[0]
    tornado = sensitivity.tornado(plan, costs, scheme=scheme, output=output)
    parts: dict[str, tuple[str, ...]] = {
        "figures": ("Figures by scheme", figures_table(findings).html()),
        "sensitivity": ("Sensitivity", _tornado(tornado), tornado_table(tornado).html()),
    }
    if post_quantum(plan):
        plane = sensitivity.plane(plan, costs)
        parts["plane"] = ("Which scheme wins where", _plane(plane), plane_table(plane).html())
    parts["inputs"] = ("Inputs", inputs_table(plan).html())
    parts["sources"] = ("Sources", sources_table(findings).html())
    head = html.element(
        "section",
        html.element("h1", plan.title),
        html.element("p", f"times: {costs.source}", class_="byline"),
        html.element("div", html.bullets(conclusions(findings)), class_="verdict", role="status"),
    )
    sections = [html.section(name, *part) for name, part in parts.items()]
    contents = [(name, title) for name, (title, *_) in parts.items()]
    return html.document(plan.title, contents, head, *sections)


def _tornado(tornado: pd.DataFrame) -> Markup:
    """Draw the tornado, unless no input changes anything."""
    if tornado.empty:
        return Markup()
    output, scheme = numbers.spoken(tornado["output"].iloc[0]), tornado["scheme"].iloc[0]
    return html.figure(
        plots.figure_bytes(plots.plot_tornado(tornado), "svg"),
        identifier="figure-tornado",
        description=f"Bars: {output} with {scheme} when one input at a time is halved or doubled; "
        "the table below holds the values.",
        caption=f"Sensitivity of {output} with {scheme}: each input halved and doubled. Inputs "
        "that change nothing are left out.",
    )


def _plane(plane: pd.DataFrame) -> Markup:
    return html.figure(
        plots.figure_bytes(plots.plot_plane(plane), "svg"),
        identifier="figure-plane",
        description="A plane of two inputs, each field with the post-quantum scheme of the "
        "greatest capacity; the table below holds the same.",
        caption="The post-quantum scheme of the greatest capacity. Leftwards fewer transactions "
        "carry their key (×1/16: one in 16), upwards every verification is slower."
        + _only_winner(plane),
    )


def _only_winner(plane: pd.DataFrame) -> str:
    """Say so if one scheme wins the whole plane."""
    names = [name for name in plane["winner"].unique() if name]
    if len(names) != 1:
        return ""
    ends = [
        f"{numbers.spoken(str(plane[axis].iloc[0]))} {numbers.factor(factors.min())} to "
        f"{numbers.factor(factors.max())}"
        for axis in ("across", "upwards")
        for factors in [plane[f"{axis}_factor"]]
    ]
    everywhere = "everywhere" if (plane["winner"] != "").all() else "wherever one does"
    return f" {names[0]} wins {everywhere} in this range: {', '.join(ends)}."


def _present(findings: Findings) -> list[str]:
    return list(findings.table.dropna(how="all").index)


def _named(name: str) -> Shown:
    """Name a figure: as commands do on a terminal, in words on a page."""
    return Shown(name, name, html.join(QUANTITIES[name].about))


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
