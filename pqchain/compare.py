"""Ours beside published: times with their ratio, sizes with a verdict, statements as checks.

Only this module and `pqchain.claims` see both sides. Nothing here asks that milliseconds agree
across machines: sizes are compared exactly, times are shown with their ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cache, partial
from typing import Any

import pandas as pd

from pqchain import algorithms, display, results
from pqchain.claims import SIZES, claims
from pqchain.costs import choose

__all__ = ["align", "claims", "sizes"]

_NAN = float("nan")


def align(measurements: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Put our time beside every published time of an operation of an algorithm; none is left out.

    Columns: paper, table, algorithm, operation, published_implementation, published_seconds,
    implementation, median_seconds, mad_seconds (ours), ratio (ours over published; NaN if ours is
    missing), status ("ok", "unsupported", "failed", "not measured"), note. A published "ref" or
    "avx2" is compared with ours of that variant; where the paper does not say, or we have no such
    variant, with the one that `pqchain.costs.choose` prefers, and the note says so. Raises
    DataError if a frame breaks its contract.
    """
    ours = results.check(measurements, "measurement")
    theirs = results.check(published, "published")
    chosen = cache(partial(choose, ours))
    columns = list(results.CONTRACTS["comparison"])
    rows = [
        _aligned(chosen, row)
        for row in theirs.to_dict("records")
        if row["algorithm"] and row["quantity"].removesuffix("_seconds") in algorithms.OPERATIONS
        if row["quantity"].endswith("_seconds")
    ]
    frame = pd.DataFrame(rows, columns=columns)
    frame.attrs["provenance"] = measurements.attrs.get("provenance", {})
    return results.check(_floats(frame, "comparison"), "comparison")


def sizes(published: pd.DataFrame) -> pd.DataFrame:
    """Compare every published size with the registry's, exactly.

    Columns: paper, table, algorithm, quantity, published_bytes, registry_bytes, verdict ("equal",
    "erratum" if it differs and the paper's errata say why, "different"), note (the erratum). The
    registry's length of a varying signature is the mean. Raises DataError if the frame breaks its
    contract, and UnknownAlgorithm.
    """
    rows = []
    for row in results.check(published, "published").to_dict("records"):
        if row["algorithm"] and row["quantity"] in SIZES:
            size = float(getattr(algorithms.get(row["algorithm"]), row["quantity"]))
            differs = "erratum" if row["note"] else "different"
            verdict = "equal" if row["value"] == size else differs
            about = [row[column] for column in ("paper", "table", "algorithm", "quantity")]
            rows.append([*about, row["value"], size, verdict, row["note"]])
    frame = pd.DataFrame(rows, columns=list(results.CONTRACTS["sizes"])).drop_duplicates()
    return results.check(_floats(frame, "sizes"), "sizes")


def _aligned(
    ours: Callable[..., Mapping[str, Mapping[str, Any]]], row: Mapping[Hashable, Any]
) -> list[object]:
    """Return one row of the comparison."""
    algorithm = algorithms.get(row["algorithm"]).name
    operation = row["quantity"].removesuffix("_seconds")
    wanted, seconds = row["implementation"], row["value"]
    about = [row["paper"], row["table"], algorithm, operation, wanted, seconds]
    chosen = ours(algorithm, variant=wanted)
    if operation not in chosen:
        status, note = "not measured", f"no measurement of {operation} of {algorithm} is given"
        if not algorithms.get(algorithm).implementations:
            status, note = "unsupported", f"this version of pqchain has no {algorithm}"
        return [*about, "", _NAN, _NAN, _NAN, status, _joined(row["note"], note)]
    found = chosen[operation]
    name, status = found["implementation"], found["status"]
    notes = [row["note"], found["reason"]]
    if status != "ok":
        return [*about, name, _NAN, _NAN, _NAN, status, _joined(*notes)]
    if wanted and not name.endswith("/" + wanted):
        notes.append(f"published with {wanted}, compared with {name}")
    median = found["median_seconds"]
    if operation in algorithms.get(algorithm).family_facts.restarts:
        mean = found["mean_seconds"]
        notes.append(f"{operation} restarts at random: its mean here is {display.seconds(mean)}")
    ratio = median / seconds if seconds else _NAN
    return [*about, name, median, found["mad_seconds"], ratio, status, _joined(*notes)]


def _joined(*notes: object) -> str:
    """Join what is not empty."""
    return "; ".join(str(note) for note in notes if note)


def _floats(frame: pd.DataFrame, contract: str) -> pd.DataFrame:
    """Give the number columns their dtype; a frame without rows has none."""
    numbers = [name for name, dtype in results.CONTRACTS[contract].items() if dtype == "float64"]
    return frame.astype(dict.fromkeys(numbers, "float64"))
