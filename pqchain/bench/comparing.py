"""Comparison of benchmark runs of several sides: machines, versions or implementations.

A side is a set of separate runs. The samples of one run share a state of the machine and of one
process, so their scatter says little about the next run. Intervals and verdicts therefore come from
the medians of runs, by Welch's t-test on their logarithms, with Holm's correction for the number of
rows. From five runs on, a fifth is trimmed at each end (Yuen, "The two-sample trimmed t for unequal
population variances", Biometrika 61, 1974), because other programs slow down single runs by a third
and more. On one machine the runs of two sides must alternate, because its speed drifts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pqchain.bench.runs import KEY, Side, builds, facts, named_sides
from pqchain.bench.variation import MAX_MEDIAN_OVER_MIN, median_over_min
from pqchain.errors import UsageError
from pqchain.results import Contract
from pqchain.results.statistics import holm, student_p, student_t

COMPARED = Contract.of(
    "compared-runs",
    ("str", "algorithm implementation operation base run"),
    ("Int64", "base_runs runs"),
    ("float64", "base_median_seconds median_seconds ratio low high p_value"),
    ("float64", "base_median_cycles median_cycles cycles_ratio"),
    ("str", "verdict reason"),
    ("Int64", "more_runs"),
)

SIGNIFICANCE = 0.05
"""Bound of the corrected p-value of a difference."""

FLOOR = 1.02
"""Least ratio that is called a difference. The addresses of code and stack, which change with every
build, change times by some percent (Mytkowicz et al., "Producing wrong data without doing anything
obviously wrong", ASPLOS 2009), and more runs do not average this out."""

RESOLUTION = 1.05
"""The ratio that a comparison must be able to exclude before it says "no difference"."""

POWER = 0.8
"""Share of comparisons that find a ratio of RESOLUTION with the number of runs asked for."""

TRIMMED = 0.2
"""Share of runs trimmed at each end, rounded down: from five runs on."""

MAX_RUNS = 100
"""Number of runs of a side above which more runs are no remedy for noise."""

FEW_RUNS = 5
"""Most runs that are asked for at once, or as many as there are: few runs estimate noise badly."""


class _Change(NamedTuple):
    """Difference of two sides in the logarithm of a time, by Welch's test."""

    difference: float
    error: float
    """Standard error."""
    freedom: int
    runs: int
    """Runs of the side with fewer."""

    @property
    def half_width(self) -> float:
        """Half-width of the 95 % interval of the difference."""
        return student_t(0.05, self.freedom) * self.error

    @property
    def p_value(self) -> float:
        """Two-sided p-value, not corrected for other rows."""
        if not self.error:
            return float(not self.difference)
        return student_p(self.difference / self.error, self.freedom)

    def runs_needed(self, rows: int) -> int:
        """Return about how many runs of a side find a ratio of RESOLUTION among `rows` rows."""
        # The quantile of a test at Holm's strictest level, plus the quantile of its power.
        levels = SIGNIFICANCE / max(1, rows), 2 - 2 * POWER
        quantiles = sum(student_t(level, self.freedom) for level in levels)
        return math.ceil(self.runs * (quantiles * self.error / math.log(RESOLUTION)) ** 2)


def _trimmed(logarithms: Sequence[float]) -> tuple[float, float, int]:
    """Return the trimmed mean of at least one run, its squared error, and degrees of freedom."""
    ordered, runs = np.sort(logarithms), len(logarithms)
    cut = int(TRIMMED * runs)
    kept = ordered[cut : runs - cut]
    if runs < 2:
        return float(kept.mean()), math.nan, 0
    # Winsorized variance: trimmed runs count as the nearest remaining one.
    variance = float(np.clip(ordered, kept[0], kept[-1]).var(ddof=1))
    freedom = len(kept) - 1
    return float(kept.mean()), variance * (runs - 1) / (len(kept) * freedom), freedom


def _change(before: Sequence[float], after: Sequence[float]) -> _Change:
    means, squares, freedoms = zip(_trimmed(before), _trimmed(after), strict=True)
    # Degrees of freedom by Welch and Satterthwaite, rounded down.
    parts = sum(square**2 / count for square, count in zip(squares, freedoms, strict=True))
    freedom = max(1, math.floor(sum(squares) ** 2 / parts + 1e-9)) if parts else int(sum(freedoms))
    runs = min(len(before), len(after))
    return _Change(means[1] - means[0], math.sqrt(sum(squares)), freedom, runs)


def compare_runs(sides: Mapping[str, Side] | Side | Iterable[Side], *others: Side) -> pd.DataFrame:
    """Compare the sides of a benchmark with the first one, for every operation.

    A side is a measurement frame, a file of `pqchain bench --output`, a history of `--append` with
    all its runs, or a list of these; a verdict needs at least two separate runs of each side. Sides
    are given as a mapping from names, as a list, or as separate arguments. The runs of a single
    history are compared with its first run.

    Returns a frame with one row per side and operation and the columns algorithm, implementation,
    operation, base and run (names of the sides), base_runs and runs (their numbers of runs),
    base_median_seconds and median_seconds (trimmed geometric means of the medians of runs), ratio
    (run over base), low and high (its 95 % interval; NaN for single runs), p_value (corrected for
    the number of rows), base_median_cycles, median_cycles and cycles_ratio (NaN where unknown),
    verdict, reason, and more_runs (runs that each side needs for a decision; missing without a
    verdict).

    The verdict is "slower" or "faster" for a significant ratio of at least FLOOR, "no difference"
    if the interval excludes a ratio of RESOLUTION, and else "undecided". It is "" if a time is
    missing or the runs allow none, which `reason` explains. `attrs["runs"]` has the provenance of
    each side. Raises UsageError for fewer than two sides, and DataError for a frame or file of
    another kind and for a side with runs of two machines.
    """
    named = named_sides(sides, *others)
    if len(named) < 2:
        raise UsageError(f"at least two runs must be given; got {len(named)}")
    (base, baseline), *compared = named.items()
    rows: list[dict[str, Any]] = []
    changes: list[_Change | None] = []
    for name, runs in compared:
        obstacle = _obstacle(baseline, runs)
        by_key: dict[tuple[str, ...], tuple[list[Any], list[Any]]] = {}
        for number, side in enumerate((baseline, runs)):
            for record in (record for frame in side for record in frame.to_dict("records")):
                key = tuple(record[name] for name in KEY)
                by_key.setdefault(key, ([], []))[number].append(record)
        for key, records in by_key.items():
            row, change = _compare(*records, obstacle)
            rows.append(dict(zip(KEY, key, strict=True)) | {"base": base, "run": name} | row)
            changes.append(change)
    corrected = holm(math.nan if change is None else change.p_value for change in changes)
    tests = sum(change is not None for change in changes)
    for row, change, p_value in zip(rows, changes, corrected, strict=True):
        row["p_value"] = p_value
        if change is not None:
            row |= _judge(change, p_value, tests)
    comparison = COMPARED.frame(rows)
    comparison.attrs["runs"] = {name: _facts(runs) for name, runs in named.items()}
    return comparison


def _obstacle(baseline: Sequence[pd.DataFrame], runs: Sequence[pd.DataFrame]) -> str:
    """Return why two sides allow no verdict, or ""."""
    if min(len(baseline), len(runs)) < 2:
        return "single run: repeat both sides, alternating"
    before, after = ([facts(run) for run in side] for side in (baseline, runs))
    if before[0]["machine_id"] != after[0]["machine_id"]:
        return ""
    dates = [sorted(str(run["date"]) for run in side) for side in (before, after)]
    # One side was measured before the other, so that a change of the machine looks like one of the
    # code. Frames without dates are trusted.
    if all(map(all, dates)) and (dates[0][-1] < dates[1][0] or dates[1][-1] < dates[0][0]):
        return "runs do not alternate: the machine may have changed"
    return ""


def _compare(
    before: Sequence[Mapping[Any, Any]], after: Sequence[Mapping[Any, Any]], obstacle: str
) -> tuple[dict[str, Any], _Change | None]:
    """Return the numbers of a row, and its change if the runs allow a verdict."""
    sides = [[row for row in rows if row["status"] == "ok"] for rows in (before, after)]
    logs = [_logarithms(rows, "median_seconds") for rows in sides]
    cycles = [_typical(_logarithms(rows, "median_cycles")) for rows in sides]
    seconds, counts = list(map(_typical, logs)), list(map(len, logs))
    row: dict[str, Any] = {
        "base_runs": counts[0], "runs": counts[1], "base_median_seconds": seconds[0],
        "median_seconds": seconds[1], "ratio": seconds[1] / seconds[0],
        "base_median_cycles": cycles[0], "median_cycles": cycles[1],
        "cycles_ratio": cycles[1] / cycles[0], "verdict": "", "reason": obstacle,
    }  # fmt: skip
    if not all(counts):
        side = "the first side" if not counts[0] else "this side"
        return row | {"reason": f"not measured in {side}"}, None
    if not all(sample["samples"] for rows in sides for sample in rows):
        return row | {"reason": "a given number, not a measurement"}, None
    if obstacle or min(counts) < 2:
        return row | {"reason": obstacle or "measured in a single run of a side"}, None
    change = _change(*logs)
    low, high = (change.difference + sign * change.half_width for sign in (-1, 1))
    return row | {"low": math.exp(low), "high": math.exp(high)}, change


def _logarithms(rows: Iterable[Mapping[Any, Any]], name: str) -> list[float]:
    values = (float(row[name]) for row in rows)
    return [math.log(value) for value in values if math.isfinite(value) and value > 0]


def _typical(logarithms: Sequence[float]) -> float:
    return math.exp(_trimmed(logarithms)[0]) if logarithms else math.nan


def _judge(change: _Change, p_value: float, rows: int) -> dict[str, Any]:
    """Return the verdict on a change, and the number of runs that an undecided one needs."""
    size, half_width = abs(change.difference), change.half_width
    if p_value < SIGNIFICANCE and size >= math.log(FLOOR):
        return {"verdict": "slower" if change.difference > 0 else "faster", "more_runs": 0}
    # Both ends of the interval are checked, and a change above the floor must not be significant
    # alone: it is then one that only the correction for the number of rows leaves open.
    if size + half_width <= math.log(RESOLUTION) and (size < math.log(FLOOR) or size < half_width):
        return {"verdict": "no difference", "more_runs": 0}
    runs, needed = change.runs, change.runs_needed(rows)
    more = min(max(1, needed - runs), max(FEW_RUNS, runs))
    reason = f"about {more} more run{'s'[: more > 1]} of each side"
    if needed > MAX_RUNS:
        reason += ", or a quieter machine"
    return {"verdict": "undecided", "reason": reason, "more_runs": more}


def _facts(runs: Sequence[pd.DataFrame]) -> dict[str, Any]:
    """Return the provenance that a side's runs share, their number, and their median/min."""
    values = [facts(run) for run in runs]
    merged: dict[str, Any] = {}
    for name in values[0]:
        distinct = list(dict.fromkeys(value[name] for value in values))
        merged[name] = distinct[0] if len(distinct) == 1 else ", ".join(map(str, distinct))
    dates = sorted(str(value["date"]) for value in values)
    if dates[0] != dates[-1]:
        merged["date"] = f"{dates[0]} to {dates[-1]}"
    ratios = [ratio for run in runs if math.isfinite(ratio := median_over_min(run))]
    middle = round(float(np.median(ratios)), 3) if ratios else None
    merged["libraries"] = {name: of.pop() for name, of in builds(runs).items()}
    return merged | {"runs": len(runs), "median_over_min": middle}


def warnings(sides: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each side whose machine was busy."""
    return [
        f"Warning: the machine was busy during {name}: median/min of verifications "
        f"{facts['median_over_min']:.2f}, which is above {MAX_MEDIAN_OVER_MIN:g}."
        for name, facts in sides.items()
        if (facts["median_over_min"] or 0) > MAX_MEDIAN_OVER_MIN
    ]


def summary(sides: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a line for each side with its provenance, and one of builds that differ."""
    lines = []
    for name, side in sides.items():
        commit = str(side["commit"])
        # Seven digits of a commit, dates without their time zone.
        dates = (date[:16].replace("T", " ") for date in str(side["date"]).split(" to "))
        texts = (
            f"{side['cpu_model']}, {side['cpu_count']} processors" * bool(side["cpu_model"]),
            f"pqchain {side['pqchain']}", commit[:7] + "-dirty" * commit.endswith("-dirty"),
            f"Python {side['python']}" * bool(side["python"]), f"preset {side['preset']}",
            " to ".join(dates), f"{side['runs']} run{'s'[: side['runs'] > 1]}",
            f"median/min of verifications {side['median_over_min'] or math.nan:.2f}",
        )  # fmt: skip
        lines.append(f"{name}: {', '.join(filter(None, texts))}")
    builds = [side["libraries"] for side in sides.values()]
    if changed := [
        name for name, of in builds[0].items() if any(row.get(name, of) != of for row in builds)
    ]:
        lines.append(f"different builds: {', '.join(changed)}")
    return "\n".join(lines)
