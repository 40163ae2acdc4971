"""The fit of paper-serial: every cell of Tables 5 and 6, and its limits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from pqchain.consensus import SerialLaw
from pqchain.errors import DataError
from pqchain.works import papers
from pqchain.works.pqdpol import rebuilt

COSTS = papers.costs("pqdpol")
CELLS = rebuilt.cells()


def test_paper_serial_defaults_equal_the_fit() -> None:
    law = rebuilt.fit(CELLS, COSTS)
    assert dataclasses.asdict(law) == pytest.approx(dataclasses.asdict(SerialLaw()), rel=1e-4)
    (fit,) = rebuilt.calibration(CELLS, COSTS)["fit"].to_dict("records")
    assert fit["rms_percent"] == pytest.approx(2.83, abs=0.01)
    assert fit["worst_percent"] == pytest.approx(7.3, abs=0.1)
    assert {name: fit[name] for name in dataclasses.asdict(law)} == dataclasses.asdict(law)
    # The closed form of the fit equals the engine, up to rounding to nanoseconds.
    played = rebuilt.tables(COSTS, law)["latency_error_corrected_percent"]
    assert played.tolist() == pytest.approx(rebuilt.errors(CELLS, COSTS, law), abs=1e-4)


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
    fitted = rebuilt.fit(made, COSTS)
    assert dataclasses.asdict(fitted) == pytest.approx(dataclasses.asdict(law), rel=1e-6)
    assert np.abs(rebuilt.errors(made, COSTS, fitted)).max() < 1e-6


def test_prices_are_never_negative() -> None:
    # Latency that falls with size and verification time: the best free price would be negative.
    falling = CELLS.assign(
        latency_seconds=[
            4.0**n / (COSTS[name].signature_bytes + 1e5 * COSTS[name].verify_seconds)
            for name, n in zip(CELLS["algorithm"], CELLS["n"], strict=True)
        ]
    )
    law = rebuilt.fit(falling, COSTS)
    assert min(dataclasses.asdict(law).values()) >= 0.0


def test_cross_validation_errors_are_pinned() -> None:
    left = rebuilt.leave_out(CELLS, COSTS).set_index("left_out")
    assert len(left) == 6 + 5
    assert left["cells"].tolist() == [5] * 6 + [6] * 5
    assert left["worst_percent"].max() > 7.3
    # SPHINCS+ alone tells a verification from a byte: without it that price is another one.
    assert left.loc["SPHINCS+-SHA2-128f-simple", "verifies"] > 1.2 * left["verifies"].median()
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
    forms = rebuilt.forms(CELLS).set_index("form")
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
        rebuilt.fit(CELLS.head(3), COSTS)
    with pytest.raises(DataError, match=r"latency_seconds"):
        rebuilt.fit(CELLS.drop(columns="latency_seconds"), COSTS)
