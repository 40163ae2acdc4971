"""Printed sizes against those of the implementations, exactly, with a verdict for each.

A size of another version of the scheme, or by another definition, is no error of the print.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pqchain import algorithms, results
from pqchain.errors import DataError
from pqchain.results import Contract
from pqchain.works.papers import PUBLISHED
from pqchain.works.readers import SIZES

SIZE = Contract.of(
    "sizes",
    ("str", "paper table algorithm quantity"),
    ("float64", "published_bytes registry_bytes"),
    ("str", "verdict note"),
)

VERDICTS = ("equal", "version", "definition", "erratum", "different")
"""Of another version, by another definition, wrong in print, and unexplained."""

EXPLAINED = ("version", "definition", "erratum")


def judged(row: Mapping[Any, Any], size: float) -> tuple[str, str]:
    """Return the verdict on a printed size, a row of a published frame, and the reason.

    `size` is that of the implementation. Raises DataError for an erratum that a version or a
    definition explains.
    """
    if row["value"] == size:
        return "equal", ""
    known = algorithms.OTHER_SIZES.get((row["algorithm"], row["quantity"], int(row["value"])))
    if known is None:
        return ("erratum", row["note"]) if row["note"] else ("different", "")
    why = f"{known.bytes} is {known.what}"
    if row["note"]:
        raise DataError(
            f"{row['paper']}, {row['table']}: {known.bytes} for the {row['quantity']} of "
            f"{row['algorithm']} is listed as an erratum, but {why} ({known.source}); take it off "
            "the errata"
        )
    return known.kind, why


def sizes(published: pd.DataFrame) -> pd.DataFrame:
    """Compare every published size with the registry's, exactly.

    Columns: paper, table, algorithm, quantity, published_bytes, registry_bytes, verdict ("equal";
    "version" or "definition" if data/algorithms/versions.csv knows the printed size; "erratum" if
    the paper's errata say why; "different"), note (why). The registry's length of a varying
    signature is the mean. Raises DataError if the frame breaks its contract or an erratum is none,
    and UnknownAlgorithm.
    """
    rows = []
    for row in results.check(published, PUBLISHED).to_dict("records"):
        if row["algorithm"] and row["quantity"] in SIZES:
            size = float(getattr(algorithms.get(row["algorithm"]), row["quantity"]))
            about = [row[column] for column in ("paper", "table", "algorithm", "quantity")]
            rows.append((*about, row["value"], size, *judged(row, size)))
    return SIZE.frame(dict.fromkeys(rows))
