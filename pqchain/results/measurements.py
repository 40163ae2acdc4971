"""Frames of measurements: their columns, and the rows that represent an algorithm."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
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
"""Preferred implementation of works, whose own code it resembles."""

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
    run = frame.attrs.get("provenance", {})
    described = {row["name"]: row for row in run.get("schemes", [])}
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
    variant: str | None = None,
) -> dict[str, dict[str, Any]]:
    """Return the measured rows of an algorithm, by operation: by default the fastest of each.

    `implementation` selects one, or those of `chosen_names`. Code that is kept for comparisons, and
    that of users, counts only without other code. Decoding keys is that of the verification.

    With `variant`, the part after the slash ("ref") or "" for any, all rows are of one
    implementation, as works need them: of that variant if there is one, with most operations
    measured, of the library that the registry lists first, PREFERRED_IMPLEMENTATION, and least sum
    of medians, in this order. Empty if nothing matches. Raises DataError for a repeated operation.
    """
    by_implementation: dict[str, dict[str, dict[Any, Any]]] = {}
    for row in measurements[measurements["algorithm"] == algorithm].to_dict("records"):
        rows = by_implementation.setdefault(row["implementation"], {})
        if row["operation"] in rows:
            cell = f"{row['operation']} of {algorithm} with {row['implementation']}"
            raise DataError(f"the measurements have {cell} twice; keep one of the runs")
        rows[row["operation"]] = row
    if implementation is not None:
        named = dict(part.rsplit(" ", 1) for part in implementation.split(", ") if " " in part)
        if not named:
            return by_implementation.get(implementation, {})
        parts = ((part, by_implementation.get(of, {})) for part, of in named.items())
        return {part: rows[part] for part, rows in parts if part in rows}
    known = algorithms.ALGORITHMS.get(algorithm)
    if variant is None:
        return _fastest(by_implementation, known.implementations if known else ())
    # Without an implementation of that variant, all remain candidates.
    fitting = [name for name in by_implementation if variant and name.endswith("/" + variant)]
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


def _fastest(
    by_implementation: Mapping[str, Mapping[str, dict[Any, Any]]], offered: Collection[str]
) -> dict[str, dict[str, Any]]:
    known = algorithms.IMPLEMENTATIONS
    listed = [name for name in by_implementation if name in offered]
    preferred = [name for name in listed if name in known and known[name].is_candidate]
    chosen: dict[str, dict[str, Any]] = {}
    for rows in map(by_implementation.__getitem__, preferred or listed or by_implementation):
        for operation, row in rows.items():
            best = chosen.setdefault(operation, row)
            seconds = (row["status"] != "ok", row["median_seconds"])
            if seconds < (best["status"] != "ok", best["median_seconds"]):
                chosen[operation] = row
    # A part of the verification, hence of the code that verifies.
    if chosen.pop(algorithms.DECODE_KEY, None) and "verify" in chosen:
        of_verifier = by_implementation[chosen["verify"]["implementation"]]
        if decoding := of_verifier.get(algorithms.DECODE_KEY):
            chosen[algorithms.DECODE_KEY] = decoding
    return chosen


def chosen_names(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """Return whose rows these are: one implementation, or "sign a/b, verify c/d"."""
    names = {name: row["implementation"] for name, row in rows.items()}
    if len(set(names.values())) < 2:
        return next(iter(names.values()), "")
    return ", ".join(f"{operation} {name}" for operation, name in names.items())


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
