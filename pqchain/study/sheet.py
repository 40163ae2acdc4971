"""A study on paper: the one self-contained page, and the table for a terminal.

Knows how figures are shown; computes none of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from pqchain import plots, results
from pqchain.errors import UsageError
from pqchain.render import html, numbers
from pqchain.render.html import Column, Markup
from pqchain.study import model, sensitivity
from pqchain.study.model import QUANTITIES, Found
from pqchain.study.plan import inputs

_KINDS = ("registry", "published", "measured", "modelled")


def shown(value: float, unit: str) -> str:
    """Show a figure with three digits and the prefix that fits: 1.63 TB, 12.0 s, 210 d."""
    if not math.isfinite(value):
        return numbers.MISSING
    if unit == "s":
        return numbers.duration(value, 3)
    if unit == "×":
        return numbers.ratio(value)
    if unit in ("B", "bit/s"):
        for scale, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
            if value >= scale and (unit != "B" or value >= 1e5):
                return f"{numbers.significant(value / scale)}{numbers.NARROW_SPACE}{prefix}{unit}"
        number = numbers.integer(value) if value == round(value) else numbers.significant(value, 5)
        return f"{number}{numbers.NARROW_SPACE}{unit}"
    return f"{numbers.significant(value)}{numbers.NARROW_SPACE}{unit}".strip()


def text(found: Found) -> str:
    """Return the figures as a table for a terminal: a row per figure, a column per scheme."""
    values, kinds = found.values, _kinds(found.frame)
    rows = [
        [name, kinds[name], *(shown(values[scheme][name], QUANTITIES[name].unit)
                              for scheme in values)]
        for name in _told(found)
    ]  # fmt: skip
    table = numbers.text_table(
        ["figure", "kind", *values], rows, right=range(2, 2 + len(values))
    )  # fmt: skip
    head = [found.plan.title, f"times: {found.costs.source}", ""]
    return "\n".join([*head, table, "", *conclusions(found)])


def conclusions(found: Found) -> list[str]:
    """Say in sentences what the figures say."""
    plan, values, best = found.plan, found.values, found.best
    wanted = plan.transactions_per_second
    said = []
    if best:
        capacity = shown(values[best]["capacity_per_second"], "1/s")
        said.append(
            f"Of the post-quantum schemes {best} lets the chain take most: {capacity}, "
            f"{shown(wanted, '1/s')} are wanted."
        )
    short = [name for name in values if values[name]["capacity_per_second"] < wanted]
    if short:
        said.append(
            f"Too little for what is wanted: {', '.join(short)}. Their queues only grow; "
            "latency is that of a transaction which the next block takes."
        )
    if plan.baseline and best:
        size, time = (
            shown(values[best][name], "×")
            for name in ("transaction_bytes_ratio", "verification_ratio")
        )
        said.append(
            f"From {plan.baseline} to {best} a transaction takes {size} the bytes and {time} the "
            "time of verification."
        )
    return said


def _told(found: Found) -> list[str]:
    """Return the figures that any scheme has."""
    values = found.values.values()
    return [name for name in QUANTITIES if any(math.isfinite(each[name]) for each in values)]


def write(found: Found, path: str | Path, *, output: str = "capacity_per_second") -> Path:
    """Write the page, whole or not at all; return its path. `output` is what the tornado shows.

    Raises UsageError as `check_page` does, and UnknownName for a figure that there is not.
    """
    place = check_page(path)
    results.write_atomically(place, markup(found, output=output))
    return place


def check_page(path: str | Path) -> Path:
    """Return where a page is to go. Raises UsageError if it cannot be written there."""
    place = Path(path)
    if place.suffix != ".html":
        raise UsageError(f"the page {place} should end in .html; give it such a name")
    results.check_writable(place)
    return place


def markup(found: Found, *, output: str = "capacity_per_second") -> str:
    """Compose the page: conclusions, figures, sensitivity, who wins where, inputs, sources."""
    plan, costs = found.plan, found.costs
    contenders = model.post_quantum(plan)
    scheme = found.best or plan.schemes[0]
    tornado = sensitivity.tornado(plan, costs, scheme=scheme, output=output)
    drawn = []
    if len(tornado):
        drawn.append(_figure(
            "tornado", plots.figure_bytes(plots.plot_tornado(tornado), "svg"),
            f"Bars: {html.spoken(output)} with {scheme} when one input at a time is halved or "
            "doubled; the table below holds the values.",
            f"What matters for {html.spoken(output)} with {scheme}: each input halved and doubled. "
            "Inputs that change nothing are left out.",
        ))  # fmt: skip
    sections = [
        _head(found),
        html.section("figures", "What the chain gives and takes", _figures(found)),
        html.section("sensitivity", "What matters", *drawn, _tornado_table(tornado)),
    ]
    contents = [("figures", "Figures"), ("sensitivity", "What matters")]
    if contenders:
        winners = sensitivity.plane(plan, costs)
        svg = plots.figure_bytes(plots.plot_plane(winners), "svg")
        sections.append(
            html.section(
                "plane", "Which scheme wins where",
                _figure(
                    "plane", svg,
                    "A plane of two inputs, each field with the post-quantum scheme of the "
                    "greatest capacity; the table below holds the same.",
                    "The post-quantum scheme with which the chain takes most. Leftwards fewer "
                    "transactions carry their key (×1/16: one in 16), upwards every "
                    f"verification is slower.{_alone(winners)}",
                ),
                _plane_table(winners),
            )
        )  # fmt: skip
        contents.append(("plane", "Which scheme wins where"))
    sections += [
        html.section("inputs", "Inputs and where they come from", _inputs(found)),
        html.section("sources", "Where the figures come from", _sources(found)),
    ]
    contents += [("inputs", "Inputs"), ("sources", "Sources")]
    return html.document(plan.title, contents, *sections)


def _alone(winners: pd.DataFrame) -> str:
    """Say so if one scheme wins the whole plane."""
    names = [name for name in winners["winner"].unique() if name]
    if len(names) != 1:
        return ""
    ends = [
        f"{html.spoken(str(winners[axis].iloc[0]))} {numbers.factor(factors.min())} to "
        f"{numbers.factor(factors.max())}"
        for axis in ("across", "upwards")
        for factors in [winners[f"{axis}_factor"]]
    ]
    everywhere = "everywhere" if (winners["winner"] != "").all() else "wherever one does"
    return f" {names[0]} wins {everywhere} in this range: {', '.join(ends)}."


def _figure(name: str, svg: bytes, description: str, caption: str) -> Markup:
    """Put a plot into the page."""
    return html.figure(svg, identifier=f"figure-{name}", description=description, caption=caption)


def _head(found: Found) -> Markup:
    """Write the title and what the study says."""
    return html.element(
        "section",
        html.element("h1", found.plan.title),
        html.element("p", f"times: {found.costs.source}", class_="byline"),
        html.element("div", html.bullets(conclusions(found)), class_="verdict", role="status"),
    )


def _kinds(frame: pd.DataFrame) -> Mapping[str, str]:
    """Return the kinds of number of each figure, in words."""
    found: dict[str, str] = {}
    for name, rows in frame.groupby("quantity", sort=False):
        found[str(name)] = ", ".join(kind for kind in _KINDS if kind in set(rows["kind"]))
    return found


def _figures(found: Found) -> Markup:
    """Write the table of all figures."""
    values, kinds = found.values, _kinds(found.frame)
    rows = [
        [
            QUANTITIES[name].about,
            html.labels(*kinds[name].split(", ")),
            *(shown(values[scheme][name], QUANTITIES[name].unit) for scheme in values),
        ]
        for name in _told(found)
    ]
    columns = [Column("figure"), Column("kind"), *(Column(name, numeric=True) for name in values)]
    used = [kind for kind in _KINDS if kind in set(found.frame["kind"])]
    written = html.table(
        columns, rows, caption="Every figure, by scheme. A dash: there is no such figure, as of "
        "a scheme of which no transaction fits into a block.", source=used,
    )  # fmt: skip
    return _wrapped(written)


def _wrapped(table: Markup) -> Markup:
    """Let the first column break: it holds words, and leaves more room for the others."""
    return html.element("div", table, class_="figures")


def _tornado_table(tornado: pd.DataFrame) -> Markup:
    """Write the values of the tornado."""
    rows = [
        [
            html.spoken(row["input"]),
            *(shown(row[at], row["unit"]) for at in ("low", "base", "high")),
        ]
        for row in tornado.to_dict("records")
    ]
    columns = [Column("input"), *(Column(name, numeric=True)
                                  for name in ("halved", "as it is", "doubled"))]  # fmt: skip
    return html.table(columns, rows, caption="The same as numbers.", source=["modelled"])


def _plane_table(winners: pd.DataFrame) -> Markup:
    """Write the winners of the plane."""
    across, upwards = str(winners["across"].iloc[0]), str(winners["upwards"].iloc[0])
    names = {
        (row["upwards_factor"], row["across_factor"]): row["winner"] or numbers.MISSING
        for row in winners.to_dict("records")
    }
    factors = sorted({right for _, right in names})
    columns = [
        Column(html.spoken(upwards)),
        *(Column(numbers.factor(factor), group=html.spoken(across)) for factor in factors),
    ]
    rows = [
        [numbers.factor(up), *(names[up, right] for right in factors)]
        for up in sorted({up for up, _ in names})
    ]
    return html.table(columns, rows, caption="The same as names.", source=["modelled"])


def _inputs(found: Found) -> Markup:
    """Write the inputs."""
    rows = [
        [about, f"{value:g}" if isinstance(value, float) else str(value), unit, source]
        for _, value, unit, about, source in inputs(found.plan)
    ]
    columns = [Column("input"), Column("value"), Column("unit"), Column("source")]
    return _wrapped(html.table(columns, rows, caption="What the study was asked.", source=[]))


def _sources(found: Found) -> Markup:
    """Write where each figure comes from, and on what it depends."""
    rows = []
    for name in _told(found):
        told = found.frame[found.frame["quantity"] == name]
        sources = "; ".join(dict.fromkeys(told["source"]))
        needs = ", ".join(sorted(QUANTITIES[name].needs))
        rows.append([QUANTITIES[name].about, sources, needs])
    columns = [Column("figure"), Column("source"), Column("depends on")]
    return _wrapped(html.table(
        columns, rows, caption="Sources, and the inputs that a figure depends on: no other "
        "changes it.", source=[],
    ))  # fmt: skip
