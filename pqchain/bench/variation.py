"""Variation of measured times: the drift of the machine, and the spread of single operations."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pqchain.bench import presets
from pqchain.costs import CostTable
from pqchain.errors import markdown, visible
from pqchain.render.notebook import Output
from pqchain.results import machine
from pqchain.results.measurements import choose
from pqchain.results.statistics import MAX_MEDIAN_OVER_MIN as MAX_MEDIAN_OVER_MIN

_log = logging.getLogger("pqchain.bench")


def median_over_min(measurements: pd.DataFrame) -> float:
    """Return the median, over the measured verifications, of median time / fastest sample.

    A verification does the same work each time, so the excess of its median is due to the machine:
    other programs, its clock. Takes a measurement frame; NaN if it has no measured verification.
    """
    rows = measurements[
        (measurements["operation"] == "verify")
        & (measurements["status"] == "ok")
        & (measurements["samples"] > 0)
        & (measurements["min_seconds"] > 0)
    ]
    return float((rows["median_seconds"] / rows["min_seconds"]).median())


def is_noisy(measurements: pd.DataFrame) -> bool:
    """Return whether `median_over_min` of a run is above its bound, so that it ranks nothing."""
    return median_over_min(measurements) > MAX_MEDIAN_OVER_MIN


def quality(measurements: pd.DataFrame) -> str:
    """Return the preset and the `median_over_min` of a run as text for a caption."""
    ratio = median_over_min(measurements)
    text = f"preset {measurements.attrs.get('provenance', {}).get('preset', 'unknown')}"
    if not math.isnan(ratio):
        text += f", median/min of verifications {ratio:.2f}"
    if ratio > MAX_MEDIAN_OVER_MIN:
        text += (
            f", which is above {MAX_MEDIAN_OVER_MIN:g}: a busy machine, whose times are not ranked"
        )
    return text


MAX_DEVIATION = 0.05
"""Bound of the median absolute deviation over the median, above which a time is unsteady."""

MAX_P95_OVER_MEDIAN = 3.0
"""Bound of the 95th percentile over the median, above which a time is unsteady."""

RUN_LOAD = 1.1
"""The load of an idle machine at the end of a run: the run itself is a load of one."""

_CONSTANT_WORK = ("verify", "encapsulate", "decapsulate")


def busy(provenance: Mapping[str, Any]) -> str:
    """Return a warning if other programs loaded the machine during a run, else ""."""
    load, count = provenance.get("load_average"), provenance.get("cpu_count")
    # Not every provenance has these facts.
    if not (isinstance(load, (int, float)) and isinstance(count, int)):
        return ""
    # On two processors the load of the run itself is more than half of them.
    if load <= max(count / 2, RUN_LOAD):
        return ""
    return (
        f"The machine was busy: a load of {load:.1f} on {count} processors. "
        "Times may be too long; close other programs and run again before quoting them."
    )


def deviation(row: Mapping[Any, Any]) -> float:
    """Return the median absolute deviation over the median of a measurement row; NaN if unknown."""
    middle = row["median_seconds"]
    return row["mad_seconds"] / middle if middle else math.nan


def is_unsteady(row: Mapping[Any, Any]) -> bool:
    """Return whether the samples of a measurement row vary by more than the bounds.

    Signing by rejection sampling and the generation of some keys do so on any machine.
    """
    is_wide = deviation(row) > MAX_DEVIATION
    return bool(is_wide or row["p95_seconds"] > MAX_P95_OVER_MEDIAN * row["median_seconds"])


def warnings(measurements: pd.DataFrame) -> list[str]:
    """Return warnings about a run: a busy machine, and unsteady times of constant work.

    Takes a frame with provenance; without sample statistics only the load is judged.
    """
    lines = [busy(measurements.attrs.get("provenance", {}))]
    if "mad_seconds" in measurements.columns:
        rows = measurements[measurements["operation"].isin(_CONSTANT_WORK)].to_dict("records")
        unsteady = [
            f"{row['operation']} of {row['algorithm']} by {row['implementation']} "
            f"(deviation {deviation(row):.0%}, 95th percentile "
            f"{row['p95_seconds'] / row['median_seconds']:.1f} medians)"
            for row in rows
            if is_unsteady(row)
        ]
        if unsteady:
            listed = ", ".join(unsteady[:3])
            more = f" and {len(unsteady) - 3} more" if len(unsteady) > 3 else ""
            lines.append(
                f"Times vary although the work does not, in {len(unsteady)} of {len(rows)} rows: "
                f"{listed}{more}."
            )
    return [f"Warning: {line}" for line in lines if line]


def announce(measurements: pd.DataFrame) -> None:
    """Log the warnings about a run (logger pqchain.bench); by default on stderr."""
    if lines := warnings(measurements):
        _log.warning("\n".join(lines))


def drift(table: CostTable, measurements: list[pd.DataFrame]) -> float:
    """Return the machine's slowdown: the median verification time over the fastest sample.

    A verification does the same work each time, so that the excess of its median is due to the
    machine: other load, its clock. Another hour may be as much faster or slower. All schemes share
    the factor, which leaves ratios as they are.
    """
    verifications: dict[str, list[Mapping[str, Any]]] = {}
    for frame in measurements:
        for algorithm, rows in _rows(table, frame, "min_seconds"):
            verifications.setdefault(algorithm, []).append(rows["verify"])
    slower = []
    for times in verifications.values():
        fastest = min(row["min_seconds"] for row in times)
        if fastest > 0:
            middle = float(np.median([row["median_seconds"] for row in times]))
            slower.append(max(1.0, middle / fastest))
    return float(np.median(slower)) if slower else 1.0


def spread(table: CostTable, measurements: pd.DataFrame) -> Iterator[tuple[str, str, float]]:
    """Yield (scheme, time, relative deviation of single operations: 1.4826 MAD / median).

    The median of many samples varies less, but the drift of the machine from hour to hour does not.
    """
    for algorithm, rows in _rows(table, measurements, "mad_seconds"):
        for operation, row in rows.items():
            if math.isfinite(relative := deviation(row)):
                yield algorithm, f"{operation}_seconds", 1.4826 * relative


def _rows(
    table: CostTable, measurements: pd.DataFrame, column: str
) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """Yield each scheme with measured costs, and its rows with that column by operation."""
    for row in table.rows if column in measurements.columns else ():
        if not row.is_given:
            implementation = row.source.partition(" on ")[0]
            yield row.algorithm, choose(measurements, row.algorithm, implementation=implementation)


def header(measurements: pd.DataFrame | None = None) -> Output:
    """Return machine, load, preset and commit of a run in a line, warnings before it.

    The run is that of `measurements`, or of this moment. Raises UsageError for an unknown
    PQCHAIN_PRESET.
    """
    if measurements is None:
        facts: Mapping[str, Any] = machine.provenance() | {"preset": presets.preset()}
        warning = busy(facts)
    else:
        facts = measurements.attrs["provenance"]
        warning = "\n\n".join(warnings(measurements)).removeprefix("Warning: ")
    commit = f"{facts['commit'][:7]}{'-dirty' * facts['commit'].endswith('-dirty')}" or "unknown"
    load = facts.get("load_average")
    load_text = "unknown" if load is None else f"{load:.1f}"
    text = (
        f"Run on {facts['cpu_model']}, {facts['cpu_count']} processors; load {load_text} at the "
        f"start, preset {facts['preset']}, pqchain {facts['pqchain']}, commit {commit}, "
        f"{facts['date'][:10]}."
    )
    if warning:
        text = f"Warning: {warning}\n\n{text}"
    return Output(visible(text), {"text/markdown": markdown(text)})
