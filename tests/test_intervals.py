"""Intervals have their nominal coverage."""

import math

import numpy as np
import pytest

from pqchain.intervals import half_width


def test_intervals_have_their_nominal_coverage():
    drawn = np.random.default_rng(1).normal(10.0, 2.0, size=(2000, 6))
    covered = [abs(row.mean() - 10.0) <= half_width(row) for row in drawn]
    # Four standard errors of 0.0049 around 0.95.
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)


def test_many_samples_approach_the_normal_interval():
    expected = 1.96 * np.arange(100.0).std(ddof=1) / 10
    assert half_width(np.arange(100.0)) == pytest.approx(expected)


@pytest.mark.parametrize("samples", [[], [1.0]])
def test_too_few_samples_have_no_interval(samples):
    assert math.isnan(half_width(samples))
