"""Rows of a saved table to plot: of some algorithms, with the user's schemes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pqchain import algorithms, results
from pqchain.bench import runs
from pqchain.bench.operations import measure
from pqchain.errors import DataError, UsageError
from pqchain.results.measurements import MEASUREMENT


def rows_of(
    kind: str, file: Path | None, names: Sequence[str], added: Sequence[str]
) -> pd.DataFrame:
    """Return the rows of a file with the named algorithms, and those of the user's schemes.

    `kind` is that of the plot. Raises UsageError, UnknownName and DataError.
    """
    if file is None:
        raise UsageError(f"{kind} needs a file; name a table saved by pqchain")
    frame = results.load(file)
    if results.contract_of(frame).name == runs.HISTORY.name:
        frame = runs.concat_runs([file])
    if kind == "history" and "run" not in frame:
        raise UsageError(f"history needs a file of `pqchain bench --append`; got {file}")
    # A file of `bench --scheme` has the user's schemes already.
    if new := [name for name in added if name not in set(frame.get("algorithm", ()))]:
        if results.contract_of(frame).name != MEASUREMENT.name:
            raise UsageError(f"--scheme needs a file of measurements; got {file}")
        frame = runs.with_schemes(frame, measure(new))
    if not names:
        return frame
    if "algorithm" not in frame:
        raise UsageError("--algorithm needs a table with a column algorithm; leave it out")
    known = {name.casefold(): name for name in frame["algorithm"].unique()}
    # The registry resolves aliases, and raises UnknownName for a name that is not an algorithm.
    chosen = [known.get(name.casefold()) or algorithms.get(name).name for name in names]
    if missing := set(chosen) - set(known.values()):
        raise DataError(
            f"{file} has no rows of {', '.join(sorted(missing))}; it has "
            f"{', '.join(sorted(known.values()))}"
        )
    return frame[frame["algorithm"].isin([*chosen, *added])].reset_index(drop=True)
