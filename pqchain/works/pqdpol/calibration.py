"""Where the prices of paper-serial come from, and how far they can be trusted.

The PQ-DPoL paper prints latencies and says neither which network nor which machine's clock they
come from. What its Table 6 establishes is the form: latency grows with N^2, a node's pair with
itself included, and with size and verification time. The four prices fit it best among positive
ones, but other combinations fit nearly as well: they describe the table and explain nothing.
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
from pqchain.costs import CostTable, require_columns
from pqchain.errors import DataError
from pqchain.fitting import nonnegative
from pqchain.results import Contract

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
"""Laws of growth that are compared, as functions of the number of nodes."""

_TERMS = ("pair_seconds", "byte_seconds", "verifies", "signs")


@dataclass(frozen=True, slots=True)
class Fit:
    """Prices with the table that they were fitted to."""

    law: SerialLaw
    residuals: pd.DataFrame
    """Columns: algorithm, n, latency_seconds, modelled_seconds, error_percent."""

    @property
    def rms_percent(self) -> float:
        """Root mean square of the relative errors."""
        return _rms(self.residuals["error_percent"])

    @property
    def worst_percent(self) -> float:
        """Greatest relative error of a cell."""
        return float(self.residuals["error_percent"].abs().max())

    @property
    def frame(self) -> pd.DataFrame:
        """One row with the columns of `leave_out`: nothing was left out."""
        return LEFT_OUT.frame([_missed("nothing", self.residuals["error_percent"], self.law)])


def fit(cells: pd.DataFrame, costs: CostTable) -> Fit:
    """Fit the four prices of paper-serial to latencies: least squares of relative errors.

    `cells` has the columns algorithm, n (2^n nodes) and latency_seconds; `costs` the sizes and
    times behind them. Prices are not negative. Raises DataError if there are fewer cells than
    prices.
    """
    require_columns(cells, ("algorithm", "n", "latency_seconds"), "a table of latencies")
    if len(cells) < len(_TERMS):
        raise DataError(f"{len(cells)} latencies cannot fix {len(_TERMS)} prices; give more")
    matrix = _terms(cells, costs)
    latency = cells["latency_seconds"].to_numpy(dtype=float)
    prices = nonnegative(matrix / latency[:, None], np.ones(len(latency)))
    law = SerialLaw(**dict(zip(_TERMS, map(float, prices), strict=True)))
    return Fit(law, _residuals(cells, matrix @ prices))


def leave_out(cells: pd.DataFrame, costs: CostTable) -> pd.DataFrame:
    """Fit without one algorithm, or without one n, and predict what was left out.

    Columns: left_out ("Falcon-512", "n = 5"), cells, rms_percent, worst_percent (of the cells
    that were left out), pair_seconds, byte_seconds, verifies, signs (how far the prices move).
    """
    rows = []
    for name, out in _parts(cells):
        law = fit(cells[~out], costs).law
        prices = np.array([getattr(law, term) for term in _TERMS])
        kept = cells[out]
        errors = _residuals(kept, _terms(kept, costs) @ prices)["error_percent"]
        rows.append(_missed(name, errors, law))
    return LEFT_OUT.frame(rows)


def alternatives(cells: pd.DataFrame, costs: CostTable) -> pd.DataFrame:
    """Fit with other terms than the four: what describes the table nearly as well is not excluded.

    Columns: terms (what is left out or put in), rms_percent, worst_percent of all cells.
    """
    whole = _terms(cells, costs)
    latency = cells["latency_seconds"].to_numpy(dtype=float)
    nodes = 2.0 ** cells["n"].to_numpy(dtype=float)
    sign = np.array([costs[name].sign_seconds for name in cells["algorithm"]])
    matrices = {"all four": whole}
    for index, term in enumerate(_TERMS):
        matrices[f"without {figures.humanize(term)}"] = np.delete(whole, index, axis=1)
    instead = np.column_stack([whole[:, :2], nodes**2 * sign])
    matrices["a signature for each pair in place of verifies and signs"] = instead
    rows = []
    for terms, matrix in matrices.items():
        modelled = matrix @ nonnegative(matrix / latency[:, None], np.ones(len(latency)))
        errors = _residuals(cells, modelled)["error_percent"]
        rows.append([terms, _rms(errors), float(errors.abs().max())])
    return ALTERNATIVES.frame(rows)


def forms(cells: pd.DataFrame) -> pd.DataFrame:
    """Compare laws of growth, with one free constant for each algorithm.

    Columns: form, rms_percent, worst_percent. What this shows does not depend on any cost.
    """
    rows = []
    for name, law in FORMS.items():
        errors: list[float] = []
        for _, group in cells.groupby("algorithm", sort=False):
            latency = group["latency_seconds"].to_numpy(dtype=float)
            ratio = law(2.0 ** group["n"].to_numpy(dtype=float)) / latency
            constant = ratio.sum() / (ratio**2).sum()
            errors += list(100 * (constant * ratio - 1))
        rows.append([name, _rms(errors), float(np.abs(errors).max())])
    return LAWS.frame(rows)


def _terms(cells: pd.DataFrame, costs: CostTable) -> Floats:
    """Return what each price is multiplied by, for every cell."""
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


def _missed(name: str, errors: pd.Series[float], law: SerialLaw) -> list[Any]:
    prices = [getattr(law, term) for term in _TERMS]
    return [name, len(errors), _rms(errors), float(errors.abs().max()), *prices]


def _rms(errors: Any) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(errors, dtype=float)))))
