"""Calibration of the coefficients of the network model paper-serial, and their reliability.

The PQ-DPoL paper prints latencies and names neither the network nor the clock. Its Table 6 shows
the form: latency grows with N^2, pairs of a node with itself included. It does not establish
verification time as a cause, nor the coefficients: they are the best non-negative fit, and other
combinations, some without verification, fit nearly as well. They describe the table and explain
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pqchain import figures
from pqchain.consensus.network import SerialLaw
from pqchain.costs import CostTable
from pqchain.errors import DataError
from pqchain.measurements import require_columns
from pqchain.results import Contract
from pqchain.statistics import nonnegative

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


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted coefficients with the residuals of the fit."""

    law: SerialLaw
    residuals: pd.DataFrame
    """Columns: algorithm, n, latency_seconds, modelled_seconds, error_percent."""

    @property
    def rms_percent(self) -> float:
        """Root mean square of the relative errors, in percent."""
        return _rms(self.residuals["error_percent"])

    @property
    def worst_percent(self) -> float:
        """Largest relative error of a cell of the table, in percent."""
        return float(self.residuals["error_percent"].abs().max())

    @property
    def frame(self) -> pd.DataFrame:
        """Frame with one row, for the fit to all cells, and the columns of `leave_out`."""
        return LEFT_OUT.frame([_errors("nothing", self.residuals["error_percent"], self.law)])


def fit(cells: pd.DataFrame, costs: CostTable) -> Fit:
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
    matrix = _terms(cells, costs)
    coefficients = _fitted(matrix, cells)
    law = SerialLaw(**dict(zip(_TERMS, map(float, coefficients), strict=True)))
    return Fit(law, _residuals(cells, matrix @ coefficients))


def _fitted(matrix: Floats, cells: pd.DataFrame) -> Floats:
    # Dividing by the latency weighs all cells alike: they span three orders of magnitude.
    latency = cells["latency_seconds"].to_numpy(dtype=float)
    return nonnegative(matrix / latency[:, None], np.ones(len(latency)))


def leave_out(cells: pd.DataFrame, costs: CostTable) -> pd.DataFrame:
    """Fit without the cells of one algorithm or one n, and predict the cells left out.

    Columns: left_out ("Falcon-512", "n = 5"), cells, rms_percent, worst_percent (of the cells left
    out), pair_seconds, byte_seconds, verifies, signs (the coefficients of that fit).
    """
    rows = []
    for name, is_left_out in _parts(cells):
        law = fit(cells[~is_left_out], costs).law
        coefficients = np.array([getattr(law, term) for term in _TERMS])
        predicted = cells[is_left_out]
        errors = _residuals(predicted, _terms(predicted, costs) @ coefficients)["error_percent"]
        rows.append(_errors(name, errors, law))
    return LEFT_OUT.frame(rows)


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
    rows = []
    for name, matrix in matrices.items():
        errors = _residuals(cells, matrix @ _fitted(matrix, cells))["error_percent"]
        rows.append([name, _rms(errors), float(errors.abs().max())])
    return ALTERNATIVES.frame(rows)


def forms(cells: pd.DataFrame) -> pd.DataFrame:
    """Fit laws of latency growth by number of nodes, with a free constant for each algorithm.

    Columns: form, rms_percent, worst_percent. The result depends on no cost.
    """
    rows = []
    for name, law in FORMS.items():
        errors: list[float] = []
        for _, group in cells.groupby("algorithm", sort=False):
            latency = group["latency_seconds"].to_numpy(dtype=float)
            ratio = law(2.0 ** group["n"].to_numpy(dtype=float)) / latency
            # Least squares of constant * ratio - 1, in closed form.
            constant = ratio.sum() / (ratio**2).sum()
            errors += list(100 * (constant * ratio - 1))
        rows.append([name, _rms(errors), float(np.abs(errors).max())])
    return LAWS.frame(rows)


def _terms(cells: pd.DataFrame, costs: CostTable) -> Floats:
    """Return the design matrix: the factor of each coefficient, shape (cells, coefficients)."""
    nodes = 2.0 ** cells["n"].to_numpy(dtype=float)
    rows = [costs[name] for name in cells["algorithm"]]
    size = np.array([row.public_key_bytes + row.signature_bytes for row in rows], dtype=float)
    verify = np.array([row.verify_seconds for row in rows])
    sign = np.array([row.sign_seconds for row in rows])
    return np.column_stack([nodes**2, nodes**2 * size, nodes**2 * verify, nodes * sign])


def _residuals(cells: pd.DataFrame, modelled: Floats) -> pd.DataFrame:
    frame = cells[["algorithm", "n", "latency_seconds"]].reset_index(drop=True)
    error = 100 * (modelled / frame["latency_seconds"].to_numpy(dtype=float) - 1)
    return frame.assign(modelled_seconds=modelled, error_percent=error)


def _parts(cells: pd.DataFrame) -> Iterator[tuple[str, pd.Series[bool]]]:
    for name in dict.fromkeys(cells["algorithm"]):
        yield str(name), cells["algorithm"] == name
    for n in sorted(set(cells["n"])):
        yield f"n = {n}", cells["n"] == n


def _errors(name: str, errors: pd.Series[float], law: SerialLaw) -> list[Any]:
    coefficients = [getattr(law, term) for term in _TERMS]
    return [name, len(errors), _rms(errors), float(errors.abs().max()), *coefficients]


def _rms(errors: Any) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(errors, dtype=float)))))
