"""The mini blockchain: its printed block beside one of real transactions measured here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any

import pandas as pd

from pqchain import algorithms, figures, installation, results
from pqchain.bench import tables as bench_tables
from pqchain.bench.blocks import BLOCK
from pqchain.chain.state import Reason
from pqchain.figures import SECONDS, Unit
from pqchain.installation import read_toml
from pqchain.render.table import Table
from pqchain.results import Contract
from pqchain.works import papers
from pqchain.works.readers import Number, Reader, Undecided
from pqchain.works.verdicts import FAILS, HOLDS, OPEN, Verdict
from pqchain.works.work import Bench, Frames, Work

BLOCK_COMPARISON = Contract.of(
    "block-comparison",
    ("str", "paper table algorithm printed_name quantity published here"),
    ("float64", "ratio"),
    ("str", "note"),
)

_TABLE = "blockchain"
"""The table that prints a block."""


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
        """Read what the blocks counted, and medians of their times."""
        if "blocks" in frames:
            blocks = results.check(frames["blocks"], BLOCK)
            yield _counts(blocks)
            yield _medians(blocks)

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Say what became of the blocks, whole and with a flipped bit."""
        if claim in _ABOUT and "blocks" in frames:
            names, column = _ABOUT[claim]
            yield _validated(
                results.check(frames["blocks"], BLOCK), names or self.schemes(), column
            )

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return the blocks of single threads: bytes and checking time per transaction."""
        if "blocks" not in frames:
            return {}
        ran = [row for row in _single(frames["blocks"]).values() if row["status"] == "ok"]
        if not ran:
            return {}
        smallest = min(ran, key=lambda row: row["transaction_bytes"])
        quickest = min(ran, key=_verify_seconds)
        return {
            "schemes": len(ran),
            "smallest": smallest["algorithm"],
            "smallest_bytes": figures.integer(smallest["transaction_bytes"]),
            "quickest": quickest["algorithm"],
            "quickest_verify": SECONDS.text(_verify_seconds(quickest)),
            "tampered": sum(row["tampered"] == Reason.BAD_SIGNATURE.value for row in ran),
            "by": {
                row["algorithm"]: {
                    "bytes": figures.integer(row["transaction_bytes"]),
                    "verify": SECONDS.text(_verify_seconds(row)),
                }
                for row in ran
            },
        }

    def tables(self, frames: Frames) -> Iterable[Table]:
        """Show the printed block beside ours, and ours of every scheme."""
        yield from super().tables(frames)
        if frames:
            yield bench_tables.block_table(frames["blocks"], part="A block, side by side")


@cache
def _answers() -> dict[str, dict[str, Any]]:
    """Return what of a block frame answers each published quantity, and the note on it."""
    return read_toml(installation.data("papers") / MiniBlockchain.key / "answers.toml")


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
        about = _answers().get(quantity, {})
        ours = _answer(single[name], about) if name in single else ""
        value, unit = float(line["value"]), str(line["unit"])
        theirs = Unit.of(quantity, unit).text(value, exact=True)
        comparable = isinstance(ours, int | float) and unit in ("s", "B")
        ratio = float(ours) / value if comparable else float("nan")
        shown = [line["printed"] if theirs == figures.MISSING else theirs]
        shown.append(_shown(ours, quantity, unit))
        place = [paper, table, name, line["printed_name"], quantity]
        rows.append([*place, *shown, ratio, about.get("note", "")])
    frame = BLOCK_COMPARISON.frame(rows)
    frame.attrs["provenance"] = measured.attrs.get("provenance", {})
    return frame


def _answer(row: Mapping[Any, Any], about: Mapping[str, Any]) -> Any:
    if "answer" not in about:
        return about.get("value", "")
    answer = row[about["answer"]]
    return answer / row[about["over"]] if "over" in about else answer


def _shown(value: Any, quantity: str, unit: str) -> str:
    if not isinstance(value, int | float):
        return str(value)
    if unit == "s":
        return SECONDS.text(value)
    if quantity == "transaction_bytes":
        return f"{value:.2f}{figures.NARROW_SPACE}B"
    return Unit.of(quantity, unit).text(value, exact=True)


def _single(blocks: pd.DataFrame) -> dict[str, dict[Any, Any]]:
    """Return the rows of one thread by algorithm."""
    return {row["algorithm"]: row for row in blocks[blocks["threads"] == 1].to_dict("records")}


def _row(single: Mapping[str, dict[Any, Any]], name: str) -> dict[Any, Any]:
    row = single.get(algorithms.get(name).name)
    if row is None:
        raise Undecided(f"no block of {name} was measured")
    if row["status"] != "ok":
        raise Undecided(f"{name} is {row['status']}: {row['reason']}")
    return row


def _verify_seconds(row: Mapping[Any, Any]) -> float:
    return float(row["verify_median_seconds"] / row["transactions"])


def _counts(blocks: pd.DataFrame) -> Reader:
    """Read what was counted: wallets, transactions, rounds, bytes."""
    single = _single(blocks)
    counted = {
        name: about
        for name, about in _answers().items()
        if "samples" not in about and name not in _WORDS
    }

    def read(name: str, quantity: str, implementation: str) -> Number:
        unit = "B" if quantity.endswith("_bytes") else ""
        return Number(float(_answer(_row(single, name), counted[quantity])), unit=unit)

    return Reader("run", read, counted)


_WORDS = ("algorithm", "previous_hash", "block_hash", "validation_result",
          "tampered_validation_result")  # fmt: skip
"""Answers that are no numbers."""


def _medians(blocks: pd.DataFrame) -> Reader:
    """Read times, per transaction where the work prints them so."""
    single = _single(blocks)
    medians = {name: about for name, about in _answers().items() if "samples" in about}

    def read(name: str, quantity: str, implementation: str) -> Number:
        row, about = _row(single, name), medians[quantity]
        deviation = row[about["answer"].replace("median", "mad")]
        over = row[about["over"]] if "over" in about else 1
        return Number.median(row[about["answer"]], deviation, row[about["samples"]], over=over)

    return Reader("measured", read, medians)


def _validated(blocks: pd.DataFrame, names: Collection[str], column: str) -> Verdict:
    """Judge that the blocks of all these schemes were validated as they should."""
    single = _single(blocks)
    wanted = {"valid": "yes", "tampered": Reason.BAD_SIGNATURE.value}[column]
    ran, wrong, left = [], [], []
    for name in names:
        try:
            row = _row(single, name)
        except Undecided as reason:
            left.append(str(reason))
            continue
        ran.append(name)
        if row[column] != wanted:
            wrong.append(f"{name}: {row[column]}, expected {wanted}")
    what = "taken whole" if column == "valid" else f"refused with one bit flipped: {wanted}"
    good = [f"blocks of {len(ran)} schemes ({', '.join(ran)}), {what}"] * bool(ran and not wrong)
    outcome = FAILS if wrong else OPEN if left else HOLDS
    return Verdict(outcome, "; ".join([*wrong, *left, *good]), "run")


_ABOUT: dict[str, tuple[Collection[str], str]] = {
    "tampering-breaks-validation": ((), "tampered"),
    "flipped-bit-breaks-validation": (("Falcon-512",), "tampered"),
    "block-validates": (("Falcon-512",), "valid"),
    "signature-verifies": (("Falcon-512",), "valid"),
}
"""Statements that the blocks decide: of which schemes (none: all), and by which column."""
