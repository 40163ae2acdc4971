"""Variation of measured times: the drift of the machine, and the spread of single operations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pqchain import costs as costing
from pqchain.costs import CostTable


def drift(table: CostTable, measurements: list[pd.DataFrame]) -> float:
    """Return the machine's slowdown: the median verification time over the fastest sample.

    A verification does the same work each time, so that the excess of its median is due to the
    machine: other load, its clock. Another hour may be as much faster or slower. All schemes share
    the factor, which leaves ratios as they are.
    """
    verifications: dict[str, list[Mapping[str, Any]]] = {}
    for frame in measurements:
        if "min_seconds" in frame.columns:
            for algorithm, operations_of in _rows(table, frame):
                verifications.setdefault(algorithm, []).append(operations_of["verify"])
    slower = []
    for rows in verifications.values():
        fastest = min(row["min_seconds"] for row in rows)
        if fastest > 0:
            middle = float(np.median([row["median_seconds"] for row in rows]))
            slower.append(max(1.0, middle / fastest))
    return float(np.median(slower)) if slower else 1.0


def _rows(
    table: CostTable, measurements: pd.DataFrame
) -> Iterator[tuple[str, Mapping[str, Mapping[str, Any]]]]:
    """Yield each scheme with measured costs, and its measurement rows by operation."""
    for row in table.rows:
        if not row.is_given:
            implementation = row.source.partition(" on ")[0]
            rows = costing.choose(measurements, row.algorithm, implementation=implementation)
            yield row.algorithm, rows


def spread(table: CostTable, measurements: pd.DataFrame) -> Iterator[tuple[str, str, float]]:
    """Yield (scheme, time, relative deviation of single operations: 1.4826 MAD / median).

    The median of many samples varies less, but the drift of the machine from hour to hour does not.
    """
    if "mad_seconds" not in measurements.columns:
        return
    for algorithm, rows in _rows(table, measurements):
        for operation, row in rows.items():
            middle, deviation = row["median_seconds"], row["mad_seconds"]
            if middle and math.isfinite(middle) and math.isfinite(deviation):
                yield algorithm, f"{operation}_seconds", 1.4826 * deviation / middle
