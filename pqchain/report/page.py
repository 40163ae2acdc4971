"""The page of the report: summary, a chapter for each work, our times, provenance."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pqchain.bench.tables import measurement_tables
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.report import chapter, summary
from pqchain.report.run import Reproduction

Plates = dict[str, list[tuple[str, Markup]]]
"""Figures by chapter, the key of a work or "" for this machine: the part they go to, and HTML."""


def compose(done: Reproduction, plates: Plates, files: Iterable[Path]) -> str:
    """Return the page."""
    chapters = [chapter.chapter(done, work, plates.get(work.key, [])) for work in done.works]
    drawn = [plate for _, plate in plates.get("", [])]
    tables = [table.html() for table in measurement_tables(done.measurements)]
    here = html.section("measured", "What this machine measured", *drawn, *tables)
    links = html.bullets(html.link(path.as_posix(), path.as_posix()) for path in files)
    listed = html.section("files", "Files beside this page", links)
    contents = [
        ("summary", "Summary"),
        ("reading", "How to read this page"),
        *((key, key) for key in done.keys),
        ("measured", "What this machine measured"),
        ("correction", "A corrected defect"),
        ("provenance", "Where our numbers were made"),
        ("files", "Files"),
    ]
    head = [summary.summary(done), summary.reading(done.provenance)]
    made = [
        summary.correction(done.provenance.get("native", {})),
        summary.provenance(done.provenance),
    ]
    title = "pqchain: published and measured here"
    return html.document(title, contents, *head, *chapters, here, *made, listed)
