"""Measurements shipped with pqchain, for reproducible notebooks and documentation.

Each folder of `data/measurements` is named after a `machine_id` and has one run of this version,
made by `pqchain bench --submit` (preset paper) on an idle machine, and the medians of earlier runs.
CONTRIBUTING.md describes how to add a machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pqchain import installation, results
from pqchain.bench import runs, variation
from pqchain.errors import DataError, InvalidResult, UnknownName, UsageError
from pqchain.installation import VERSION
from pqchain.results import machine
from pqchain.results.files import check_writable

FILE, HISTORY = "measurements.csv", "history.csv"
"""The last run of a machine, and the medians of all its runs."""

_MEASURE_HINT = "measure by `pqchain bench --output FILE.csv`, or by `pqchain bench --submit`"


def folder() -> Path:
    """Return the folder of the shipped measurements, which may not exist."""
    return installation.data("papers").parent / "measurements"


def machines() -> list[str]:
    """Return the sorted names of the machines with a shipped run."""
    return sorted(path.parent.name for path in folder().glob(f"*/{FILE}"))


def file(machine: str | None = None) -> Path:
    """Return the path of a machine's run (default: the first). Raises UnknownName and DataError."""
    known = {name.casefold(): name for name in machines()}
    if not known:
        of_machine = "" if machine is None else f" of {machine!r}"
        raise DataError(f"no measurements{of_machine} are shipped; {_MEASURE_HINT}")
    name = next(iter(known)) if machine is None else machine.casefold()
    if name not in known:
        raise UnknownName("machine", machine, machines())
    return folder() / known[name] / FILE


def load(machine: str | None = None) -> pd.DataFrame:
    """Return the measurement frame of a machine, by default of the first machine.

    Raises UnknownName, and DataError if there is no run, or if its provenance names another version
    of pqchain or another machine than its folder.
    """
    path = file(machine)
    frame = results.load(path)
    # Shipped runs must be of the version that they are shipped with.
    provenance = frame.attrs["provenance"]
    actual = provenance.get("machine_id"), provenance.get("pqchain")
    expected = path.parent.name, VERSION
    if actual != expected:
        raise DataError(
            f"machine and pqchain version of {path} must be {expected}; got {actual}. Measure "
            "again by `pqchain bench --submit data/measurements`."
        )
    return frame


def obstacles(provenance: Mapping[str, Any]) -> list[str]:
    """Return why a run with this provenance cannot be stored; empty if it can.

    Before a measurement, pass `machine.provenance()` and the preset.
    """
    commit, preset = str(provenance.get("commit", "")), provenance.get("preset")
    found = [
        f"preset must be paper; got {preset}" * (preset != "paper"),
        "the commit must be known; install pqchain from a checkout by `make`" * (not commit),
        "the checkout must be clean; commit or remove your changes" * commit.endswith("-dirty"),
        "schemes must be those of the registry; leave out --scheme"
        * bool(provenance.get("schemes")),
        variation.busy(provenance),
    ]
    return [reason for reason in found if reason]


def check_submission(place: Path, preset: str) -> None:
    """Raise UsageError, before minutes of measuring, if a run could not be stored in `place`."""
    if found := obstacles(machine.provenance() | {"preset": preset}):
        raise UsageError(f"nothing was measured: {'; '.join(found)}")
    place.mkdir(parents=True, exist_ok=True)
    check_writable(place / FILE)


def save(measurements: pd.DataFrame, place: Path | None = None) -> Path:
    """Store a run in `place`/<machine id> (default: `data/measurements`); return the table's path.

    Also appends the run to the history of the machine. Raises DataError, and writes nothing, if the
    run has failed rows or `obstacles`, or if the machine was busy: all pages would quote its times.
    """
    provenance = measurements.attrs["provenance"]
    found = obstacles(provenance)
    bound = variation.MAX_MEDIAN_OVER_MIN
    ratio = variation.median_over_min(measurements)
    # A run without verifications has no ratio, and is refused too.
    if not ratio <= bound:
        found.append(
            f"median/min of the verifications must be at most {bound:g}; got {ratio:.2f}, so other "
            "programs slowed down the run. Stop them"
        )
    if failed := sorted(set(measurements.loc[measurements["status"] == "failed", "algorithm"])):
        found.append(f"no operation may fail; got failures of {', '.join(failed)}")
    if found:
        raise InvalidResult(f"the run cannot be stored: {'; '.join(found)}. Nothing was written.")
    machine = str(provenance["machine_id"])
    target = (folder() if place is None else place) / machine
    target.mkdir(parents=True, exist_ok=True)
    earlier, history = folder() / machine / HISTORY, target / HISTORY
    if earlier != history and earlier.is_file():
        results.save(results.load(earlier), history)
    runs.append(measurements, history)
    return results.save(measurements, target / FILE)


def history(machine: str) -> pd.DataFrame | None:
    """Return all stored runs of a machine, a frame of contract `runs.HISTORY`; None without one."""
    path = folder() / machine / HISTORY
    return results.load(path) if path.is_file() else None
