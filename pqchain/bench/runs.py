"""Benchmark runs: their names and provenance, histories, and sides of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import pandas as pd

from pqchain import algorithms, results
from pqchain.checks import LABEL, is_label
from pqchain.errors import DataError, UsageError
from pqchain.results import Contract
from pqchain.results.measurements import MEASUREMENT

MEASUREMENT_RUNS = Contract("measurement-runs", {"run": "str", **MEASUREMENT.columns})

HISTORY = Contract(
    "measurement-history",
    {**dict.fromkeys(("date", "commit", "machine_id", "pqchain", "preset"), "str"),
     **MEASUREMENT.columns},
)  # fmt: skip

FACTS = ("machine_id", "cpu_model", "cpu_count", "pqchain", "commit", "python", "preset", "date")
"""Provenance of each run shown with a comparison."""

KEY = ["algorithm", "implementation", "operation"]
"""Columns that identify a row of a run."""

Run: TypeAlias = pd.DataFrame | str | Path
"""A measurement frame, or a file of `pqchain bench --output` or `--append`."""

Side: TypeAlias = Run | Sequence[Run]
"""Runs of one machine and version, which are compared with those of another side."""

T = TypeVar("T")


def concat_runs(runs: Mapping[str, Run] | Side, *others: Run) -> pd.DataFrame:
    """Concatenate measurements of several runs into one frame with a column `run`, for plots.

    Takes measurement frames or files of `pqchain bench --output` or `--append`, as a mapping from
    names, as a list or as separate arguments. Runs are named by the mapping, or else after their
    machine, or their file if two are of one machine; those of a history after their date. Raises
    DataError.
    """
    if isinstance(runs, Mapping):
        named = {name: frame for name, run in runs.items() for _, frame in _load(run)}
    else:
        named = _named(_load([runs, *others] if isinstance(runs, Run) else runs), _machine)
    parts = (frame.assign(run=name) for name, frame in named.items())
    joined = results.joined(parts, MEASUREMENT_RUNS)
    provenance = {name: facts(frame) for name, frame in named.items()}
    joined.attrs["provenance"] = {"made": provenance, "schemes": _schemes(named.values())}
    return joined


def facts(frame: pd.DataFrame) -> dict[str, Any]:
    """Return those entries of a run's provenance that `FACTS` names; "" for unknown ones."""
    provenance = frame.attrs.get("provenance", {})
    return {name: provenance.get(name, "") for name in FACTS}


def builds(runs: Iterable[pd.DataFrame]) -> dict[str, set[str]]:
    """Return the SHA-256 digests of each native library that the runs loaded, as far as known."""
    digests: dict[str, set[str]] = {}
    for run in runs:
        native = run.attrs.get("provenance", {}).get("native")
        for name, record in native.items() if isinstance(native, dict) else ():
            if isinstance(record, dict) and (digest := record.get("library_sha256")):
                digests.setdefault(name, set()).add(str(digest))
    return digests


def is_history(frame: pd.DataFrame) -> bool:
    """Return whether a frame is a history of runs."""
    return results.contract_of(frame).name == HISTORY.name


