"""Table 1 of the round-3 comparison in its printed layout, and the speed-ups by AVX2.

One column for each of the fourteen implementations (four KEMs and three signature schemes, each as
reference and as AVX2 code), one row for each size and operation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from pqchain import algorithms
from pqchain.figures import Kind
from pqchain.results import Contract
from pqchain.works import papers, readers
from pqchain.works.printed import PRINTED, compare, next_to, registry_size

CROSS_CHECK = Contract.of(
    "cross-check",
    ("str", "algorithm operation variant"),
    ("float64", "main_seconds other_seconds main_speedup other_speedup"),
)

HALVES = {"table1-kem": "KEM", "table1-signature": "signature"}
"""The two halves of the table, and the heading of their first column."""

VARIANTS = {"ref": "reference", "avx2": "AVX2"}

VERSIONS = ("liboqs-0.13", "liboqs-0.7.1")
"""The library of most columns, and the older version with which it is compared."""

QUANTITIES = (
    *(f"{name}_bytes" for name in ("public_key", "secret_key", "ciphertext", "signature")),
    *(f"{operation}_seconds" for operation in algorithms.OPERATIONS),
)
"""The rows of both halves, in order."""


def table1(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return the sizes, times and cycles of Table 1 in a frame of the contract PRINTED.

    A size is that of the implementation in the column, because liboqs 0.7.1 and 0.13 have different
    versions of some schemes. Raises DataError if the frame breaks its contract.
    """
    paper, published_frame = papers.paper("round3"), papers.published("round3")
    printed = compare(paper, published_frame, measurements=measurements)
    chosen = readers.chosen(measurements)
    rows: list[Mapping[Any, Any]] = []
    pairs = zip(published_frame.to_dict("records"), printed.to_dict("records"), strict=True)
    for published, row in pairs:
        if published["table"] not in HALVES:
            continue
        measured = chosen(published["algorithm"], published["implementation"])
        # The size of the implementation that was measured, not of the scheme's current version.
        if published["quantity"].endswith("_bytes") and measured:
            implementation = next(iter(measured.values()))["implementation"]
            size = registry_size(published, implementation)
            rows.append(next_to(published, Kind.REGISTRY, **size))
        else:
            rows.append(row)
    frame = PRINTED.frame(rows)
    frame.attrs["provenance"] = measurements.attrs.get("provenance", {})
    return frame


def speedups(table: pd.DataFrame, column: str) -> pd.Series[float]:
    """Return the speed-up by AVX2 (reference time / AVX2 time) of AVX2 rows; NaN of other rows.

    `column` is "printed" or "ours", both sides of one machine.
    """
    keys = ["algorithm", "quantity"]
    reference = table[table["variant"] == "ref"].set_index(keys)[column]
    slower = reference.reindex(pd.MultiIndex.from_frame(table[keys])).to_numpy()
    is_gain = (table["variant"] == "avx2") & table["quantity"].str.endswith("_seconds")
    gains: pd.Series[float] = (slower / table[column]).where(is_gain)
    return gains


def cross_check(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return the times of liboqs 0.13.0 and 0.7.1 for the operations that both versions have.

    Columns: algorithm, operation, variant, main_seconds (liboqs 0.13.0), other_seconds (0.7.1),
    main_speedup and other_speedup (of AVX2; NaN in rows of the reference). Empty if 0.7.1 was not
    measured.
    """
    fine = measurements[measurements["status"] == "ok"]
    seconds: dict[tuple[str, ...], float] = {
        (row["algorithm"], row["operation"], *row["implementation"].split("/")): row[
            "median_seconds"
        ]
        for row in fine.to_dict("records")
    }

    def get(algorithm: str, operation: str, library: str, variant: str) -> float:
        return seconds.get((algorithm, operation, library, variant), math.nan)

    rows = []
    for algorithm, operation, library, variant in seconds:
        times = [get(algorithm, operation, version, variant) for version in VERSIONS]
        # One row for each operation that both versions have.
        if library != VERSIONS[0] or math.isnan(times[1]):
            continue
        gains = [math.nan, math.nan]
        if variant == "avx2":
            references = (get(algorithm, operation, version, "ref") for version in VERSIONS)
            gains = [ref / avx2 for ref, avx2 in zip(references, times, strict=True)]
        rows.append([algorithm, operation, variant, *times, *gains])
    return CROSS_CHECK.frame(rows)
