"""The folder of a report: pages and files of one run, written completely or not at all."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from html import unescape
from pathlib import Path

from pqchain import plots, results, scratch
from pqchain.bench.tables import measurement_tables
from pqchain.errors import UsageError
from pqchain.plots.canvas import figure_of
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.report import chapter, figures, summary
from pqchain.report.run import PROSE, Reproduction

MANIFEST = "files.json"
"""Lists the files of a run, so that the next run can remove those that it does not write."""

FiguresByChapter = dict[str, list[tuple[str, Markup]]]
"""Part and HTML of the figures of each chapter: a work, or "" for this machine."""


def prepare(output: Path) -> None:
    """Create the folder. Raises UsageError if it is a file."""
    if output.exists() and not output.is_dir():
        raise UsageError(f"output must be a folder; got the file {output}")
    output.mkdir(parents=True, exist_ok=True)


def write(reproduction: Reproduction) -> Path:
    """Write the report into its folder, all files or none; return the first page."""
    output = reproduction.output
    with scratch.folder(output.parent, prefix=f".{output.name}.", suffix=".tmp") as building:
        drawn = _draw(reproduction, building / "figures")
        _save_frames(reproduction, building)
        files = sorted(path.relative_to(building) for path in building.rglob("*") if path.is_file())
        for name, text in _pages(reproduction, drawn, [Path(MANIFEST), *files]).items():
            (building / name).write_text(text, encoding="utf-8")
            files.append(Path(name))
        _replace(building, output, files)
    return reproduction.index


def _draw(reproduction: Reproduction, place: Path) -> FiguresByChapter:
    """Write every figure as <work>-<name> or <name>, and return their HTML."""
    place.mkdir(parents=True)
    drawn: FiguresByChapter = {}
    for key, plots_of_chapter in figures.draw(reproduction).items():
        for figure in plots_of_chapter:
            stem = "-".join(part for part in (key, figure.name) if part)
            for kind in ("png", "svg"):
                image = plots.figure_bytes(figure.axes, kind)
                (place / f"{stem}.{kind}").write_bytes(image)
                # The layout takes as long as drawing, so the second file reuses that of the first.
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
    """Return a page for each work, one for the machine, and last the first page."""
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
    bodies.append([summary.summary(reproduction), *_overview(drawn), summary.reading()])
    return {
        name: html.document(title, _contents(body), *body, pages=pages, script=script)
        for (name, title), body in zip([*pages[1:], pages[0]], bodies, strict=True)
    }


def _overview(drawn: FiguresByChapter) -> Iterable[Markup]:
    """Yield the figure of all schemes, if there is one."""
    for _, figure in drawn.get("", []):
        if 'id="figure-tradeoff"' in figure:
            yield html.section("overview", "All schemes: bytes and time", figure)


def _contents(body: Iterable[Markup]) -> list[tuple[str, str]]:
    """Return identifier and title of every section with a heading."""
    sections = re.findall(r'<section id="([^"]+)"><h[23]>(.*?) <a href', "".join(body))
    return [(identifier, unescape(title)) for identifier, title in sections]


def _replace(building: Path, output: Path, files: list[Path]) -> None:
    stale = sorted(set(_listed(output)) - set(files))
    # The manifest lists the files of both runs until the old ones are removed, so that an
    # interrupted run leaves no file that the next one does not know.
    output.mkdir(parents=True, exist_ok=True)
    _list(output, [*files, *stale])
    # The first page is moved last, so that its links never lead to missing files.
    for file in files:
        (output / file).parent.mkdir(parents=True, exist_ok=True)
        os.replace(building / file, output / file)  # noqa: PTH105
    for file in stale:
        _remove(output, file)
    _list(output, files)


def _list(output: Path, files: Iterable[Path]) -> None:
    names = sorted(file.as_posix() for file in files)
    results.write_atomically(output / MANIFEST, json.dumps({"files": names}, indent=2) + "\n")


def _listed(output: Path) -> list[Path]:
    """Return the files of an earlier run below the folder; none if its manifest is unreadable."""
    try:
        names = json.loads((output / MANIFEST).read_text(encoding="utf-8"))["files"]
        files = [Path(name) for name in names]
    except (OSError, ValueError, TypeError, KeyError):
        return []
    return [file for file in files if not file.is_absolute() and ".." not in file.parts]


def _remove(output: Path, file: Path) -> None:
    """Remove a file of an earlier run, and its folder if that becomes empty."""
    place = output / file
    # A symbolic link could lead outside of the folder.
    if place.parent.resolve() != output.resolve() / file.parent or place.is_dir():
        return
    place.unlink(missing_ok=True)
    if place.parent != output and place.parent.is_dir() and not any(place.parent.iterdir()):
        place.parent.rmdir()


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
            provenance = frame.attrs.get("provenance") or reproduction.provenance
            results.save(frame, folder / key / f"{name}.csv", provenance=provenance)
