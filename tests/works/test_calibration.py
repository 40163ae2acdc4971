"""The fit of paper-serial: every cell of Tables 5 and 6, and its limits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from pqchain.consensus import SerialLaw
from pqchain.errors import DataError
from pqchain.works import papers
from pqchain.works.pqdpol import calibration, rebuilt

COSTS = papers.costs("pqdpol")
CELLS = rebuilt.cells()


def test_every_cell_of_both_tables_is_within_eight_percent() -> None:
    cells = rebuilt.tables(COSTS)
    assert len(cells) == 30 and sorted(set(cells["n"])) == [1, 2, 3, 4, 5]
    for name in ("latency_error_corrected_percent", "throughput_error_corrected_percent"):
        assert cells[name].abs().max() <= 8.0
        assert np.sqrt((cells[name] ** 2).mean()) <= 3.5
    published = cells["published_latency_seconds"]
    expected = 100 * (cells["latency_seconds"] / published - 1)
    assert cells["latency_error_percent"].tolist() == pytest.approx(expected.tolist())
    product = cells["throughput_per_second"] * cells["latency_seconds"]
    assert product.tolist() == pytest.approx(cells["transactions_per_block"].tolist())


def test_transactions_per_block_equal_the_tables() -> None:
    counts = rebuilt.tables(COSTS).groupby("algorithm")["transactions_per_block"].first()
    assert counts.pop("Falcon-512") == pytest.approx(29.42, abs=0.05)
    assert counts.to_dict() == {
        "Dilithium2": 12.0, "Dilithium3": 9.0, "Dilithium5": 6.0, "Falcon-1024": 15.0,
        "SPHINCS+-SHA2-128f-simple": 2.0,
    }  # fmt: skip


def test_paper_serial_defaults_equal_the_fit() -> None:
    fitted = calibration.fit(CELLS, COSTS)
    found, default = dataclasses.asdict(fitted.law), dataclasses.asdict(SerialLaw())
    assert found == pytest.approx(default, rel=1e-4)
    assert fitted.rms_percent == pytest.approx(2.8, abs=0.1)
    assert fitted.worst_percent == pytest.approx(7.3, abs=0.1)
    # The closed form of the fit equals the engine, up to rounding to nanoseconds.
    played = rebuilt.tables(COSTS, fitted.law)["latency_seconds"]
    assert played.tolist() == pytest.approx(fitted.residuals["modelled_seconds"].tolist(), rel=1e-6)


def test_fit_recovers_known_prices() -> None:
    law = SerialLaw(pair_seconds=0.01, byte_seconds=3e-6, verifies=11.0, signs=5.0)
    rows = [
        [row.algorithm, n, 4.0**n * (
            law.pair_seconds + law.byte_seconds * (row.public_key_bytes + row.signature_bytes)
            + law.verifies * row.verify_seconds
        ) + 2.0**n * law.signs * row.sign_seconds]
        for row in COSTS.rows for n in (1, 2, 3, 4, 5)
    ]  # fmt: skip
    made = pd.DataFrame(rows, columns=["algorithm", "n", "latency_seconds"])
    fitted = calibration.fit(made, COSTS)
    assert dataclasses.asdict(fitted.law) == pytest.approx(dataclasses.asdict(law), rel=1e-6)
    assert fitted.worst_percent < 1e-6


def test_prices_are_never_negative() -> None:
    # Latency that falls with size and verification time: the best free price would be negative.
    falling = CELLS.assign(
        latency_seconds=[
            4.0**n / (COSTS[name].signature_bytes + 1e5 * COSTS[name].verify_seconds)
            for name, n in zip(CELLS["algorithm"], CELLS["n"], strict=True)
        ]
    )
    law = calibration.fit(falling, COSTS).law
    assert min(dataclasses.asdict(law).values()) >= 0.0


def test_cross_validation_errors_are_pinned() -> None:
    left = calibration.leave_out(CELLS, COSTS).set_index("left_out")
    assert len(left) == 6 + 5
    assert left["cells"].tolist() == [5] * 6 + [6] * 5
    # Any n is predicted from the others: the form holds.
    sizes = left[left.index.str.startswith("n = ")]
    assert sizes["rms_percent"].max() < 6.0
    # The prices move far when an algorithm is missing: they are not identified.
    full = dataclasses.asdict(SerialLaw())
    moved = {
        name: (left[name] / full[name] - 1).abs().max() for name in ("byte_seconds", "verifies")
    }
    assert max(moved.values()) > 0.2


def test_only_n_squared_fits() -> None:
    forms = calibration.forms(CELLS).set_index("form")
    best = forms["rms_percent"].idxmin()
    assert best == "N^2"
    assert forms["rms_percent"].round(1).to_dict() == pytest.approx(
        {
            "N^2": 3.6, "N^2 - 1": 11.6, "N(N + 1)": 13.0, "N(N - 1)": 22.0, "(N + 1)^2": 27.0,
            "N^2 log N": 43.0, "N": 65.0,
        },
        abs=0.5,
    )  # fmt: skip
    assert forms["worst_percent"]["N^2"] == pytest.approx(10.0, abs=0.1)


def test_too_few_or_invalid_cells_are_rejected() -> None:
    with pytest.raises(DataError, match=r"at least 4 latencies, .*; got 3"):
        calibration.fit(CELLS.head(3), COSTS)
    with pytest.raises(DataError, match=r"latency_seconds"):
        calibration.fit(CELLS.drop(columns="latency_seconds"), COSTS)
