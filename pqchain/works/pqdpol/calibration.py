"""Calibration of the coefficients of the network model paper-serial, and their reliability.

The PQ-DPoL paper prints latencies and names neither the network nor the clock. Its Table 6 shows
the form: latency grows with N^2, pairs of a node with itself included. It does not establish
verification time as a cause, nor the coefficients: they are the best non-negative fit, and other
combinations, some without verification, fit nearly as well. They describe the table and explain
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pqchain import figures
from pqchain.consensus.network import SerialLaw
from pqchain.costs import CostTable
from pqchain.errors import DataError
from pqchain.results import Contract
from pqchain.results.measurements import require_columns
from pqchain.results.statistics import nonnegative

LEFT_OUT = Contract.of(
    "pqdpol-left-out",
    ("str", "left_out"),
    ("Int64", "cells"),
    ("float64", "rms_percent worst_percent pair_seconds byte_seconds verifies signs"),
)

ALTERNATIVES = Contract.of(
    "pqdpol-alternatives", ("str", "terms"), ("float64", "rms_percent worst_percent")
)

LAWS = Contract.of("pqdpol-forms", ("str", "form"), ("float64", "rms_percent worst_percent"))

Floats = npt.NDArray[np.float64]

FORMS: dict[str, Callable[[Floats], Floats]] = {
    "N^2": lambda n: n**2,
    "N^2 - 1": lambda n: n**2 - 1,
    "N(N + 1)": lambda n: n * (n + 1),
    "N(N - 1)": lambda n: n * (n - 1),
    "(N + 1)^2": lambda n: (n + 1) ** 2,
    "N^2 log N": lambda n: n**2 * np.log2(n),
    "N": lambda n: n,
}
"""Laws of growth as functions of the number of nodes."""

_TERMS = ("pair_seconds", "byte_seconds", "verifies", "signs")


def fit(cells: pd.DataFrame, costs: CostTable) -> SerialLaw:
    """Fit the coefficients of the model paper-serial to latencies: least relative squares.

    `cells` has the columns algorithm, n (2^n nodes) and latency_seconds; `costs` the sizes and
    times of the algorithms. Coefficients are not negative. Raises DataError for fewer cells than
    coefficients.
    """
    require_columns(cells, ("algorithm", "n", "latency_seconds"), "a table of latencies")
    if len(cells) < len(_TERMS):
        raise DataError(
            f"cells must have at least {len(_TERMS)} latencies, one per coefficient; "
            f"got {len(cells)}"
        )
    coefficients = _fitted(_terms(cells, costs), cells)
    return SerialLaw(**dict(zip(_TERMS, map(float, coefficients), strict=True)))


def errors(cells: pd.DataFrame, costs: CostTable, law: SerialLaw) -> Floats:
    """Return the error of the law for each cell, in percent of its latency."""
    coefficients = np.array([getattr(law, term) for term in _TERMS])
    return _errors(cells, _terms(cells, costs) @ coefficients)


def frames(cells: pd.DataFrame, costs: CostTable) -> dict[str, pd.DataFrame]:
    """Return "fit", "left-out", "alternatives" and "forms", which show how reliable the fit is.

    "fit" is the row of `leave_out` for the fit to all cells.
    """
    return {
        "fit": LEFT_OUT.frame([_predicted("nothing", cells, cells, costs)]),
        "left-out": leave_out(cells, costs),
        "alternatives": alternatives(cells, costs),
        "forms": forms(cells),
    }


def leave_out(cells: pd.DataFrame, costs: CostTable) -> pd.DataFrame:
    """Fit without the cells of one algorithm or one n, and predict the cells left out.

    Columns: left_out ("Falcon-512", "n = 5"), cells, rms_percent, worst_percent (of the cells left
    out), pair_seconds, byte_seconds, verifies, signs (the coefficients of that fit).
    """
    parts = {str(name): cells["algorithm"] == name for name in cells["algorithm"].unique()}
    parts |= {f"n = {n}": cells["n"] == n for n in sorted(set(cells["n"]))}
    return LEFT_OUT.frame(
        _predicted(name, cells[~is_part], cells[is_part], costs) for name, is_part in parts.items()
    )


def alternatives(cells: pd.DataFrame, costs: CostTable) -> pd.DataFrame:
    """Fit models with other terms; those that fit nearly as well cannot be excluded.

    Columns: terms (the change of terms), rms_percent, worst_percent of all cells.
    """
    terms = _terms(cells, costs)
    nodes = 2.0 ** cells["n"].to_numpy(dtype=float)
    sign = np.array([costs[name].sign_seconds for name in cells["algorithm"]])
    matrices = {"all four": terms}
    for index, term in enumerate(_TERMS):
        matrices[f"without {figures.humanize(term)}"] = np.delete(terms, index, axis=1)
    instead = np.column_stack([terms[:, :2], nodes**2 * sign])
    matrices["a signature for each pair in place of verifies and signs"] = instead
    return ALTERNATIVES.frame(
        [name, *_rms_and_worst(_errors(cells, matrix @ _fitted(matrix, cells)))]
        for name, matrix in matrices.items()
    )


def forms(cells: pd.DataFrame) -> pd.DataFrame:
    """Fit laws of latency growth by number of nodes, with a free constant for each algorithm.

    Columns: form, rms_percent, worst_percent. The result depends on no cost.
    """
    rows = []
    for name, law in FORMS.items():
        percents: list[float] = []
        for _, group in cells.groupby("algorithm", sort=False):
            latency = group["latency_seconds"].to_numpy(dtype=float)
            ratio = law(2.0 ** group["n"].to_numpy(dtype=float)) / latency
            # Least squares of constant * ratio - 1, in closed form.
            constant = ratio.sum() / (ratio**2).sum()
            percents += list(100 * (constant * ratio - 1))
        rows.append([name, *_rms_and_worst(np.array(percents))])
    return LAWS.frame(rows)


def _predicted(
    name: str, fitted: pd.DataFrame, predicted: pd.DataFrame, costs: CostTable
) -> list[Any]:
    law = fit(fitted, costs)
    percents = errors(predicted, costs, law)
    coefficients = [getattr(law, term) for term in _TERMS]
    return [name, len(predicted), *_rms_and_worst(percents), *coefficients]


def _terms(cells: pd.DataFrame, costs: CostTable) -> Floats:
    """Return the design matrix: the factor of each coefficient, shape (cells, coefficients)."""
    nodes = 2.0 ** cells["n"].to_numpy(dtype=float)
    rows = [costs[name] for name in cells["algorithm"]]
    size = np.array([row.public_key_bytes + row.signature_bytes for row in rows], dtype=float)
    verify = np.array([row.verify_seconds for row in rows])
    sign = np.array([row.sign_seconds for row in rows])
    return np.column_stack([nodes**2, nodes**2 * size, nodes**2 * verify, nodes * sign])


def _fitted(matrix: Floats, cells: pd.DataFrame) -> Floats:
    # Dividing by the latency weighs all cells alike: they span three orders of magnitude.
    latency = cells["latency_seconds"].to_numpy(dtype=float)
    return nonnegative(matrix / latency[:, None], np.ones(len(latency)))


def _errors(cells: pd.DataFrame, modelled: Floats) -> Floats:
    percents: Floats = 100 * (modelled / cells["latency_seconds"].to_numpy(dtype=float) - 1)
    return percents


def _rms_and_worst(percents: Floats) -> tuple[float, float]:
    return float(np.sqrt(np.mean(np.square(percents)))), float(np.abs(percents).max())
