"""A page in Markdown for each work: what holds, what does not, what is not decided here.

Knows the print, the registry, models that take printed costs, and the times of the run that comes
with pqchain; times nothing itself, so that a page is the same on every machine. `make findings`
writes them into docs/papers, and a test compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pqchain import figures
from pqchain.bench import stored
from pqchain.render.table import Column, Table
from pqchain.report.chapter import coverage_table, statement
from pqchain.works import compare, registry
from pqchain.works.coverage import counts, coverage
from pqchain.works.sizes import VERDICTS
from pqchain.works.verdicts import FAILS, FITTED, HOLDS, NOT_HERE, OPEN
from pqchain.works.work import Bench, Frames, Work

_DECIDED = {
    "published": "by the printed numbers",
    "registry": "by the sizes of the implementations",
    "modelled": "by the model, with the printed costs",
    "run": "by what our code does",
    "synthesised": "by our RTL",
    "measured": "by our measurements",
}
"""What decides a statement without a clock at hand."""

_PARTS = (
    ("What does not hold", "", (FAILS,)),
    ("What holds", "", (HOLDS,)),
    (
        "What our measurements do not show",
        "They are of another machine than the work's, and some of other code, so they refute "
        "nothing.",
        NOT_HERE,
    ),
    ("What a model says that was fitted to the same table", "", (FITTED,)),
    ("What is not decided here", "", (OPEN,)),
)
"""Parts of a page: heading, remark, verdicts."""


def page(key: str) -> str:
    """Return the page of a work. Raises UnknownPaper, and DataError if no run comes along."""
    work, measured = registry.get(key), stored.load()
    frames = work.compute(Bench())
    paper, statements = work.paper, judged(work, frames, measured)
    lines = [f"# {paper.title}", ""]
    lines += [paper.title_korean, ""] if paper.title_korean else []
    written = ", ".join(part for part in (*paper.authors, paper.venue, paper.year) if part)
    lines += [f"{written}." if written else "", "", paper.scope, ""]
    lines += [
        f"This page is made by `make findings` from the data in `data/papers/{key}`. "
        f"{_origin(measured)} `pqchain reproduce --only {key}` takes those of your machine, and "
        "adds what only a whole run gives.",
        "",
    ]
    for heading, remark, verdicts in _PARTS:
        rows = statements[statements["verdict"].isin(verdicts)]
        if len(rows):
            lines += [f"## {heading}", ""]
            lines += [remark, ""] if remark else []
            lines += [_table(rows).markdown(), ""]
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
    covered = coverage(work, measured, frames)
    listed = ", ".join(f"{count} {kind}" for kind, count in counts(covered))
    lines += [
        "## Every printed number",
        "",
        f"Of {len(covered)} printed numbers ours are: {listed}.",
    ]
    lines += [
        "Where ours is missing, `pqchain reproduce` fills it in, or the remark says why not.",
        "",
    ]
    lines += [coverage_table(covered).markdown(), ""]
    return "\n".join(lines)


def _size(row: Mapping[Any, Any]) -> str:
    what = figures.humanize(row["quantity"].removesuffix("_bytes"))
    return f"{row['algorithm']}, {what}: {row['note']}; here {row['registry_bytes']:.0f}."


def _origin(measured: pd.DataFrame) -> str:
    """Say where the times on a page are from."""
    made = measured.attrs["provenance"]
    return (
        f"Times called measured are of the run in `data/measurements/{made['machine_id']}` "
        f"({made['cpu_model'].partition(' (')[0]}, preset {made['preset']})."
    )


def judged(
    work: Work, frames: Frames | None = None, measured: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return the statements of a work with every verdict that needs no clock.

    By default `measured` is the run that comes with pqchain. A frame of the contract "claims". A
    statement that only a whole run could decide is kept once, as one that cannot be decided here.
    """
    measured = stored.load() if measured is None else measured
    frames = work.compute(Bench()) if frames is None else frames
    rows = compare.claims(work, measured, frames)
    decided = rows["source"].isin(_DECIDED) & (rows["verdict"] != OPEN)
    undecided = ~rows["claim_id"].isin(set(rows.loc[decided, "claim_id"]))
    left = rows[undecided].drop_duplicates("claim_id", keep="last")
    return pd.concat([rows[decided], left]).sort_index(kind="stable").reset_index(drop=True)


def _table(rows: pd.DataFrame) -> Table:
    shown = []
    for row in rows.to_dict("records"):
        figures = "; ".join(part for part in (row["evidence"], row["setting"]) if part)
        decided = "–" if row["verdict"] == OPEN else _DECIDED[row["source"]]
        shown.append([row["section"], statement(row).text, decided, figures])
    names = ("section", "statement", "decided", "figures")
    return Table(columns=[Column(name) for name in names], rows=shown)
