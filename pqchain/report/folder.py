"""The folder of a report: page and files of a run or none, and nothing stale of an earlier one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from pqchain import plots, results, scratch
from pqchain.bench.tables import measurement_tables
from pqchain.errors import UsageError
from pqchain.plots.canvas import figure_of
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.report import chapter, figures, summary
from pqchain.report.run import Reproduction

MANIFEST = "files.json"
"""Names what a run wrote into its folder, so that the next one can take away what it does not."""


Plates = dict[str, list[tuple[str, Markup]]]
"""Figures by chapter, the key of a work or "" for this machine: the part they go to, and HTML."""


def prepare(output: Path) -> None:
    """Make the folder. Raises UsageError if there is a file of that name."""
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output} is a file; give a folder to write the report into")
    output.mkdir(parents=True, exist_ok=True)


def write(done: Reproduction) -> Path:
    """Write the report of a finished run into its folder, all or nothing; return the page."""
    output = done.output
    with scratch.folder(output.parent, prefix=f".{output.name}.", suffix=".tmp") as building:
        plates = _draw(done, building / "figures")
        _save_frames(done, building)
        files = sorted(path.relative_to(building) for path in building.rglob("*") if path.is_file())
        text = _page(done, plates, [Path(MANIFEST), *files])
        (building / "index.html").write_text(text, encoding="utf-8")
        files.append(Path("index.html"))
        _replace(building, output, files)
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


def _page(done: Reproduction, plates: Plates, files: Iterable[Path]) -> str:
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


def _replace(building: Path, output: Path, files: list[Path]) -> None:
    stale = sorted(set(_listed(output)) - set(files))
    # Both runs' files, until the old ones are gone: whoever is stopped half way forgets none.
    output.mkdir(parents=True, exist_ok=True)
    _list(output, [*files, *stale])
    # The page goes last, so that it never speaks of files that are not there yet.
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
    """Return what an earlier run noted, as far as it lies below the folder; nothing if unsure."""
    try:
        names = json.loads((output / MANIFEST).read_text(encoding="utf-8"))["files"]
        files = [Path(name) for name in names]
    except (OSError, ValueError, TypeError, KeyError):
        return []
    return [file for file in files if not file.is_absolute() and ".." not in file.parts]


def _remove(output: Path, file: Path) -> None:
    """Remove a file of an earlier run, and its folder if that is empty then."""
    place = output / file
    # Not through a link that leads elsewhere.
    if place.parent.resolve() != output.resolve() / file.parent or place.is_dir():
        return
    place.unlink(missing_ok=True)
    if place.parent != output and place.parent.is_dir() and not any(place.parent.iterdir()):
        place.parent.rmdir()


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
