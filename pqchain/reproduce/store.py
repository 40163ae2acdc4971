"""Results of works in folders: written by a run, read by the notebooks of the works.

A folder has measurements.csv, and for each work `<key>/<frame>.csv` with `coverage.csv` (every
printed number), its views `comparison.csv` and `sizes.csv`, and `claims.csv`.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from pqchain import bench, installation, libraries, machine
from pqchain import results as frames_of
from pqchain.bench.presets import PresetName
from pqchain.errors import DataError, UsageError
from pqchain.reproduce.outcome import Reproduction, WorkResults
from pqchain.results import outputs
from pqchain.source_builds import cache_folder
from pqchain.works import registry
from pqchain.works.work import Work

RESULTS_VARIABLE = "PQCHAIN_RESULTS"
"""Environment variable with the output folder of a run, which notebooks read."""

_COMPARISONS = ("coverage", "comparison", "sizes", "claims")
"""Files next to the frames of a work, which are computed again from the frames."""


def results(key: str, *, preset: PresetName | None = None) -> WorkResults:
    """Return the results of a work, as its notebook shows them.

    They are those of the run whose folder PQCHAIN_RESULTS names, as in notebooks that `run`
    executes. Without it they are computed once for this machine, build and preset, and kept in the
    user's cache. Raises UnknownPaper, and DataError if the named folder lacks the work.
    """
    from pqchain.reproduce.reproduction import compute

    work, preset = registry.get(key), preset or bench.preset()
    if folder := os.environ.get(RESULTS_VARIABLE):
        return load(work, Path(folder))
    kept = cache_folder() / "results" / _digest(preset) / work.key
    with suppress(DataError):
        return load(work, kept)
    (result,) = (computed := compute([work], output=kept, preset=preset)).results
    # Without a writable cache the results are computed again the next time.
    with suppress(UsageError, OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        with outputs.staged(kept) as building:
            save(computed, building)
    return result


def _digest(preset: str) -> str:
    """Return a name of this machine, this build of pqchain and a preset."""
    # The commit does not show changes of a checkout that are not committed.
    sources = [*installation.HOME.rglob("*.py"), *installation.data("papers").rglob("*.*")]
    facts = {
        "machine": machine.provenance()["machine_id"],
        "version": installation.VERSION,
        "sources": max(path.stat().st_mtime_ns for path in sources),
        "native": libraries.installed(),
        "preset": preset,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def load(work: Work, folder: Path) -> WorkResults:
    """Return the results of a work that `save` wrote. Raises DataError if the folder lacks them."""
    files = sorted((folder / work.key).glob("*.csv"))
    if not files:
        raise DataError(
            f"{folder} must have the results of {work.key}; it has none. Write them with `pqchain "
            f"reproduce --only {work.key} --output {folder}`, or unset {RESULTS_VARIABLE}"
        )
    return WorkResults(
        work=work,
        measurements=frames_of.load(folder / "measurements.csv"),
        frames={path.stem: frames_of.load(path) for path in files if path.stem not in _COMPARISONS},
    )


def save(reproduction: Reproduction, folder: Path) -> None:
    """Write measurements, comparisons and frames, each with its provenance."""
    frames_of.save(reproduction.measurements, folder / "measurements.csv")
    for result in reproduction.results:
        tables = (result.printed, result.times, result.sizes, result.claims)
        for name, frame in zip(_COMPARISONS, tables, strict=True):
            if len(frame) or name == "coverage":
                file = folder / result.work.key / f"{name}.csv"
                frames_of.save(frame, file, provenance=reproduction.provenance)
        for name, frame in result.frames.items():
            # Frames with a provenance of their own, such as those of replays, keep it.
            provenance = frame.attrs.get("provenance") or reproduction.provenance
            frames_of.save(frame, folder / result.work.key / f"{name}.csv", provenance=provenance)
