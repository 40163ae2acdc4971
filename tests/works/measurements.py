"""Measurement frames of a few rows, and measurements that repeat the printed times."""

from __future__ import annotations

import pandas as pd

from pqchain.algorithms import ALGORITHMS
from pqchain.results.measurements import MEASUREMENT
from pqchain.works import papers

NAN = float("nan")


def measurement(algorithm: str, implementation: str, operation: str, median: float, **changes):
    """Return one row of a measurement frame: 1000 samples with a MAD of 1 %."""
    return {
        "algorithm": algorithm,
        "implementation": implementation,
        "operation": operation,
        "samples": 1000,
        "median_seconds": median,
        "mean_seconds": median,
        "mad_seconds": median / 100,
        "min_seconds": median,
        "p95_seconds": median,
        "median_cycles": NAN,
        "status": "ok",
        "reason": "",
    } | changes


def unsupported(algorithm: str, implementation: str, operation: str):
    """Return an unsupported row."""
    missing = dict.fromkeys(
        ("median_seconds", "mean_seconds", "mad_seconds", "min_seconds", "p95_seconds"), NAN
    )
    return measurement(
        algorithm, implementation, operation, NAN,
        **missing, samples=0, status="unsupported", reason="needs avx2",
    )  # fmt: skip


def measured(*rows: dict) -> pd.DataFrame:
    """Return a measurement frame."""
    columns = list(MEASUREMENT.columns)
    frame = pd.DataFrame(list(rows), columns=columns)
    numbers = [n for n, dtype in MEASUREMENT.columns.items() if dtype == "float64"]
    frame = frame.astype(dict.fromkeys(numbers, "float64") | {"samples": "Int64"})
    frame.attrs["provenance"] = {"machine_id": "test-machine"}
    return frame


def as_published(key: str, factor: float = 1.0) -> pd.DataFrame:
    """Return measurements with the paper's times, multiplied by a factor."""
    rows = []
    for cell in papers.cells(key):
        operation = cell.quantity.removesuffix("_seconds")
        algorithm = ALGORITHMS.get(cell.algorithm)
        if cell.unit == "s" and algorithm and operation in algorithm.operations:
            variant = cell.implementation or "avx2"
            rows.append(
                measurement(
                    cell.algorithm, f"liboqs-0.13/{variant}", operation, float(cell.value) * factor
                )
            )
    return measured(*rows)
