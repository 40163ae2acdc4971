"""The page of a study: one self-contained file, the answer and its interval on the first screen."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pqchain import figures, plots, results
from pqchain.errors import UsageError
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.study import answer, grid, migration, outcomes, sensitivity, sheet, sliders
from pqchain.study.findings import Findings
from pqchain.study.model import post_quantum
from pqchain.study.plan import Plan

QUESTION = "How many transactions does the chain carry with each signature scheme, and what binds?"


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
    """Compose the page: answer, calibration, limits, figures, load, migration, sensitivity."""
    plan, costs = findings.plan, findings.costs
    scheme = findings.best or plan.schemes[0]
    tornado = sensitivity.tornado(plan, costs, scheme=scheme, output=output)
    curve, ahead = findings.load, grid.grid(plan, costs, scheme)
    parts: dict[str, tuple[str, ...]] = {
        "calibration": ("The model against today", sheet.calibration_table(findings).html()),
        "limits": (
            "Limits that bind", _capacity(findings), sheet.limits_table(findings).html()
        ),
        "move": ("Move the inputs", *sliders.section(plan, ahead)),
        "figures": ("Figures by scheme", sheet.figures_table(findings).html()),
    }  # fmt: skip
    if len(curve):
        parts["load"] = ("Latency and load", _load(curve), sheet.load_table(curve).html())
    if trees := sheet.trees_table(plan):
        parts["trees"] = ("Trees of aggregators", trees.html())
    if _migrates(findings):
        moved = migration.series(migration.of_study(findings, scheme))
        parts["migration"] = (
            "Migration", _migration(moved, plan, scheme), sheet.migration_table(moved).html()
        )  # fmt: skip
    parts["outcomes"] = (
        "What chains found", sheet.outcomes_table(outcomes.scoreboard(costs)).html()
    )  # fmt: skip
    parts["sensitivity"] = (
        "Sensitivity", _tornado(tornado), sheet.tornado_table(tornado).html()
    )  # fmt: skip
    if post_quantum(plan):
        plane = sensitivity.plane(plan, costs)
        parts["plane"] = ("Which scheme wins where", _plane(plane), sheet.plane_table(plane).html())
    parts["inputs"] = ("Inputs", sheet.inputs_table(plan).html())
    parts["sources"] = ("Sources", sheet.sources_table(findings).html())
    said = [*answer.doubts(findings), *answer.conclusions(findings)]
    head = html.element(
        "section",
        html.element("h1", plan.title),
        html.element("p", QUESTION, class_="byline"),
        html.element("div", html.bullets(said), class_="verdict", role="status"),
        html.element("p", f"times: {costs.source}; {answer.spread(findings)}", class_="byline"),
    )
    sections = [html.section(name, *part) for name, part in parts.items()]
    contents = [(name, title) for name, (title, *_) in parts.items()]
    return html.document(plan.title, contents, head, *sections, script=sliders.script())


def _migrates(findings: Findings) -> bool:
    """Whether accounts of the study can move to its best scheme."""
    best = findings.best
    return bool(best) and findings.values[best]["migration_seconds"] > 0


def _capacity(findings: Findings) -> Markup:
    rows = findings.frame[findings.frame["quantity"] == "capacity_per_second"]
    return html.figure(
        plots.figure_bytes(plots.plot_capacity(rows, findings.limits), "svg"),
        identifier="figure-capacity",
        description="A bar for each scheme: transactions per second of full blocks, with interval "
        "and the limit that binds; the tables hold the values.",
        caption="Capacity by scheme, with the limit that binds and the interval of nine draws of "
        "ten.",
    )


def _load(curve: pd.DataFrame) -> Markup:
    return html.figure(
        plots.figure_bytes(plots.plot_load(curve), "svg"),
        identifier="figure-load",
        description="Lines: mean latency over arrivals for each scheme, up to 98 % of its "
        "capacity; the table below holds the values.",
        caption="Latency of a transaction against arrivals, queue included: transactions arrive "
        "as a Poisson process, blocks take the oldest first (Spitzer's sum for what is left over).",
    )


def _migration(frame: pd.DataFrame, plan: Plan, scheme: str) -> Markup:
    return html.figure(
        plots.figure_bytes(plots.plot_migration(frame), "svg"),
        identifier="figure-migration",
        description="Lines over days: share of the accounts that moved, and growth of the chain a "
        "day; the table below holds some of the days.",
        caption=f"{figures.integer(plan.accounts)} accounts move from {plan.baseline} to {scheme}: "
        f"{plan.moving_share:.0%} of each block is given to them, half have asked after "
        f"{plan.adoption_days:g} days.",
    )


def _tornado(tornado: pd.DataFrame) -> Markup:
    """Draw the tornado, unless no input changes anything."""
    if tornado.empty:
        return Markup()
    output, scheme = figures.humanize(tornado["output"].iloc[0]), tornado["scheme"].iloc[0]
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
        f"{figures.humanize(str(plane[axis].iloc[0]))} {figures.factor(factors.min())} to "
        f"{figures.factor(factors.max())}"
        for axis in ("across", "upwards")
        for factors in [plane[f"{axis}_factor"]]
    ]
    everywhere = "everywhere" if (plane["winner"] != "").all() else "wherever one does"
    return f" {names[0]} wins {everywhere} in this range: {', '.join(ends)}."
