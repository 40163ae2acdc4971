"""Frames of measurements: their columns, and the rows that represent an algorithm."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from pqchain import algorithms
from pqchain.algorithms import Algorithm
from pqchain.errors import DataError, UnknownAlgorithm, UsageError, short_repr
from pqchain.results import Contract

if TYPE_CHECKING:
    import pandas as pd

MEASUREMENT = Contract.of(
    "measurement",
    ("str", "algorithm implementation operation"),
    ("Int64", "samples"),
    ("float64", "median_seconds mean_seconds mad_seconds min_seconds p95_seconds median_cycles"),
    ("str", "status reason"),
)

PREFERRED_IMPLEMENTATION = "liboqs-0.13/avx2"
"""Preferred implementation for measured costs; if it was not measured, the fastest one."""

_ROW = (
    "name", "kind", "nist_level", "public_key_bytes", "secret_key_bytes", "signature_bytes",
    "signature_max_bytes", "ciphertext_bytes", "shared_secret_bytes", "implementations", "source",
)  # fmt: skip
"""Fields of a user-defined scheme kept in a frame, which may be read where it is unknown."""

_TYPES = {"name": str, "kind": str, "implementations": list, "source": str}
"""Types of these fields in JSON; the others are whole numbers."""


def user_scheme_provenance(rows: Iterable[Algorithm]) -> dict[str, Any]:
    """Return the provenance entry of user-defined schemes; empty if there are none."""
    schemes = [
        {name: getattr(row, name) for name in _ROW} | {"implementations": [*row.implementations]}
        for row in {row.name: row for row in rows if row.source}.values()
    ]
    return {"schemes": schemes} if schemes else {}


def algorithms_of(frame: pd.DataFrame) -> list[Algorithm]:
    """Return the algorithms of a frame, in its order.

    Names that are not in the registry are taken from the frame's provenance, which describes
    user-defined schemes. Raises UnknownAlgorithm.
    """
    runs = [frame.attrs.get("provenance", {})]
    runs += runs[0].get("runs", [])
    described = {row["name"]: row for run in runs for row in run.get("schemes", [])}
    rows = []
    for name in dict.fromkeys(frame["algorithm"]):
        try:
            rows.append(algorithms.get(name))
        except UnknownAlgorithm:
            if name not in described:
                raise
            row = {key: value for key, value in described[name].items() if key in _ROW}
            if any(type(row.get(key)) is not _TYPES.get(key, int) for key in _ROW):
                raise DataError(f"provenance must have the fields of {name}: {_ROW}") from None
            row |= {"implementations": tuple(row["implementations"])}
            rows.append(Algorithm(family="", default_build=False, **row))
    return rows


def choose(
    measurements: pd.DataFrame,
    algorithm: str,
    *,
    implementation: str | None = None,
    variant: str = "",
) -> dict[str, dict[str, Any]]:
    """Return the measured rows, by operation, of the algorithm's preferred implementation.

    `implementation` selects it; otherwise `variant`, the part after the slash ("ref"), restricts
    the choice if any implementation has it. The order of preference is: most operations measured,
    the library that the registry lists first (an unlisted one is last), PREFERRED_IMPLEMENTATION,
    smallest sum of medians. Empty if nothing matches. Raises DataError for a repeated operation.
    """
    by_implementation: dict[str, dict[str, dict[Any, Any]]] = {}
    for row in measurements[measurements["algorithm"] == algorithm].to_dict("records"):
        rows = by_implementation.setdefault(row["implementation"], {})
        if row["operation"] in rows:
            cell = f"{row['operation']} of {algorithm} with {row['implementation']}"
            raise DataError(f"the measurements have {cell} twice; keep one of the runs")
        rows[row["operation"]] = row
    if implementation is not None:
        return by_implementation.get(implementation, {})
    # Without an implementation of that variant, all remain candidates.
    fitting = [name for name in by_implementation if variant and name.endswith("/" + variant)]
    known = algorithms.ALGORITHMS.get(algorithm)
    libraries = [name.partition("/")[0] for name in known.implementations] if known else []

    def rank(name: str) -> tuple[int, int, bool, float, str]:
        # Decoding keys is left out: few libraries separate it, and they are not preferred for it.
        measured = [
            row["median_seconds"]
            for operation, row in by_implementation[name].items()
            if row["status"] == "ok" and operation != algorithms.DECODE_KEY
        ]
        library = name.partition("/")[0]
        position = libraries.index(library) if library in libraries else len(libraries)
        is_other = name != PREFERRED_IMPLEMENTATION
        return (-len(measured), position, is_other, math.fsum(measured), name)

    return by_implementation.get(min(fitting or by_implementation, key=rank, default=""), {})


def require_columns(frame: pd.DataFrame, columns: Collection[str], name: str) -> None:
    """Raise UsageError for anything but a frame, DataError unless it has all these columns."""
    if not hasattr(frame, "columns"):
        raise UsageError(
            f"{name} must get a pandas DataFrame; got {short_repr(frame)}. Read a file of pqchain "
            "with pqchain.results.load."
        )
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise DataError(
            f"{name} must have the columns {', '.join(columns)}; got a table without "
            f"{', '.join(missing)}"
        )
