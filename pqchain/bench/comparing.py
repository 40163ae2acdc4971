"""Comparison of benchmark runs, such as those of two machines, two versions or two days.

The first run is the baseline. Each ratio has a 95 % interval: from a bootstrap of rounds and of the
samples within them if the samples were kept (`keep_samples`, `bench --samples`), otherwise from the
MAD with each round counted as one sample, because samples of a round are correlated (same machine
state). The column `interval` names the method. "no difference": the interval contains 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pqchain import results
from pqchain.bench.operations import SAMPLES
from pqchain.bench.presets import PRESETS
from pqchain.costs import MEASUREMENT
from pqchain.errors import DataError, UsageError
from pqchain.results import Contract

COMPARED = Contract.of(
    "compared-runs",
    ("str", "algorithm implementation operation base run"),
    ("float64", "base_median_seconds median_seconds ratio low high"),
    ("float64", "base_median_cycles median_cycles cycles_ratio"),
    ("str", "verdict interval reason"),
)

MEASUREMENT_RUNS = Contract("measurement-runs", {"run": "str", **MEASUREMENT.columns})

HISTORY = Contract(
    "measurement-history",
    {**dict.fromkeys(("date", "commit", "machine_id", "pqchain", "preset"), "str"),
     **MEASUREMENT.columns},
)  # fmt: skip

FACTS = ("machine_id", "cpu_model", "cpu_count", "pqchain", "commit", "python", "preset", "date")
"""Provenance of each run shown with a comparison."""

DRAWS = 400
"""Number of bootstrap resamples of an interval."""

_KEY = ["algorithm", "implementation", "operation"]

_MEDIAN_ERROR = 1.2533 * 1.4826
"""Standard error of the median of n normal samples, in units of MAD / sqrt(n)."""

Runs = Mapping[str, pd.DataFrame] | Iterable[pd.DataFrame | str | Path]


def compare_runs(runs: Runs, *others: pd.DataFrame | str | Path, seed: int = 0) -> pd.DataFrame:
    """Compare benchmark runs with a baseline, which is the first run, for every operation.

    Takes measurement frames or files of `pqchain bench --output` or `--append`, as a list or as
    separate arguments, or a mapping from names to frames. Returns a frame with one row per run and
    operation and the columns algorithm, implementation, operation, base and run (names),
    base_median_seconds, median_seconds, ratio (run over base), low and high (95 % interval),
    base_median_cycles, median_cycles and cycles_ratio (NaN where unknown), verdict ("slower",
    "faster", "no difference", or "" if a time is missing), interval (method) and reason.
    `attrs["runs"]` has the provenance of each run. `seed` is that of the bootstrap. Raises
    UsageError for fewer than two runs, and DataError for a frame or file of another kind.
    """
    named = named_runs(runs, *others)
    if len(named) < 2:
        raise UsageError(f"at least two runs must be given; got {len(named)}")
    (base, baseline), *compared_runs = named.items()
    # Seeded, so that the same files always give the same intervals.
    rng = np.random.default_rng(seed)
    before = _rows(baseline)
    rows = []
    for name, frame in compared_runs:
        after = _rows(frame)
        both = baseline, frame
        samples = _samples(baseline), _samples(frame)
        for key in dict.fromkeys([*before, *after]):
            row = dict(zip(_KEY, key, strict=True)) | {"base": base, "run": name}
            pair = before.get(key), after.get(key)
            rows.append(row | _compare(pair, frames=both, samples=samples, key=key, rng=rng))
    comparison = COMPARED.frame(rows)
    comparison.attrs["runs"] = {name: facts(frame) for name, frame in named.items()}
    return comparison


def concat_runs(runs: Runs, *others: pd.DataFrame | str | Path) -> pd.DataFrame:
    """Concatenate measurements of several runs into one frame with a column `run`, for plots.

    Takes the arguments of `compare_runs`. Runs are named by the mapping, or else after their
    machine, or their file if two are of one machine. Raises DataError.
    """
    named = named_runs(runs, *others)
    parts = (frame.assign(run=name) for name, frame in named.items())
    joined = results.joined(parts, MEASUREMENT_RUNS)
    provenance = {name: facts(frame) for name, frame in named.items()}
    joined.attrs["provenance"] = {"made": provenance, "schemes": _schemes(named.values())}
    return joined


def with_schemes(frame: pd.DataFrame, added: pd.DataFrame) -> pd.DataFrame:
    """Append measurements of user-defined schemes to a measurement frame; keep its provenance."""
    joined = results.joined([frame, added], MEASUREMENT)
    provenance = frame.attrs.get("provenance", {})
    joined.attrs["provenance"] = provenance | {"schemes": _schemes([frame, added])}
    return joined


def facts(frame: pd.DataFrame) -> dict[str, Any]:
    """Return those entries of a run's provenance that `FACTS` names; "" for unknown ones."""
    provenance = frame.attrs.get("provenance", {})
    return {name: provenance.get(name, "") for name in FACTS}


