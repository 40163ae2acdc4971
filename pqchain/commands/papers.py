"""`pqchain papers`: all published works, one of them, or one of its tables."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from pqchain.commands import console
from pqchain.errors import UsageError
from pqchain.render.table import Column, Table

if TYPE_CHECKING:
    from pqchain.works.paper import Paper


def run(arguments: argparse.Namespace) -> int:
    """Show all published works, one of them, or one of its tables."""
    chosen = [name for name in ("findings", "coverage") if getattr(arguments, name)]
    if len(chosen) > 1 or (chosen and arguments.table is not None):
        given = f"the table {arguments.table}" if arguments.table else "both"
        raise UsageError(
            f"--{' and --'.join(chosen)} with {given}; expected one of them, about whole works"
        )
    if arguments.findings and arguments.key is None:
        raise UsageError(
            "--findings is about one whole work, but no work was named; expected "
            "`pqchain papers KEY --findings`"
        )
    if arguments.coverage:
        return _coverage(arguments)
    from pqchain.works import papers

    if arguments.key is None:
        works = list(map(papers.paper, papers.keys()))
        facts = ("key", "title", "title_korean", "year")
        plain = [
            {**{fact: getattr(work, fact) for fact in facts}, "tables": list(work.tables)}
            for work in works
        ]
        table = Table.of(plain, [Column("key"), Column("title")])
        hint = "`pqchain papers KEY` shows one; `pqchain papers KEY TABLE` one of its tables."
        return console.show(arguments, plain, table, remarks=[hint])
    paper = papers.paper(arguments.key)
    if arguments.findings:
        from pqchain.report import findings
        from pqchain.works import registry

        if arguments.json:
            judged = console.records(findings.judged(registry.get(paper.key)))
            return console.show(arguments, judged)
        return console.show(arguments, None, findings.page(paper.key).rstrip())
    if arguments.table is None:
        described = {"key": paper.key, **asdict(paper)}
        # The folder depends on the installation.
        del described["folder"]
        return console.show(arguments, described, _described(paper))
    from pqchain.works.chapter import published_table

    frame = papers.table(arguments.key, arguments.table)
    whole = {"paper": arguments.key, "table": arguments.table, **frame.attrs}
    whole["rows"] = console.records(frame)
    errata = [console.wrapped(f"erratum: {note}") for note in frame.attrs["errata"]]
    return console.show(arguments, whole, published_table(frame), remarks=errata)


def _coverage(arguments: argparse.Namespace) -> int:
    """Show every printed number of a work next to ours, or the counts for all works."""
    from pqchain import results
    from pqchain.bench import stored
    from pqchain.works import printed, registry
    from pqchain.works.work import Bench

    works = registry.works() if arguments.key is None else [registry.get(arguments.key)]
    measured = stored.load()
    frames = {work.key: work.printed(measured, work.compute(Bench())) for work in works}
    every = results.joined(frames.values(), printed.PRINTED)
    remarks = [
        "Measured numbers are those distributed with pqchain; `pqchain reproduce` measures on this "
        "machine and adds the results of complete runs."
    ]
    if arguments.key is not None:
        return console.show(
            arguments, console.records(every), printed.table(every), remarks=remarks
        )
    columns = [Column("work"), Column("printed", numeric=True)]
    columns += [Column(kind, numeric=True) for kind in printed.KINDS]
    rows: list[list[object]] = []
    for key, frame in frames.items():
        rows.append([key, len(frame), *((frame["kind"] == kind).sum() for kind in printed.KINDS)])
    rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
    table = Table(columns=columns, rows=rows, caption="Printed numbers by kind of ours.")
    return console.show(arguments, console.records(every), table, remarks=remarks)


def _described(paper: Paper) -> str:
    facts = [("title", paper.title), ("", paper.title_korean), ("", paper.title_note)]
    facts += [("authors", ", ".join(paper.authors)), ("venue", paper.venue)]
    facts += [("year", str(paper.year)), *paper.machine.items()]
    width = max(len(name) for name, _ in facts)
    lines = [f"{name:<{width}}  {value}".rstrip() for name, value in facts if value]
    lines += ["", "tables"]
    longest = max(map(len, paper.tables))
    lines += [f"  {name:<{longest}}  {layout.description}" for name, layout in paper.tables.items()]
    for title, entries in (
        ("errata", [f"{erratum.place}: {erratum.note}" for erratum in paper.errata]),
        ("notes", paper.notes),
    ):
        wrapped = list(map(console.wrapped, entries))
        lines += ["", title, *wrapped] if wrapped else []
    return "\n".join(lines)
