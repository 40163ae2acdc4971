"""HTML page of a study: one self-contained file with the main results at the top."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import plots
from pqchain.errors import UsageError
from pqchain.figures import Kind, humanize
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.render.table import Column, Table
from pqchain.results.files import check_writable, write_atomically
from pqchain.study import queueing, text
from pqchain.study.analysis import Analysis
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
    findings, plan = analysis.findings, analysis.findings.plan
    calibration = text.calibration_table(findings.calibration).html()
    tornado, load = analysis.tornado, analysis.load
    # Sections without content are those of features that the plan does not have.
    rows: tuple[tuple[str, str, Iterable[Markup]], ...] = (
        ("calibration", "The model compared with today", [calibration]),
        ("limits", "Binding limits", [_capacity(findings)]),
        ("figures", "Figures by scheme", [_folded("All figures", text.figures_table(findings))]),
        ("load", "Latency and load", () if load.empty else _load(load)),
        ("sensitivity", "Sensitivity", () if tornado.empty else _tornado(tornado)),
        ("inputs", "Inputs", [_folded("All inputs", text.inputs_table(plan))]),
        ("sources", "Sources", [_folded("Sources of all figures", text.sources_table(findings))]),
    )
    sections = [(name, title, parts) for name, title, of in rows if (parts := list(of))]
    # Apart from the results, in the colour of a failure: a reader must not take them for one.
    warnings = text.warnings(findings)
    caution = html.element("div", html.bullets(warnings), class_="verdict bad", role="alert")
    results = html.bullets([*opening, *text.conclusions(findings)])
    times = f"times: {findings.times.origin}; {text.spread(findings)}"
    head = html.element(
        "section",
        html.element("h1", plan.title),
        html.element("p", QUESTION, class_="byline"),
        *([caution] if warnings else []),
        html.element("div", results, class_="verdict plain", role="status"),
        text.main_table(findings).html(),
        html.element("p", times, class_="byline"),
        html.element("p", text.status(plan), class_="byline"),
    )
    contents = [(name, title) for name, title, _ in sections]
    body = (html.section(name, title, *parts) for name, title, parts in sections)
    return html.document(plan.title, contents, head, *body)


def _folded(summary: str, table: Table) -> Markup:
    """Return a long table that is collapsed until the reader opens it."""
    return html.folded(f"{summary} ({len(table.rows)} rows)", table.html())


def _figure(name: str, axes: Any, caption: str) -> Markup:
    svg = plots.figure_bytes(axes, "svg")
    return html.figure(svg, identifier=f"figure-{name}", description=caption, caption=caption)


def _capacity(findings: Findings) -> Markup:
    rows = findings.frame[findings.frame["quantity"] == "capacity_per_second"]
    return _figure(
        "capacity",
        plots.plot_capacity(rows, findings.limits, baseline=findings.plan.chain.baseline),
        "Capacity by scheme, with the binding limit and the interval of nine draws of ten.",
    )


def _load(curve: pd.DataFrame) -> Iterator[Markup]:
    yield _figure(
        "load",
        plots.plot_load(curve),
        "Latency of a transaction by arrivals, with its wait in the queue: transactions arrive as "
        "a Poisson process, blocks take the oldest first (Spitzer's sum for the rest).",
    )
    few = curve[curve["load"].isin(queueing.LOADS)]
    wide = few.pivot(index="load", columns="algorithm", values="latency_seconds").reset_index()
    columns = [Column("share of the capacity", numeric=True, key="load", unit="share")]
    columns += [Column(name, numeric=True, unit="s") for name in curve["algorithm"].unique()]
    caption = "Mean latency of a transaction by load, with its wait in the queue: a closed form."
    yield _modelled(wide, columns, caption, style="figures")


def _tornado(frame: pd.DataFrame) -> Iterator[Markup]:
    output, algorithm, unit = frame.iloc[0][["output", "algorithm", "unit"]]
    yield _figure(
        "tornado",
        plots.plot_tornado(frame),
        f"Sensitivity of {humanize(output)} with {algorithm}: each input halved and doubled. "
        "Inputs without an effect are left out.",
    )
    titles = {"low": "halved", "base": "as it is", "high": "doubled"}
    values = (Column(title, numeric=True, key=key, unit=unit) for key, title in titles.items())
    yield _modelled(frame, [Column("input", show=humanize), *values], "The values of the plot.")


def _modelled(frame: pd.DataFrame, columns: list[Column], caption: str, **style: Any) -> Markup:
    return Table.of(frame, columns, caption=caption, source=[Kind.MODELLED], **style).html()
