"""The mini blockchain: its printed block beside one of real transactions measured here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from pqchain import algorithms, results
from pqchain.bench import tables as bench_tables
from pqchain.bench.blocks import BLOCK
from pqchain.render import numbers
from pqchain.render.table import Column, Table
from pqchain.results import Contract
from pqchain.works import papers
from pqchain.works.readers import Number, Reader, Undecided
from pqchain.works.work import Bench, Frames, Work

BLOCK_COMPARISON = Contract.of(
    "block-comparison",
    ("str", "paper table algorithm printed_name quantity published here"),
    ("float64", "ratio"),
    ("str", "note"),
)

_TABLE = "blockchain"
"""The table that prints a block."""

_ANSWERS = {
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
    "algorithm": "algorithm",
}
"""Published quantities of a block, and the column of a block frame that answers each."""

_NOTES = {
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

_MEDIANS = {
    "wallet_generate_keypair_seconds": ("wallet", "wallets", False),
    "transaction_sign_seconds": ("sign", "transactions", False),
    "block_verify_seconds": ("verify", "rounds", False),
    "transaction_verify_seconds": ("verify", "rounds", True),
}
"""Times of a block: what of a block frame, how many samples, whether per transaction."""


class MiniBlockchain(Work):
    """Measures a block of every scheme that the work names."""

    key = "mini-blockchain"

    def compute(self, bench: Bench) -> Frames:
        """Return `blocks`, a block frame, and `block-comparison`; nothing without a clock."""
        if bench.measure_blocks is None:
            return {}
        wanted = [name for name in algorithms.ALGORITHMS if name in self.schemes()]
        blocks = bench.measure_blocks(wanted)
        table = papers.table(self.paper, _TABLE)
        compared = compare_blocks(blocks, table, paper=self.key, table=_TABLE)
        return {"blocks": blocks, "block-comparison": compared}

    def readers(self, frames: Frames) -> Iterable[Reader]:
        """Read medians of the measured blocks."""
        if "blocks" in frames:
            yield _reader(results.check(frames["blocks"], BLOCK))

    def tables(self, frames: Frames) -> Iterable[Table]:
        """Show the printed block beside ours, and ours of every scheme."""
        if not frames:
            return
        yield Table.of(
            frames["block-comparison"],
            [
                Column("printed as", key="printed_name"),
                Column("published", numeric=True, show=_shortened),
                Column("here", numeric=True, show=lambda text: _shortened(text) or numbers.MISSING),
                Column("ratio", numeric=True, show=numbers.ratio),
            ],
            remark="note",
            caption=f"One block of {self.key} beside one of this machine.",
            source=("published", "measured"),
            part="A block, side by side",
        )
        yield bench_tables.block_table(frames["blocks"], part="A block, side by side")


def compare_blocks(
    measured: pd.DataFrame, published: pd.DataFrame, *, paper: str, table: str
) -> pd.DataFrame:
    """Put our block beside a printed one, line by line; none is left out.

    Takes a block frame, of which one thread counts, and a table of `pqchain.papers.table` in the
    layout of the mini blockchain. Columns: paper, table, algorithm, printed_name, quantity,
    published and here (as text, with unit), ratio (here over published; NaN for what is no
    measurement), note. Raises DataError if the block frame breaks its contract.
    """
    single = {
        row["algorithm"]: row
        for row in results.check(measured, BLOCK).to_dict("records")
        if row["threads"] == 1 and row["status"] == "ok"
    }
    rows = []
    for line in published.to_dict("records"):
        name, quantity = line["algorithm"], line["quantity"]
        ours = _answer(single.get(name, {}), quantity)
        value, unit = float(line["value"]), str(line["unit"])
        theirs = numbers.quantity(value, quantity, unit)
        comparable = isinstance(ours, int | float) and unit in ("s", "B")
        rows.append(
            {
                "paper": paper,
                "table": table,
                "algorithm": name,
                "printed_name": line["printed_name"],
                "quantity": quantity,
                "published": line["printed"] if theirs == numbers.MISSING else theirs,
                "here": _shown(ours, quantity, unit),
                "ratio": float(ours) / value if comparable else float("nan"),
                "note": _NOTES.get(quantity, ""),
            }
        )
    frame = BLOCK_COMPARISON.frame(rows)
    frame.attrs["provenance"] = measured.attrs.get("provenance", {})
    return frame


def _answer(row: Mapping[Any, Any], quantity: str) -> Any:
    if row and quantity == "block_index":
        return 1
    if row and quantity == "transaction_verify_seconds":
        return row["verify_median_seconds"] / row["transactions"]
    return row.get(_ANSWERS.get(quantity, ""), "")


def _shown(value: Any, quantity: str, unit: str) -> str:
    if not isinstance(value, int | float):
        return str(value)
    if unit == "s":
        return numbers.seconds(value)
    if quantity == "transaction_bytes":
        return f"{value:.2f}{numbers.NARROW_SPACE}B"
    return numbers.quantity(value, quantity, unit)


def _shortened(text: str) -> str:
    """Cut a hash, which nobody compares by eye."""
    return f"{text[:12]}…" if len(text) == 64 else text


def _reader(blocks: pd.DataFrame) -> Reader:
    single = {row["algorithm"]: row for row in blocks[blocks["threads"] == 1].to_dict("records")}

    def read(name: str, quantity: str, implementation: str) -> Number:
        name = algorithms.get(name).name
        what, count, shared = _MEDIANS[quantity]
        row = single.get(name)
        if row is None:
            raise Undecided(f"no block of {name} was measured")
        if row["status"] != "ok":
            raise Undecided(f"{name} is {row['status']}: {row['reason']}")
        return Number.median(
            row[f"{what}_median_seconds"],
            row[f"{what}_mad_seconds"],
            row[count],
            over=row["transactions"] if shared else 1,
        )

    return Reader("measured", read, _MEDIANS)
