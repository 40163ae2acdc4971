"""Measured blocks for a terminal: one in the words of the mini blockchain, several as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pqchain import algorithms
from pqchain.render import numbers
from pqchain.render.table import Column, Shown, Table, ours

if TYPE_CHECKING:
    import pandas as pd


def lines(measured: pd.DataFrame) -> Iterator[str]:
    """Yield what there is to say of one scheme, given its rows of a block frame."""
    rows: list[dict[Any, Any]] = measured.to_dict("records")
    row = rows[0]
    yield f"{'algorithm':<20}{row['algorithm']}"
    if row["status"] != "ok":
        yield f"{row['status']:<20}{row['reason']}"
        return
    told = [
        ("implementation", row["implementation"]),
        ("public key", f"{numbers.byte_count(row['public_key_bytes'])}, {row['public_key']}"),
        ("signature", f"{numbers.byte_count(row['signature_bytes'])} on average"),
        (
            "wallet",
            f"{_spread(row, 'wallet')} for keys and address, {row['wallets']} wallets",
        ),
        ("sign", f"{_spread(row, 'sign')} for a transaction of the block"),
        ("block", f"{row['transactions']} transactions, {numbers.byte_count(row['block_bytes'])}"),
        ("transaction", f"{row['transaction_bytes']:.2f} B on average, header included"),
        ("previous hash", row["previous_hash"]),
        ("block hash", row["block_hash"]),
        ("valid", row["valid"]),
        ("tampered", f"refused, {row['tampered']}: one bit of the first signature flipped"),
    ]
    if row["reason"]:
        told.append(("note", row["reason"]))
    for name, value in told:
        yield f"{name:<20}{value}"
    yield ""
    header = ["threads", "signatures", "± MAD", "each", "speed-up", "whole block", "± MAD", "rate"]
    table = [
        [
            str(each["threads"]),
            *(numbers.seconds(each[f"verify_{what}_seconds"]) for what in ("median", "mad")),
            numbers.seconds(each["verify_median_seconds"] / each["transactions"]),
            numbers.ratio(row["verify_median_seconds"] / each["verify_median_seconds"]),
            *(numbers.seconds(each[f"apply_{what}_seconds"]) for what in ("median", "mad")),
            _rate(each),
        ]
        for each in rows
    ]
    yield numbers.text_table(header, table, right=range(8))
    yield ""
    yield (
        f"Medians of {row['rounds']} rounds. Whole block: from its bytes to the new state, of "
        f"which hashing {numbers.seconds(row['hash_median_seconds'])}; its rate."
    )
    bare = row["loop_median_seconds"]
    if math.isfinite(bare):
        yield (
            f"A bare loop of C over the same signatures: {numbers.seconds(bare)}; "
            f"{row['threads']} thread{'s'[: row['threads'] > 1]} here: "
            f"{numbers.ratio(row['verify_median_seconds'] / bare)}."
        )


def table(measured: pd.DataFrame) -> tuple[list[str], list[list[str]], list[int]]:
    """Return header, rows and right-aligned columns: a row for each scheme."""
    counts = list(dict.fromkeys(measured["threads"]))
    header = ["algorithm", "public key", "signature", "tx", "B / tx", "wallet", "sign"]
    header += [f"verify ×{count}" for count in counts]
    header += [f"whole ×{counts[-1]}", "rate", "tampered", "remark"]
    rows = []
    for name, group in measured.groupby("algorithm", sort=False):
        each: list[dict[Any, Any]] = group.to_dict("records")
        first, last = each[0], each[-1]
        if first["status"] != "ok":
            empty = [numbers.MISSING] * (len(header) - 2)
            rows.append([str(name), *empty, f"{first['status']}: {first['reason']}"])
            continue
        rows.append(
            [
                str(name),
                numbers.integer(first["public_key_bytes"]),
                numbers.integer(first["signature_bytes"]),
                str(first["transactions"]),
                f"{first['transaction_bytes']:.0f}",
                numbers.seconds(first["wallet_median_seconds"]),
                numbers.seconds(first["sign_median_seconds"]),
                *(
                    numbers.seconds(row["verify_median_seconds"] / row["transactions"])
                    for row in each
                ),
                numbers.seconds(last["apply_median_seconds"] / last["transactions"]),
                _rate(last),
                first["tampered"],
                first["reason"],
            ]
        )
    return header, rows, list(range(1, len(header) - 2))


def _spread(row: Mapping[Any, Any], what: str) -> str:
    """Show a median and its median absolute deviation."""
    median, deviation = row[f"{what}_median_seconds"], row[f"{what}_mad_seconds"]
    return f"{numbers.seconds(median)} ± {numbers.seconds(deviation)}"


def _rate(row: Mapping[Any, Any]) -> str:
    """Show how many bytes of block are validated in a second."""
    return f"{row['block_bytes'] / row['apply_median_seconds'] / 1e6:.1f} MB/s"


def block_table(measured: pd.DataFrame, **more: Any) -> Table:
    """Show measured blocks, a row for each scheme; takes a block frame."""
    header, rows, right = table(measured)
    return Table(
        columns=[Column(name, numeric=at in right) for at, name in enumerate(header[:-1])],
        rows=[row[:-1] for row in rows],
        remarks=[row[-1] for row in rows],
        caption="Blocks of this machine. Times are per transaction; verify: signatures only, by "
        "number of threads; whole: from the bytes of the block to the new balances.",
        source=("measured",),
        **more,
    )


def measurement_tables(measured: pd.DataFrame, **more: Any) -> list[Table]:
    """Show all our times, signatures and then key encapsulation; takes a measurement frame."""
    kinds = measured["algorithm"].map(lambda name: algorithms.get(name).kind)
    titles = {"signature": "Signature schemes", "kem": "Key encapsulation"}
    return [
        _measurement_table(measured[kinds == kind], title, more)
        for kind, title in titles.items()
        if (kinds == kind).any()
    ]


def _measurement_table(measured: pd.DataFrame, title: str, more: Mapping[str, Any]) -> Table:
    operations = [name for name in algorithms.OPERATIONS if name in set(measured["operation"])]
    rows, remarks = [], []
    for (algorithm, implementation), cells in measured.groupby(
        ["algorithm", "implementation"], sort=False
    ):
        records = cells.to_dict("records")
        timed = {cell["operation"]: cell for cell in records if cell["status"] == "ok"}
        row: list[Any] = [str(algorithm), str(implementation) or numbers.MISSING]
        for name in operations:
            cell = timed.get(name)
            if cell is None:
                row += [numbers.MISSING] * 3
            else:
                deviation = Shown(cell["mad_seconds"], numbers.seconds(cell["mad_seconds"], 2))
                row += [ours(cell["median_seconds"]), deviation, cell["samples"]]
        rows.append(row)
        said = [
            cell["reason"] if cell["status"] == "ok" else f"{cell['status']}: {cell['reason']}"
            for cell in records
        ]
        remarks.append("; ".join(dict.fromkeys(remark for remark in said if remark)))
    return Table(
        columns=[
            Column("algorithm"),
            Column("implementation"),
            *(
                Column(heading, numbers.spoken(name), True)
                for name in operations
                for heading in ("median", "± MAD", "samples")
            ),
        ],
        rows=rows,
        remarks=remarks,
        row_headers=2,
        caption=f"{title}: median and MAD of each time.",
        source=("measured",),
        **more,
    )
