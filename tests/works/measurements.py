"""Measurement frames of a few rows, and measurements that repeat the printed times."""

import math

import pandas as pd

from pqchain.algorithms import ALGORITHMS
from pqchain.works import papers
from tests.frames import measured, measurement


def unsupported(algorithm: str, implementation: str, operation: str):
    """Return an unsupported row."""
    return measurement(algorithm, implementation, operation, math.nan)


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
