"""Noise of a run: the ratio of median and minimum of its verifications."""

import json
import logging
import math
from pathlib import Path

import pytest

import pqchain as pq
from pqchain.bench import tables, variation
from pqchain.results import machine
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
    steady = frames.measurements(["Falcon-512"])
    assert not variation.is_noisy(steady)
    assert variation.quality(steady) == "preset quick, median/min of verifications 1.05"
    busy = steady.assign(min_seconds=steady["median_seconds"] / 1.4)
    assert "median/min of verifications 1.40, which is above 1.1" in variation.quality(busy)
    assert "not ranked" in variation.quality(busy)
    assert variation.quality(steady.assign(samples=0)) == "preset quick"  # given times


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


def test_warnings_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    busy = frames.measurements(["Ed25519"])
    busy[["mad_seconds", "p95_seconds"]] = 0.0
    for facts, count in (({"load_average": 3.0, "cpu_count": 2}, 1), ({}, 0)):
        caplog.clear()
        busy.attrs["provenance"] = facts
        variation.announce(busy)
        assert [(row[0], row[1]) for row in caplog.record_tuples] == [
            ("pqchain.bench", logging.WARNING)
        ] * count


def test_measuring_states_its_warnings(monkeypatch, caplog):
    monkeypatch.setattr(variation, "warnings", lambda frame: [f"Warning: {len(frame)} rows."])
    pq.measure("Ed25519", "verify", rounds=1)
    pq.measure_blocks("Ed25519", transactions=1, threads=1)
    assert len(caplog.messages) == 2
    pq.measure("Ed25519", "verify", rounds=1, warn=False)
    pq.measure_blocks("Ed25519", transactions=1, threads=1, warn=False)
    assert len(caplog.messages) == 2


NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


def test_header_states_machine_load_and_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = frames.PROVENANCE | {"commit": f"{'a' * 40}-dirty"}
    monkeypatch.setattr(machine, "provenance", lambda: facts)
    monkeypatch.setenv("PQCHAIN_PRESET", "paper")
    assert str(variation.header()) == (
        "Run on Imaginary 9000, 4 processors; load 0.5 at the start, preset paper, pqchain 0.0.0, "
        "commit aaaaaaa-dirty, 2026-11-21."
    )
    facts["load_average"] = 5.0
    assert "busy: a load of 5.0 on 4 processors" in str(variation.header())
    # Of a frame, the conditions under which it was measured.
    measured = frames.measurements(["Ed25519"])
    measured.attrs["provenance"] = facts | {"preset": "quick"}
    assert "preset quick" in str(variation.header(measured))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_begins_with_its_header(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    first = next("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert "pq.header(" in first
