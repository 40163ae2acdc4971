"""`pqchain papers`: all published works, one of them, or one of its tables."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

from pqchain.commands import console
from pqchain.errors import UsageError
from pqchain.render.table import Column, Table

if TYPE_CHECKING:
    from pqchain.works.paper import Paper


def run(arguments: argparse.Namespace) -> int:
    """Show all published works, one of them, or one of its tables."""
    if arguments.coverage and arguments.table is not None:
        raise UsageError("--coverage and TABLE exclude each other; give one")
    if arguments.coverage:
        return _coverage(arguments)
    from pqchain.works import papers

    if arguments.key is None:
        facts = ("key", "title", "title_korean", "year")
        rows = [
            {**{fact: getattr(work, fact) for fact in facts}, "tables": list(work.tables)}
            for work in map(papers.paper, papers.keys())
        ]
        hint = "`pqchain papers KEY` shows a work, `pqchain papers KEY TABLE` one of its tables."
        return console.show(arguments, rows, Table.of(rows, ["key", "title"]), remarks=[hint])
    paper = papers.paper(arguments.key)
    if arguments.table is None:
        data = {"key": paper.key, **asdict(paper)}
        # The folder depends on the installation.
        del data["folder"]
        return console.show(arguments, data, _description(paper))
    from pqchain.works.tables import published_table

    frame = papers.table(arguments.key, arguments.table)
    content = {"paper": arguments.key, "table": arguments.table, **frame.attrs}
    content["rows"] = console.records(frame)
    errata = [_list_item(f"erratum: {note}") for note in frame.attrs["errata"]]
    return console.show(arguments, content, published_table(frame), remarks=errata)


def _coverage(arguments: argparse.Namespace) -> int:
    from pqchain import results
    from pqchain.bench import stored, variation
    from pqchain.works import printed, registry
    from pqchain.works.work import Bench

    works = registry.works() if arguments.key is None else [registry.get(arguments.key)]
    measurements = stored.load()
    frames = {work.key: work.printed(measurements, work.compute(Bench())) for work in works}
    frame = results.joined(frames.values(), printed.PRINTED)
    data = console.records(frame)
    remarks = [
        f"Measured numbers are those distributed with pqchain ({variation.quality(measurements)}); "
        "`pqchain reproduce` measures on this machine and adds the results of complete runs."
    ]
    if arguments.key is not None:
        return console.show(arguments, data, printed.table(frame), remarks=remarks)
    columns = [Column("work"), Column("printed", numeric=True)]
    columns += [Column(kind, numeric=True) for kind in printed.KINDS]
    rows: list[list[object]] = []
    for key, frame in frames.items():
        rows.append([key, len(frame), *((frame["kind"] == kind).sum() for kind in printed.KINDS)])
    rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
    table = Table(columns=columns, rows=rows, caption="Printed numbers by the kind of pqchain's.")
    return console.show(arguments, data, table, remarks=remarks)


def _list_item(text: str) -> str:
    columns = min(shutil.get_terminal_size().columns, 100)
    return textwrap.fill(text, columns, initial_indent="  - ", subsequent_indent="    ")


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
