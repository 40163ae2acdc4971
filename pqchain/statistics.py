"""Confidence intervals and tests by Student's t-distribution, and least-squares fits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

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


def student_p(t: float, freedom: int) -> float:
    """Return the two-sided p-value of a value of Student's t for `freedom` degrees of freedom.

    By the finite series for whole numbers of degrees, Abramowitz and Stegun, 26.7.3 and 26.7.4.

    >>> round(student_p(2.776, 4), 3)
    0.05
    """
    angle = math.atan(abs(t) / math.sqrt(freedom))
    cosine, is_odd = math.cos(angle), freedom % 2
    term, total = (cosine if is_odd else 1.0), 0.0
    for k in range(freedom // 2):
        total += term
        # The k-th factor is 2/3, 4/5, ... for odd and 1/2, 3/4, ... for even degrees.
        odd, even = (2 * k + 2, 2 * k + 3) if is_odd else (2 * k + 1, 2 * k + 2)
        term *= cosine**2 * odd / even
    area = math.sin(angle) * total
    return max(0.0, 1.0 - (2 / math.pi * (angle + area) if is_odd else area))


def student_t(p: float, freedom: int) -> float:
    """Return the t with two-sided p-value `p` for `freedom` degrees of freedom.

    >>> round(student_t(0.01, 10), 3)
    3.169
    """
    low, high = 0.0, 1.0
    while student_p(high, freedom) > p:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, freedom) > p else (low, middle)
    return high


def holm(p_values: Iterable[float]) -> list[float]:
    """Return p-values corrected for their number by the method of Holm (1979); NaN stays NaN.

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    values = np.asarray(list(p_values), dtype=float)
    order = np.argsort(values)[: np.isfinite(values).sum()]  # NaN is last
    factors = np.arange(len(order), 0, -1)
    corrected = np.full(len(values), np.nan)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * factors))
    return corrected.tolist()


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of `count` in `total` by the method of Wilson (1927).

    >>> [round(end, 3) for end in wilson(0, 100)]
    [0.0, 0.037]
    """
    if not total:
        return 0.0, 1.0
    share, z = count / total, 1.959964
    middle = (share + z**2 / (2 * total)) / (1 + z**2 / total)
    half = math.sqrt(share * (1 - share) / total + (z / (2 * total)) ** 2) * z / (1 + z**2 / total)
    return max(0.0, middle - half), min(1.0, middle + half)


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


def median_interval(samples: Iterable[float], *, resamples: int = 2000) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median, by a bootstrap with a fixed seed.

    Samples count as independent. NaN below two samples.

    >>> median_interval([2.0, 2.0, 2.0])
    (2.0, 2.0)
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
    # Exhaustive over the subsets of coefficients that may be positive: four have only 15.
    count = matrix.shape[1]
    least_error, coefficients = np.inf, np.zeros(count)
    for size in range(count, 0, -1):
        if coefficients.all():
            break  # the unconstrained optimum is non-negative, so it is the constrained one too
        for chosen in combinations(range(count), size):
            part = matrix[:, chosen]
            scale = np.abs(part).max(axis=0)
            if not scale.all():
                continue
            solution = np.linalg.lstsq(part / scale, values, rcond=None)[0] / scale
            error = float(((part @ solution - values) ** 2).sum())
            if (solution >= 0).all() and error < least_error:
                least_error, coefficients = error, np.zeros(count)
                coefficients[list(chosen)] = solution
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
    return coefficients / scale, student(rows - count) * spread / scale


def power(sizes: Floats, values: Floats) -> tuple[float, float]:
    """Fit a power law; return its exponent and the half-width of the exponent's 95 % interval.

    By least squares of the logarithms of positive sizes and values.

    >>> round(power(np.array([2.0, 4.0, 8.0]), np.array([4.0, 16.0, 64.0]))[0], 6)
    2.0
    """
    matrix = np.column_stack([np.ones(len(sizes)), np.log(sizes)])
    coefficients, half = linear(matrix, np.log(values))
    return float(coefficients[1]), float(half[1])
