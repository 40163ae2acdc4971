"""The report's chapter on one published work: common sections, and its own tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from pqchain import algorithms, figures
from pqchain.bench import variation
from pqchain.bench.tables import measurement_tables
from pqchain.figures import RATIO, SECONDS, Kind
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.render.table import Column, Shown, Table, ours, verdict
from pqchain.report.run import PROSE, Reproduction
from pqchain.report.summary import busy
from pqchain.works import papers
from pqchain.works.chapter import published_table, slug
from pqchain.works.paper import Paper
from pqchain.works.printed import counts, table
from pqchain.works.work import CHECKED, SPEED, Work, split_ours

# Sizes as column headings, in the order of the tables.
_QUANTITIES = {
    "public_key_bytes": "public key",
    "secret_key_bytes": "secret key",
    "signature_bytes": "signature",
    "signature_max_bytes": "longest signature",
    "ciphertext_bytes": "ciphertext",
}


def chapter(
    reproduction: Reproduction, work: Work, figures_of_work: Iterable[tuple[str, Markup]]
) -> Markup:
    """Return a work's chapter as HTML; each figure comes with the title of its section."""
    paper = work.paper
    tables = [*_speed(reproduction, work), *work.tables(reproduction.frames[work.key])]
    content = [(table.part, table.html()) for table in tables]
    content += figures_of_work
    content += [(table.part, table.html()) for table in _judged(reproduction, work)]
    # Sections appear in the order of their first content, so a figure joins the table of its part.
    parts: dict[str, list[Markup]] = {}
    for part, markup in content:
        parts.setdefault(part, []).append(markup)
    printed = reproduction.printed[reproduction.printed["paper"] == work.key]
    if len(printed):
        listed = ", ".join(f"{count} {kind}" for kind, count in counts(printed))
        parts["Every printed number"] = [
            html.folded(f"{len(printed)} printed numbers: {listed}", table(printed).html())
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
    head = [html.element("p", *_byline(paper), class_="byline"), html.element("p", paper.scope)]
    if paper.title_korean:
        head.insert(0, html.element("p", paper.title_korean, class_="korean", lang="ko"))
    if paper.title_note:
        head.append(html.element("p", paper.title_note, class_="byline"))
    quality = f"Our times: {variation.quality(reproduction.measurements)}."
    head.append(html.element("p", quality, class_="byline"))
    sections = [
        html.section(f"{work.key}-{slug(title)}", title, *children)
        for title, children in parts.items()
    ]
    warning = busy(reproduction.provenance)
    return html.section(work.key, paper.title, warning, *head, *sections, level=1)


def _speed(reproduction: Reproduction, work: Work) -> Iterator[Table]:
    times = reproduction.times[reproduction.times["paper"] == work.key]
    if not len(times):
        return
    for name, rows in times.groupby("table", sort=False):
        yield speed_table(rows, f"Times of {work.key}, {name}, and of this machine.")
    missing = [name for name in work.paper.algorithms if name not in set(times["algorithm"])]
    measurements = reproduction.measurements
    unprinted = measurements[measurements["algorithm"].isin(missing)]
    yield from measurement_tables(unprinted, part="Schemes without a printed time")


def _judged(reproduction: Reproduction, work: Work) -> Iterator[Table]:
    sizes, claims = (
        frame[frame["paper"] == work.key] for frame in (reproduction.sizes, reproduction.claims)
    )
    if len(sizes):
        yield size_table(sizes)
    of_work, added = split_ours(claims)
    if len(of_work):
        yield claim_table(of_work)
    if len(added):
        yield claim_table(added, "Statements of ours, which the source does not make.")


def _byline(paper: Paper) -> list[str]:
    fields = (", ".join(paper.authors), paper.venue, paper.year)
    reference = ", ".join(filter(None, fields))
    machine = "; ".join(
        f"{name.replace('_', ' ')}: {value}" for name, value in paper.machine.items()
    )
    key = html.element("code", paper.key)
    parts: list[str] = [key, f" {reference}", Markup("<br>") if machine else "", machine]
    for target in (paper.url, f"https://doi.org/{paper.doi}" if paper.doi else ""):
        if target:
            parts += [Markup("<br>"), html.link(target, target)]
    return parts


def claim_table(
    claims: pd.DataFrame, caption: str = "Statements of the text, each with its sentence."
) -> Table:
    """Return a table of statements with their verdicts by the printed numbers and by ours."""
    sources = set(claims["source"])
    kinds = [kind for kind in Kind if kind in sources - {Kind.PUBLISHED, Kind.REGISTRY}]
    rows = []
    for _, group in claims.groupby("claim_id", sort=False):
        records = group.to_dict("records")
        by_print = [row for row in records if row["source"] == Kind.PUBLISHED]
        by_ours = [row for row in records if row["source"] != Kind.PUBLISHED]
        judged = [_judgements(by_print, labelled=False), _judgements(by_ours, labelled=True)]
        rows.append([records[0]["section"], statement(records[0]), *judged])
    return Table(
        columns=[*map(Column, ("section", "statement", "by the printed numbers", "here"))],
        rows=rows,
        caption=caption,
        source=[Kind.PUBLISHED, *kinds, *[Kind.REGISTRY] * (Kind.REGISTRY in sources)],
        style="claims",
        part=CHECKED,
        notes=[PROSE["verdicts"]],
    )


def statement(row: Mapping[Any, Any]) -> Shown:
    """Return a table cell: the statement in English, its interpretation and the quoted sentence."""
    reading = f"Read as: {row['reading']}." if row["reading"] else ""
    quote = "A statement of ours; the source does not make it."
    if row["quote"]:
        quote = f"\u201c{row['quote']}\u201d"
    parts = [row["statement"]]
    parts += [html.element("p", reading, class_="reading")] if reading else []
    # Hangul syllables: the page marks the language of Korean quotes.
    korean = "ko" if any("\uac00" <= letter <= "\ud7a3" for letter in quote) else ""
    parts.append(html.element("p", quote, class_="quote", lang=korean))
    text = " ".join(filter(None, (row["statement"], reading, quote)))
    return Shown(row["statement"], text, html.join(*parts))


def _judgements(rows: list[dict[Any, Any]], *, labelled: bool) -> Shown:
    parts, texts = [], []
    for row in rows:
        # Several parts of a check may have the same evidence.
        evidence = [*dict.fromkeys(row["evidence"].split("; "))]
        evidence += [f"setting: {row['setting']}"] if row["setting"] else []
        label = html.labels(row["source"]) if labelled else ""
        items = (html.element("li", text) for text in evidence)
        bullets = html.element("ul", *items, class_="evidence")
        parts.append(html.join(html.badge(row["verdict"]), " " * bool(label), label, bullets))
        texts.append(f"{row['verdict']}: {'; '.join(evidence)}")
    return Shown([row["verdict"] for row in rows], "; ".join(texts), html.join(*parts))


def speed_table(times: pd.DataFrame, caption: str) -> Table:
    """Return a table of published times and ours, a row per algorithm and published variant."""
    times = times.assign(operation=times["quantity"].str.replace("_seconds", "", regex=False))
    operations = [name for name in algorithms.OPERATIONS if name in set(times["operation"])]
    has_variants = bool((times["variant"] != "").any())
    # A note on every row is a note on the table.
    notes = [{note for note in texts if note} for texts in times[["note", "reason"]].to_numpy()]
    shared = set.intersection(*notes)
    rows, remarks = [], []
    # In printed order, with the variants of an algorithm next to each other.
    order = list(dict.fromkeys(times["algorithm"]))
    groups = sorted(
        times.groupby(["algorithm", "variant"], sort=False),
        key=lambda group: order.index(group[0][0]),
    )
    for names, cells in groups:
        by_operation = {cell["operation"]: cell for cell in cells.to_dict("records")}
        row = [cell for name in operations for cell in _speed_cells(by_operation.get(name))]
        rows.append([*names[: 1 + has_variants], *row])
        texts = dict.fromkeys(cells[["note", "reason"]].to_numpy().ravel())
        remarks.append("; ".join(text for text in texts if text and text not in shared))
    here = ", ".join(sorted(filter(None, set(times["implementation"]))))
    return Table(
        columns=[
            Column("algorithm"),
            *[Column("variant")] * has_variants,
            *(
                Column(title, figures.humanize(name), True)
                for name in operations
                for title in ("published", "here", "ratio")
            ),
        ],
        rows=rows,
        caption=f"{caption} Here: {here or 'nothing'}. Ratio: here / published; below 1 is faster "
        "here.",
        source=(Kind.PUBLISHED, Kind.MEASURED),
        row_headers=2 if has_variants else 1,
        remarks=remarks,
        notes=sorted(shared),
        part=SPEED,
    )


def _speed_cells(cell: Mapping[Any, Any] | None) -> list[Any]:
    if cell is None:
        return [figures.MISSING] * 3
    return [
        Shown(cell["printed"], SECONDS.text(cell["printed"], exact=True)),
        ours(cell["ours"]),
        Shown(cell["ratio"], RATIO.text(cell["ratio"], 2)),
    ]


# Meanings of the signs of explained sizes.
_SIGNS = {
    "version": "correct for another version of the scheme, see the remark",
    "definition": "correct by another definition, see the remark",
    "erratum": "a misprint",
}


def size_table(sizes: pd.DataFrame) -> Table:
    """Return a table of printed sizes and the registry's sizes, with a verdict on each."""
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
        source=(Kind.PUBLISHED, Kind.REGISTRY),
        remarks=remarks,
        part="Sizes",
    )


def _size_cells(cells: list[dict[Any, Any]]) -> list[Any]:
    if not cells:
        return [figures.MISSING] * 2
    # A size may be printed several times; one that differs decides the verdict.
    word = next((cell["verdict"] for cell in cells if cell["verdict"] != "equal"), "equal")
    size = cells[0]["ours"]
    badge = verdict(word, short=True)
    here = Shown(
        size,
        f"{figures.integer(size)} {badge.text}",
        html.join(figures.integer(size), " ", badge.html or ""),
    )
    texts = dict.fromkeys(figures.integer(cell["printed"]) for cell in cells)
    return [" / ".join(texts), here]
