"""Fits with known closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from pqchain.fitting import linear, nonnegative, nonnegative_spread, power


def test_fitted_prices_are_recovered_and_not_negative():
    matrix = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]])
    assert nonnegative(matrix, matrix @ [3.0, 5.0]) == pytest.approx([3.0, 5.0])
    # The best second price is negative, so it is 0 and only the first is fitted.
    result = nonnegative(matrix, matrix @ [3.0, -1.0])
    assert result[1] == 0
    assert result[0] == pytest.approx(float(matrix[:, 0] @ (matrix @ [3.0, -1.0])) / 6)


def test_true_price_lies_in_its_interval():
    random, within = np.random.default_rng(2), 0
    matrix = np.column_stack([np.ones(30), np.linspace(1, 4, 30)])
    for _ in range(40):
        values = matrix @ [3.0, 0.5] + random.normal(0, 0.2, 30)
        half = nonnegative_spread(matrix, values, draws=200)
        within += bool(abs(nonnegative(matrix, values)[1] - 0.5) < half[1])
    assert 34 <= within <= 40
    below = matrix @ [3.0, -0.5] + random.normal(0, 0.2, 30)
    assert nonnegative(matrix, below)[1] == nonnegative_spread(matrix, below)[1] == 0
    assert np.isinf(nonnegative_spread(np.ones((1, 1)), np.ones(1))[0])


def test_unused_column_has_no_price():
    assert nonnegative(np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([2.0, 4.0])).tolist() == [2, 0]


def test_interval_equals_that_of_a_mean():
    values = np.array([1.0, 2.0, 3.0])
    found, half = linear(np.ones((3, 1)), values)
    assert (found[0], half[0]) == (pytest.approx(2.0), pytest.approx(4.303 / np.sqrt(3)))


def test_too_few_rows_give_no_interval():
    assert linear(np.ones((1, 1)), np.ones(1))[1].tolist() == [np.inf]


def test_exponent_interval_covers_95_percent():
    random, within = np.random.default_rng(1), 0
    sizes = np.repeat([2.0, 4.0, 8.0, 16.0], 3)
    for _ in range(400):
        exponent, half = power(sizes, sizes**2 * np.exp(random.normal(0, 0.1, len(sizes))))
        within += abs(exponent - 2) < half
    assert 0.92 * 400 < within < 0.98 * 400
