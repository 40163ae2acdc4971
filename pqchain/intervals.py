"""Confidence intervals of means, by Student's t."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

STUDENT_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom."""


def student(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's t for `freedom` degrees of freedom."""
    # Above the table the quantile of the normal distribution.
    return STUDENT_95[freedom - 1] if freedom <= len(STUDENT_95) else 1.960


def half_width(samples: Iterable[float]) -> float:
    """Return the half-width of the mean's 95 % confidence interval; NaN below two samples.

    >>> round(half_width([1.0, 2.0, 3.0]), 3)
    2.484
    """
    values = np.asarray(list(samples), dtype=float)
    freedom = len(values) - 1
    if freedom < 1:
        return float("nan")
    return student(freedom) * float(values.std(ddof=1)) / math.sqrt(len(values))
