"""Reproduction of the published works in one run: measure, compute, judge, write."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pqchain import bench, results
from pqchain.algorithms import ALGORITHMS
from pqchain.algorithms import get as algorithm_of
from pqchain.bench.presets import PresetName
from pqchain.errors import UnknownPaper, UsageError
from pqchain.report import folder
from pqchain.report.run import Reproduction
from pqchain.results import outputs
from pqchain.results.checkpoint import Checkpoint
from pqchain.works import registry
from pqchain.works.printed import PRINTED
from pqchain.works.work import CLAIMS, Bench, Frames, Work

BASELINE = ("ECDSA-secp256k1", "Schnorr-secp256k1", "ECDSA-P256", "Ed25519")
"""The schemes of chains today; measured in addition to those of the works."""


def reproduce(
    output: str | Path = "results",
    *,
    preset: PresetName | None = None,
    only: Iterable[str] | str | None = None,
    works: Iterable[Work] | None = None,
    algorithms: Iterable[str] = (),
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
) -> Reproduction:
    """Measure once, compare with every work (or those in `only`), and write the report.

    Writes into the folder `output`: index.html, a page for each work and machine.html; files.json,
    which lists the files; measurements.csv; <work>/coverage.csv (every printed number), its views
    comparison.csv and sizes.csv, claims.csv, and the frames of the work, each with a JSON sidecar;
    `figures/*.svg` and `*.png`. Files appear only when all are complete. Files of an earlier run
    that this one does not write are removed; the folder must be new, empty, or of an earlier run.
    `works` replaces those of `pqchain.works.registry`. `algorithms` are measured in addition, such
    as registered ones. `checkpoint` keeps rounds, blocks and the frames of each work; what it has
    is not computed again.

    Unexplained sizes and failed computations are in `failures`; a slow machine is not a failure.
    Raises UnknownPaper for an unknown work and UsageError for an unknown preset or
    another folder.
    """
    preset = preset or bench.preset()
    bench.presets.named(preset)  # an unknown preset fails before any work is done
    chosen = _chosen(registry.works() if works is None else list(works), only)
    place = Path(output)
    outputs.claim(place)  # an unusable folder fails now and not after minutes of measuring
    additional = [algorithm_of(name).name for name in algorithms]
    wanted = {*BASELINE, *(name for work in chosen for name in work.algorithms()), *additional}
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
    frames = {work.key: _computed(work, tools, checkpoint) for work in chosen}
    reproduction = Reproduction(
        output=place,
        works=tuple(chosen),
        measurements=measured,
        printed=results.joined(
            (work.printed(measured, frames[work.key]) for work in chosen), PRINTED
        ),
        claims=results.joined((work.claims(measured, frames[work.key]) for work in chosen), CLAIMS),
        frames=frames,
    )
    folder.write(reproduction)
    return reproduction


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
    # In the order of the report, whatever the order of `only`.
    return [work for work in works if work.key in keys]
