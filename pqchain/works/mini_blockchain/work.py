"""Mini blockchain: the printed block compared with a block of real transactions measured here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from pqchain import algorithms, results
from pqchain.bench.blocks import BLOCK
from pqchain.chain.state import Reason, Rules, State
from pqchain.figures import Kind
from pqchain.works.readers import Number, NumberReader, Undecided, from_values
from pqchain.works.verdicts import CODE, Standing, Verdict, outcome
from pqchain.works.work import Bench, Frames, Work

# Columns of a block frame by printed quantity.
_COUNTS = {
    "wallet_count": "wallets",
    "transaction_count": "transactions",
    "block_validation_iterations": "rounds",
    "block_bytes": "block_bytes",
    "transaction_bytes": "transaction_bytes",
}

# By printed quantity: the prefix of a median, the number of its samples, whether it is printed per
# transaction.
_MEDIANS = {
    "wallet_generate_keypair_seconds": ("wallet", "wallets", False),
    "transaction_sign_seconds": ("sign", "transactions", False),
    "block_verify_seconds": ("verify", "rounds", False),
    "transaction_verify_seconds": ("verify", "rounds", True),
}


class MiniBlockchain(Work):
    """Reproduction by a measured block for every scheme that the work names."""

    key = "mini-blockchain"

    def compute(self, bench: Bench) -> Frames:
        """Return the frames `blocks` and `block-comparison`; none if blocks cannot be measured."""
        if bench.measure_blocks is None:
            return {}
        names = [name for name in algorithms.ALGORITHMS if name in self.algorithms()]
        blocks = bench.measure_blocks(names)
        printed = self.printed(bench.measurements, {"blocks": blocks})
        compared = printed[printed["table"] == "blockchain"].reset_index(drop=True)
        compared.attrs["provenance"] = blocks.attrs.get("provenance", {})
        return {"blocks": blocks, "block-comparison": compared}

    def readers(self, frames: Frames) -> Iterable[NumberReader]:
        """Yield readers of the index of a first block, and of counts and medians of the blocks."""
        first = State.genesis({}, Rules(sealed=False)).propose([], proposer=bytes(32), timestamp=0)
        yield from_values(Kind.RUN, {("first block", "block_index"): first.header.height})
        if "blocks" in frames:
            single = _single(results.check(frames["blocks"], BLOCK))
            counts = _reader(Kind.RUN, single, _COUNTS, _count)
            # The same counts are results of the block, and settings that the README has, too.
            yield from (counts, replace(counts, source=Kind.TAKEN, decides=False))
            yield _reader(Kind.MEASURED, single, _MEDIANS, _median)

    def judge(self, claim: str, frames: Frames) -> Iterable[Verdict]:
        """Judge a statement by the validation of blocks, intact and with a flipped bit."""
        if claim in _VALIDATIONS and "blocks" in frames:
            names, column = _VALIDATIONS[claim]
            single = _single(results.check(frames["blocks"], BLOCK))
            yield _validated(single, names or self.algorithms(), column)

    def facts(self, frames: Frames) -> Mapping[str, Any]:
        """Return bytes and verification time per transaction of the blocks on one thread."""
        if "blocks" not in frames:
            return {}
        rows = [row for row in _single(frames["blocks"]).values() if row["status"] == "ok"]
        # Without a block that ran there is no smallest and no quickest scheme.
        if not rows:
            return {}
        smallest = min(rows, key=lambda row: row["transaction_bytes"])
        quickest = min(rows, key=_verify_seconds)
        return {
            "schemes": len(rows),
            "smallest": smallest["algorithm"],
            "smallest_bytes": smallest["transaction_bytes"],
            "quickest": quickest["algorithm"],
            "quickest_seconds": _verify_seconds(quickest),
            "refused": sum(row["tampered"] == Reason.BAD_SIGNATURE.value for row in rows),
            **{f"{row['algorithm']} transaction_bytes": row["transaction_bytes"] for row in rows},
            **{f"{row['algorithm']} verify_seconds": _verify_seconds(row) for row in rows},
        }


def _single(blocks: pd.DataFrame) -> dict[str, dict[Any, Any]]:
    """Return the single-threaded rows by algorithm; the paper's program is single-threaded."""
    return {row["algorithm"]: row for row in blocks[blocks["threads"] == 1].to_dict("records")}


def _undecided(name: str, row: Mapping[Any, Any] | None) -> str:
    """Return why a row of a block decides nothing; "" if it does."""
    if row is None:
        return f"no block of {name} was measured"
    return "" if row["status"] == "ok" else f"{name} is {row['status']}: {row['reason']}"


def _verify_seconds(row: Mapping[Any, Any]) -> float:
    return float(row["verify_median_seconds"] / row["transactions"])


def _reader(
    kind: Kind,
    single: Mapping[str, dict[Any, Any]],
    quantities: Collection[str],
    number: Callable[[Mapping[Any, Any], str], Number],
) -> NumberReader:
    values: dict[tuple[str, str], Number | Undecided] = {}
    for name, row in single.items():
        reason = _undecided(name, row)
        for quantity in quantities:
            values[name, quantity] = Undecided(reason) if reason else number(row, quantity)
    missing = "no block of {name} was measured"
    return from_values(kind, values, missing, quantities=quantities, decides=True)


def _count(row: Mapping[Any, Any], quantity: str) -> Number:
    return Number(float(row[_COUNTS[quantity]]), unit="B" if quantity.endswith("_bytes") else "")


def _median(row: Mapping[Any, Any], quantity: str) -> Number:
    prefix, samples, is_per_transaction = _MEDIANS[quantity]
    median, deviation = (row[f"{prefix}_{end}_seconds"] for end in ("median", "mad"))
    over = row["transactions"] if is_per_transaction else 1
    return Number.median(median, deviation, row[samples], over=over)


# By statement that the blocks decide, the schemes (empty: all) and the column.
_VALIDATIONS: dict[str, tuple[Collection[str], str]] = {
    "tampering-breaks-validation": ((), "tampered"),
    "flipped-bit-breaks-validation": (("Falcon-512",), "tampered"),
    "block-validates": (("Falcon-512",), "valid"),
    "signature-verifies": (("Falcon-512",), "valid"),
}


def _validated(
    single: Mapping[str, dict[Any, Any]], names: Collection[str], column: str
) -> Verdict:
    expected = {"valid": "yes", "tampered": Reason.BAD_SIGNATURE.value}[column]
    missing = [reason for name in names if (reason := _undecided(name, single.get(name)))]
    ran = [name for name in names if not _undecided(name, single.get(name))]
    wrong = [
        f"{name}: {single[name][column]}, expected {expected}"
        for name in ran
        if single[name][column] != expected
    ]
    result = "accepted" if column == "valid" else f"refused with one bit flipped: {expected}"
    good = [f"blocks of {len(ran)} schemes ({', '.join(ran)}), {result}"] * bool(ran and not wrong)
    # A scheme that could not run leaves the statement open, but a wrong validation refutes it.
    holds = False if wrong else None if missing else True
    # The work's own validation was not run.
    standing = Standing("transactions, blocks and validation of pqchain", (CODE,))
    evidence = "; ".join([*wrong, *missing, *good])
    return Verdict(outcome(holds), evidence, Kind.RUN, standing)
