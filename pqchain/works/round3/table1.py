"""Table 1 of the round-3 comparison in its own layout: as printed, ours beside it, gains of AVX2.

One column for each of the fourteen implementations (four KEMs and three signature schemes, each as
reference and as AVX2 code), one row for each size and operation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from pqchain import algorithms, results
from pqchain.costs import MEASUREMENT, choose
from pqchain.results import Contract
from pqchain.works import papers
from pqchain.works.sizes import judged

CROSS_CHECK = Contract.of(
    "cross-check",
    ("str", "algorithm operation variant"),
    ("float64", "main_seconds other_seconds main_speedup other_speedup"),
)

TABLE1 = Contract.of(
    "table1",
    ("str", "table algorithm printed_name variant quantity"),
    ("float64", "published published_cycles published_speedup"),
    ("str", "implementation"),
    ("float64", "here here_mad here_cycles here_speedup"),
    ("str", "status note"),
)


HALVES = {"table1-kem": "KEM", "table1-signature": "signature"}
"""The two halves of the table and what stands in their corner."""

VARIANTS = {"ref": "reference", "avx2": "AVX2"}
"""The printed implementations, in the order of the columns."""

VERSIONS = ("liboqs-0.13", "liboqs-0.7.1")
"""The library of most columns, and the one that checks it."""

QUANTITIES = (
    *(f"{what}_bytes" for what in ("public_key", "secret_key", "ciphertext", "signature")),
    *(f"{operation}_seconds" for operation in algorithms.OPERATIONS),
)
"""The rows of both halves, in order."""

_NAN = float("nan")


def table1(measurements: pd.DataFrame) -> pd.DataFrame:
    """Set every cell of Table 1 beside ours; each of the fourteen columns is there.

    Columns: table, algorithm, printed_name, variant ("ref" or "avx2"), quantity ("*_bytes" or
    "*_seconds"), published, published_cycles, published_speedup (reference over AVX2),
    implementation (ours), here (bytes, or the median in seconds), here_mad, here_cycles,
    here_speedup (both medians of one run), status (of a size one of `works.sizes.VERDICTS`; of
    a time "ok", "unsupported", "failed" or "not measured"), note. Speed-ups stand in the AVX2
    columns; what is not there is NaN. Raises DataError if the frame breaks its contract.
    """
    ours = results.check(measurements, MEASUREMENT)
    printed = papers.published("round3")
    cells = [
        _cell(ours, printed, row)
        for row in printed.to_dict("records")
        if row["table"] in HALVES and row["quantity"] in QUANTITIES
    ]
    frame = pd.DataFrame(cells, columns=list(TABLE1.columns))
    column = ["algorithm", "quantity"]
    gains = (frame["variant"] == "avx2") & frame["quantity"].str.endswith("_seconds")
    for side in ("published", "here"):
        reference = frame[frame["variant"] == "ref"].set_index(column)[side]
        slower = reference.reindex(pd.MultiIndex.from_frame(frame[column])).to_numpy()
        frame[f"{side}_speedup"] = (slower / frame[side]).where(gains)
    frame.attrs["provenance"] = measurements.attrs.get("provenance", {})
    return results.check(frame, TABLE1)


def _cell(ours: pd.DataFrame, printed: pd.DataFrame, row: Mapping[Any, Any]) -> dict[str, Any]:
    algorithm, quantity, variant = row["algorithm"], row["quantity"], row["implementation"]
    chosen = choose(ours, algorithm, variant=variant)
    implementation = next(iter(chosen.values()))["implementation"] if chosen else ""
    cell = {
        "table": row["table"],
        "algorithm": algorithm,
        "printed_name": row["printed_name"],
        "variant": variant,
        "quantity": quantity,
        "published": row["value"],
        "implementation": implementation,
        "note": row["note"],
    }
    if quantity.endswith("_bytes"):
        sized = algorithms.get(algorithm).sized_for(implementation)
        size = float(getattr(sized, quantity))
        status, why = judged(row, size)
        return cell | {"here": size, "status": status, "note": why}
    operation = quantity.removesuffix("_seconds")
    cell["published_cycles"] = _cycles(printed, row, operation)
    found = chosen.get(operation)
    if found is None:
        return cell | {"status": "not measured"}
    notes = [row["note"], found["reason"], row["other_code"]]
    if not implementation.endswith("/" + variant):
        notes.append(f"no {variant} here, so this is {implementation}")
    return cell | {
        "here": found["median_seconds"],
        "here_mad": found["mad_seconds"],
        "here_cycles": found["median_cycles"],
        "status": found["status"],
        "note": "; ".join(note for note in notes if note),
    }


def _cycles(printed: pd.DataFrame, row: Mapping[Any, Any], operation: str) -> float:
    same = printed["quantity"] == f"{operation}_cycles"
    for column in ("table", "printed_name", "implementation"):
        same &= printed[column] == row[column]
    return float(printed.loc[same, "value"].iloc[0]) if same.any() else _NAN


def cross_check(measurements: pd.DataFrame) -> pd.DataFrame:
    """Set the two versions of liboqs side by side, for what both have.

    Columns: algorithm, operation, variant, main_seconds (liboqs 0.13.0), other_seconds (0.7.1),
    main_speedup and other_speedup (of AVX2; NaN in rows of the reference). Empty if 0.7.1 was not
    measured.
    """
    fine = measurements[measurements["status"] == "ok"]
    seconds = {
        (row["algorithm"], row["operation"], *row["implementation"].split("/")): row[
            "median_seconds"
        ]
        for row in fine.to_dict("records")
    }
    rows = []
    for algorithm, operation, library, variant in seconds:
        both = [seconds.get((algorithm, operation, each, variant), _NAN) for each in VERSIONS]
        if library != VERSIONS[0] or math.isnan(both[1]):
            continue
        gains = [
            seconds.get((algorithm, operation, each, "ref"), _NAN) / time
            if variant == "avx2"
            else _NAN
            for each, time in zip(VERSIONS, both, strict=True)
        ]
        rows.append([algorithm, operation, variant, *both, *gains])
    return CROSS_CHECK.frame(rows)
