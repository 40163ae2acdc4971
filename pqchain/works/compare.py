"""Ours beside published: times with their ratio, sizes with a verdict, statements as checks.

Only this module and `pqchain.works.claims` see both sides. Nothing here asks that milliseconds
agree across machines: sizes are compared exactly, times are shown with their ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import cache, partial
from typing import Any

import pandas as pd

from pqchain import algorithms, results
from pqchain.bench.blocks import BLOCK
from pqchain.costs import MEASUREMENT, choose
from pqchain.render import numbers
from pqchain.results import Contract
from pqchain.works.claims import SIZES, claims
from pqchain.works.papers import PUBLISHED

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

BLOCK_COMPARISON = Contract.of(
    "block-comparison",
    ("str", "paper table algorithm printed_name quantity published here"),
    ("float64", "ratio"),
    ("str", "note"),
)


__all__ = ["align", "blocks", "claims", "sizes"]

_NAN = float("nan")

_OF_A_BLOCK = {
    "wallet_count": "wallets",
    "wallet_generate_keypair_seconds": "wallet_median_seconds",
    "public_key_bytes": "public_key_bytes",
    "transaction_count": "transactions",
    "transaction_sign_seconds": "sign_median_seconds",
    "previous_hash": "previous_hash",
    "block_hash": "block_hash",
    "block_bytes": "block_bytes",
    "transaction_bytes": "transaction_bytes",
    "validation_result": "valid",
    "tampered_validation_result": "tampered",
    "block_validation_iterations": "rounds",
    "block_verify_seconds": "verify_median_seconds",
}
"""Published quantities of a block, and the column of a block frame that answers each."""

_BLOCK_NOTES = {
    "wallet_generate_keypair_seconds": "printed as a mean, here a median",
    "transaction_sign_seconds": "printed as a mean, here a median",
    "block_bytes": "there a transaction holds both public keys; here that of the sender, and two "
    "addresses of 32 bytes",
    "transaction_bytes": "block over transactions, header included",
    "tampered_validation_result": "here: the reason",
    "block_verify_seconds": "one thread; printed as a mean, here a median",
    "transaction_verify_seconds": "one thread",
}
"""What makes the two sides differ by more than the machine."""


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
    columns = list(COMPARISON.columns)
    rows = [
        _aligned(chosen, row)
        for row in theirs.to_dict("records")
        if row["algorithm"] and row["quantity"].removesuffix("_seconds") in algorithms.OPERATIONS
        if row["quantity"].endswith("_seconds")
    ]
    frame = pd.DataFrame(rows, columns=columns)
    frame.attrs["provenance"] = measurements.attrs.get("provenance", {})
    return results.check(frame, COMPARISON)


def blocks(
    measured: pd.DataFrame, published: pd.DataFrame, *, paper: str, table: str
) -> pd.DataFrame:
    """Put our block beside a printed one, line by line; none is left out.

    Takes a block frame, of which one thread counts, and a table of `pqchain.papers.table` in the
    layout of the mini blockchain. Columns: paper, table, algorithm, printed_name, quantity,
    published and here (as text, with unit), ratio (here over published; NaN for what is no
    measurement), note. Raises DataError if the block frame breaks its contract.
    """
    ours = results.check(measured, BLOCK)
    single = {
        row["algorithm"]: row
        for row in ours.to_dict("records")
        if row["threads"] == 1 and row["status"] == "ok"
    }
    rows = []
    for line in published.to_dict("records"):
        name, quantity = line["algorithm"], line["quantity"]
        mine = _of_a_block(single.get(name, {}), quantity)
        printed, unit = float(line["value"]), str(line["unit"])
        theirs = numbers.quantity(printed, quantity, unit)
        compared = isinstance(mine, int | float) and (unit in ("s", "B"))
        rows.append(
            {
                "paper": paper,
                "table": table,
                "algorithm": name,
                "printed_name": line["printed_name"],
                "quantity": quantity,
                "published": line["printed"] if theirs == numbers.MISSING else theirs,
                "here": _shown(mine, quantity, unit),
                "ratio": float(mine) / printed if compared else _NAN,
                "note": _BLOCK_NOTES.get(quantity, ""),
            }
        )
    frame = pd.DataFrame(rows, columns=list(BLOCK_COMPARISON.columns))
    frame.attrs["provenance"] = measured.attrs.get("provenance", {})
    return results.check(frame, BLOCK_COMPARISON)


def _of_a_block(row: Mapping[Hashable, Any], quantity: str) -> Any:
    """Return our answer to a published quantity, or "" if there is none."""
    if not row:
        return ""
    if quantity == "algorithm":
        return row["algorithm"]
    if quantity == "block_index":
        return 1
    if quantity == "transaction_verify_seconds":
        return row["verify_median_seconds"] / row["transactions"]
    return row[_OF_A_BLOCK[quantity]] if quantity in _OF_A_BLOCK else ""


def _shown(value: Any, quantity: str, unit: str) -> str:
    """Write our answer as people read it."""
    if not isinstance(value, int | float):
        return str(value)
    if unit == "s":
        return numbers.seconds(value)
    if quantity == "transaction_bytes":
        return f"{value:.2f}{numbers.NARROW_SPACE}B"
    return numbers.quantity(value, quantity, unit)


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
            rows.append([*about, row["value"], size, verdict, row["note"]])
    frame = pd.DataFrame(rows, columns=list(SIZE.columns)).drop_duplicates()
    return results.check(frame, SIZE)


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
        notes.append(f"{operation} restarts at random: its mean here is {numbers.seconds(mean)}")
    ratio = median / seconds if seconds else _NAN
    return [*about, name, median, found["mad_seconds"], ratio, status, _joined(*notes)]


def _joined(*notes: object) -> str:
    """Join what is not empty."""
    return "; ".join(str(note) for note in notes if note)
