"""Costs of schemes by the name of their source: a paper, a file, or a measurement now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pqchain import algorithms, costs, results, schemes
from pqchain.bench import operations, presets
from pqchain.costs import CostTable
from pqchain.errors import UsageError
from pqchain.works import papers


def cost_table(
    source: str,
    names: Sequence[str],
    *,
    preset: presets.PresetName | None = None,
    progress: bool = False,
) -> CostTable:
    """Return the costs of "paper:<work>", of a .csv of `pqchain bench`, or "measured" now.

    Only the named schemes are measured. Schemes that the user gave by numbers are added. Raises
    UsageError and UnknownPaper.
    """
    table = _costs(source, names, preset, progress)
    rows = (schemes.costs_of(name) for name in names if name not in table)
    return table.plus(*(row for row in rows if row is not None))


def _costs(
    source: str, names: Sequence[str], preset: presets.PresetName | None, progress: bool
) -> CostTable:
    kind, _, key = source.casefold().partition(":")
    if kind == "paper" and key:
        return papers.costs(key)
    if source.casefold() == "measured":
        for row in map(algorithms.get, names):
            if row.kind != "signature":
                raise UsageError(f"--algorithm must be a signature scheme; got {row.name}")
        measured = operations.measure(names, preset=preset or presets.preset(), progress=progress)
        return costs.from_frame(measured)
    if not source.endswith(".csv"):
        raise UsageError(
            "--costs must be paper:<work>, measured, or a .csv of `pqchain bench --output`; "
            f"got {source}"
        )
    if not Path(source).is_file():
        raise UsageError(
            f"--costs {source} does not exist; name a file of `pqchain bench --output`"
        )
    frame = results.load(Path(source))
    if "median_seconds" not in frame:
        raise UsageError(
            f"--costs {source} is not a table of measurements; name one of `pqchain bench`"
        )
    return costs.from_frame(frame)
