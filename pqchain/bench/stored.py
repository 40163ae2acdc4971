"""Measurements shipped with pqchain, for reproducible notebooks and documentation.

Each folder of `data/measurements` is named after a `machine_id` and has one run of this version,
made by `make measurements` (preset paper) on an idle machine. CONTRIBUTING.md describes how to add
a machine.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pqchain import installation, results
from pqchain.bench import variation
from pqchain.errors import DataError, UnknownName
from pqchain.installation import VERSION

FILE = "measurements.csv"

_MEASURE_HINT = "measure by `pqchain bench --output FILE.csv`, or by `make measurements`"


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
            "again by `make measurements`."
        )
    return frame


def save(measurements: pd.DataFrame) -> Path:
    """Store a measurement frame as the run of its machine; return the path.

    Raises DataError, and writes nothing, if the machine was busy: all pages would quote its times.
    """
    bound = variation.MAX_MEDIAN_OVER_MIN
    ratio = variation.median_over_min(measurements)
    # A run without verifications has no ratio, and is refused too.
    if not ratio <= bound:
        raise DataError(
            f"median/min of the verifications must be at most {bound:g}; got {ratio:.2f}, so other "
            "programs slowed down the run. Nothing was written. Stop them, check by `pqchain "
            "doctor --noise`, and measure again."
        )
    path = folder() / str(measurements.attrs["provenance"]["machine_id"]) / FILE
    return results.save(measurements, path)
