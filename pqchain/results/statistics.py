"""Confidence intervals and tests by Student's t-distribution, and least-squares fits."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

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


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of `count` in `total` by the method of Wilson (1927)."""
    if not total:
        return 0.0, 1.0
    share, z = count / total, 1.959964
    middle = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2) * z / (1 + z**2 / total)
    return max(0.0, middle - half), min(1.0, middle + half)


def half_width(samples: Iterable[float]) -> float:
    """Return the half-width of the mean's 95 % confidence interval; NaN below two samples."""
    values = np.asarray(list(samples), dtype=float)
    freedom = len(values) - 1
    if freedom < 1:
        return float("nan")
    return student_t(0.05, freedom) * float(values.std(ddof=1)) / math.sqrt(len(values))


def median_interval(samples: Iterable[float], *, resamples: int = 2000) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median, by a bootstrap with a fixed seed.

    Samples count as independent. NaN below two samples.
    """
    values = np.asarray(list(samples), dtype=float)
    if len(values) < 2:
        return float("nan"), float("nan")
    drawn = np.random.default_rng(1).choice(values, size=(resamples, len(values)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return float(low), float(high)


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

    The quantiles of a function of the draws are the ends of its interval.
    """
    # By resampled rows: the interval of ordinary least squares is not valid under the bound.
    random = np.random.default_rng(1)
    drawn = (random.integers(len(values), size=len(values)) for _ in range(draws))
    return np.array([nonnegative(matrix[indices], values[indices]) for indices in drawn])


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
