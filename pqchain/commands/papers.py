"""Show the reproduced works and their published tables, and how to cite them."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain.render.table import Column, Table

if TYPE_CHECKING:
    from pqchain.works.paper import Paper


def papers(
    key: values.Work | None = None,
    table: str | None = None,
    /,
    *,
    coverage: bool = False,
    cite: bool = False,
    bibtex: bool = False,
    form: values.Format = values.TEXT,
) -> int:
    """Show the reproduced works, one of them, or one of its published tables.

    Args:
        key: a work, such as pqdpol
        table: one of its tables, such as table4
        coverage: compare each printed number with that of pqchain; without a work: count them by
            kind
        cite: show how to cite pqchain and the works; with a work: how to cite that
        bibtex: as --cite, in BibTeX

    Examples:
      pqchain papers
      pqchain papers round3
      pqchain papers pqdpol table4 --json
      pqchain papers --coverage
      pqchain papers --bibtex > pqchain.bib
    """
    if coverage + (cite or bibtex) + (table is not None) > 1:
        raise UsageError("--coverage, --cite and TABLE exclude each other; give one")
    if coverage:
        return _coverage(form, key)
    if cite or bibtex:
        return _cite(form, key, bibtex)
    from pqchain.works import papers as works

    if key is None:
        facts = ("key", "title", "title_korean", "year")
        rows = [
            {**{fact: getattr(work, fact) for fact in facts}, "tables": list(work.tables)}
            for work in map(works.paper, works.keys())
        ]
        hint = "`pqchain papers KEY` shows a work, `pqchain papers KEY TABLE` one of its tables."
        return console.show(form, rows, Table.of(rows, ["key", "title"]), remarks=[hint])
    paper = works.paper(key)
    if table is None:
        data = {"key": paper.key, **asdict(paper)}
        # The folder depends on the installation.
        del data["folder"]
        return console.show(form, data, _description(paper))
    from pqchain.works.tables import published_table

    frame = works.table(key, table)
    content = {"paper": key, "table": table, **frame.attrs, "rows": console.records(frame)}
    errata = [_list_item(f"erratum: {note}") for note in frame.attrs["errata"]]
    return console.show(form, content, published_table(frame), remarks=errata)


def _cite(form: values.Format, key: str | None, bibtex: bool) -> int:
    from pqchain.works import citation

    entries = citation.entries([] if key is None else [key])
    written = citation.bibtex if bibtex else citation.sentence
    return console.show(form, entries, "\n\n".join(map(written, entries)), verbatim=bibtex)


def _coverage(form: values.Format, key: str | None) -> int:
    from pqchain import results
    from pqchain.bench import stored, variation
    from pqchain.works import printed, registry
    from pqchain.works.work import Bench

    works = registry.works() if key is None else [registry.get(key)]
    measurements = stored.load()
    frames = {work.key: work.printed(measurements, work.compute(Bench())) for work in works}
    frame = results.joined(frames.values(), printed.PRINTED)
    remarks = [
        f"Measured numbers are those distributed with pqchain ({variation.quality(measurements)}); "
        "`pqchain reproduce` measures on this machine and adds the results of complete runs."
    ]
    table = printed.table(frame)
    if key is None:
        columns = [Column("work"), Column("printed", numeric=True)]
        columns += [Column(kind, numeric=True) for kind in printed.KINDS]
        rows: list[list[object]] = [
            [name, len(part), *((part["kind"] == kind).sum() for kind in printed.KINDS)]
            for name, part in frames.items()
        ]
        rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
        table = Table(
            columns=columns, rows=rows, caption="Printed numbers by the kind of pqchain's."
        )
    return console.show(form, console.records(frame), table, remarks=remarks)


def _list_item(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="  - ", subsequent_indent="    ")


def _description(paper: Paper) -> str:
    facts = [("title", paper.title), ("", paper.title_korean), ("", paper.title_note)]
    facts += [("authors", ", ".join(paper.authors)), ("venue", paper.venue)]
    facts += [("year", str(paper.year)), *paper.machine.items()]
    width = max(len(name) for name, _ in facts)
    rows = [f"{name:<{width}}  {value}".rstrip() for name, value in facts if value]
    rows += ["", "tables"]
    width = max(map(len, paper.tables))
    rows += [f"  {name:<{width}}  {layout.description}" for name, layout in paper.tables.items()]
    for title, entries in (
        ("errata", [f"{erratum.place}: {erratum.note}" for erratum in paper.errata]),
        ("notes", paper.notes),
    ):
        rows += ["", title, *map(_list_item, entries)] if entries else []
    return "\n".join(rows)
