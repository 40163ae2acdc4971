"""The folder of a report: page and files of a run or none, and nothing stale of an earlier one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from pathlib import Path

from pqchain import outputs, plots, results
from pqchain.bench.tables import measurement_tables
from pqchain.plots.canvas import figure_of
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.report import chapter, figures, summary
from pqchain.report.run import SAID, Reproduction

Plates = dict[str, list[tuple[str, Markup]]]
"""Figures by chapter, the key of a work or "" for this machine: the part they go to, and HTML."""


def write(done: Reproduction) -> Path:
    """Write the report of a finished run into its folder, all or nothing; return the first page."""
    with outputs.filled(done.output) as building:
        plates = _draw(done, building / "figures")
        _save_frames(done, building)
        files = sorted(path.relative_to(building) for path in building.rglob("*") if path.is_file())
        for name, text in _pages(done, plates, [Path(outputs.MANIFEST), *files]).items():
            (building / name).write_text(text, encoding="utf-8")
    return done.index


def _draw(done: Reproduction, place: Path) -> Plates:
    """Write every figure, <work>-<name> or the name alone, and return it as the page shows it."""
    place.mkdir(parents=True)
    plates: Plates = {}
    for key, drawn in figures.drawn(done).items():
        for figure in drawn:
            stem = "-".join(part for part in (key, figure.name) if part)
            for kind in ("png", "svg"):
                image = plots.figure_bytes(figure.axes, kind)
                (place / f"{stem}.{kind}").write_bytes(image)
                # Both files show one layout, which takes as long to find as a figure to draw.
                figure_of(figure.axes).set_layout_engine("none")
            shown = html.figure(  # the SVG, which was the last
                image,
                identifier=f"figure-{stem}",
                description=figure.description,
                caption=figure.caption,
            )
            plates.setdefault(key, []).append((figure.part, shown))
    return plates


def _pages(done: Reproduction, plates: Plates, files: Iterable[Path]) -> dict[str, str]:
    """Write a page for each work, one for the machine, and the first one, which comes last."""
    script = Path(__file__).with_name("tables.js").read_text(encoding="utf-8")
    pages = [("index.html", SAID["first"]), *((f"{key}.html", key) for key in done.keys)]
    pages.append(("machine.html", SAID["machine"]))
    drawn = [plate for _, plate in plates.get("", [])]
    links = html.bullets(html.link(path.as_posix(), path.as_posix()) for path in files)
    bodies = [[chapter.chapter(done, work, plates.get(work.key, []))] for work in done.works]
    bodies.append(
        [
            html.element("h1", SAID["machine"]),
            summary.busy(done.provenance),
            html.section("measured", "What this machine measured", *drawn,
                         *(table.html() for table in measurement_tables(done.measurements))),
            summary.correction(done.provenance.get("native", {})),
            summary.provenance(done.provenance),
            html.section("files", "Files beside these pages", links),
        ]
    )  # fmt: skip
    bodies.append([summary.summary(done), *_overview(plates), summary.reading()])
    return {
        name: html.document(title, _contents(body), *body, pages=pages, script=script)
        for (name, title), body in zip([*pages[1:], pages[0]], bodies, strict=True)
    }


def _overview(plates: Plates) -> Iterable[Markup]:
    """Yield the figure that shows all schemes at once, if there is one."""
    for _, plate in plates.get("", []):
        if 'id="figure-tradeoff"' in plate:
            yield html.section("overview", "The schemes at a glance", plate)


def _contents(body: Iterable[Markup]) -> list[tuple[str, str]]:
    """Return identifier and title of every section of a page that has a heading to jump to."""
    found = re.findall(r'<section id="([^"]+)"><h[23]>(.*?) <a href', "".join(body))
    return [(identifier, unescape(title)) for identifier, title in found]


def _save_frames(done: Reproduction, folder: Path) -> None:
    results.save(done.measurements, folder / "measurements.csv")
    for name in ("comparison", "sizes", "claims", "coverage"):
        frame = getattr(done, name)
        contract = results.contract_of(frame)
        for key, rows in frame.groupby("paper", sort=False):
            place = folder / str(key) / f"{name}.csv"
            results.save(rows, place, contract=contract, provenance=done.provenance)
    for key, computed in done.frames.items():
        for name, frame in computed.items():
            provenance = frame.attrs.get("provenance") or done.provenance
            results.save(frame, folder / key / f"{name}.csv", provenance=provenance)
