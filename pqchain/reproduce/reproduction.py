"""Reproduction of the published works in one run: measure, compute, save, execute notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pqchain import bench, results
from pqchain.algorithms import ALGORITHMS
from pqchain.algorithms import get as algorithm_of
from pqchain.bench.presets import PresetName
from pqchain.errors import UnknownPaper, UsageError
from pqchain.reproduce import index, notebooks, store
from pqchain.reproduce.outcome import Reproduction, WorkResults
from pqchain.results import outputs
from pqchain.results.checkpoint import Checkpoint
from pqchain.works import registry
from pqchain.works.work import Bench, Frames, Work

BASELINE = ("ECDSA-secp256k1", "Schnorr-secp256k1", "ECDSA-P256", "Ed25519")
"""The schemes of chains today; measured in addition to those of the works."""


def run(
    output: str | Path = "results",
    *,
    preset: PresetName | None = None,
    only: Iterable[str] | str | None = None,
    works: Iterable[Work] | None = None,
    algorithms: Iterable[str] = (),
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
) -> Reproduction:
    """Measure once, compute every work (or those in `only`), and write the results and pages.

    Writes into the folder `output`: index.html; the executed notebook of each work as
    `<key>.html`; files.json, which lists the files; and the CSV files of `store`, each with a JSON
    sidecar. Files appear only when all are complete. Files of an earlier run that this one does
    not write are removed; the folder must be new, empty, or of an earlier run. `works` replaces
    those of `pqchain.works.registry`. `algorithms` are measured in addition, such as registered
    ones. `checkpoint` keeps rounds, blocks and the frames of each work; what it has is not computed
    again.

    Unexplained sizes, failed computations and notebooks that raise an error are in `failures`; a
    slow machine is not a failure. Without the extra `notebooks` there are no pages of works. Raises
    UnknownPaper for an unknown work and UsageError for an unknown preset or another folder.
    """
    preset = preset or bench.preset()
    bench.presets.named(preset)  # an unknown preset fails before any work is done
    chosen = _chosen(registry.works() if works is None else list(works), only)
    place = Path(output)
    outputs.claim(place)  # an unusable folder fails now and not after minutes of measuring
    reproduction = compute(
        chosen, output=place, preset=preset, algorithms=algorithms, progress=progress,
        checkpoint=checkpoint,
    )  # fmt: skip
    with outputs.staged(place) as building:
        store.save(reproduction, building)
        pages = notebooks.write_pages(chosen, building, preset=preset)
        reproduction = replace(reproduction, pages=pages)
        (building / "index.html").write_text(index.page(reproduction, building), encoding="utf-8")
    return reproduction


def compute(
    works: Sequence[Work],
    *,
    output: Path,
    preset: PresetName,
    algorithms: Iterable[str] = (),
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
) -> Reproduction:
    """Measure once and compute the frames of works; parameters as of `run`, nothing is written."""
    additional = [algorithm_of(name).name for name in algorithms]
    wanted = {*BASELINE, *(name for work in works for name in work.algorithms()), *additional}
    # In the order of the registry, each scheme once.
    measured = bench.measure(
        [name for name in ALGORITHMS if name in wanted],
        preset=preset,
        progress=progress,
        checkpoint=checkpoint,
        warn=False,  # the pages state it first
    )
    tools = Bench(
        preset=preset,
        measurements=measured,
        measure_blocks=lambda names: bench.measure_blocks(
            names, preset=preset, progress=progress, checkpoint=checkpoint, warn=False
        ),
        progress=progress,
    )
    computed = tuple(
        WorkResults(work=work, measurements=measured, frames=_computed(work, tools, checkpoint))
        for work in works
    )
    return Reproduction(output=output, measurements=measured, results=computed)


def _computed(work: Work, tools: Bench, checkpoint: Checkpoint | None) -> Frames:
    stored = f"work {work.key}"
    if checkpoint is not None and (data := checkpoint.get(stored)) is not None:
        return {name: results.from_json(frame) for name, frame in data.items()}
    frames = work.compute(tools)
    if checkpoint is not None:
        checkpoint.put(stored, {name: results.to_json(frame) for name, frame in frames.items()})
    return frames


def _chosen(works: list[Work], only: Iterable[str] | str | None) -> list[Work]:
    if only is None:
        return works
    keys = [only] if isinstance(only, str) else list(only)
    known = [work.key for work in works]
    for key in keys:
        if key not in known:
            raise UnknownPaper("paper", key, known, "`pqchain papers`.")
    if not keys:
        raise UsageError(f"only must name at least one of {', '.join(known)}; got none")
    # In the order of the works, whatever the order of `only`.
    return [work for work in works if work.key in keys]
