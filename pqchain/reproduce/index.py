"""The first page of a run: machine, warnings, verdicts by work, links to pages and files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from pqchain.bench import variation
from pqchain.figures import Kind
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.render.table import Column, Shown, Table
from pqchain.reproduce.outcome import Pages, Reproduction, WorkResults
from pqchain.results import outputs
from pqchain.works.printed import EXPLAINED
from pqchain.works.verdicts import FAILS, FITTED, HOLDS, HOLDS_HERE, NOT_HERE, OPEN
from pqchain.works.work import split_ours

TITLE = "Post-quantum cryptography in blockchains: published, and measured here"

_FINE = (
    "Every printed size equals that of the implementation, belongs to another version or "
    "definition that is named, or is a known erratum; no computation failed."
)

_NOTES = (
    "Hold, do not, open: by the work's own numbers, by sizes of the same version, or by runs in "
    "the work's setting.",
    "Hold here, not here: in a setting that is not the work's (its machine, code, size or clock), "
    "so neither confirmed nor refuted.",
    "Fitted: a model agrees whose parameters were fitted to the numbers that make the statement, "
    "so it confirms nothing.",
)

_PRINT, _OURS, _SIZES = "by the paper's numbers", "by numbers of pqchain", "printed sizes"

_GROUPS: dict[str, dict[str, Sequence[str]]] = {
    _PRINT: {"hold": [HOLDS], "do not": [FAILS], "open": [OPEN]},
    _OURS: {
        "hold": [HOLDS], "do not": [FAILS], "hold here": HOLDS_HERE, "not here": NOT_HERE,
        "fitted": [FITTED], "open": [OPEN],
    },
    _SIZES: {"equal": ["equal"], "explained": EXPLAINED, "different": ["different"]},
}  # fmt: skip
"""Verdicts by the heading of their count."""


def page(reproduction: Reproduction, folder: Path) -> str:
    """Return the page as HTML; `folder` has all other files of the run."""
    provenance, failures = reproduction.provenance, reproduction.failures
    made = str(provenance.get("date", "")).replace("T", " ").replace("+00:00", " UTC")
    facts = (
        provenance.get("cpu_model", ""), made, variation.quality(reproduction.measurements),
        f"pqchain {provenance.get('pqchain', '')}",
    )  # fmt: skip
    content = [_FINE]
    if failures:
        content = [html.element("p", f"{len(failures)} checks failed:"), html.bullets(failures)]
    parts = [
        html.element("h1", TITLE),
        html.element("p", ", ".join(filter(None, facts)), class_="byline"),
        *_warnings(reproduction),
        html.element("div", *content, class_="verdict bad" if failures else "verdict"),
        works_table(reproduction).html(),
        html.folded("Files of this run", html.bullets(_links(folder))),
    ]
    pages = [
        ("index.html", TITLE),
        *((file, key) for key, file in reproduction.pages.files.items()),
    ]
    return html.document(TITLE, [], *parts, pages=pages)


def _warnings(reproduction: Reproduction) -> Iterator[Markup]:
    lines = variation.warnings(reproduction.measurements)
    if reproduction.pages.missing:
        lines = [*lines, f"The pages of the works were not written: {reproduction.pages.missing}."]
    if lines:
        yield html.element("div", html.bullets(lines), class_="verdict bad", role="alert")


def _links(folder: Path) -> Iterator[Markup]:
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    for name in sorted({outputs.MANIFEST, *(path.as_posix() for path in paths)}):
        yield html.link(name, name)


def works_table(reproduction: Reproduction) -> Table:
    """Return a table of the counts of verdicts on the works' statements, a row for each work."""
    columns = [Column("work"), Column("times compared", numeric=True)]
    columns += [Column(name, group, True) for group, names in _GROUPS.items() for name in names]
    rows = [_row(result, reproduction.pages) for result in reproduction.results]
    sources = set(reproduction.claims["source"])
    added = split_ours(reproduction.claims)[1]["claim_id"].nunique()
    return Table(
        columns=columns,
        rows=rows,
        caption="Verdicts on the statements of each work.",
        notes=[*_NOTES, f"Statements of ours, which no work makes, are not counted: {added}."],
        source=[kind for kind in Kind if kind in sources],
    )


def _row(result: WorkResults, pages: Pages) -> list[object]:
    key, title = result.work.key, result.work.paper.title
    claims, _ = split_ours(result.claims)
    is_print = claims["source"] == Kind.PUBLISHED
    verdicts: dict[str, pd.Series[str]] = {
        _PRINT: claims.loc[is_print, "verdict"],
        _OURS: claims.loc[~is_print, "verdict"],
        _SIZES: result.sizes["verdict"],
    }
    counts = [
        int(verdicts[group].isin(names).sum())
        for group, headings in _GROUPS.items()
        for names in headings.values()
    ]
    name = html.link(title, pages.files[key]) if key in pages.files else html.join(title)
    return [Shown(key, key, name), int(result.times["ratio"].notna().sum()), *counts]
