"""A page in Markdown for each work: what holds, what does not, what only a machine can decide.

Knows the print, the registry and models that take printed costs; times nothing, so that a page is
the same on every machine. `make findings` writes them into docs/papers, and a test compares.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from pqchain.consensus import landscape
from pqchain.works import compare, papers
from pqchain.works.pqdpol import work as pqdpol

_HOW = {
    "published": "by the printed numbers",
    "sizes": "by the sizes of the implementations",
    "modelled": "by the model, with the printed costs",
}
"""What decides a statement without a clock."""

_ORDER = ("does not hold", "holds", "cannot be decided here")


def page(key: str) -> str:
    """Return the page of a work. Raises UnknownPaper."""
    paper = papers.paper(key)
    found = judged(key)
    lines = [f"# {paper.title}", ""]
    lines += [paper.title_korean, ""] if paper.title_korean else []
    told = ", ".join(part for part in (*paper.authors, paper.venue, paper.year) if part)
    lines += [f"{told}." if told else "", "", paper.scope, ""]
    lines += [
        f"This page is made by `make findings` from the data in `data/papers/{key}` and times "
        f"nothing. `pqchain reproduce --only {key}` adds what this machine measures.",
        "",
    ]
    for verdict in _ORDER:
        rows = found[found["verdict"] == verdict]
        if len(rows):
            lines += [f"## {_heading(verdict)}", "", *_table(rows), ""]
    lines += _sizes(key)
    if paper.errata:
        lines += ["## Errata", ""]
        lines += [f"- {_where(each)}: {each.note}." for each in paper.errata]
        lines += [""]
    lines += ["## Notes", "", *(f"- {note}" for note in paper.notes), ""] if paper.notes else []
    return "\n".join(lines)


def judged(key: str) -> pd.DataFrame:
    """Return the statements of a work with every verdict that needs no clock.

    A frame of the contract "claims". A statement that only measuring could decide is kept once,
    as one that cannot be decided here.
    """
    if key == pqdpol.KEY:
        found = compare.claims(key, None, None, [pqdpol.tables()])
        softened = pqdpol.softening(landscape.delegation(papers.costs(key)))
        found = pd.concat([found, softened], ignore_index=True)
    else:
        found = compare.claims(key)
    decided = found["source"].isin(_HOW) & (found["verdict"] != "cannot be decided here")
    open_ones = ~found["claim_id"].isin(set(found.loc[decided, "claim_id"]))
    left = found[open_ones].drop_duplicates("claim_id")
    return pd.concat([found[decided], left]).sort_index(kind="stable").reset_index(drop=True)


def _heading(verdict: str) -> str:
    """Write a verdict as the title of a section."""
    return {
        "holds": "What holds",
        "does not hold": "What does not hold",
        "cannot be decided here": "What only measuring decides",
    }[verdict]


def _table(rows: pd.DataFrame) -> Iterable[str]:
    """Write statements with the figures behind them."""
    yield "| section | statement | decided | figures |"
    yield "|---|---|---|---|"
    for row in rows.to_dict("records"):
        how = _HOW.get(row["source"], "by measuring")
        figures = row["evidence"].replace("_", " ") if how != "by measuring" else ""
        cells = (row["section"], row["statement"], how, figures)
        yield (
            "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
        )


def _sizes(key: str) -> list[str]:
    """Count the printed sizes that are those of the implementations."""
    sizes = compare.sizes(papers.published(key))
    if sizes.empty:
        return []
    counts = sizes["verdict"].value_counts()
    told = ", ".join(f"{counts.get(name, 0)} {name}" for name in ("equal", "erratum", "different"))
    return ["## Sizes", "", f"Of {len(sizes)} printed sizes: {told}.", ""]


def _where(erratum: papers.Erratum) -> str:
    """Say where an erratum stands."""
    return ", ".join(part for part in (erratum.table, erratum.row, erratum.column) if part)
