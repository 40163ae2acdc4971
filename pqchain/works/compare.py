"""Ours beside published: times with their ratio, sizes with a verdict, statements as checks.

Nothing here asks that milliseconds agree across machines: sizes are compared exactly, times are
shown with their ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cache, partial
from typing import Any

import pandas as pd

from pqchain import algorithms, results
from pqchain.costs import MEASUREMENT, choose
from pqchain.render import numbers
from pqchain.results import Contract
from pqchain.works import registry
from pqchain.works.claims import judged
from pqchain.works.mini_blockchain.work import compare_blocks as blocks
from pqchain.works.printed import PUBLISHED
from pqchain.works.readers import SIZES

__all__ = ["COMPARISON", "SIZE", "align", "blocks", "claims", "sizes"]

COMPARISON = Contract.of(
    "comparison",
    ("str", "paper table algorithm operation published_implementation"),
    ("float64", "published_seconds"),
    ("str", "implementation"),
    ("float64", "median_seconds mad_seconds ratio"),
    ("str", "status note"),
)

SIZE = Contract.of(
    "sizes",
    ("str", "paper table algorithm quantity"),
    ("float64", "published_bytes registry_bytes"),
    ("str", "verdict note"),
)

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
    ours = results.check(measurements, MEASUREMENT)
    theirs = results.check(published, PUBLISHED)
    chosen = cache(partial(choose, ours))
    rows = [
        _aligned(chosen, row)
        for row in theirs.to_dict("records")
        if row["algorithm"] and row["quantity"].removesuffix("_seconds") in algorithms.OPERATIONS
        if row["quantity"].endswith("_seconds")
    ]
    frame = COMPARISON.frame(rows)
    frame.attrs["provenance"] = measurements.attrs.get("provenance", {})
    return frame


def claims(
    key: str,
    measurements: pd.DataFrame | None = None,
    frames: Mapping[str, pd.DataFrame] | None = None,
) -> pd.DataFrame:
    """Check every statement of a work; see `pqchain.works.claims.judged`, also for the columns.

    `frames` are what the work computes, as `registry.get(key).compute(...)` gives them, or some of
    them: {"blocks": pq.measure_blocks(...)}. Raises UnknownPaper and DataError.
    """
    return judged(registry.get(key), measurements, frames)


def sizes(published: pd.DataFrame) -> pd.DataFrame:
    """Compare every published size with the registry's, exactly.

    Columns: paper, table, algorithm, quantity, published_bytes, registry_bytes, verdict ("equal",
    "erratum" if it differs and the paper's errata say why, "different"), note (the erratum). The
    registry's length of a varying signature is the mean. Raises DataError if the frame breaks its
    contract, and UnknownAlgorithm.
    """
    rows = []
    for row in results.check(published, PUBLISHED).to_dict("records"):
        if row["algorithm"] and row["quantity"] in SIZES:
            size = float(getattr(algorithms.get(row["algorithm"]), row["quantity"]))
            differs = "erratum" if row["note"] else "different"
            verdict = "equal" if row["value"] == size else differs
            about = [row[column] for column in ("paper", "table", "algorithm", "quantity")]
            rows.append((*about, row["value"], size, verdict, row["note"]))
    return SIZE.frame(dict.fromkeys(rows))


def _aligned(
    ours: Callable[..., Mapping[str, Mapping[str, Any]]], row: Mapping[Hashable, Any]
) -> list[object]:
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
        notes.append(f"{operation} restarts at random: its mean here is {numbers.seconds(mean)}")
    ratio = median / seconds if seconds else _NAN
    return [*about, name, median, found["mad_seconds"], ratio, status, _joined(*notes)]


def _joined(*notes: object) -> str:
    return "; ".join(str(note) for note in notes if note)
