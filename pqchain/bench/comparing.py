"""Comparison of benchmark runs, such as two machines, two versions or two days.

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

TOGETHER = Contract("measurement-runs", {"run": "str", **MEASUREMENT.columns})

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

_ROUNDS = PRESETS["quick"].rounds
"""Assumed number of rounds of a run without that provenance."""

Runs = Mapping[str, pd.DataFrame] | Iterable[pd.DataFrame | str | Path]


def compare_runs(given: Runs, *others: pd.DataFrame | str | Path, seed: int = 0) -> pd.DataFrame:
    """Compare runs of the benchmark with a baseline, the first run, per operation.

    Takes measurement frames or files of `pqchain bench --output` or `--append`, as a list or as
    separate arguments, or a mapping from names to frames. Returns a frame with one row per run and
    operation and the columns algorithm, implementation, operation, base and run (names),
    base_median_seconds, median_seconds, ratio (run over base), low and high (95 % interval),
    base_median_cycles, median_cycles and cycles_ratio (NaN where unknown), verdict ("slower",
    "faster", "no difference", or "" if a time is missing), interval (method) and reason.
    `attrs["runs"]` has the provenance of each run. `seed` is that of the bootstrap. Raises
    UsageError for fewer than two runs, and DataError for a frame or file of another kind.
    """
    if isinstance(given, (pd.DataFrame, str, Path)):
        given = [given, *others]
    named = named_runs(given)
    if len(named) < 2:
        raise UsageError(f"{len(named)} run to compare; give at least two")
    (base, first), *rest = named.items()
    rng = np.random.default_rng(seed)
    before = _rows(first)
    rows = []
    for name, frame in rest:
        after = _rows(frame)
        both = first, frame
        kept = _samples(first), _samples(frame)
        for key in dict.fromkeys([*before, *after]):
            about = dict(zip(_KEY, key, strict=True)) | {"base": base, "run": name}
            pair = before.get(key), after.get(key)
            rows.append(about | _compared(pair, frames=both, samples=kept, key=key, rng=rng))
    compared = COMPARED.frame(rows)
    compared.attrs["runs"] = {name: facts(frame) for name, frame in named.items()}
    return compared


def concat_runs(given: Runs, *others: pd.DataFrame | str | Path) -> pd.DataFrame:
    """Return the measurements of several runs in one frame with a column `run` for plots.

    Takes the arguments of `compare_runs`. Runs are named by the mapping, or else after their
    machine, or their file if two are of one machine. Raises DataError.
    """
    if isinstance(given, (pd.DataFrame, str, Path)):
        given = [given, *others]
    named = named_runs(given)
    parts = [frame.assign(run=name)[list(TOGETHER.columns)] for name, frame in named.items()]
    # pd.concat would compare the attrs, which may contain frames of samples.
    for part in parts:
        part.attrs = {}
    joined = results.check(pd.concat(parts, ignore_index=True), TOGETHER)
    about = {name: facts(frame) for name, frame in named.items()}
    joined.attrs["provenance"] = {"made": about, "schemes": _schemes(named.values())}
    return joined


def facts(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the provenance of a run by the keys of `FACTS`, "" where unknown."""
    provenance = frame.attrs.get("provenance", {})
    return {name: provenance.get(name, "") for name in FACTS}


