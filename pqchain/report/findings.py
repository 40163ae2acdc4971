"""A page in Markdown for each work: what holds, what does not, what only a machine can decide.

Knows the print, the registry and models that take printed costs; times nothing, so that a page is
the same on every machine. `make findings` writes them into docs/papers, and a test compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pqchain.render import numbers
from pqchain.render.table import Column, Table
from pqchain.report.chapter import coverage_table, statement
from pqchain.works import compare, registry
from pqchain.works.coverage import counts, coverage
from pqchain.works.sizes import VERDICTS
from pqchain.works.verdicts import FAILS, FITTED, HOLDS, OPEN
from pqchain.works.work import Bench, Frames, Work

_DECIDED = {
    "published": "by the printed numbers",
    "registry": "by the sizes of the implementations",
    "modelled": "by the model, with the printed costs",
    "run": "by what our code does",
    "synthesised": "by our RTL",
}
"""What decides a statement without a clock."""

_HEADINGS = {
    FAILS: "What does not hold",
    HOLDS: "What holds",
    FITTED: "What a model says that was fitted to the same table",
    OPEN: "What only measuring decides",
}


def page(key: str) -> str:
    """Return the page of a work. Raises UnknownPaper."""
    work = registry.get(key)
    frames = work.compute(Bench())
    paper, statements = work.paper, judged(work, frames)
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
        number = sizes["verdict"].value_counts()
        listed = ", ".join(f"{number.get(word, 0)} {word}" for word in VERDICTS)
        lines += ["## Sizes", "", f"Of {len(sizes)} printed sizes: {listed}.", ""]
        explained = sizes[sizes["verdict"].isin(("version", "definition"))]
        lines += [f"- {_size(row)}" for row in explained.to_dict("records")]
        lines += [""] * bool(len(explained))
    if paper.errata:
        lines += ["## Errata", ""]
        lines += [*(f"- {erratum.place}: {erratum.note}." for erratum in paper.errata), ""]
    lines += ["## Notes", "", *(f"- {note}" for note in paper.notes), ""] if paper.notes else []
    covered = coverage(work, frames=frames)
    listed = ", ".join(f"{count} {kind}" for kind, count in counts(covered))
    lines += [
        "## Every printed number",
        "",
        f"Of {len(covered)} printed numbers ours are: {listed}.",
    ]
    lines += ["Measured and replayed ones need a run; `pqchain reproduce` fills them in.", ""]
    lines += [coverage_table(covered).markdown(), ""]
    return "\n".join(lines)


def _size(row: Mapping[Any, Any]) -> str:
    what = numbers.spoken(row["quantity"].removesuffix("_bytes"))
    return f"{row['algorithm']}, {what}: {row['note']}; here {row['registry_bytes']:.0f}."


def judged(work: Work, frames: Frames | None = None) -> pd.DataFrame:
    """Return the statements of a work with every verdict that needs no clock.

    A frame of the contract "claims". A statement that only measuring could decide is kept once,
    as one that cannot be decided here.
    """
    rows = compare.claims(work, frames=work.compute(Bench()) if frames is None else frames)
    decided = rows["source"].isin(_DECIDED) & (rows["verdict"] != OPEN)
    undecided = ~rows["claim_id"].isin(set(rows.loc[decided, "claim_id"]))
    left = rows[undecided].drop_duplicates("claim_id", keep="last")
    return pd.concat([rows[decided], left]).sort_index(kind="stable").reset_index(drop=True)


def _table(rows: pd.DataFrame) -> Table:
    shown = []
    for row in rows.to_dict("records"):
        decided = _DECIDED.get(row["source"])
        figures = "; ".join(part for part in (row["evidence"], row["setting"]) if part)
        about = statement(row).text
        shown.append([row["section"], about, decided or "by measuring", figures * bool(decided)])
    names = ("section", "statement", "decided", "figures")
    return Table(columns=[Column(name) for name in names], rows=shown)
