"""Runs that come with pqchain, for what must not depend on who reads it: notebooks and pages.

A folder of `data/measurements` is a machine, by its `machine_id`, with one run of this version made
by `make measurements` (preset paper). CONTRIBUTING.md says how to add one's own.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pqchain import installation, results
from pqchain.errors import DataError, UnknownName
from pqchain.installation import VERSION

FILE = "measurements.csv"


_NONE = (
    "come with this pqchain; make them on this machine by `make measurements`, or measure by "
    "`pqchain bench --output FILE.csv`"
)


def folder() -> Path:
    """Return where they are; it may be missing."""
    return installation.data("papers").parent / "measurements"


def machines() -> list[str]:
    """Return the machines of which there is a run."""
    return sorted(path.parent.name for path in folder().glob(f"*/{FILE}"))


def file(machine: str) -> Path:
    """Return the file of a machine's run, in any case of letters.

    Raises UnknownName, and DataError if there is none of any machine.
    """
    known = {name.casefold(): name for name in machines()}
    if not known:
        raise DataError(f"no measurements of {machine!r}, nor of another machine, {_NONE}")
    if machine.casefold() not in known:
        raise UnknownName("machine", machine, machines())
    return folder() / known[machine.casefold()] / FILE


def load(machine: str | None = None) -> pd.DataFrame:
    """Return the run of a machine, or of the first there is: a measurement frame.

    Raises UnknownName, and DataError if there is none, or if it was made by another version or
    elsewhere than its folder says.
    """
    if machine is None:
        known = machines()
        if not known:
            raise DataError(f"no measurements {_NONE}")
        machine = known[0]
    path = file(machine)
    frame = results.load(path)
    made = frame.attrs["provenance"]
    if made.get("machine_id") != path.parent.name or made.get("pqchain") != VERSION:
        raise DataError(
            f"{path} was made on {made.get('machine_id')!r} by pqchain {made.get('pqchain')!r}; "
            f"expected {path.parent.name!r} and {VERSION!r}: make it again, `make measurements`"
        )
    return frame
