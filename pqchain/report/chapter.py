"""The chapter of one work: what every work has, and the tables and figures of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from pqchain import algorithms, figures
from pqchain.bench.tables import measurement_tables
from pqchain.figures import RATIO, SECONDS, Kind, Unit
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.render.table import Column, Shown, Table, ours, verdict
from pqchain.report.run import SAID, Reproduction
from pqchain.report.summary import busy
from pqchain.works import papers
from pqchain.works.coverage import counts
from pqchain.works.paper import Paper
from pqchain.works.shown import published_table
from pqchain.works.work import SPEED, Work

_QUANTITIES = {
    "public_key_bytes": "public key",
    "secret_key_bytes": "secret key",
    "signature_bytes": "signature",
    "signature_max_bytes": "longest signature",
    "ciphertext_bytes": "ciphertext",
}
"""Sizes as column headings, in the order of the tables."""


def chapter(done: Reproduction, work: Work, plates: Iterable[tuple[str, Markup]]) -> Markup:
    """Write the chapter of a work; `plates` are its figures with the part they go to."""
    paper = work.paper
    before = [*_speed(done, work), *work.tables(done.frames[work.key])]
    shown = [(table.part, table.html()) for table in before]
    shown += plates
    shown += [(table.part, table.html()) for table in _judged(done, work)]
    parts: dict[str, list[Markup]] = {}
    for part, written in shown:
        parts.setdefault(part, []).append(written)
    covered = done.coverage[done.coverage["paper"] == work.key]
    if len(covered):
        listed = ", ".join(f"{count} {kind}" for kind, count in counts(covered))
        parts["Every printed number"] = [
            html.folded(f"{len(covered)} printed numbers: {listed}", coverage_table(covered).html())
        ]
    parts["As published"] = [
        html.folded(
            f"{name}: {layout.description}", published_table(papers.table(paper, name)).html()
        )
        for name, layout in paper.tables.items()
    ]
    remarks = [
        html.join(html.badge("erratum"), f" {erratum.place}: {erratum.note}.")
        for erratum in paper.errata
    ]
    if remarks or paper.notes:
        parts["Errata and notes"] = [html.bullets([*remarks, *paper.notes])]
    head = [
        html.element("p", *_byline(paper), class_="byline"),
        html.element("p", paper.scope),
    ]
    if paper.title_korean:
        head.insert(0, html.element("p", paper.title_korean, class_="korean", lang="ko"))
    if paper.title_note:
        head.append(html.element("p", paper.title_note, class_="byline"))
    sections = [
        html.section(f"{work.key}-{_slug(title)}", title, *children)
        for title, children in parts.items()
    ]
    warning = busy(done.provenance)
    return html.section(work.key, paper.title, warning, *head, *sections, level=1)


def _slug(title: str) -> str:
    return "-".join("".join(filter(str.isalnum, word)) for word in title.casefold().split())


def _speed(done: Reproduction, work: Work) -> Iterator[Table]:
    comparison = done.comparison[done.comparison["paper"] == work.key]
    if not len(comparison):
        return
    for name, rows in comparison.groupby("table", sort=False):
        yield speed_table(rows, f"Times of {work.key}, {name}, beside this machine.")
    missing = [name for name in work.paper.schemes if name not in set(comparison["algorithm"])]
    unprinted = done.measurements[done.measurements["algorithm"].isin(missing)]
    yield from measurement_tables(unprinted, part="Named there without a time")


def _judged(done: Reproduction, work: Work) -> Iterator[Table]:
    for frame, show in ((done.sizes, size_table), (done.claims, claim_table)):
        rows = frame[frame["paper"] == work.key]
        if len(rows):
            yield show(rows)


def _byline(paper: Paper) -> list[str]:
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


def claim_table(claims: pd.DataFrame) -> Table:
    """Show statements, each judged by the printed numbers and by ours."""
    found = set(claims["source"])
    kinds = [kind for kind in Kind if kind in found - {"published", "registry"}]
    rows = []
    for _, group in claims.groupby("claim_id", sort=False):
        records = group.to_dict("records")
        by_print = [row for row in records if row["source"] == "published"]
        by_ours = [row for row in records if row["source"] != "published"]
        rows.append(
            [
                records[0]["section"],
                statement(records[0]),
                _judgements(by_print, labelled=False),
                _judgements(by_ours, labelled=True),
            ]
        )
    return Table(
        columns=[
            Column("section"),
            Column("statement"),
            Column("by the printed numbers"),
            Column("here"),
        ],
        rows=rows,
        caption="Statements of the text, with the sentence that makes each.",
        source=["published", *kinds, *["registry"] * ("registry" in found)],
        style="claims",
        part="What it says, checked",
        notes=[SAID["verdicts"]],
    )


def statement(row: Mapping[Any, Any]) -> Shown:
    """Show a statement in English, how it is read, and the sentence of the source."""
    read = f"Read as: {row['reading']}." if row["reading"] else ""
    quote = (
        f"\u201c{row['quote']}\u201d"
        if row["quote"]
        else "A statement of ours; the source does not make it."
    )
    written = [row["statement"]]
    written += [html.element("p", read, class_="reading")] if read else []
    korean = "ko" if any("\uac00" <= letter <= "\ud7a3" for letter in quote) else ""
    written.append(html.element("p", quote, class_="quote", lang=korean))
    text = " ".join(part for part in (row["statement"], read, quote) if part)
    return Shown(row["statement"], text, html.join(*written))


def _judgements(rows: list[dict[Any, Any]], *, labelled: bool) -> Shown:
    """Show verdicts above the figures behind them, and of which kind they are if asked."""
    written, texts = [], []
    for row in rows:
        lines = [*dict.fromkeys(row["evidence"].split("; "))]
        lines += [f"found with {row['setting']}"] if row["setting"] else []
        label = html.labels(row["source"]) if labelled else ""
        items = (html.element("li", line) for line in lines)
        figures = html.element("ul", *items, class_="evidence")
        written.append(html.join(html.badge(row["verdict"]), " " * bool(label), label, figures))
        texts.append(f"{row['verdict']}: {'; '.join(lines)}")
    return Shown([row["verdict"] for row in rows], "; ".join(texts), html.join(*written))


def coverage_table(coverage: pd.DataFrame) -> Table:
    """Show every printed number with the kind of ours, ours, or why there is none."""
    rows = [
        [
            row["table"],
            ", ".join(part for part in (row["printed_name"], row["implementation"]) if part),
            figures.humanize(row["quantity"]),
            Shown(
                row["printed"],
                Unit.of(row["quantity"], row["unit"]).text(row["printed"], exact=True),
            ),
            row["kind"],
            Shown(row["ours"], _rounded(row["ours"], row["quantity"], row["unit"])),
            row["reason"],
        ]
        for row in coverage.to_dict("records")
    ]
    return Table(
        columns=[
            Column("table"),
            Column("row"),
            Column("quantity"),
            Column("printed", numeric=True),
            Column("ours is"),
            Column("ours", numeric=True),
            Column("remark"),
        ],
        rows=rows,
        caption="Every printed number, in tables and in the text, and what stands against it.",
        source=["published", *(kind for kind in Kind if kind in set(coverage["kind"]))],
    )


def _rounded(value: float, quantity: str, unit: str) -> str:
    """Show our number with as many digits as it deserves."""
    if value != value:
        return figures.MISSING
    if unit == "s":
        return SECONDS.text(value)
    if unit in ("B", "cycles", "") and value >= 1000:
        return figures.integer(value)
    return Unit.of(quantity, unit).text(float(f"{value:.4g}"), exact=True)


def speed_table(comparison: pd.DataFrame, caption: str) -> Table:
    """Show published times beside ours, a row for each algorithm and published variant."""
    operations = [name for name in algorithms.OPERATIONS if name in set(comparison["operation"])]
    variants = bool((comparison["published_implementation"] != "").any())
    rows, remarks = [], []
    keys = ["algorithm", "published_implementation"]
    order = list(dict.fromkeys(comparison["algorithm"]))
    groups = sorted(
        comparison.groupby(keys, sort=False), key=lambda group: order.index(group[0][0])
    )
    for names, cells in groups:
        by_operation = {cell["operation"]: cell for cell in cells.to_dict("records")}
        shown = [cell for name in operations for cell in _speed_cells(by_operation.get(name))]
        rows.append([*names[: 1 + variants], *shown])
        remarks.append("; ".join(note for note in dict.fromkeys(cells["note"]) if note))
    here = ", ".join(sorted(name for name in set(comparison["implementation"]) if name))
    return Table(
        columns=[
            Column("algorithm"),
            *[Column("variant")] * variants,
            *(
                Column(title, figures.humanize(name), True)
                for name in operations
                for title in ("published", "here", "ratio")
            ),
        ],
        rows=rows,
        caption=f"{caption} Here: {here or 'nothing'}. Ratio: here / published; below 1 is faster "
        "here.",
        source=("published", "measured"),
        row_headers=2 if variants else 1,
        remarks=remarks,
        part=SPEED,
    )


def _speed_cells(cell: Mapping[Any, Any] | None) -> list[Any]:
    if cell is None:
        return [figures.MISSING] * 3
    published, ratio = cell["published_seconds"], cell["ratio"]
    return [
        Shown(published, SECONDS.text(published, exact=True)),
        ours(cell["median_seconds"]),
        Shown(ratio, RATIO.text(ratio, 2)),
    ]


_SIGNS = {
    "version": "right of another version of the scheme, which the remark names",
    "definition": "right by another definition, which the remark names",
    "erratum": "wrong in print",
}
"""What the signs of explained sizes mean."""


def size_table(sizes: pd.DataFrame) -> Table:
    """Show printed sizes beside those of the registry, with a verdict for each."""
    quantities = [name for name in _QUANTITIES if name in set(sizes["quantity"])]
    rows, remarks = [], []
    for algorithm, cells in sizes.groupby("algorithm", sort=False):
        row: list[Any] = [str(algorithm)]
        for name in quantities:
            row += _size_cells(cells[cells["quantity"] == name].to_dict("records"))
        rows.append(row)
        remarks.append("; ".join(note for note in dict.fromkeys(cells["note"]) if note))
    signs = {word: html.VERDICTS[word][1] for word in _SIGNS if (sizes["verdict"] == word).any()}
    return Table(
        notes=[f"{sign}: {_SIGNS[word]}." for word, sign in signs.items()],
        columns=[
            Column("algorithm"),
            *(
                Column(title, _QUANTITIES[name], True)
                for name in quantities
                for title in ("printed", "here")
            ),
        ],
        rows=rows,
        caption=f"Sizes in bytes: printed in {sizes['paper'].iloc[0]}, and of the implementations "
        "here.",
        source=("published", "registry"),
        remarks=remarks,
        part="Sizes",
    )


def _size_cells(cells: list[dict[Any, Any]]) -> list[Any]:
    """Show the printed sizes of one quantity, and the registry's with the worst verdict."""
    if not cells:
        return [figures.MISSING] * 2
    word = next((cell["verdict"] for cell in cells if cell["verdict"] != "equal"), "equal")
    size = cells[0]["registry_bytes"]
    badge = verdict(word, short=True)
    here = Shown(
        size,
        f"{figures.integer(size)} {badge.text}",
        html.join(figures.integer(size), " ", badge.html or ""),
    )
    texts = dict.fromkeys(figures.integer(cell["published_bytes"]) for cell in cells)
    return [" / ".join(texts), here]
