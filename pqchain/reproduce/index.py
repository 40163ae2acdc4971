"""The first page of a run: machine, warnings, verdicts by work, links to pages and files."""

from __future__ import annotations

from pathlib import Path

from pqchain.bench import variation
from pqchain.figures import Kind
from pqchain.render import html
from pqchain.render.table import Column, Shown, Table
from pqchain.reproduce import notebooks
from pqchain.reproduce.outcome import Reproduction, WorkResults
from pqchain.results import outputs
from pqchain.works.printed import EXPLAINED
from pqchain.works.verdicts import FAILS, FITTED, HOLDS, HOLDS_HERE, NOT_HERE, OPEN
from pqchain.works.work import split_ours

TITLE = "Post-quantum cryptography in blockchains: published, and measured here"

_WORDS = {
    "hold": [HOLDS],
    "do not": [FAILS],
    "hold here": HOLDS_HERE,
    "not here": NOT_HERE,
    "fitted": [FITTED],
    "open": [OPEN],
    "equal": ["equal"],
    "explained": EXPLAINED,
    "different": ["different"],
}
"""The verdicts that are counted in a column, by its title."""

_NOTE = (
    "Here: in a setting that is not the work's (its machine, code, size or clock), so neither "
    "confirmed nor refuted. Fitted: by a model whose parameters were fitted to the same numbers, "
    "so not confirmed. Statements that no work makes are not counted."
)


def page(reproduction: Reproduction, folder: Path) -> str:
    """Return the page as HTML; `folder` has all other files of the run."""
    measured = reproduction.measurements
    facts, warnings = measured.attrs["provenance"], variation.warnings(measured)
    date = f"{facts['date'][:19].replace('T', ' ')} UTC"
    about = (facts["cpu_model"], date, variation.quality(measured), f"pqchain {facts['pqchain']}")
    if lacking := notebooks.missing():
        warnings.append(
            f"The works have no pages, because {lacking} is not installed: `pip install "
            "'pqchain[notebooks]'`, and run again."
        )
    warnings += [f"Failed: {failure}" for failure in reproduction.failures]
    alert = html.element("div", html.bullets(warnings), class_="verdict bad", role="alert")
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*.*") if path.is_file())
    links = (html.link(name, name) for name in sorted({outputs.MANIFEST, *paths}))
    parts = [
        html.element("h1", TITLE),
        html.element("p", ", ".join(about), class_="byline"),
        *[alert] * bool(warnings),
        works_table(reproduction).html(),
        html.folded("Files of this run", html.bullets(links)),
    ]
    pages = [("index.html", TITLE), *((file, key) for key, file in reproduction.pages.items())]
    return html.document(TITLE, [], *parts, pages=pages)


def works_table(reproduction: Reproduction) -> Table:
    """Return a table of the counts of verdicts on each work; no column has only zeros."""
    counts = {result.work.key: _counts(result) for result in reproduction.results}
    all_names = next(iter(counts.values()))
    names = [name for name in all_names if any(row[name] for row in counts.values())]
    rows: list[list[object]] = []
    for result in reproduction.results:
        key, title = result.work.key, result.work.paper.title
        file = reproduction.pages.get(key, "")
        name = Shown(key, key, html.link(title, file) if file else html.join(title))
        rows.append([name, *(counts[key][name] for name in names)])
    return Table(
        columns=[Column("work"), *(Column(title, group, True) for group, title in names)],
        rows=rows,
        caption="Verdicts on the statements of each work.",
        notes=[_NOTE],
        source=[kind for kind in Kind if kind in set(reproduction.claims["source"])],
    )


def _counts(result: WorkResults) -> dict[tuple[str, str], int]:
    """Return the number of verdicts by group and title of their column."""
    claims, _ = split_ours(result.claims)
    is_print = claims["source"] == Kind.PUBLISHED
    verdicts = {
        "by the paper's numbers": claims.loc[is_print, "verdict"],
        "by numbers of pqchain": claims.loc[~is_print, "verdict"],
        "printed sizes": result.comparisons["sizes"]["verdict"],
    }
    return {
        (group, title): int(column.isin(words).sum())
        for group, column in verdicts.items()
        for title, words in _WORDS.items()
    }
