"""Show the reproduced works, and reproduce them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from pqchain.commands import console, values
from pqchain.errors import UsageError
from pqchain.render.table import Table


def papers(
    key: values.Work | None = None,
    table: str | None = None,
    /,
    *,
    bibtex: bool = False,
    form: values.Format = values.TEXT,
) -> int:
    """Show the reproduced works and their published tables, and how to cite them.

    Args:
        key: a work, such as pqdpol
        table: one of its tables, such as table4
        bibtex: references of pqchain and the works in BibTeX; with a work: that of the work

    Examples:
      pqchain papers
      pqchain papers pqdpol table4 --json
      pqchain papers --bibtex > pqchain.bib
    """
    if bibtex:
        if table is not None:
            raise UsageError("--bibtex and TABLE exclude each other; give one")
        from pqchain.works import citation

        entries = citation.entries(key)
        text = "\n\n".join(map(citation.bibtex, entries))
        return console.show(form, entries, text, verbatim=True)
    from pqchain.works import papers as works
    from pqchain.works import tables

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
        return console.show(form, data, tables.description(paper))
    frame = works.table(key, table)
    content = {"paper": key, "table": table, **frame.attrs, "rows": console.records(frame)}
    errata = [f"  - erratum: {note}" for note in frame.attrs["errata"]]
    return console.show(form, content, tables.published_table(frame), remarks=errata)


def reproduce(
    *,
    preset: values.Preset | None = None,
    only: values.Works = (),
    scheme: values.Schemes = (),
    output: Path = Path("results"),
    resume: bool = False,
    form: values.Format = values.TEXT,
) -> int:
    """Measure, compare with the published tables, and execute the notebooks of the works.

    The preset quick takes 4 to 5 minutes for all works on 2 idle cores; paper gives numbers for
    publication. Exit code 1 only for a wrong size or a failed computation, never for a time.

    Args:
        only: reproduce only these works; default: all
        output: output folder; default: results
        resume: use what was measured here in the last 30 days, such as by an interrupted run

    Examples:
      pqchain reproduce
      pqchain reproduce --preset paper --only pqdpol
      pqchain reproduce --scheme ./libmine.so     include your own scheme
    """
    added = console.register_schemes(scheme)
    from pqchain import reproduce as reproduction
    from pqchain.reproduce import notebooks

    with console.resumable(preset=preset, resume=resume) as options:
        result = reproduction.run(output, only=list(only) or None, algorithms=added, **options)
    index, table = str(result.output / "index.html"), notebooks.works_table(result)
    data = {
        **{"ok": not result.failures, "failures": result.failures, "index": index},
        "works": table.records(),
        "frames": {
            work.work.key: {name: console.records(frame) for name, frame in work.frames.items()}
            for work in result.results
        },
    }
    remarks = [table.text(), *(f"pqchain: {failure}" for failure in result.failures)]
    return console.show(form, data, index, remarks=remarks, ok=not result.failures)