def append(measured: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Append a run with its date, commit and machine to a history file; return the whole history.

    Raises DataError for a file that is not a history, and UsageError if it cannot be written.
    """
    about = facts(measured)
    names = [name for name in HISTORY.columns if name not in MEASUREMENT.columns]
    row = {name: str(about[name]) for name in names}
    added = results.check(measured, MEASUREMENT).assign(**row)[list(HISTORY.columns)]
    parts = [added]
    schemes = _schemes([measured])
    if path.exists():
        before = results.load(path)
        if results.contract_of(before).name != HISTORY.name:
            raise DataError(f"{path} is no history; give a new file, or one that --append wrote")
        schemes = _schemes([before, measured])
        parts = [before, added]
    for part in parts:
        part.attrs = {}
    whole = results.check(pd.concat(parts, ignore_index=True), HISTORY)
    results.save(whole, path, provenance={"schemes": schemes})
    return whole


def _schemes(frames: Iterable[pd.DataFrame]) -> list[dict[str, Any]]:
    """Return the descriptions of user-defined schemes in the frames, each once."""
    said = [row for frame in frames for row in frame.attrs.get("provenance", {}).get("schemes", [])]
    return list({row["name"]: row for row in said}.values())


def named_runs(given: Runs) -> dict[str, pd.DataFrame]:
    """Return the frames by name; a history has one run per date and machine. Raises DataError."""
    if isinstance(given, Mapping):
        return {name: results.check(frame, MEASUREMENT) for name, frame in given.items()}
    loaded = [
        pair
        for each in given
        for pair in (_of_file(Path(each)) if isinstance(each, (str, Path)) else [("", each)])
    ]
    machines = [str(facts(frame)["machine_id"]) for _, frame in loaded]
    # Runs are named after their machine, or else after their file; equal names are numbered.
    named: dict[str, pd.DataFrame] = {}
    for (stem, frame), machine in zip(loaded, machines, strict=True):
        name = machine if machine and machines.count(machine) == 1 else stem or machine or "run"
        number = sum(key == name or key.startswith(f"{name} (") for key in named)
        named[f"{name} ({number + 1})" if number else name] = results.check(frame, MEASUREMENT)
    return named


def _of_file(path: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    frame = results.load(path)
    kind = results.contract_of(frame).name
    if kind == HISTORY.name:
        for (date, machine), group in frame.groupby(["date", "machine_id"], sort=False):
            first = group.iloc[0]
            about = {name: first[name] for name in HISTORY.columns if name in FACTS}
            one = group[list(MEASUREMENT.columns)].reset_index(drop=True)
            own = {"machine_id": machine, "schemes": _schemes([frame])}
            one.attrs = {"provenance": about | own}
            yield str(date), one
        return
    if kind != MEASUREMENT.name:
        raise DataError(f"{path} holds {kind}; expected a file of `pqchain bench --output`")
    # Samples of `bench --samples` are stored next to the measurements.
    beside = path.with_name(f"{path.stem}-samples.csv")
    if beside.exists():
        frame.attrs["samples"] = results.load(beside)
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


def _compared(
    pair: tuple[Mapping[Any, Any] | None, Mapping[Any, Any] | None],
    *,
    frames: tuple[pd.DataFrame, pd.DataFrame],
    samples: tuple[pd.DataFrame | None, pd.DataFrame | None],
    key: Sequence[str],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return medians, ratio, interval and verdict; NaN with a reason where a time is missing."""
    base, other = pair
    times = [_of(row, "median_seconds") for row in (base, other)]
    cycles = [_of(row, "median_cycles") for row in (base, other)]
    row: dict[str, Any] = {
        "base_median_seconds": times[0], "median_seconds": times[1],
        "base_median_cycles": cycles[0], "median_cycles": cycles[1],
        "ratio": times[1] / times[0] if times[0] else math.nan,
        "cycles_ratio": cycles[1] / cycles[0] if cycles[0] else math.nan,
        "low": math.nan, "high": math.nan, "verdict": "", "interval": "", "reason": "",
    }  # fmt: skip
    if base is None or other is None or not all(map(math.isfinite, times)) or not times[0]:
        where = "the first run" if base is None or not math.isfinite(times[0]) else "this run"
        return row | {"reason": f"not measured in {where}"}
    rounds = [_rounds(each, key) for each in samples]
    if all(rounds):
        draws = [_medians(one, rng) for one in rounds]
        low, high = np.quantile(draws[1] / draws[0], (0.025, 0.975))
        row |= {"low": float(low), "high": float(high), "interval": "bootstrap"}
    elif not base["samples"] or not other["samples"]:
        return row | {"interval": "none: a given number", "reason": str(other["reason"])}
    else:
        spread = math.hypot(_relative_error(base, frames[0]), _relative_error(other, frames[1]))
        # Symmetric in the logarithm, because the interval is that of a ratio.
        away = math.exp(1.96 * spread)
        row |= {"low": row["ratio"] / away, "high": row["ratio"] * away, "interval": "MAD"}
    verdict = "no difference"
    if row["low"] > 1.0:
        verdict = "slower"
    elif row["high"] < 1.0:
        verdict = "faster"
    return row | {"verdict": verdict}


def _of(row: Mapping[Any, Any] | None, name: str) -> float:
    return float(row[name]) if row is not None and row["status"] == "ok" else math.nan


def _relative_error(row: Mapping[Any, Any], frame: pd.DataFrame) -> float:
    rounds = frame.attrs.get("provenance", {}).get("rounds", _ROUNDS)
    return float(_MEDIAN_ERROR * row["mad_seconds"] / row["median_seconds"] / rounds**0.5)


def _rounds(samples: pd.DataFrame | None, key: Sequence[str]) -> list[NDArray[np.float64]]:
    if samples is None:
        return []
    own = samples[(samples[_KEY] == list(key)).all(axis=1)]
    return [group["seconds"].to_numpy(float) for _, group in own.groupby("round")]


def _medians(rounds: list[NDArray[np.float64]], rng: np.random.Generator) -> NDArray[np.float64]:
    """Return bootstrap medians: rounds are resampled, then samples within each round."""
    # Two levels, because samples of one round are correlated: resampling them alone would make
    # the interval too short. Rounds are padded to one length, so that numpy resamples all at once.
    length = np.array([len(each) for each in rounds])
    padded = np.zeros((len(rounds), length.max()))
    for row, each in zip(padded, rounds, strict=True):
        row[: len(each)] = each
    chosen = rng.integers(len(rounds), size=(DRAWS, len(rounds)))
    places = (rng.random((*chosen.shape, length.max())) * length[chosen][..., None]).astype(int)
    drawn = padded[chosen[..., None], places]
    if (length == length.max()).all():
        found: NDArray[np.float64] = np.median(drawn.reshape(DRAWS, -1), axis=1)
        return found
    drawn[np.arange(length.max()) >= length[chosen][..., None]] = np.nan
    found = np.nanmedian(drawn.reshape(DRAWS, -1), axis=1)
    return found
