"""Reproduce the published works in one run: measure, compute, judge, and write about it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from pqchain import algorithms, bench, outputs, results
from pqchain.bench.presets import PresetName
from pqchain.errors import UnknownPaper, UsageError
from pqchain.report import folder
from pqchain.report.run import Reproduction
from pqchain.works import compare, registry
from pqchain.works.compare import CLAIMS, COMPARISON, SIZE
from pqchain.works.coverage import COVERAGE, coverage
from pqchain.works.work import Bench, Work

BASELINE = ("ECDSA-secp256k1", "Schnorr-secp256k1", "ECDSA-P256", "Ed25519")
"""What chains sign with today; measured beside whatever a work compares."""


def reproduce(
    output: str | Path = "results",
    *,
    preset: PresetName | None = None,
    only: Iterable[str] | str | None = None,
    works: Iterable[Work] | None = None,
    schemes: Iterable[str] = (),
    progress: bool = False,
) -> Reproduction:
    """Measure once, compare with every work (or those in `only`), and write the report.

    Writes into the folder `output`: index.html, a page for each work and machine.html; files.json,
    which lists the files; measurements.csv; <work>/comparison.csv, sizes.csv, claims.csv and
    coverage.csv, and what else the work computes, each with a JSON sidecar; `figures/*.svg` and
    `*.png`. Files appear only when all are complete. What an earlier run wrote there and this one
    does not is removed; other files stay. The folder has to be new, empty, or of an earlier run.
    `works` are those of `pqchain.works.registry`, or others. `schemes` are measured besides, such
    as your own, which `pqchain.register` added.

    A broken size or a failed computation is in `failures`; a slow machine is not a failure.
    Raises UnknownPaper for an unknown work, UsageError for an unknown preset or another folder.
    """
    preset = preset or bench.preset()
    bench.presets.named(preset)  # an unknown one is refused before anything is made
    chosen = _chosen(registry.works() if works is None else list(works), only)
    place = Path(output)
    outputs.claim(place)  # better to fail now than after minutes of measuring
    besides = [algorithms.get(name).name for name in schemes]
    wanted = {*BASELINE, *(name for work in chosen for name in work.schemes()), *besides}
    measured = bench.measure(
        [name for name in algorithms.ALGORITHMS if name in wanted], preset=preset, progress=progress
    )
    tools = Bench(
        preset=preset,
        measurements=measured,
        measure_blocks=lambda names: bench.measure_blocks(names, preset=preset, progress=progress),
        progress=progress,
    )
    frames = {work.key: work.compute(tools) for work in chosen}
    done = Reproduction(
        output=place,
        works=tuple(chosen),
        measurements=measured,
        comparison=results.joined((_aligned(measured, work) for work in chosen), COMPARISON),
        sizes=results.joined((compare.sizes(work.published) for work in chosen), SIZE),
        claims=results.joined(
            (compare.claims(work, measured, frames[work.key]) for work in chosen), CLAIMS
        ),
        coverage=results.joined(
            (coverage(work, measured, frames[work.key]) for work in chosen), COVERAGE
        ),
        frames=frames,
    )
    folder.write(done)
    return done


def _chosen(works: list[Work], only: Iterable[str] | str | None) -> list[Work]:
    if only is None:
        return works
    keys = [only] if isinstance(only, str) else list(only)
    known = [work.key for work in works]
    for key in keys:
        if key not in known:
            raise UnknownPaper("paper", key, known, "`pqchain papers`.")
    if not keys:
        raise UsageError(f"no work chosen; expected some of {', '.join(known)}")
    return [work for work in works if work.key in keys]


def _aligned(measured: pd.DataFrame, work: Work) -> pd.DataFrame:
    """Set our times beside those of a processor like ours; a microcontroller is no counterpart."""
    alike = work.published["implementation"].isin(("", "ref", "avx2"))
    return compare.align(measured, work.published[alike])
