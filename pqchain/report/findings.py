"""A page in Markdown for each work: what holds, what does not, what only a machine can decide.

Knows the print, the registry and models that take printed costs; times nothing, so that a page is
the same on every machine. `make findings` writes them into docs/papers, and a test compares.
"""

from __future__ import annotations

import pandas as pd

from pqchain.render.table import Column, Table
from pqchain.works import compare, registry
from pqchain.works.comparisons import FAILS, HOLDS, OPEN
from pqchain.works.work import Bench, Work

_DECIDED = {
    "published": "by the printed numbers",
    "sizes": "by the sizes of the implementations",
    "modelled": "by the model, with the printed costs",
}
"""What decides a statement without a clock."""

_HEADINGS = {
    FAILS: "What does not hold",
    HOLDS: "What holds",
    OPEN: "What only measuring decides",
}


def page(key: str) -> str:
    """Return the page of a work. Raises UnknownPaper."""
    work = registry.get(key)
    paper, statements = work.paper, judged(work)
    lines = [f"# {paper.title}", ""]
    lines += [paper.title_korean, ""] if paper.title_korean else []
    written = ", ".join(part for part in (*paper.authors, paper.venue, paper.year) if part)
    lines += [f"{written}." if written else "", "", paper.scope, ""]
    lines += [
        f"This page is made by `make findings` from the data in `data/papers/{key}` and times "
        f"nothing. `pqchain reproduce --only {key}` adds what this machine measures.",
        "",
    ]
    for verdict, heading in _HEADINGS.items():
        rows = statements[statements["verdict"] == verdict]
        if len(rows):
            lines += [f"## {heading}", "", _table(rows).markdown(), ""]
    sizes = compare.sizes(work.published)
    if len(sizes):
        counts = sizes["verdict"].value_counts()
        words = ("equal", "erratum", "different")
        counted = ", ".join(f"{counts.get(word, 0)} {word}" for word in words)
        lines += ["## Sizes", "", f"Of {len(sizes)} printed sizes: {counted}.", ""]
    if paper.errata:
        lines += ["## Errata", ""]
        lines += [*(f"- {erratum.place}: {erratum.note}." for erratum in paper.errata), ""]
    lines += ["## Notes", "", *(f"- {note}" for note in paper.notes), ""] if paper.notes else []
    return "\n".join(lines)


def judged(work: Work) -> pd.DataFrame:
    """Return the statements of a work with every verdict that needs no clock.

    A frame of the contract "claims". A statement that only measuring could decide is kept once,
    as one that cannot be decided here.
    """
    rows = compare.claims(work, frames=work.compute(Bench()))
    decided = rows["source"].isin(_DECIDED) & (rows["verdict"] != OPEN)
    undecided = ~rows["claim_id"].isin(set(rows.loc[decided, "claim_id"]))
    left = rows[undecided].drop_duplicates("claim_id")
    return pd.concat([rows[decided], left]).sort_index(kind="stable").reset_index(drop=True)


def _table(rows: pd.DataFrame) -> Table:
    shown = []
    for row in rows.to_dict("records"):
        decided = _DECIDED.get(row["source"])
        figures = row["evidence"] if decided else ""
        shown.append([row["section"], row["statement"], decided or "by measuring", figures])
    names = ("section", "statement", "decided", "figures")
    return Table(columns=[Column(name) for name in names], rows=shown)
