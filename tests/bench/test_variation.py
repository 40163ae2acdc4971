"""Noise of a run: the ratio of median and minimum of its verifications."""

from __future__ import annotations

import math

import pytest

from pqchain.bench import variation
from tests import frames


def test_median_over_min_is_of_measured_verifications() -> None:
    """Signing with rejection varies by itself, and rows that did not run have no times."""
    frame = frames.measurements(["Falcon-512", "ML-DSA-44", frames.LACKING])
    for operation, ratio in (("sign", 3.0), ("verify", 1.25)):
        rows = frame["operation"] == operation
        frame.loc[rows, "min_seconds"] = frame.loc[rows, "median_seconds"] / ratio
    # One row of another ratio does not change the median.
    first = frame.index[frame["operation"] == "verify"][0]
    frame.loc[first, "min_seconds"] /= 2
    assert variation.median_over_min(frame) == pytest.approx(1.25)
    assert variation.is_noisy(frame)
    assert math.isnan(variation.median_over_min(frame.query("operation == 'sign'")))
    assert not variation.is_noisy(frames.measurements(["Falcon-512"]))


def test_given_times_have_no_noise() -> None:
    given = frames.measurements(["Falcon-512"]).assign(samples=0)
    assert math.isnan(variation.median_over_min(given))
    assert variation.quality(given) == "preset quick"


def test_caption_states_the_ratio_and_what_follows() -> None:
    frame = frames.measurements(["Falcon-512"])
    assert variation.quality(frame) == "preset quick, median/min of verifications 1.05"
    busy = frame.assign(min_seconds=frame["median_seconds"] / 1.4)
    assert "median/min of verifications 1.40, which is above 1.1" in variation.quality(busy)
    assert "not ranked" in variation.quality(busy)
