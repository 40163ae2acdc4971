"""Intervals and tests, and least-squares fits.

Times are skewed and have spikes, so intervals are those of medians; that of a mean would miss it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MAX_MEDIAN_OVER_MIN = 1.1
"""Bound of median/min of repeated work, above which times of a machine are not ranked."""

# scipy is imported where it is used: its import takes longer than most commands.


def student_p(t: float, freedom: int) -> float:
    """Return the two-sided p-value of a value of Student's t for `freedom` degrees of freedom."""
    from scipy.special import stdtr

    return 2 * float(stdtr(freedom, -abs(t)))


def student_t(p: float, freedom: int) -> float:
    """Return the t with two-sided p-value `p` for `freedom` degrees of freedom."""
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, p / 2))


def holm(p_values: Iterable[float]) -> list[float]:
    """Return p-values corrected for their number by the method of Holm (1979); NaN stays NaN."""
    values = np.asarray(list(p_values), dtype=float)
    order = np.argsort(values)  # NaN is last
    factors = np.isfinite(values).sum() - np.arange(len(values))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * factors))
    return corrected.tolist()


def median_interval(samples: Iterable[float]) -> tuple[float, float]:
    """Return the interval of two samples that contains the median with at least 95 %.

    Of any distribution (order statistics); samples count as independent. NaN below six samples,
    because not even all of them contain the median with 95 %.
    """
    from scipy.special import bdtr

    ordered = np.sort(np.asarray(list(samples), dtype=float))
    # The median is below the r-th smallest sample if fewer than r of n are below the median.
    rank = int((bdtr(np.arange(len(ordered)), len(ordered), 0.5) <= 0.025).sum())
    return (float(ordered[rank - 1]), float(ordered[-rank])) if rank else (math.nan, math.nan)


def half_width(samples: Iterable[float]) -> float:
    """Return the greater distance of the median from an end of `median_interval`, or NaN."""
    values = list(samples)
    middle = np.median(values) if values else math.nan
    low, high = median_interval(values)
    return float(max(middle - low, high - middle))


def interval_text(low: float, high: float, unit: str = "", digits: str = ".2f") -> str:
    """Return an interval as text, or that there is none."""
    if math.isnan(low):
        return "no interval: fewer than 6 samples"
    return f"95 % interval {low:{digits}} to {high:{digits}}{unit}"


def nonnegative(matrix: Floats, values: Floats) -> Floats:
    """Return the non-negative least-squares solution of `matrix @ x = values`.

    `matrix` has shape (rows, coefficients), `values` (rows,); the result has shape (coefficients,).
    """
    from scipy.optimize import nnls

    # Columns are scaled to comparable sizes; one of zeros has coefficient 0.
    scale = np.abs(matrix).max(axis=0)
    scale[scale == 0] = 1
    coefficients: Floats = nnls(matrix / scale, values)[0] / scale
    return coefficients


def nonnegative_draws(matrix: Floats, values: Floats, *, draws: int = 300) -> Floats:
    """Return bootstrap draws of `nonnegative`, of shape (draws, coefficients), with a fixed seed.

    `draws_interval` gives the interval of a function of the draws.
    """
    # By resampled rows: the interval of ordinary least squares is not valid under the bound.
    random = np.random.default_rng(1)
    drawn = (random.integers(len(values), size=len(values)) for _ in range(draws))
    return np.array([nonnegative(matrix[indices], values[indices]) for indices in drawn])


def draws_interval(draws: Floats, rows: int, coefficients: int) -> tuple[float, float]:
    """Return the 95 % interval of a function of bootstrap draws of a fit of `rows`.

    By expanded percentiles (Hesterberg 2015), because plain ones are too narrow for few rows. NaN
    below 6 rows, for which also these are.
    """
    from scipy.special import ndtr

    if rows < 6:
        return math.nan, math.nan
    freedom = rows - coefficients
    tail = float(ndtr(-student_t(0.05, freedom) * math.sqrt(rows / freedom)))
    # By ranks, because percentiles of few draws are too narrow as well.
    ordered, rank = np.sort(draws), max(int(tail * (len(draws) + 1)), 1)
    return float(ordered[rank - 1]), float(ordered[-rank])


def linear(matrix: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Fit least-squares coefficients; return them and the half-width of the 95 % interval of each.

    `matrix` has shape (rows, coefficients), `values` (rows,). The half-widths are infinite if there
    are no more rows than coefficients.
    """
    # Columns are scaled to comparable sizes, for the condition of the pseudo-inverse.
    rows, count = matrix.shape
    scale = np.abs(matrix).max(axis=0)
    inverse = np.linalg.pinv(matrix / scale)
    coefficients = inverse @ values
    if rows <= count:
        return coefficients / scale, np.full(count, np.inf)
    residuals = values - (matrix / scale) @ coefficients
    variance = float(residuals @ residuals) / (rows - count)
    spread = np.sqrt(variance * np.einsum("ij,ij->i", inverse, inverse))
    return coefficients / scale, student_t(0.05, rows - count) * spread / scale
