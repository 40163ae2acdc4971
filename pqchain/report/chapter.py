"""What the report says: a chapter for each work, and those on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pqchain import algorithms
from pqchain.bench import tables
from pqchain.render import html, numbers
from pqchain.render.html import Column, Markup
from pqchain.works import papers

_QUANTITIES = {
    "public_key_bytes": "public key",
    "secret_key_bytes": "secret key",
    "signature_bytes": "signature",
    "signature_max_bytes": "longest signature",
    "ciphertext_bytes": "ciphertext",
}
"""Sizes as column headings, in the order of the tables."""


def work(
    paper: papers.Paper,
    comparison: pd.DataFrame,
    sizes: pd.DataFrame,
    claims: pd.DataFrame,
    figures: Sequence[Markup],
    unprinted: Sequence[Markup],
    chain: Markup | None = None,
    modelled: Sequence[Markup] = (),
    replayed: tuple[Sequence[Markup], Sequence[Markup]] = ((), ()),
) -> Markup:
    """Write the chapter of one work; the frames hold the rows of that work only.

    `unprinted` are tables of our times of what the work names without printing a time of it;
    `chain` is what `block_part` wrote, `modelled` are tables of a model of ours, `replayed` what
    `replaylayout.markup` wrote.
    """
    parts: list[str] = []
    if paper.title_korean:
        parts.append(html.element("p", paper.title_korean, class_="korean", lang="ko"))
    parts.append(html.element("p", *_byline(paper), class_="byline"))
    parts.append(html.element("p", paper.scope))
    if paper.title_note:
        parts.append(html.element("p", paper.title_note, class_="byline"))
    if len(comparison):
        tables = [
            speed_table(rows, f"Times of {paper.key}, {name}, beside this machine.")
            for name, rows in comparison.groupby("table", sort=False)
        ]
        parts.append(_part(paper, "speed", "Speed, side by side", *tables, *figures))
    if unprinted:
        parts.append(_part(paper, "unprinted", "Named there without a time", *unprinted))
    if chain is not None:
        parts.append(chain)
    titles = {"phases": "Where the time goes", "streams": "Streams and transports"}
    for (name, title), written in zip(titles.items(), replayed, strict=True):
        if written:
            parts.append(_part(paper, name, title, *written))
    if modelled:
        parts.append(_part(paper, "modelled", "Modelled", *modelled))
    if len(sizes):
        parts.append(_part(paper, "sizes", "Sizes", size_table(sizes, paper)))
    if len(claims):
        parts.append(_part(paper, "claims", "What it says, checked", claim_table(claims)))
    parts.append(_part(paper, "tables", "As published", *printed_tables(paper)))
    remarks = [*(_erratum(erratum) for erratum in paper.errata), *paper.notes]
    if remarks:
        parts.append(_part(paper, "notes", "Errata and notes", html.bullets(remarks)))
    return html.section(paper.key, paper.title, *parts)


def block_part(
    paper: papers.Paper, comparison: pd.DataFrame, blocks: pd.DataFrame, figures: Sequence[Markup]
) -> Markup:
    """Write the printed block beside ours, and ours of every scheme."""
    columns = [
        Column("printed as"),
        Column("published", numeric=True),
        Column("here", numeric=True),
        Column("ratio", numeric=True),
    ]
    shown = [
        [
            row["printed_name"],
            _shortened(row["published"]),
            _shortened(row["here"]) or numbers.MISSING,
            numbers.ratio(row["ratio"], 3),
        ]
        for row in comparison.to_dict("records")
    ]
    beside = html.table(
        columns, shown,
        caption=f"One block of {paper.key} beside one of this machine.",
        source=("published", "measured"),
        remarks=list(comparison["note"]),
    )  # fmt: skip
    every = tables.block_table(blocks).html()
    return _part(paper, "blocks", "A block, side by side", beside, every, *figures)


def _shortened(text: str) -> str:
    """Cut a hash, which nobody compares by eye."""
    return f"{text[:12]}…" if len(text) == 64 else text


def _part(paper: papers.Paper, name: str, title: str, *children: str) -> Markup:
    """Write a part of a chapter."""
    return html.section(f"{paper.key}-{name}", title, *children, level=3)


def _byline(paper: papers.Paper) -> list[str]:
    """Say who wrote it, where it appeared and on what its numbers were made."""
    known = (", ".join(paper.authors), paper.venue, paper.year)
    written = ", ".join(part for part in known if part)
    machine = "; ".join(
        f"{name.replace('_', ' ')}: {value}" for name, value in paper.machine.items()
    )
    key = html.element("code", paper.key)
    parts: list[str] = [key, f" {written}", Markup("<br>") if machine else "", machine]
    for target in (paper.url, f"https://doi.org/{paper.doi}" if paper.doi else ""):
        if target:
            parts += [Markup("<br>"), html.link(target, target)]
    return parts


def _erratum(erratum: papers.Erratum) -> Markup:
    """Write one erratum."""
    where = ", ".join(part for part in (erratum.table, erratum.row, erratum.column) if part)
    return html.join(html.badge("erratum"), f" {where}: {erratum.note}.")


def claim_table(claims: pd.DataFrame) -> Markup:
    """Write statements, each judged by the printed numbers and by ours."""
    kinds = [kind for kind in ("measured", "modelled") if (claims["source"] == kind).any()]
    ours = ", ".join(["here", " or ".join(kinds)]) if kinds else "here"
    mixed = "modelled" in kinds
    columns = [
        Column("section"),
        Column("statement"),
        Column("by the printed numbers"),
        Column(ours),
    ]
    rows = []
    for _, group in claims.groupby("claim_id", sort=False):
        judged = group.to_dict("records")
        printed = [_judgement(row) for row in judged if row["source"] == "published"]
        here = [_judgement(row, labelled=mixed) for row in judged if row["source"] != "published"]
        statement = judged[0]["statement"]
        rows.append([judged[0]["section"], statement, html.join(*printed), html.join(*here)])
    source = ["published"]
    source += kinds
    source += ["registry"] * bool((claims["source"] == "sizes").any())
    written = html.table(columns, rows, caption="Statements of the text.", source=source)
    return html.element("div", written, class_="claims")


def _judgement(row: Mapping[Any, Any], *, labelled: bool = False) -> Markup:
    """Show a verdict above the figures behind it, and of which kind they are if there are two."""
    evidence = re.sub(r"_(seconds|bytes)\b", "", row["evidence"])
    # "sign of A is unsupported: <reason>" and "verify of A is ...": the reason once is enough.
    parts = (part.rpartition(" is unsupported: ")[2] for part in evidence.split("; "))
    lines = [html.element("li", html.spoken(part)) for part in dict.fromkeys(parts)]
    label = ""
    if labelled and row["source"] in html.LABELS:
        label = html.join(" ", html.labels(row["source"]))
    figures = html.element("ul", *lines, class_="evidence")
    return html.join(html.badge(row["verdict"]), label, figures)


def speed_table(comparison: pd.DataFrame, caption: str) -> Markup:
    """Write published times beside ours, a row for each algorithm and published variant."""
    operations = [name for name in algorithms.OPERATIONS if name in set(comparison["operation"])]
    variants = bool((comparison["published_implementation"] != "").any())
    columns = [Column("algorithm"), *([Column("variant")] if variants else [])]
    for name in operations:
        group = html.spoken(name)
        columns += [Column(title, group, True) for title in ("published", "here", "ratio")]
    rows, remarks = [], []
    keys = ["algorithm", "published_implementation"]
    order = {name: index for index, name in enumerate(dict.fromkeys(comparison["algorithm"]))}
    groups = sorted(comparison.groupby(keys, sort=False), key=lambda group: order[str(group[0][0])])
    for (algorithm, variant), cells in groups:
        row = [str(algorithm), *([str(variant)] if variants else [])]
        by_operation = {cell["operation"]: cell for cell in cells.to_dict("records")}
        for name in operations:
            cell = by_operation.get(name)
            row += [numbers.MISSING] * 3 if cell is None else _speed_cells(cell)
        rows.append(row)
        remarks.append("; ".join(note for note in dict.fromkeys(cells["note"]) if note))
    ours = ", ".join(sorted(name for name in set(comparison["implementation"]) if name))
    note = f" Here: {ours or 'nothing'}. Ratio: here / published; below 1 is faster here."
    return html.table(
        columns, rows, caption=caption + note, source=("published", "measured"),
        row_headers=2 if variants else 1, remarks=remarks,
    )  # fmt: skip


def _speed_cells(cell: Mapping[Any, Any]) -> list[str]:
    """Show one published time, ours and their ratio."""
    return [
        numbers.exact_seconds(cell["published_seconds"]),
        html.element("span", numbers.seconds(cell["median_seconds"]), class_="here"),
        numbers.ratio(cell["ratio"], 2),
    ]


def accelerator_table(frame: pd.DataFrame) -> Markup:
    """Lay out the rebuilt Table 3; every row says what kind of number it is."""
    columns = [
        Column("algorithm"), Column("row"), Column("kind"), Column("ms", numeric=True),
        Column("to printed", numeric=True),
    ]  # fmt: skip
    rows = [
        [
            str(row["algorithm"]), str(row["row"]), str(row["kind"]),
            f"{row['seconds'] * 1e3:.1f}", f"{row['ratio']:.2f}",
        ]
        for row in frame.to_dict("records")
    ]  # fmt: skip
    return html.table(
        columns, rows, row_headers=2, source=("published", "modelled"),
        remarks=[str(text) for text in frame["assumptions"]],
        caption="Table 3 rebuilt. Estimated: instructions counted, cycles by one factor.",
    )  # fmt: skip


def size_table(sizes: pd.DataFrame, paper: papers.Paper) -> Markup:
    """Write printed sizes beside those of the registry, with a verdict for each."""
    quantities = [name for name in _QUANTITIES if name in set(sizes["quantity"])]
    columns = [Column("algorithm")]
    for name in quantities:
        group = _QUANTITIES[name]
        columns += [Column("printed", group, True), Column("here", group, True)]
    rows, remarks = [], []
    for algorithm, cells in sizes.groupby("algorithm", sort=False):
        row: list[str] = [str(algorithm)]
        notes: dict[str, None] = {}
        for name in quantities:
            found = cells[cells["quantity"] == name].to_dict("records")
            if not found:
                row += [numbers.MISSING] * 2
                continue
            verdict = "equal"
            for cell in found:
                verdict = cell["verdict"] if cell["verdict"] != "equal" else verdict
                notes |= {cell["note"]: None} if cell["note"] else {}
            here = html.join(
                numbers.integer(found[0]["registry_bytes"]), " ", html.badge(verdict, short=True)
            )
            printed = dict.fromkeys(numbers.integer(cell["published_bytes"]) for cell in found)
            row += [" / ".join(printed), here]
        rows.append(row)
        remarks.append("; ".join(notes))
    return html.table(
        columns, rows,
        caption=f"Sizes in bytes: printed in {paper.key}, and of the implementations here.",
        source=("published", "registry"),
        remarks=remarks,
    )  # fmt: skip


def printed_tables(paper: papers.Paper) -> list[Markup]:
    """Write every table of the work as printed, in SI units, to be opened on demand."""
    written = []
    for name, layout in paper.tables.items():
        frame = papers.table(paper.key, name)
        caption = f"{layout.caption or layout.description} (section {layout.section})"
        summary = f"{name}: {layout.description}"
        written.append(html.folded(summary, _frame_table(frame, caption)))
    return written


def _frame_table(frame: pd.DataFrame, caption: str) -> Markup:
    """Write a frame of a published table, the printed name first."""
    first = frame.columns.difference(["printed_name"], sort=False)
    ordered = frame[["printed_name", *first]]
    names, rows, right = numbers.published_cells(ordered)
    columns = [Column(_heading(name), numeric=at in right) for at, name in enumerate(names)]
    return html.table(columns, rows, caption=caption, source=("published",))


def _heading(name: object) -> str:
    """Turn the name of a column into a heading; values carry their unit."""
    text = str(name)
    for ending in ("_seconds", "_bytes", "_percent", "_megahertz"):
        text = text.removesuffix(ending)
    return {"printed_name": "printed as"}.get(text, html.spoken(text))
