"""Reproduce the published works in one run and write `index.html`, tables and plots about it."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import algorithms, plots, results
from pqchain.bench import blocks as blockbench
from pqchain.bench import operations as bench
from pqchain.bench import tables
from pqchain.costs import from_frame
from pqchain.errors import DataError, UsageError
from pqchain.render import html
from pqchain.render.html import Markup
from pqchain.report import chapter as chapters
from pqchain.report import figures
from pqchain.report import summary as overview
from pqchain.report.run import Reproduction
from pqchain.works import claims, compare, papers
from pqchain.works.falcon_hls import work as accelerator
from pqchain.works.pqdpol import tables as pqdpol_layout
from pqchain.works.pqdpol import work as pqdpol
from pqchain.works.quic_reencoding import tables as replaylayout
from pqchain.works.quic_reencoding import work as reencoding
from pqchain.works.round3 import tables as layout
from pqchain.works.round3 import work as round3

BASELINE = ("ECDSA-secp256k1", "Schnorr-secp256k1", "ECDSA-P256", "Ed25519")
"""What chains sign with today; measured beside whatever a work compares."""

BLOCKS = {"mini-blockchain": "blockchain"}
"""Works that measure a block, and the table that prints it."""

MANIFEST = "files.json"
"""Names what a run wrote into its folder, so that the next one can take away what it does not."""


def reproduce(
    output: str | Path = "results",
    *,
    preset: str = "quick",
    only: Iterable[str] | str | None = None,
    progress: bool = False,
) -> Reproduction:
    """Measure once, compare with every work (or those in `only`), and write the report.

    Writes into the folder `output`: index.html; files.json, which lists the files;
    measurements.csv; <work>/comparison.csv, sizes.csv and claims.csv, each with a JSON sidecar;
    blocks.csv and <work>/block-comparison.csv for works that measure blocks; pqdpol/table5-6.csv
    and what else `pqchain.works.pqdpol.work.study` models; falcon-hls/table3.csv;
    quic-reencoding/runs.csv, table1.csv, figure1.csv, contrast.csv and transports.csv of the
    replays; figures/*.svg and *.png. Files appear only when all are complete. What an earlier run
    wrote there and this one does not is removed; other files stay.

    A broken size or a failed computation is in `failures`; a slow machine is not a failure.
    Raises UnknownPaper for an unknown work and UsageError for an unknown preset.
    """
    keys = _keys(only)
    output = Path(output)
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output} is a file; give a folder to write the report into")
    # Better to fail now than after minutes of measuring.
    output.mkdir(parents=True, exist_ok=True)
    published = [papers.published(key) for key in keys]
    named = {name for key in keys for name in papers.paper(key).names.values()}
    wanted = [name for name in algorithms.ALGORITHMS if name in named or name in BASELINE]
    measured = bench.measure(wanted, preset=preset, progress=progress)
    blocks = _blocks(keys, preset, progress)
    study = _study(measured, preset, progress) if pqdpol.KEY in keys else None
    judged = results.joined((_claims(key, measured, blocks, study) for key in keys), claims.CLAIMS)
    replays: dict[str, pd.DataFrame] = {}
    if reencoding.PAPER in keys:
        replays = reencoding.reproduce(preset, progress=progress)
        judged = reencoding.claims(replays, judged)
    done = Reproduction(
        output=output,
        keys=tuple(keys),
        measurements=measured,
        comparison=results.joined(
            (_aligned(measured, frame) for frame in published), compare.COMPARISON
        ),
        sizes=results.joined((compare.sizes(frame) for frame in published), compare.SIZE),
        claims=judged,
        replays=replays,
        blocks=blocks,
        block_comparison=results.joined(
            (
                compare.blocks(blocks, papers.table(key, table), paper=key, table=table)
                for key, table in BLOCKS.items()
                if key in keys
            ),
            compare.BLOCK_COMPARISON,
        ),
        study=study,
    )
    write(done)
    return done


def _blocks(keys: Iterable[str], preset: str, progress: bool) -> pd.DataFrame:
    """Measure a block of every scheme that a work puts into one."""
    named = {name for key in keys if key in BLOCKS for name in papers.paper(key).names.values()}
    wanted = [name for name in algorithms.ALGORITHMS if name in named]
    if not wanted:
        return results.joined((), blockbench.BLOCK)
    measured = blockbench.measure_blocks(wanted, preset=preset, progress=progress)
    measured.attrs.pop("rounds", None)
    return measured


def _study(measured: pd.DataFrame, preset: str, progress: bool) -> pqdpol.Study:
    """Model the consensus with the paper's costs, and with ours if there are any."""
    try:
        costs = from_frame(measured)
    except DataError:  # nothing was measured
        costs = None
    return pqdpol.study(costs, preset=preset, progress=progress)


def _claims(
    key: str, measured: pd.DataFrame, blocks: pd.DataFrame, study: pqdpol.Study | None
) -> pd.DataFrame:
    """Check a work's statements; what only a model can decide, by the model."""
    if key != pqdpol.KEY or study is None:
        return compare.claims(key, measured, blocks)
    found = compare.claims(key, measured, blocks, study.tables)
    return results.joined((found, pqdpol.softening(study.delegation)), claims.CLAIMS)


def write(done: Reproduction) -> Path:
    """Write the report of a finished run into its folder, all or nothing; return the page."""
    output = done.output
    building = output.parent / f".{output.name}.{uuid.uuid4().hex}.tmp"
    try:
        drawn = figures.drawn(done)
        shown: dict[tuple[str, str], Markup] = {}
        for where, figure in drawn.items():
            (building / "figures").mkdir(parents=True, exist_ok=True)
            stem = figures.stem(where)
            for kind in ("png", "svg"):
                image = plots.figure_bytes(figure.axes, kind)
                (building / "figures" / f"{stem}.{kind}").write_bytes(image)
            # The SVG is the last one.
            shown[where] = html.figure(
                image, identifier=f"figure-{stem}",
                description=figure.description, caption=figure.caption,
            )  # fmt: skip
        _save_tables(done, building)
        files = sorted(path.relative_to(building) for path in building.rglob("*") if path.is_file())
        listed = [Path(MANIFEST), *files]
        (building / "index.html").write_text(_page(done, shown, listed), encoding="utf-8")
        files.append(Path("index.html"))
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
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return done.index


def _list(output: Path, files: Iterable[Path]) -> None:
    """Note which files of the folder are a run's own."""
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


def _keys(only: Iterable[str] | str | None) -> list[str]:
    """Return the works to reproduce, in the order of the report: most reproduced first."""
    known = sorted(papers.keys(), key=lambda key: (papers.paper(key).place, key))
    if only is None:
        return known
    chosen = [only] if isinstance(only, str) else list(only)
    for key in chosen:
        papers.paper(key)
    if not chosen:
        raise UsageError(f"no work chosen; expected some of {', '.join(known)}")
    return [key for key in known if key in chosen]


def _aligned(measured: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Set our times beside those of a processor like ours; a microcontroller is no counterpart."""
    alike = published["implementation"].isin(("", "ref", "avx2"))
    return compare.align(measured, published[alike])


def _save_tables(done: Reproduction, folder: Path) -> None:
    """Save every frame with the provenance of the measurements that it rests on."""
    provenance = done.measurements.attrs.get("provenance", {})
    results.save(done.measurements, folder / "measurements.csv")
    if len(done.blocks):
        results.save(done.blocks, folder / "blocks.csv")
    frames = {
        "comparison": done.comparison,
        "sizes": done.sizes,
        "claims": done.claims,
        "block-comparison": done.block_comparison,
    }
    for contract, frame in frames.items():
        for key, rows in frame.groupby("paper", sort=False):
            path = folder / str(key) / f"{contract}.csv"
            results.save(rows, path, provenance=provenance)
    for name, (frame, _) in done.study.frames.items() if done.study else ():
        path = folder / pqdpol.KEY / f"{name}.csv"
        results.save(frame, path, provenance=provenance)
    if round3.KEY in done.keys:
        path = folder / round3.KEY / "table1.csv"
        results.save(round3.table1(done.measurements), path)
    if accelerator.PAPER in done.keys:
        path = folder / accelerator.PAPER / "table3.csv"
        results.save(accelerator.table3(), path, provenance=provenance)
    for name, frame in done.replays.items():
        path = folder / reencoding.PAPER / f"{name}.csv"
        results.save(frame, path)


def _page(
    done: Reproduction, shown: Mapping[tuple[str, str], Markup], files: Iterable[Path]
) -> str:
    """Compose the page."""

    def of(chapter: str) -> dict[str, Markup]:
        return {name: markup for (where, name), markup in shown.items() if where == chapter}

    facts: dict[str, Any] = done.measurements.attrs.get("provenance", {})
    works = []
    contents = [("summary", "Summary"), ("reading", "How to read this page")]
    for key in done.keys:
        paper = papers.paper(key)
        beside = done.block_comparison[done.block_comparison["paper"] == key]
        chain = None
        if len(beside):
            drawn = list(of(figures.BLOCKS).values())
            chain = chapters.block_part(paper, beside, done.blocks, drawn)
        own = list(of(key).values())
        if key == round3.KEY:
            checks = round3.cross_check(done.measurements)
            own = [*layout.markup(round3.table1(done.measurements), checks), *own]
        replayed: tuple[list[Markup], list[Markup]] = ([], [])
        if key == reencoding.PAPER and done.replays:
            replayed, own = replaylayout.markup(done.replays, of(key)), []
        comparison, sizes, claims = (
            frame[frame["paper"] == key] for frame in (done.comparison, done.sizes, done.claims)
        )
        missing = [
            name for name in paper.names.values() if name not in set(comparison["algorithm"])
        ]
        without = done.measurements[done.measurements["algorithm"].isin(missing)]
        unprinted = [
            table.html() for table in tables.measurement_tables(without) if len(comparison)
        ]
        modelled = []
        if key == accelerator.PAPER:
            modelled = [chapters.accelerator_table(accelerator.table3())]
        if key == pqdpol.KEY and done.study:
            modelled = pqdpol_layout.markup(done.study, list(of(figures.CONSENSUS).values()))
        works.append(
            chapters.work(
                paper,
                comparison,
                sizes,
                claims,
                own,
                unprinted,
                chain=chain,
                modelled=modelled,
                replayed=replayed,
            )
        )
        contents.append((key, key))
    here = html.section(
        "measured", "What this machine measured", *of("").values(),
        *(table.html() for table in tables.measurement_tables(done.measurements)),
    )  # fmt: skip
    contents += [
        ("measured", "What this machine measured"),
        ("correction", "A corrected defect"),
        ("provenance", "Where our numbers were made"),
        ("files", "Files"),
    ]
    listed = html.section(
        "files", "Files beside this page",
        html.bullets(html.link(path.as_posix(), path.as_posix()) for path in files),
    )  # fmt: skip
    return html.document(
        "pqchain: published and measured here", contents,
        overview.summary(done, facts), overview.reading(facts), *works, here,
        overview.correction(facts.get("native", {})), overview.provenance(facts), listed,
    )  # fmt: skip