def append(measurements: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Append a run with its date, commit and machine to a history file; return the whole history.

    Raises DataError for a file that is not a history, and UsageError if it cannot be written.
    """
    provenance = facts(measurements)
    names = [name for name in HISTORY.columns if name not in MEASUREMENT.columns]
    columns = {name: str(provenance[name]) for name in names}
    parts = [results.check(measurements, MEASUREMENT).assign(**columns)]
    if path.exists():
        parts.insert(0, results.load(path))
        if not is_history(parts[0]):
            raise DataError(f"{path} must be a history; name a new file, or one from --append")
    schemes = _schemes([*parts[:-1], measurements])
    history = results.joined(parts, HISTORY)
    results.save(history, path, provenance={"schemes": schemes})
    return history


def _schemes(frames: Iterable[pd.DataFrame]) -> list[dict[str, Any]]:
    provenances = [frame.attrs.get("provenance", {}) for frame in frames]
    rows = [row for provenance in provenances for row in provenance.get("schemes", [])]
    return list({row["name"]: row for row in rows}.values())


def named_sides(
    sides: Mapping[str, Side] | Side | Iterable[Side], *others: Side
) -> dict[str, list[pd.DataFrame]]:
    """Return the runs of each side by its name.

    A single side, such as one history, becomes a side for each of its runs. Raises DataError for a
    side with two machines, or with two builds of a library.
    """
    if isinstance(sides, Mapping):
        named = {name: [run for _, run in _load(side)] for name, side in sides.items()}
    else:
        # A list is a side if others follow, and else the list of all sides.
        is_side = bool(others) or isinstance(sides, Run)
        listed = [cast("Side", sides), *others] if is_side else list(cast("Iterable[Side]", sides))
        loaded = [(_stem(side), _load(side)) for side in listed]
        if len(loaded) == 1:
            loaded = [(name, [(name, run)]) for name, run in loaded[0][1]]
        pairs = [(stem, [run for _, run in side]) for stem, side in loaded if side]
        named = _named(pairs, lambda runs: _machine(runs[0]))
    for name, runs in named.items():
        machines = sorted({_machine(run) for run in runs})
        if len(machines) > 1:
            raise DataError(
                f"runs of {name} must be of one machine; got {', '.join(machines)}. Make each "
                "machine a side of its own."
            )
        if mixed := [library for library, digests in builds(runs).items() if len(digests) > 1]:
            raise DataError(
                f"runs of {name} must be of one build of {', '.join(mixed)}; make several sides"
            )
    return named


def _stem(side: Side) -> str:
    """Return the name of a side's first file without its suffix, or ""."""
    first = side if isinstance(side, Run) else next(iter(side), "")
    return "" if isinstance(first, pd.DataFrame) else Path(first).stem


def _machine(frame: pd.DataFrame) -> str:
    return str(facts(frame)["machine_id"])


def _named(loaded: Sequence[tuple[str, T]], machine_of: Callable[[T], str]) -> dict[str, T]:
    """Name runs after their machine, or else after their file; number equal names."""
    machines = [machine_of(value) for _, value in loaded]
    named: dict[str, T] = {}
    for (stem, value), machine in zip(loaded, machines, strict=True):
        name = machine if machine and machines.count(machine) == 1 else stem or machine or "run"
        if not is_label(name):
            raise UsageError(f"names of runs must be {LABEL}; got {name!r}. Rename the file")
        number = sum(key == name or key.startswith(f"{name} (") for key in named)
        named[f"{name} ({number + 1})" if number else name] = value
    return named


def _load(side: Side) -> list[tuple[str, pd.DataFrame]]:
    """Return the runs of a side, each with a name: the file's, the date in a history, or ""."""
    named: list[tuple[str, pd.DataFrame]] = []
    for run in [side] if isinstance(side, Run) else side:
        if isinstance(run, pd.DataFrame):
            named.append(("", results.check(run, MEASUREMENT)))
        else:
            named += _runs_of_file(Path(run))
    return named


def _runs_of_file(path: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    frame = results.load(path)
    if is_history(frame):
        # Dates have seconds, and two short runs may end in the same one.
        numbers = frame.groupby(["date", "machine_id", *KEY]).cumcount()
        for (date, machine, _), group in frame.groupby(["date", "machine_id", numbers], sort=False):
            first = group.iloc[0]
            provenance = {name: first[name] for name in HISTORY.columns if name in FACTS}
            provenance |= {"machine_id": machine, "schemes": _schemes([frame])}
            run = group[list(MEASUREMENT.columns)].reset_index(drop=True)
            run.attrs = {"provenance": provenance}
            yield str(date), results.check(run, MEASUREMENT)
        return
    if (kind := results.contract_of(frame).name) != MEASUREMENT.name:
        raise DataError(f"{path} must be written by `pqchain bench --output`; got {kind}")
    yield path.stem, frame


def rows_of(file: Path, names: Sequence[str], added: Sequence[str]) -> pd.DataFrame:
    """Return the rows of a file with the named algorithms, and those of the user's schemes.

    Raises UsageError, UnknownName and DataError.
    """
    from pqchain.bench.operations import measure  # imported here: few calls measure

    frame = results.load(file)
    if is_history(frame):
        frame = concat_runs([file])
    # A file of `bench --scheme` has the user's schemes already.
    if new := [name for name in added if name not in set(frame.get("algorithm", ()))]:
        if results.contract_of(frame).name != MEASUREMENT.name:
            raise UsageError(f"--scheme needs a file of measurements; got {file}")
        parts = [frame, measure(new)]
        provenance = frame.attrs.get("provenance", {}) | {"schemes": _schemes(parts)}
        frame = results.joined(parts, MEASUREMENT)
        frame.attrs["provenance"] = provenance
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
