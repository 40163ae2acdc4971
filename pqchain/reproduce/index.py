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
from pqchain.reproduce import notebooks
from pqchain.reproduce.outcome import Reproduction, WorkResults
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
_COLUMNS: Sequence[tuple[str, str, Sequence[str]]] = (
    (_PRINT, "hold", [HOLDS]),
    (_PRINT, "do not", [FAILS]),
    (_PRINT, "open", [OPEN]),
    (_OURS, "hold", [HOLDS]),
    (_OURS, "do not", [FAILS]),
    (_OURS, "hold here", HOLDS_HERE),
    (_OURS, "not here", NOT_HERE),
    (_OURS, "fitted", [FITTED]),
    (_OURS, "open", [OPEN]),
    (_SIZES, "equal", ["equal"]),
    (_SIZES, "explained", EXPLAINED),
    (_SIZES, "different", ["different"]),
)
"""Columns of counts: group, title and the verdicts that are counted."""


def page(reproduction: Reproduction, folder: Path) -> str:
    """Return the page as HTML; `folder` has all other files of the run."""
    measured, failures = reproduction.measurements, reproduction.failures
    facts = measured.attrs["provenance"]
    date = f"{facts['date'][:19].replace('T', ' ')} UTC"
    about = (facts["cpu_model"], date, variation.quality(measured), f"pqchain {facts['pqchain']}")
    content = [_FINE]
    if failures:
        content = [html.element("p", f"{len(failures)} checks failed:"), html.bullets(failures)]
    warnings = variation.warnings(measured)
    if lacking := notebooks.missing():
        warnings.append(
            f"The works have no pages, because {lacking} is not installed: `pip install "
            "'pqchain[notebooks]'`, and run again."
        )
    alert = html.element("div", html.bullets(warnings), class_="verdict bad", role="alert")
    parts = [
        html.element("h1", TITLE),
        html.element("p", ", ".join(about), class_="byline"),
        *[alert] * bool(warnings),
        html.element("div", *content, class_="verdict bad" if failures else "verdict"),
        works_table(reproduction).html(),
        html.folded("Files of this run", html.bullets(_links(folder))),
    ]
    pages = [("index.html", TITLE), *((file, key) for key, file in reproduction.pages.items())]
    return html.document(TITLE, [], *parts, pages=pages)


def _links(folder: Path) -> Iterator[Markup]:
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    for name in sorted({outputs.MANIFEST, *(path.as_posix() for path in paths)}):
        yield html.link(name, name)


def works_table(reproduction: Reproduction) -> Table:
    """Return a table of the counts of verdicts on the works' statements, a row for each work."""
    columns = [Column("work"), Column("times compared", numeric=True)]
    columns += [Column(title, group, True) for group, title, _ in _COLUMNS]
    sources = set(reproduction.claims["source"])
    added = split_ours(reproduction.claims)[1]["claim_id"].nunique()
    return Table(
        columns=columns,
        rows=[
            _row(result, reproduction.pages.get(result.work.key, ""))
            for result in reproduction.results
        ],
        caption="Verdicts on the statements of each work.",
        notes=[*_NOTES, f"Statements of ours, which no work makes, are not counted: {added}."],
        source=[kind for kind in Kind if kind in sources],
    )


def _row(result: WorkResults, file: str) -> list[object]:
    key, title = result.work.key, result.work.paper.title
    claims, _ = split_ours(result.claims)
    is_print = claims["source"] == Kind.PUBLISHED
    verdicts: dict[str, pd.Series[str]] = {
        _PRINT: claims.loc[is_print, "verdict"],
        _OURS: claims.loc[~is_print, "verdict"],
        _SIZES: result.comparisons["sizes"]["verdict"],
    }
    counts = [int(verdicts[group].isin(words).sum()) for group, _, words in _COLUMNS]
    name = Shown(key, key, html.link(title, file) if file else html.join(title))
    return [name, int(result.comparisons["comparison"]["ratio"].notna().sum()), *counts]
