"""Output folder of a report: pages and files of one run, written completely or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from html import unescape
from pathlib import Path

from pqchain import plots, results
from pqchain.bench.tables import measurement_tables
from pqchain.plots.canvas import figure_of
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.report import chapter, figures, summary
from pqchain.report.run import PROSE, Reproduction
from pqchain.results import outputs

FiguresByChapter = dict[str, list[tuple[str, Markup]]]
"""Part and HTML of the figures of each chapter: a work, or "" for this machine."""


def write(reproduction: Reproduction) -> Path:
    """Write the report into its folder, all files or none; return the path of the first page."""
    with outputs.staged(reproduction.output) as building:
        drawn = _draw(reproduction, building / "figures")
        _save_frames(reproduction, building)
        # Pages come last, because one of them links to all other files.
        files = sorted(path.relative_to(building) for path in building.rglob("*") if path.is_file())
        for name, text in _pages(reproduction, drawn, [Path(outputs.MANIFEST), *files]).items():
            (building / name).write_text(text, encoding="utf-8")
    return reproduction.index


def _draw(reproduction: Reproduction, place: Path) -> FiguresByChapter:
    place.mkdir(parents=True)
    drawn: FiguresByChapter = {}
    for key, plots_of_chapter in figures.draw(reproduction).items():
        for figure in plots_of_chapter:
            stem = "-".join(part for part in (key, figure.name) if part)
            for kind in ("png", "svg"):
                image = plots.figure_bytes(figure.axes, kind)
                (place / f"{stem}.{kind}").write_bytes(image)
                # The layout takes as long as drawing, so the second file reuses that of the first.
                with suppress(AttributeError):  # Matplotlib 3.5 has no layout engines
                    figure_of(figure.axes).set_layout_engine("none")
            markup = html.figure(
                image,  # the SVG, which was drawn last
                identifier=f"figure-{stem}",
                description=figure.description,
                caption=figure.caption,
            )
            drawn.setdefault(key, []).append((figure.part, markup))
    return drawn


def _pages(
    reproduction: Reproduction, drawn: FiguresByChapter, files: Iterable[Path]
) -> dict[str, str]:
    script = Path(__file__).with_name("tables.js").read_text(encoding="utf-8")
    pages = [("index.html", PROSE["first"]), *((f"{key}.html", key) for key in reproduction.keys)]
    pages.append(("machine.html", PROSE["machine"]))
    figures_of_machine = [figure for _, figure in drawn.get("", [])]
    links = html.bullets(html.link(path.as_posix(), path.as_posix()) for path in files)
    bodies = [
        [chapter.chapter(reproduction, work, drawn.get(work.key, []))]
        for work in reproduction.works
    ]
    tables = (table.html() for table in measurement_tables(reproduction.measurements))
    bodies.append(
        [
            html.element("h1", PROSE["machine"]),
            summary.busy(reproduction.provenance),
            html.section("measured", "Measurements of this machine", *figures_of_machine, *tables),
            summary.correction(reproduction.provenance.get("native", {})),
            summary.provenance(reproduction.provenance),
            html.section("files", "Files of this report", links),
        ]
    )
    overview = [
        html.section("overview", "All schemes: bytes and time", figure)
        for figure in figures_of_machine
        if 'id="figure-tradeoff"' in figure
    ]
    bodies.append([summary.summary(reproduction), *overview, summary.reading()])
    # The bodies are those of the works, of the machine, and last of the first page.
    return {
        name: html.document(title, _contents(body), *body, pages=pages, script=script)
        for (name, title), body in zip([*pages[1:], pages[0]], bodies, strict=True)
    }


def _contents(body: Iterable[Markup]) -> list[tuple[str, str]]:
    # Read from the markup, so that the contents always match the sections.
    sections = re.findall(r'<section id="([^"]+)"><h[23]>(.*?) <a href', "".join(body))
    return [(identifier, unescape(title)) for identifier, title in sections]


def _save_frames(reproduction: Reproduction, folder: Path) -> None:
    results.save(reproduction.measurements, folder / "measurements.csv")
    frames = {
        "coverage": reproduction.printed,
        "comparison": reproduction.times,
        "sizes": reproduction.sizes,
        "claims": reproduction.claims,
    }
    for name, frame in frames.items():
        contract = results.contract_of(frame)
        for key, rows in frame.groupby("paper", sort=False):
            file = folder / str(key) / f"{name}.csv"
            results.save(rows, file, contract=contract, provenance=reproduction.provenance)
    for key, computed in reproduction.frames.items():
        for name, frame in computed.items():
            # Frames with a provenance of their own, such as those of replays, keep it.
            provenance = frame.attrs.get("provenance") or reproduction.provenance
            results.save(frame, folder / key / f"{name}.csv", provenance=provenance)
