"""Noise of a run: the ratio of median and minimum of its verifications."""

from __future__ import annotations

import logging
import math

import pandas as pd
import pytest

import pqchain as pq
from pqchain.bench import tables, variation
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


def test_warnings_name_a_busy_machine_and_unsteady_times_of_constant_work() -> None:
    frame = frames.measurements(["ML-DSA-44", "Ed25519"])
    frame[["mad_seconds", "p95_seconds"]] = 0.0
    assert variation.warnings(frame) == []
    frame.attrs["provenance"] = {"load_average": 3.0, "cpu_count": 4}
    (busy,) = variation.warnings(frame)
    assert busy.startswith("Warning: The machine was busy: a load of 3.0 on 4 processors")
    # A run is a load of one by itself, and unknown facts are no warning.
    for facts in ({"load_average": 1.05, "cpu_count": 2}, {}, {"load_average": 9.0}):
        assert not variation.busy(facts)
    frame.attrs["provenance"] = {}
    verify = frame["operation"] == "verify"
    frame.loc[verify, "mad_seconds"] = 0.06 * frame.loc[verify, "median_seconds"]
    (unsteady,) = variation.warnings(frame)
    assert f"in {verify.sum()} of {verify.sum()} rows: verify of ML-DSA-44 by" in unsteady
    # Rejection sampling varies on any machine: such rows are marked, without a warning.
    frame["mad_seconds"] = 0.0
    sign = frame["operation"] == "sign"
    frame.loc[sign, "p95_seconds"] = 3.1 * frame.loc[sign, "median_seconds"]
    assert variation.warnings(frame) == []
    assert [variation.is_unsteady(row) for row in frame.to_dict("records")] == sign.tolist()
    text = tables.operation_table(frame).text()
    assert text.count("!\N{NARROW NO-BREAK SPACE}0.0") == sign.sum() and "spread: median" in text


@pytest.fixture
def busy() -> pd.DataFrame:
    """A frame of a run on a busy machine, with steady times."""
    frame = frames.measurements(["Ed25519"])
    frame[["mad_seconds", "p95_seconds"]] = 0.0
    frame.attrs["provenance"] = {"load_average": 3.0, "cpu_count": 2}
    return frame


def test_warnings_are_logged(busy: pd.DataFrame, caplog: pytest.LogCaptureFixture) -> None:
    variation.announce(busy)
    ((logger, level, text),) = caplog.record_tuples
    assert (logger, level) == ("pqchain.bench", logging.WARNING)
    assert text.startswith("Warning: The machine was busy: a load of 3.0 on 2 processors")
    caplog.clear()
    busy.attrs["provenance"] = {}
    variation.announce(busy)
    assert not caplog.records


def test_measuring_states_its_warnings(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(variation, "warnings", lambda frame: [f"Warning: {len(frame)} rows."])
    pq.measure("Ed25519", "verify", rounds=1)
    pq.measure_blocks("Ed25519", transactions=1, threads=1)
    assert len(caplog.messages) == 2
    pq.measure("Ed25519", "verify", rounds=1, warn=False)
    pq.measure_blocks("Ed25519", transactions=1, threads=1, warn=False)
    assert len(caplog.messages) == 2
