"""Reproduction of the published works in one run: measure, compute, save, execute notebooks."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pqchain import bench, installation
from pqchain import results as frames_of
from pqchain.algorithms import ALGORITHMS
from pqchain.algorithms import get as algorithm_of
from pqchain.bench.presets import PresetName
from pqchain.errors import UsageError
from pqchain.reproduce import notebooks
from pqchain.reproduce.notebooks import RESULTS_VARIABLE
from pqchain.reproduce.outcome import Reproduction, WorkResults, load
from pqchain.results import machine, outputs
from pqchain.results.kept import KeptValues
from pqchain.works import registry
from pqchain.works.work import Bench, Frames, Work

BASELINE = ("ECDSA-secp256k1", "Schnorr-secp256k1", "ECDSA-P256", "Ed25519")
"""The schemes of chains today; measured in addition to those of the works."""


def run(
    output: str | Path = "results",
    *,
    preset: PresetName | None = None,
    only: Iterable[str] | str | None = None,
    algorithms: Iterable[str] = (),
    progress: bool = False,
    fresh: bool = True,
) -> Reproduction:
    """Measure once, compute every work (or those in `only`), and write the results and pages.

    Writes into the folder `output`: index.html; the executed notebook of each work as
    `<key>.html`; the files that `outcome` describes; and files.json, which lists them. Files appear
    only when all are complete. Files of an earlier run that this one does not write are removed;
    the folder must be new, empty, or of an earlier run. `algorithms` are measured in addition, such
    as registered ones. Rounds, blocks and the frames of each work are kept for 30 days, and not
    computed again unless `fresh`.

    Unexplained sizes, failed computations and notebooks that raise an error are in `failures`; a
    slow machine is not a failure. Without the extra `notebooks` there are no pages of works. Raises
    UnknownPaper for an unknown work and UsageError for an unknown preset or another folder.
    """
    preset = preset or bench.preset()
    bench.presets.named(preset)  # an unknown preset fails before any work is done
    works = registry.works()
    if only is not None:
        keys = {registry.get(key).key for key in ([only] if isinstance(only, str) else only)}
        works = [work for work in works if work.key in keys]
    if not works:
        raise UsageError("only must name at least one work; got none. See `pqchain papers`")
    place = Path(output)
    outputs.claim(place)  # an unusable folder fails now and not after minutes of measuring
    reproduction = _compute(
        works, place, preset, algorithms=algorithms, progress=progress, fresh=fresh
    )
    with outputs.staged(place) as building:
        reproduction.save(building)
        pages, failures = notebooks.write_pages(works, building, preset=preset)
        reproduction = replace(reproduction, pages=pages, page_failures=failures)
        page = notebooks.index_page(reproduction, building)
        (building / "index.html").write_text(page, encoding="utf-8")
    return reproduction


def results(key: str, *, preset: PresetName | None = None) -> WorkResults:
    """Return the results of a work, as its notebook shows them.

    They are those of the run whose folder PQCHAIN_RESULTS names, as in notebooks that `run`
    executes. Without it they are computed once for this machine, build and preset, and kept in the
    user's cache. Raises UnknownPaper, and DataError if the named folder lacks the work.
    """
    work, preset = registry.get(key), preset or bench.preset()
    if folder := os.environ.get(RESULTS_VARIABLE):
        return load(work, Path(folder))
    # Without a writable cache the results are computed again the next time.
    return _compute([work], Path(), preset, fresh=False).results[0]


def _build(preset: str) -> str:
    """Return a name of this machine, this build of pqchain and a preset."""
    # The commit does not show changes of a checkout that are not committed.
    sources = [*installation.HOME.rglob("*.py"), *installation.data("papers").rglob("*.*")]
    facts = {
        "machine": machine.provenance()["machine_id"],
        "version": installation.VERSION,
        "sources": max(path.stat().st_mtime_ns for path in sources),
        "native": installation.installed_libraries(),
        "preset": preset,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _compute(
    works: Sequence[Work],
    output: Path,
    preset: PresetName,
    *,
    algorithms: Iterable[str] = (),
    progress: bool = False,
    fresh: bool = True,
) -> Reproduction:
    wanted = {*BASELINE, *(algorithm_of(name).name for name in algorithms)}
    wanted |= {name for work in works for name in work.algorithms()}
    # In the order of the registry, each scheme once; the pages state the warnings first.
    names = [name for name in ALGORITHMS if name in wanted]
    how: Any = {"preset": preset, "progress": progress, "fresh": fresh, "warn": False}
    measured = bench.measure(names, **how)
    blocks = partial(bench.measure_blocks, **how)
    tools = Bench(preset=preset, measurements=measured, measure_blocks=blocks, progress=progress)
    table = frames_of.to_json(measured)["table"].encode()
    kept = KeptValues(f"{_build(preset)} {hashlib.sha256(table).hexdigest()} ", fresh=fresh)
    computed = (
        WorkResults(work=work, measurements=measured, frames=_frames(work, tools, kept))
        for work in works
    )
    return Reproduction(output=output, measurements=measured, results=tuple(computed))


def _frames(work: Work, tools: Bench, kept: KeptValues) -> Frames:
    if (data := kept.get(work.key)) is not None:
        return {name: frames_of.from_json(frame) for name, frame in data.items()}
    frames = work.compute(tools)
    kept.put(work.key, {name: frames_of.to_json(frame) for name, frame in frames.items()})
    return frames
