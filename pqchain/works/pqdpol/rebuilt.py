"""Tables 5 and 6 of the PQ-DPoL paper: printed, modelled, and the calibration of the model.

The paper prints latencies and names neither the network nor the clock. Its Table 6 shows
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
from pqchain.consensus import model
from pqchain.consensus.network import SerialLaw, named
from pqchain.consensus.scenario import Scenario
from pqchain.costs import CostTable
from pqchain.errors import DataError
from pqchain.results import Contract
from pqchain.results.measurements import require_columns
from pqchain.results.statistics import nonnegative
from pqchain.works import papers
from pqchain.works.paper import Erratum

CELLS = Contract.of(
    "pqdpol-cells",
    ("str", "algorithm"),
    ("Int64", "n nodes"),
    ("float64", "transactions_per_block"),
    ("float64", "published_latency_seconds corrected_latency_seconds latency_seconds"),
    ("float64", "latency_error_percent latency_error_corrected_percent"),
    ("float64", "published_throughput_per_second corrected_throughput_per_second"),
    ("float64", "throughput_per_second"),
    ("float64", "throughput_error_percent throughput_error_corrected_percent"),
    ("str", "costs scenario note"),
)

QUANTITIES = {"table5": "throughput_per_second", "table6": "latency_seconds"}

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


def errata(table: str) -> dict[tuple[str, int], Erratum]:
    """Return the errata of the cells of a table by (algorithm, n)."""
    paper = papers.paper("pqdpol")
    return {
        (paper.names[erratum.row], int(erratum.column)): erratum
        for erratum in paper.errata
        if erratum.table == table and erratum.row
    }


def cells(*, corrected: bool = True) -> pd.DataFrame:
    """Return the 30 cells of Tables 5 and 6, with errata corrected or as printed.

    Columns: algorithm, n, latency_seconds, throughput_per_second, note (the erratum, or "").
    """
    latency, rate = (
        papers.table("pqdpol", name).drop(columns="printed_name") for name in ("table6", "table5")
    )
    frame = latency.merge(rate, on=["algorithm", "n"], validate="one_to_one").assign(note="")
    for table, quantity in QUANTITIES.items():
        for (algorithm, n), erratum in errata(table).items():
            row = (frame["algorithm"] == algorithm) & (frame["n"] == n)
            frame.loc[row, "note"] = f"{table}: {erratum.note}"
            if corrected:
                frame.loc[row, quantity] = float(erratum.expected)
    return frame


def tables(costs: CostTable | None = None, law: SerialLaw | None = None) -> pd.DataFrame:
    """Model every cell of Tables 5 and 6 with `costs`, by default the paper's.

    Columns: algorithm, n, nodes, transactions_per_block; published_latency_seconds (as printed),
    corrected_latency_seconds (errata corrected), latency_seconds, latency_error_percent (of
    the printed number) and latency_error_corrected_percent; the same of throughput_per_second; and
    costs, scenario, note. Throughput is the mean number of transactions that fill a block over the
    latency of a block. With costs measured here only the order of the schemes is meaningful: the
    coefficients belong to the paper's machine.
    """
    used = costs if costs is not None else papers.costs("pqdpol")
    network = named("paper-serial", serial=law or SerialLaw())
    rows = []
    pairs = zip(cells(corrected=False).to_dict("records"), cells().to_dict("records"), strict=True)
    for printed, corrected in pairs:
        # Costs measured here may lack schemes.
        if printed["algorithm"] not in used:
            continue
        scenario = Scenario(
            algorithm=printed["algorithm"],
            costs=used,
            nodes=2 ** int(printed["n"]),
            network=network,
        )
        fill = scenario.transactions_per_block()
        latency = model.run(scenario).latency_seconds
        keys = [scenario.algorithm, int(printed["n"]), scenario.nodes, fill]
        ours = {"latency_seconds": latency, "throughput_per_second": fill / latency}
        numbers = []
        for quantity, value in ours.items():
            pair = [printed[quantity], corrected[quantity]]
            numbers += [*pair, value, *(100 * (value / other - 1) for other in pair)]
        rows.append([*keys, *numbers, used.source, scenario.identifier, printed["note"]])
    return CELLS.frame(rows)


def settings(modelled: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return settings of the model of a frame of `tables`, by name and quantity."""
    algorithm = str(modelled["algorithm"].iloc[0])
    block_bytes = Scenario(algorithm=algorithm, costs=papers.costs("pqdpol")).block_bytes
    nodes = modelled.loc[modelled["n"] == 1, "nodes"].iloc[0]
    return {
        ("scenario", "block_kilobytes"): block_bytes / 1000,
        ("scenario", "network_size_base"): float(nodes),
    }


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


def calibration(cells: pd.DataFrame, costs: CostTable) -> dict[str, pd.DataFrame]:
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
