"""Fits of a few prices to measured times, and of a power to growth."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from pqchain.intervals import student

Floats = npt.NDArray[np.float64]


def nonnegative(matrix: Floats, values: Floats) -> Floats:
    """Return the prices, none negative, for which the rows come closest to the values.

    The best of all sets of prices that may be above zero: of four there are only 15.
    """
    count = matrix.shape[1]
    best, found = np.inf, np.zeros(count)
    for size in range(count, 0, -1):
        if found.all():
            break  # what is best without the bound and keeps it is best with it
        for chosen in combinations(range(count), size):
            part = matrix[:, chosen]
            scale = np.abs(part).max(axis=0)
            if not scale.all():
                continue
            prices = np.linalg.lstsq(part / scale, values, rcond=None)[0] / scale
            error = float(((part @ prices - values) ** 2).sum())
            if (prices >= 0).all() and error < best:
                best, found = error, np.zeros(count)
                found[list(chosen)] = prices
    return found


def nonnegative_spread(matrix: Floats, values: Floats, *, draws: int = 300) -> Floats:
    """Return half of the 95 % interval of each price of `nonnegative`, by a bootstrap over rows.

    The interval of least squares does not hold where a price may not be below zero. The rows are
    drawn by a fixed seed. Infinite where there are no more rows than prices.
    """
    rows, count = matrix.shape
    if rows <= count:
        return np.full(count, np.inf)
    random = np.random.default_rng(1)
    drawn = (random.integers(rows, size=rows) for _ in range(draws))
    found = [nonnegative(matrix[some], values[some]) for some in drawn]
    low, high = np.quantile(found, [0.025, 0.975], axis=0)
    return np.asarray((high - low) / 2)


def linear(matrix: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return coefficients by least squares, and half of the 95 % interval of each.

    The intervals are infinite where there are no more rows than coefficients.
    """
    rows, count = matrix.shape
    scale = np.abs(matrix).max(axis=0)
    inverse = np.linalg.pinv(matrix / scale)
    found = inverse @ values
    if rows <= count:
        return found / scale, np.full(count, np.inf)
    left = values - (matrix / scale) @ found
    variance = float(left @ left) / (rows - count)
    spread = np.sqrt(variance * np.einsum("ij,ij->i", inverse, inverse))
    return found / scale, student(rows - count) * spread / scale


def power(sizes: Floats, values: Floats) -> tuple[float, float]:
    """Return the exponent with which values grow with sizes, and half of its 95 % interval.

    By least squares of the logarithms.

    >>> round(power(np.array([2.0, 4.0, 8.0]), np.array([4.0, 16.0, 64.0]))[0], 6)
    2.0
    """
    matrix = np.column_stack([np.ones(len(sizes)), np.log(sizes)])
    found, half = linear(matrix, np.log(values))
    return float(found[1]), float(half[1])