def append(measurements: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Append a run with its date, commit and machine to a history file; return the whole history.

    Raises DataError for a file that is not a history, and UsageError if it cannot be written.
    """
    provenance = facts(measurements)
    names = [name for name in HISTORY.columns if name not in MEASUREMENT.columns]
    columns = {name: str(provenance[name]) for name in names}
    parts = [results.check(measurements, MEASUREMENT).assign(**columns)]
    if path.exists():
        history = results.load(path)
        if results.contract_of(history).name != HISTORY.name:
            raise DataError(f"{path} must be a history; name a new file, or one from --append")
        parts.insert(0, history)
    schemes = _schemes([*parts[:-1], measurements])
    history = results.joined(parts, HISTORY)
    results.save(history, path, provenance={"schemes": schemes})
    return history


def _schemes(frames: Iterable[pd.DataFrame]) -> list[dict[str, Any]]:
    provenances = [frame.attrs.get("provenance", {}) for frame in frames]
    rows = [row for provenance in provenances for row in provenance.get("schemes", [])]
    return list({row["name"]: row for row in rows}.values())


def named_runs(runs: Runs, *others: pd.DataFrame | str | Path) -> dict[str, pd.DataFrame]:
    """Return frames by run name; a history has one run per date and machine. Raises DataError."""
    if isinstance(runs, Mapping):
        return {name: results.check(frame, MEASUREMENT) for name, frame in runs.items()}
    if isinstance(runs, (pd.DataFrame, str, Path)):
        runs = [runs, *others]
    loaded = [
        pair
        for run in runs
        for pair in (_runs_of_file(Path(run)) if isinstance(run, (str, Path)) else [("", run)])
    ]
    machines = [str(facts(frame)["machine_id"]) for _, frame in loaded]
    # Runs are named after their machine, or else after their file; equal names are numbered.
    named: dict[str, pd.DataFrame] = {}
    for (stem, frame), machine in zip(loaded, machines, strict=True):
        name = machine if machine and machines.count(machine) == 1 else stem or machine or "run"
        number = sum(key == name or key.startswith(f"{name} (") for key in named)
        named[f"{name} ({number + 1})" if number else name] = results.check(frame, MEASUREMENT)
    return named


def _runs_of_file(path: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    frame = results.load(path)
    kind = results.contract_of(frame).name
    if kind == HISTORY.name:
        for (date, machine), group in frame.groupby(["date", "machine_id"], sort=False):
            first = group.iloc[0]
            provenance = {name: first[name] for name in HISTORY.columns if name in FACTS}
            provenance |= {"machine_id": machine, "schemes": _schemes([frame])}
            run = group[list(MEASUREMENT.columns)].reset_index(drop=True)
            run.attrs = {"provenance": provenance}
            yield str(date), run
        return
    if kind != MEASUREMENT.name:
        raise DataError(f"{path} must be written by `pqchain bench --output`; got {kind}")
    # Samples of `bench --samples` are stored next to the measurements.
    samples = path.with_name(f"{path.stem}-samples.csv")
    if samples.exists():
        frame.attrs["samples"] = results.load(samples)
    yield path.stem, frame


def _rows(frame: pd.DataFrame) -> dict[tuple[str, ...], dict[Any, Any]]:
    return {tuple(row[name] for name in _KEY): row for row in frame.to_dict("records")}


def _samples(frame: pd.DataFrame) -> pd.DataFrame | None:
    """Return the samples of a run with their round numbers, or None if they were not kept."""
    samples = frame.attrs.get("samples")
    if samples is None:
        return None
    checked = results.check(samples, SAMPLES)
    checked.attrs = {}
    # Each round begins with warm-up samples.
    starts = checked["warmup"] & ~checked["warmup"].shift(fill_value=False)
    return checked.assign(round=starts.cumsum()).query("not warmup")


def _compare(
    pair: tuple[Mapping[Any, Any] | None, Mapping[Any, Any] | None],
    *,
    frames: tuple[pd.DataFrame, pd.DataFrame],
    samples: tuple[pd.DataFrame | None, pd.DataFrame | None],
    key: Sequence[str],
    rng: np.random.Generator,
) -> dict[str, Any]:
    base, other = pair
    times = [_value(row, "median_seconds") for row in (base, other)]
    cycles = [_value(row, "median_cycles") for row in (base, other)]
    row: dict[str, Any] = {
        "base_median_seconds": times[0], "median_seconds": times[1],
        "base_median_cycles": cycles[0], "median_cycles": cycles[1],
        "ratio": times[1] / times[0] if times[0] else math.nan,
        "cycles_ratio": cycles[1] / cycles[0] if cycles[0] else math.nan,
        "low": math.nan, "high": math.nan, "verdict": "", "interval": "", "reason": "",
    }  # fmt: skip
    if base is None or other is None or not all(map(math.isfinite, times)) or not times[0]:
        run = "the first run" if base is None or not math.isfinite(times[0]) else "this run"
        return row | {"reason": f"not measured in {run}"}
    rounds = [_rounds(of_run, key) for of_run in samples]
    if all(rounds):
        draws = [_medians(of_run, rng) for of_run in rounds]
        low, high = np.quantile(draws[1] / draws[0], (0.025, 0.975))
        row |= {"low": float(low), "high": float(high), "interval": "bootstrap"}
    elif not base["samples"] or not other["samples"]:
        return row | {"interval": "none: a given number", "reason": str(other["reason"])}
    else:
        spread = math.hypot(_relative_error(base, frames[0]), _relative_error(other, frames[1]))
        # Symmetric in the logarithm, because the interval is that of a ratio.
        factor = math.exp(1.96 * spread)
        row |= {"low": row["ratio"] / factor, "high": row["ratio"] * factor, "interval": "MAD"}
    verdict = "no difference"
    if row["low"] > 1.0:
        verdict = "slower"
    elif row["high"] < 1.0:
        verdict = "faster"
    return row | {"verdict": verdict}


def _value(row: Mapping[Any, Any] | None, name: str) -> float:
    return float(row[name]) if row is not None and row["status"] == "ok" else math.nan


def _relative_error(row: Mapping[Any, Any], frame: pd.DataFrame) -> float:
    provenance = frame.attrs.get("provenance", {})
    # A history has no number of rounds, but `bench --append` runs those of its preset.
    preset = PRESETS.get(provenance.get("preset"), PRESETS["quick"])
    rounds = provenance.get("rounds", preset.rounds)
    return float(_MEDIAN_ERROR * row["mad_seconds"] / row["median_seconds"] / rounds**0.5)


def _rounds(samples: pd.DataFrame | None, key: Sequence[str]) -> list[NDArray[np.float64]]:
    if samples is None:
        return []
    rows = samples[(samples[_KEY] == list(key)).all(axis=1)]
    return [group["seconds"].to_numpy(float) for _, group in rows.groupby("round")]


def _medians(rounds: list[NDArray[np.float64]], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return bootstrap medians: rounds are resampled, then samples within each round."""
    # Two levels, because samples of one round are correlated: resampling them alone would make
    # the interval too short. Rounds are padded to one length, so that numpy resamples all at once.
    length = np.array(list(map(len, rounds)))
    padded = np.zeros((len(rounds), length.max()))
    for row, seconds in zip(padded, rounds, strict=True):
        row[: len(seconds)] = seconds
    chosen = rng.integers(len(rounds), size=(DRAWS, len(rounds)))
    indices = (rng.random((*chosen.shape, length.max())) * length[chosen][..., None]).astype(int)
    drawn = padded[chosen[..., None], indices]
    # nanmedian is slow, and rounds of one length need no padding.
    if (length == length.max()).all():
        medians: NDArray[np.float64] = np.median(drawn.reshape(DRAWS, -1), axis=1)
        return medians
    drawn[np.arange(length.max()) >= length[chosen][..., None]] = np.nan
    medians = np.nanmedian(drawn.reshape(DRAWS, -1), axis=1)
    return medians
