"""HTML page of a study: one self-contained file with the main results at the top."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import figures, plots
from pqchain.errors import UsageError
from pqchain.figures import MISSING, Kind, humanize
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.render.table import Column, Shown, Table
from pqchain.results.files import check_writable, write_atomically
from pqchain.study import queueing, tables, text
from pqchain.study.analysis import Analysis
from pqchain.study.inputs import Plan
from pqchain.study.sampling import Findings

QUESTION = "How many transactions does the chain carry with each scheme, and which limit binds?"


def write(analysis: Analysis, path: str | Path, *, opening: Sequence[str] = ()) -> Path:
    """Write the page atomically; return its path. Raises UsageError as `check_page` does.

    `opening` are sentences that come before those of the study.
    """
    place = check_page(path)
    # Whole or not at all: a reader may reload while the page is written.
    write_atomically(place, markup(analysis, opening))
    return place


def check_page(path: str | Path) -> Path:
    """Check that a page can be written to `path`; return it as a Path. Raises UsageError."""
    place = Path(path)
    if place.suffix != ".html":
        raise UsageError(f"the name of a page must end in .html; got {place}")
    check_writable(place, only_ours=True)
    return place


def markup(analysis: Analysis, opening: Sequence[str] = ()) -> str:
    """Return the page of a study as HTML, with further sentences at its beginning."""
    findings, tornado = analysis.findings, analysis.tornado
    plan = findings.plan
    parts: dict[str, tuple[str, ...]] = {
        "calibration": (
            "The model compared with today", tables.calibration_table(findings.calibration).html()
        ),
        "limits": ("Binding limits", _capacity(findings), tables.limits_table(findings).html()),
        "figures": ("Figures by scheme", _folded("All figures", tables.figures_table(findings))),
    }  # fmt: skip
    if len(analysis.load):
        table = _load_table(analysis.load)
        parts["load"] = ("Latency and load", _load(analysis.load), table.html())
    if trees := tables.trees_table(plan):
        parts["trees"] = ("Trees of aggregators", trees.html())
    if analysis.migration is not None:
        table = _migration_table(analysis.migration)
        plot = _migration(analysis.migration, plan, analysis.algorithm)
        parts["migration"] = ("Migration", plot, table.html())
    outcomes = tables.outcomes_table(analysis.outcomes)
    parts["outcomes"] = ("Published outcomes", _folded("Outcomes of all chains", outcomes))
    parts["sensitivity"] = ("Sensitivity", _tornado(tornado), _tornado_table(tornado).html())
    if analysis.plane is not None:
        table = _plane_table(analysis.plane)
        parts["plane"] = ("Best scheme by two inputs", _plane(analysis.plane), table.html())
    parts["inputs"] = ("Inputs", _folded("All inputs", tables.inputs_table(plan)))
    sources = _folded("Sources of all figures", tables.sources_table(findings))
    parts["sources"] = ("Sources", sources)
    # Apart from the results, in the colour of a failure: a reader must not take them for one.
    warnings = text.warnings(findings)
    caution = html.element("div", html.bullets(warnings), class_="verdict bad", role="alert")
    times = f"times: {findings.costs.source}; {text.spread(findings)}"
    head = html.element(
        "section",
        html.element("h1", plan.title),
        html.element("p", QUESTION, class_="byline"),
        *([caution] if warnings else []),
        html.element(
            "div",
            html.bullets([*opening, *text.conclusions(findings)]),
            class_="verdict plain",
            role="status",
        ),
        _cards(findings),
        html.element("p", times, class_="byline"),
        html.element("p", text.status(plan), class_="byline"),
    )
    sections = [html.section(name, *part) for name, part in parts.items()]
    contents = [(name, title) for name, (title, *_) in parts.items()]
    return html.document(plan.title, contents, head, *sections)


def _cards(findings: Findings) -> Markup:
    """Return the main figures of each scheme, side by side: a table of many would be too wide."""
    table = tables.main_table(findings)
    words = [str(row[0]) for row in table.rows]
    cards = []
    for at, column in enumerate(table.columns[1:], start=1):
        cells = (row[at] for row in table.rows)
        values = (cell.text if isinstance(cell, Shown) else str(cell) for cell in cells)
        title = html.element("h3", column.title)
        pairs = html.pairs(zip(words, values, strict=True))
        cards.append(html.element("div", title, pairs, class_="tally"))
    return html.element("div", *cards, class_="tallies")


def _folded(summary: str, table: Table) -> Markup:
    """Return a long table that is collapsed until the reader opens it."""
    return html.folded(f"{summary} ({len(table.rows)} rows)", table.html())


def _figure(name: str, axes: Any, **texts: str) -> Markup:
    svg = plots.figure_bytes(axes, "svg")
    return html.figure(svg, identifier=f"figure-{name}", **texts)


def _capacity(findings: Findings) -> Markup:
    frame = findings.frame
    rows = frame[frame["quantity"] == "capacity_per_second"]
    return _figure(
        "capacity",
        plots.plot_capacity(rows, dict(findings.limits), baseline=findings.plan.baseline),
        description="A bar for each scheme: transactions per second of full blocks, with interval, "
        "loss and binding limit; the tables hold the values.",
        caption="Capacity by scheme, with the binding limit and the interval of nine draws of ten.",
    )


def _load(curve: pd.DataFrame) -> Markup:
    return _figure(
        "load",
        plots.plot_load(curve),
        description="Lines: mean latency by arrivals for each scheme, up to 98 % of its "
        "capacity; the table below holds the values.",
        caption="Latency of a transaction by arrivals, with its wait in the queue: transactions "
        "arrive as a Poisson process, blocks take the oldest first (Spitzer's sum for the rest).",
    )


def _migration(frame: pd.DataFrame, plan: Plan, algorithm: str) -> Markup:
    return _figure(
        "migration",
        plots.plot_migration(frame),
        description="Lines by day: share of the accounts that moved, and growth of the chain per "
        "day; the table below holds some of the days.",
        caption=f"{figures.integer(plan.accounts)} accounts move from {plan.baseline} to "
        f"{algorithm}: {plan.moving_share:.0%} of each block is for moves, half of the accounts "
        f"ask within {plan.adoption_days:g} days.",
    )


def _tornado(tornado: pd.DataFrame) -> Markup:
    if tornado.empty:
        return Markup()
    output, algorithm = humanize(tornado["output"].iloc[0]), tornado["algorithm"].iloc[0]
    return _figure(
        "tornado",
        plots.plot_tornado(tornado),
        description=f"Bars: {output} with {algorithm} when one input at a time is halved or "
        "doubled; the table below holds the values.",
        caption=f"Sensitivity of {output} with {algorithm}: each input halved and doubled. Inputs "
        "without an effect are left out.",
    )


def _plane(plane: pd.DataFrame) -> Markup:
    return _figure(
        "plane",
        plots.plot_plane(plane),
        description="A plane of two inputs, each cell with the post-quantum scheme of the "
        "greatest capacity; the table below holds the same.",
        caption="The post-quantum scheme of the greatest capacity. To the left fewer transactions "
        "carry their key (×1/16: one in 16), upwards every verification is slower."
        + _only_winner(plane),
    )


def _only_winner(plane: pd.DataFrame) -> str:
    names = [name for name in plane["winner"].unique() if name]
    if len(names) != 1:
        return ""
    ends = [
        f"{humanize(str(plane[axis].iloc[0]))} {figures.factor(factors.min())} to "
        f"{figures.factor(factors.max())}"
        for axis in ("across", "upwards")
        for factors in [plane[f"{axis}_factor"]]
    ]
    everywhere = "everywhere" if (plane["winner"] != "").all() else "wherever one does"
    return f" {names[0]} wins {everywhere} in this range: {', '.join(ends)}."


def _load_table(curve: pd.DataFrame) -> Table:
    """Return a table of latency: a row for each load, a column for each scheme."""
    few = curve[curve["load"].isin(queueing.LOADS)]
    wide = few.pivot(index="load", columns="algorithm", values="latency_seconds")
    names = list(dict.fromkeys(curve["algorithm"]))
    return Table(
        columns=[
            Column("share of the capacity", numeric=True, unit="share"),
            *(Column(name, numeric=True, unit="s") for name in names),
        ],
        rows=[[load, *row] for load, row in zip(wide.index, wide[names].to_numpy(), strict=True)],
        caption="Mean latency of a transaction by load, with its wait in the queue: a closed form.",
        source=[Kind.MODELLED],
        style="figures",
    )


def _migration_table(frame: pd.DataFrame) -> Table:
    """Return a table of a migration at nine of its days, equally spaced."""
    last = len(frame) - 1
    # At equal distances, with the first and the last day.
    picked = frame.iloc[sorted({round(last * part / 8) for part in range(9)})]
    columns = (
        "day", "phase", "moved_share", "waiting_share", "carried_per_second",
        "growth_bytes_per_day",
    )  # fmt: skip
    caption = "The migration at nine of its days."
    return Table.of(picked, columns, caption=caption, source=[Kind.MODELLED])


def _tornado_table(tornado: pd.DataFrame) -> Table:
    """Return a table of a figure with each input halved, unchanged and doubled."""
    unit = next(iter(tornado["unit"]), "")
    titles = {"low": "halved", "base": "as it is", "high": "doubled"}
    values = (Column(title, numeric=True, key=key, unit=unit) for key, title in titles.items())
    return Table.of(
        tornado,
        [Column("input", show=humanize), *values],
        caption="The values of the plot.",
        source=[Kind.MODELLED],
    )


def _plane_table(plane: pd.DataFrame) -> Table:
    """Return a table of the best scheme for each pair of factors of two inputs."""
    across, upwards = (humanize(str(plane[axis].iloc[0])) for axis in ("across", "upwards"))
    names = plane.pivot(index="upwards_factor", columns="across_factor", values="winner")
    factors = [figures.factor(float(factor)) for factor in names.columns]
    return Table(
        columns=[
            Column(upwards, show=figures.factor),
            *(Column(factor, across) for factor in factors),
        ],
        rows=list(names.replace("", MISSING).itertuples(name=None)),
        caption="The schemes of the plot.",
        source=[Kind.MODELLED],
    )
