"""Coverage of intervals, and fits that are known in closed form."""

import math

import numpy as np
import pytest

from pqchain.results.statistics import (
    half_width,
    holm,
    interval_text,
    linear,
    median_interval,
    nonnegative,
    nonnegative_draws,
    student_p,
    student_t,
)

# Two-sided 95 % quantiles of Student's t by degrees of freedom, as tables print them.
STUDENT_95 = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262,
    10: 2.228, 20: 2.086, 29: 2.045, 30: 2.042, 31: 2.040, 40: 2.021, 60: 2.000, 120: 1.980,
}  # fmt: skip


def test_fitted_prices_are_recovered_and_not_negative():
    matrix = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]])
    assert nonnegative(matrix, matrix @ [3.0, 5.0]) == pytest.approx([3.0, 5.0])
    # The best second price is negative, so it is 0 and only the first is fitted.
    result = nonnegative(matrix, matrix @ [3.0, -1.0])
    assert result[1] == 0
    assert result[0] == pytest.approx(float(matrix[:, 0] @ (matrix @ [3.0, -1.0])) / 6)


def test_price_is_never_negative():
    matrix = np.column_stack([np.ones(30), np.linspace(1, 4, 30)])
    below = matrix @ [3.0, -0.5] + np.random.default_rng(2).normal(0, 0.2, 30)
    assert nonnegative(matrix, below)[1] == nonnegative_draws(matrix, below)[:, 1].max() == 0


def test_unused_column_has_no_price():
    price = nonnegative(np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([2.0, 4.0]))
    assert price[0] == pytest.approx(2) and price[1] == 0


def test_interval_equals_that_of_a_mean():
    values = np.array([1.0, 2.0, 3.0])
    found, half = linear(np.ones((3, 1)), values)
    assert (found[0], half[0]) == (pytest.approx(2.0), pytest.approx(4.3026527 / np.sqrt(3)))


def test_too_few_rows_give_no_interval():
    assert linear(np.ones((1, 1)), np.ones(1))[1].tolist() == [np.inf]


def test_quantiles_are_those_of_the_table():
    for freedom, quantile in STUDENT_95.items():
        assert round(student_t(0.05, freedom), 3) == quantile
        assert student_p(quantile + 5e-4, freedom) < 0.05 < student_p(quantile - 5e-4, freedom)
    # Two values of Fisher and Yates's table at other levels.
    assert student_t(0.001, 1) == pytest.approx(636.619, abs=1e-3)
    assert student_t(0.001, 10) == pytest.approx(4.587, abs=1e-3)
    assert student_p(-3.0, 7) == student_p(3.0, 7)
    assert student_p(0.0, 4) == 1.0


def test_holm_multiplies_the_smallest_most():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []
    corrected = holm([math.nan, 0.02])
    assert math.isnan(corrected[0])
    assert corrected[1] == 0.02


@pytest.mark.parametrize(
    ("count", "rank"), [(6, 1), (8, 1), (9, 2), (12, 3), (20, 6), (25, 8), (50, 18), (100, 40)]
)
def test_interval_of_the_median_is_that_of_tables(count, rank):
    # Conover, Practical Nonparametric Statistics, table A3: ranks of binomial quantiles.
    low, high = median_interval(range(count, 0, -1))
    assert (low, high) == (rank, count + 1 - rank)
    assert half_width(range(count)) == (count + 1) / 2 - rank


@pytest.mark.parametrize("count", range(6))
def test_too_few_samples_have_no_interval(count):
    assert np.isnan([*median_interval(range(count)), half_width(range(count))]).all()
    assert "no interval" in interval_text(*median_interval(range(count)))


def test_interval_of_the_median_ignores_outliers():
    assert median_interval([1.0] * 12 + [100.0] * 3) == (1.0, 1.0)
    assert interval_text(1, 2.5, " s") == "95 % interval 1.00 to 2.50 s"
