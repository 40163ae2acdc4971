"""Changes of times in the history of a machine, by optimal partitioning.

The logarithms of a row's medians are split into segments of constant mean so that the squared
residuals plus a penalty for each further segment are minimal; dynamic programming finds the optimum
(B. Jackson et al., An algorithm for optimal partitioning of data on an interval, IEEE Signal
Processing Letters 12, 2005). The penalty of a change is 3 sigma^2 log n (N. Zhang, D. Siegmund, A
modified Bayes information criterion, Biometrics 63, 2007). Values are first clipped
at three sigma from the median of their neighbours, so that a slow run is not a change. The package
ruptures has the same search; with scipy it would be 40 MB for these lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd

from pqchain import results
from pqchain.bench.runs import HISTORY, KEY
from pqchain.errors import UsageError
from pqchain.results import Contract

CHANGES = Contract.of(
    "measurement-changes",
    ("str", "machine_id algorithm implementation operation date commit"),
    ("float64", "before_seconds after_seconds ratio"),
)

MIN_RUNS = 3
"""Minimum number of runs in a segment: fewer do not tell a change from an outlier."""

FLOOR = 0.02
"""Least noise of a median as a share: two builds of the same code differ by some percent."""


def noise(values: Sequence[float]) -> float:
    """Return the standard deviation of log medians, from their successive differences.

    A change affects one difference only, and the median is robust to it. At least FLOOR.
    """
    steps = np.abs(np.diff(np.log(values)))
    return max(FLOOR, 1.4826 * float(np.median(steps)) / math.sqrt(2)) if len(steps) else FLOOR


def clipped(values: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return the logarithms of values, at most 3 `noise` from the median of five neighbours."""
    logs = np.log(np.asarray(values, dtype=np.float64))
    padded = np.pad(logs, 2, mode="reflect")
    middle = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    margin = 3 * noise(values)
    return np.clip(logs, middle - margin, middle + margin)


def change_points(values: Sequence[float]) -> list[int]:
    """Return the indices at which a new segment of positive values begins. Raises UsageError.

    >>> change_points([1.0, 1.01, 0.99, 1.0, 0.8, 0.81, 0.8])
    [4]
    """
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise UsageError(f"values must be positive; got {list(values)}. Leave out failed runs.")
    count = len(values)
    if count < 2 * MIN_RUNS:
        return []
    logs = clipped(values)
    total, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (logs, logs**2))
    penalty = 3 * noise(values) ** 2 * math.log(max(count, 2))
    # best[end] is the least cost of the first `end` values, starts[end] its last segment's start.
    best, starts = [0.0] + [math.inf] * count, [0] * (count + 1)
    for end in range(MIN_RUNS, count + 1):
        for start in (0, *range(MIN_RUNS, end - MIN_RUNS + 1)):
            length = end - start
            residual = squares[end] - squares[start] - (total[end] - total[start]) ** 2 / length
            cost = best[start] + residual + penalty * (start > 0)
            if cost < best[end]:
                best[end], starts[end] = cost, start
    found = []
    end = starts[count]
    while end:
        found.append(end)
        end = starts[end]
    return found[::-1]


def changes(history: pd.DataFrame) -> pd.DataFrame:
    """Return the changes in a history of runs, by machine, algorithm, implementation and operation.

    Columns: machine_id, algorithm, implementation, operation, date and commit (of the first run
    after the change), before_seconds and after_seconds (geometric means of the segments) and ratio
    (after / before). Raises DataError for a frame that is not a history.
    """
    checked = results.check(history, HISTORY)
    rows = []
    for key, group in checked[checked["status"] == "ok"].groupby(["machine_id", *KEY], sort=False):
        ordered = group.sort_values("date", kind="stable")
        medians = ordered["median_seconds"].to_numpy(dtype=np.float64)
        starts = change_points(medians.tolist())
        ends = [0, *starts, len(medians)]
        means = [float(np.exp(np.log(medians[start:end]).mean())) for start, end in pairwise(ends)]
        for start, before, after in zip(starts, means, means[1:], strict=False):
            first = ordered.iloc[start]
            rows.append((*key, first["date"], first["commit"], before, after, after / before))
    return CHANGES.frame(rows)
